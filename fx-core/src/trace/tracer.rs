//! The decisions of a trace, each of which can be made otherwise.

use super::Proxy;
use crate::arg::{Arg, Kwargs};
use crate::error::Result;
use crate::graph::{Graph, NodeArg, NodeId, Opcode, Target};
use crate::module::Module;

/// Decides how a trace records; torch.fx's `Tracer`. All methods have torch.fx's defaults.
pub trait Tracer {
    /// Whether a call of `module`, which is at `path`, is recorded as one node instead of traced through.
    fn is_leaf_module(&self, module: &dyn Module, path: &str) -> bool {
        let _ = path;
        module.is_leaf()
    }

    /// Makes the node of a call: the single funnel of all recording.
    ///
    /// # Errors
    /// What it gives becomes an error of the trace.
    fn create_node(&self, graph: &mut Graph, request: NodeRequest) -> Result<NodeId> {
        Ok(request.create(graph))
    }

    /// Turns an argument into what is recorded.
    ///
    /// # Errors
    /// What it gives becomes an error of the trace.
    fn create_arg(&self, arg: Arg<Proxy>) -> Result<Arg<Proxy>> {
        Ok(arg)
    }

    /// Whether sizes of parameters and buffers are integers instead of nodes.
    fn constant_parameter_shapes(&self) -> bool {
        false
    }
}

/// A node that is about to be made.
#[derive(Clone, Debug)]
pub struct NodeRequest {
    /// Its opcode.
    pub op: Opcode,
    /// Its target.
    pub target: Target,
    /// Its positional arguments.
    pub args: Vec<NodeArg>,
    /// Its keyword arguments.
    pub kwargs: Kwargs<NodeId>,
    /// The name that it asks for, if not its target's.
    pub name: Option<String>,
}

impl NodeRequest {
    /// Makes the node at the graph's insertion point.
    pub fn create(self, graph: &mut Graph) -> NodeId {
        graph.create_node(self.op, self.target, self.args, self.kwargs, self.name.as_deref())
    }
}

/// The tracer of [`trace`](super::trace): leaf modules are those that say so.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultTracer;

impl Tracer for DefaultTracer {}

/// A tracer with other leaves.
#[derive(Clone, Copy, Debug)]
pub enum Leaves {
    /// No module is a leaf: everything is traced through, down to functions.
    None,
    /// Every module below the root is a leaf.
    All,
}

impl Tracer for Leaves {
    fn is_leaf_module(&self, _: &dyn Module, path: &str) -> bool {
        match self {
            Leaves::None => false,
            Leaves::All => !path.is_empty(),
        }
    }
}
