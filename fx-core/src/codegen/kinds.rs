//! What the value of each node is in Rust: a tensor, a size, a structure.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arg::Arg;
use crate::graph::{Graph, Node, NodeId, Opcode};
use crate::graph_module::GraphModule;
use crate::value::Meta;

/// What a variable is in Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A tensor.
    Tensor,
    /// A symbolic size.
    Size,
    /// A structure: a tuple, an array, a vector, an argument of unknown form.
    Tree,
    /// An optional tensor.
    Maybe,
    /// A parameter or buffer, read where it is used.
    State,
}

/// The kinds of a graph's nodes.
pub(super) type Kinds = FxHashMap<NodeId, Kind>;

/// The kinds of all nodes.
pub(super) fn kinds(module: &GraphModule) -> Kinds {
    let graph = module.graph();
    let mut kinds = Kinds::default();
    for (id, node) in graph.nodes() {
        let kind = match node.op() {
            Opcode::Placeholder => placeholder(graph, id, node),
            Opcode::GetAttr => Kind::State,
            Opcode::CallModule => {
                let nested =
                    module.state().modules.get(node.target().name()).and_then(|module| module.as_graph_module());
                nested.map_or_else(|| result(graph, id, node), output)
            }
            Opcode::CallFunction | Opcode::CallMethod => call(graph, &kinds, id, node),
            Opcode::Output => Kind::Tree,
        };
        kinds.insert(id, kind);
    }
    kinds
}

/// The nodes whose values are symbolic sizes, as far as that follows from the calls and from shapes.
pub fn sizes(module: &GraphModule) -> FxHashSet<NodeId> {
    kinds(module).into_iter().filter(|(_, kind)| *kind == Kind::Size).map(|(id, _)| id).collect()
}

fn placeholder(graph: &Graph, id: NodeId, node: &Node) -> Kind {
    match node.args().first() {
        Some(Arg::None) => Kind::Maybe,
        Some(_) => Kind::Tree,
        None => result(graph, id, node),
    }
}

/// What a generated `forward` gives.
fn output(module: &GraphModule) -> Kind {
    match module.graph().output_arg() {
        Some(Arg::Value(id)) => match kinds(module).get(id) {
            Some(Kind::State) | None => Kind::Tensor,
            Some(kind) => *kind,
        },
        _ => Kind::Tree,
    }
}

/// What something gives of which nothing else is known: what its meta says, else a structure if it is only unpacked.
fn result(graph: &Graph, id: NodeId, node: &Node) -> Kind {
    match node.meta().shape() {
        Some(Arg::Value(Meta::Unknown)) | None if is_unpacked(graph, id, node) => Kind::Tree,
        Some(Arg::Value(Meta::Tensor(_) | Meta::Unknown)) | None => Kind::Tensor,
        Some(Arg::Value(Meta::Int(_)) | Arg::Int(_)) => Kind::Size,
        Some(_) => Kind::Tree,
    }
}

/// Whether all users take elements of the node.
fn is_unpacked(graph: &Graph, id: NodeId, node: &Node) -> bool {
    let takes_element = |user: NodeId| {
        let user = &graph[user];
        is_function(user, "getitem")
            && matches!(user.args(), [Arg::Value(input), Arg::Int(_) | Arg::Str(_)] if *input == id)
    };
    node.users().len() > 0 && node.users().all(takes_element)
}

/// Whether a node calls this function, as a function or as a method.
pub(super) fn is_function(node: &Node, name: &str) -> bool {
    matches!(node.op(), Opcode::CallFunction | Opcode::CallMethod) && node.target().name() == name
}

fn call(graph: &Graph, kinds: &Kinds, id: NodeId, node: &Node) -> Kind {
    let of = |arg: &Arg<NodeId>| arg.as_value().and_then(|id| kinds.get(id)).copied();
    let has = |key: &str| node.kwargs().get(key).is_some_and(|arg| !arg.is_none());
    match node.target().name() {
        "numel" => Kind::Size,
        "size" if has("dim") => Kind::Size,
        "size" | "split" | "chunk" | "unbind" => Kind::Tree,
        "max" | "min" if has("dim") => Kind::Tree,
        "add" | "sub" | "mul" | "floor_divide" | "remainder" | "neg" if of_sizes(node, of) => Kind::Size,
        "getitem" => match node.args() {
            [input, _] if matches!(of(input), Some(Kind::Tensor | Kind::State)) => Kind::Tensor,
            // An element of all sizes.
            [Arg::Value(input), _] if is_function(&graph[*input], "size") => Kind::Size,
            _ => result(graph, id, node),
        },
        // Of numbers alone, the result is a number.
        _ if node.args().iter().any(|arg| of(arg) == Some(Kind::Size)) && !node.args().iter().any(is_data(&of)) => {
            match node.meta().shape() {
                Some(Arg::Value(Meta::Tensor(_))) => Kind::Tensor,
                _ => Kind::Tree,
            }
        }
        _ => result(graph, id, node),
    }
}

fn is_data(of: &impl Fn(&Arg<NodeId>) -> Option<Kind>) -> impl Fn(&Arg<NodeId>) -> bool {
    move |arg| match arg {
        Arg::Value(_) => of(arg) != Some(Kind::Size),
        Arg::List(_) | Arg::Tuple(_) => true,
        _ => false,
    }
}

/// Whether the operands are sizes and integers, one of them a size.
fn of_sizes(node: &Node, of: impl Fn(&Arg<NodeId>) -> Option<Kind>) -> bool {
    let size = |arg: &Arg<NodeId>| of(arg) == Some(Kind::Size);
    node.args().iter().any(size) && node.args().iter().all(|arg| size(arg) || matches!(arg, Arg::Int(_)))
}
