//! What a picture shows of each node.

use rustc_hash::FxHashMap;

use crate::arg::Arg;
use crate::codegen::statements;
use crate::graph::{Graph, Node, NodeId, Opcode};
use crate::graph_module::GraphModule;
use crate::value::Meta;

/// One node as pictures show it.
pub(super) struct Card {
    pub(super) name: String,
    pub(super) op: Opcode,
    pub(super) target: String,
    /// The node's line in the text form.
    pub(super) text: String,
    /// Its element type and shape, empty if not known.
    pub(super) shape: String,
    /// The user's source line, empty if not known.
    pub(super) location: String,
    /// The path of the module whose `forward` made it, empty for the root's.
    pub(super) module: String,
    /// The module that it calls, as it is printed; else empty.
    pub(super) repr: String,
    /// Its statement in the generated code, empty if it has none.
    pub(super) code: String,
    /// The places of its inputs.
    pub(super) inputs: Vec<usize>,
}

/// The nodes in order.
pub(super) fn cards(module: &GraphModule) -> Vec<Card> {
    let (graph, mut code) = (module.graph(), statements(module));
    let places: FxHashMap<NodeId, usize> = graph.nodes().enumerate().map(|(place, (id, _))| (id, place)).collect();
    let mut card = |(id, node): (NodeId, &Node)| {
        let meta = node.meta();
        let called = module.state().modules.get(node.target().name()).filter(|_| node.op() == Opcode::CallModule);
        Card {
            name: node.name().to_owned(),
            op: node.op(),
            target: node.target().to_string(),
            text: graph.format_node(id),
            shape: shape(graph, id),
            location: meta.location().map_or_else(String::new, ToString::to_string),
            module: meta.module_stack().last().map_or_else(String::new, |frame| frame.path.clone()),
            repr: called.map_or_else(String::new, |module| module.repr()),
            code: code.swap_remove(&id).unwrap_or_default(),
            inputs: node.inputs().iter().map(|input| places[input]).collect(),
        }
    };
    graph.nodes().map(&mut card).collect()
}

/// `f32[N, 64]`, or `(f32[2], f32[3])`
fn shape(graph: &Graph, id: NodeId) -> String {
    fn shown(arg: &Arg<Meta>) -> String {
        match arg {
            Arg::Value(meta) => meta.to_string(),
            Arg::List(items) | Arg::Tuple(items) => {
                format!("({})", items.iter().map(shown).collect::<Vec<_>>().join(", "))
            }
            Arg::Int(x) => x.to_string(),
            other => other.kind().to_owned(),
        }
    }
    graph[id].meta().shape().map_or_else(String::new, shown)
}

/// The colour of a node: torch.fx's, by opcode, and for calls of functions and methods by their target.
pub(super) fn color(op: Opcode, target: &str) -> &'static str {
    const BY_TARGET: [&str; 16] = [
        "#98F5FF", "#FF7F50", "#CAFF70", "#C1FFC1", "#F8F8FF", "#FFF68F", "#FFF0F5", "#87CEFA", "#FFE4E1", "#EED5D2",
        "#AEEEEE", "#FFDAB9", "#FA8072", "#FFE1FF", "#CDB5CD", "#FFE7BA",
    ];
    match op {
        Opcode::Placeholder => "#F0F8FF",
        Opcode::CallModule => "#FFFACD",
        Opcode::GetAttr => "#D3D3D3",
        Opcode::Output => "#B0E0E6",
        Opcode::CallFunction | Opcode::CallMethod => {
            let hash = target.bytes().fold(5381_u32, |hash, byte| hash.wrapping_mul(33) ^ u32::from(byte));
            BY_TARGET[hash as usize % BY_TARGET.len()]
        }
    }
}
