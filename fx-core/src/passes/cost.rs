//! What a model costs: floating-point operations, bytes, parameters and arithmetic intensity, per node and per module.
//!
//! Sizes may be symbolic: with a batch of `N` images, ResNet-50 costs `8250973184*N` operations. A multiply-add counts
//! as two. A node reads its operands and its own state, and writes its result; a view moves nothing. A leaf module is
//! counted by the functions that it calls, and as one node that keeps its intermediate values to itself.

mod count;
mod report;

use indexmap::IndexMap;

use crate::arg::Arg;
use crate::error::Result;
use crate::graph::NodeId;
use crate::graph_module::GraphModule;
use crate::interpreter::Interpreter;
use crate::value::{Dim, Meta};
use count::Count;

/// What something costs: a node, a module, a whole model.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// Floating-point operations, a multiply-add counted as two.
    pub flops: Dim,
    /// Bytes of operands and state, 0 for a view.
    pub read: Dim,
    /// Bytes of results, 0 for a view.
    pub written: Dim,
    /// The sizes of the parameters by identity, so that those that are shared count once.
    parameters: IndexMap<usize, usize>,
}

/// The cost of one node.
#[derive(Clone, Debug)]
pub struct NodeCost {
    /// The node.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// What it calls or reads.
    pub target: String,
    /// The path of the module that it belongs to, itself if it calls one.
    pub module: String,
    /// Its result's element type and shape.
    pub output: Arg<Meta>,
    /// What it costs.
    pub cost: Cost,
}

/// The costs of a graph's nodes, in their order.
///
/// Its printed form is a table with a line for each node that does something, and a total.
#[derive(Clone, Debug)]
pub struct CostReport {
    /// The cost of each node, inputs and output among them.
    pub nodes: Vec<NodeCost>,
}

/// Counts what a graph costs on inputs of these shapes.
///
/// # Errors
/// If the shapes do not fit; the error names the node and the user's line.
pub fn cost(module: &GraphModule, inputs: impl IntoIterator<Item = impl Into<Arg<Meta>>>) -> Result<CostReport> {
    let mut count = Count::new(module);
    Interpreter::with_hooks(module, &mut count).run(inputs.into_iter().map(Into::into).collect())?;
    Ok(CostReport { nodes: count.nodes })
}

impl Cost {
    /// The number of elements of the parameters.
    pub fn parameters(&self) -> usize {
        self.parameters.values().sum()
    }

    /// Operations for each byte that is moved, if sizes are known and something is moved.
    pub fn intensity(&self) -> Option<f64> {
        let bytes = (&self.read + &self.written).as_int()?;
        (bytes > 0).then_some(self.flops.as_int()? as f64 / bytes as f64)
    }

    /// Whether something is computed or moved.
    pub fn is_work(&self) -> bool {
        self.flops != Dim::Int(0) || self.written != Dim::Int(0)
    }

    fn add(&mut self, other: &Cost) {
        self.flops = &self.flops + &other.flops;
        self.read = &self.read + &other.read;
        self.written = &self.written + &other.written;
        self.parameters.extend(&other.parameters);
    }
}
