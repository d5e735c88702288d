//! Counting by interpretation: each node runs on shapes, and its functions say what they cost.

use indexmap::IndexMap;

use super::{Cost, NodeCost};
use crate::arg::{Arg, Kwargs};
use crate::error::Result;
use crate::graph::{Node, NodeId, Opcode};
use crate::graph_module::GraphModule;
use crate::interpreter::{Hooks, Interpreter, Run};
use crate::module::{Entry, Module, entries};
use crate::ops::{Function, is_view};
use crate::trace::{Leaves, trace_call};
use crate::value::{Dim, Meta};

/// Runs on shapes and counts.
pub(super) struct Count<'a> {
    /// The module whose nodes are noted; none within a leaf.
    module: Option<&'a GraphModule>,
    pub(super) nodes: Vec<NodeCost>,
    /// What the node that is running has done so far.
    call: Call,
}

/// The work of one node.
#[derive(Default)]
struct Call {
    flops: Dim,
    /// Whether it moves data.
    moves: bool,
}

impl<'a> Count<'a> {
    pub(super) fn new(module: &'a GraphModule) -> Self {
        Self { module: Some(module), nodes: Vec::new(), call: Call::default() }
    }

    fn function(&mut self, function: Function, args: &[Arg<Meta>], kwargs: &Kwargs<Meta>, output: &Arg<Meta>) {
        self.call.flops = &self.call.flops + (function.definition().flops)(args, kwargs, output);
        self.call.moves |= !is_view(function);
    }
}

impl Hooks<Meta> for &mut Count<'_> {
    fn run_node(&mut self, run: &mut Run<'_, Meta>, id: NodeId) -> Result<Arg<Meta>> {
        let Some(module) = self.module else { return run.dispatch(self, id) };
        self.call = Call::default();
        let operands = module.graph()[id].inputs().into_iter().filter_map(|id| run.value(id)).map(bytes);
        let operands = operands.fold(Dim::Int(0), |sum, bytes| sum + bytes);
        let output = run.dispatch(self, id)?;
        let node = &module.graph()[id];
        let call = std::mem::take(&mut self.call);
        let (parameters, state) = state_of(module, node);
        let mut cost = Cost { flops: call.flops, parameters, ..Cost::default() };
        if call.moves {
            (cost.read, cost.written) = (operands + state, bytes(&output));
        }
        let frame = node.meta().module_stack().last().map_or("", |frame| &frame.path);
        self.nodes.push(NodeCost {
            node: id,
            name: node.name().to_owned(),
            target: node.target().to_string(),
            module: if node.op() == Opcode::CallModule { node.target().name() } else { frame }.to_owned(),
            output: output.clone(),
            cost,
        });
        Ok(output)
    }

    fn call_function(
        &mut self,
        run: &mut Run<'_, Meta>,
        node: &Node,
        function: Function,
        args: Vec<Arg<Meta>>,
        kwargs: Kwargs<Meta>,
    ) -> Result<Arg<Meta>> {
        let output = run.call_function(node, function, args.clone(), kwargs.clone())?;
        self.function(function, &args, &kwargs, &output);
        Ok(output)
    }

    fn call_method(
        &mut self,
        run: &mut Run<'_, Meta>,
        node: &Node,
        method: Function,
        args: Vec<Arg<Meta>>,
        kwargs: Kwargs<Meta>,
    ) -> Result<Arg<Meta>> {
        self.call_function(run, node, method, args, kwargs)
    }

    fn call_module(
        &mut self,
        _: &mut Run<'_, Meta>,
        _: &Node,
        module: &dyn Module,
        args: Vec<Arg<Meta>>,
        kwargs: Kwargs<Meta>,
    ) -> Result<Arg<Meta>> {
        let (inner, values) = trace_call(Leaves::None, module, &args, &kwargs)?;
        let outer = self.module.take();
        let output = Interpreter::with_hooks(&inner, &mut **self).run(values);
        self.module = outer;
        output
    }
}

/// The bytes of all tensors.
fn bytes(value: &Arg<Meta>) -> Dim {
    let mut sum = Dim::Int(0);
    value.for_each(&mut |meta| {
        if let Meta::Tensor(tensor) = meta {
            sum = &sum + tensor.numel() * tensor.dtype.size() as i64;
        }
    });
    sum
}

/// The parameters of a node by identity with their sizes, and the bytes of state that a module call reads.
fn state_of(module: &GraphModule, node: &Node) -> (IndexMap<usize, usize>, Dim) {
    let (mut parameters, mut buffers) = (IndexMap::new(), IndexMap::new());
    let (state, path) = (module.state(), node.target().name());
    match node.op() {
        Opcode::GetAttr => {
            let parameter = state.parameters.get(path);
            parameters.extend(parameter.map(|parameter| (parameter.id(), parameter.tensor())));
        }
        Opcode::CallModule => {
            for (_, entry) in state.modules.get(path).map(|module| entries(&**module)).unwrap_or_default() {
                match entry {
                    Entry::Parameter(parameter) => drop(parameters.insert(parameter.id(), parameter.tensor())),
                    Entry::Buffer(buffer) => drop(buffers.insert(buffer.id(), buffer.tensor())),
                    _ => {}
                }
            }
        }
        _ => {}
    }
    let bytes = parameters.values().chain(buffers.values()).map(|tensor| tensor.numel() * tensor.dtype().size());
    let bytes = bytes.sum::<usize>().into();
    (parameters.into_iter().map(|(id, tensor)| (id, tensor.numel())).collect(), bytes)
}
