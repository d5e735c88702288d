//! What a model costs: floating-point operations, bytes, parameters and arithmetic intensity, per node and per module.
//!
//! Sizes may be symbolic: with a batch of `N` images, ResNet-50 costs `8250973184*N` operations. A multiply-add counts
//! as two. A node reads its operands and its own state, and writes its result; a view moves nothing. A leaf module is
//! counted by the functions that it calls, and as one node that keeps its intermediate values to itself.

mod count;

use std::fmt;

use indexmap::IndexMap;

use crate::arg::Arg;
use crate::error::Result;
use crate::graph::NodeId;
use crate::graph_module::GraphModule;
use crate::interpreter::Interpreter;
use crate::text::{si, si_dim, table};
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

    fn cells(&self) -> [String; 5] {
        let parameters = self.parameters();
        [
            si_dim(&self.flops),
            si_dim(&self.read),
            si_dim(&self.written),
            if parameters == 0 { "-".to_owned() } else { si(parameters as f64) },
            self.intensity().map_or_else(|| "-".to_owned(), |x| format!("{x:.2}")),
        ]
    }
}

const CELLS: [&str; 5] = ["FLOP", "read B", "written B", "params", "FLOP/B"];

impl CostReport {
    /// The sum over all nodes; a parameter that several nodes share counts once.
    pub fn total(&self) -> Cost {
        self.nodes.iter().fold(Cost::default(), |mut sum, node| {
            sum.add(&node.cost);
            sum
        })
    }

    /// The sums over the modules at most `depth` names below the root, by path, in the order of their first nodes.
    ///
    /// Nodes outside every module that deep count for the module that they are in.
    pub fn by_module(&self, depth: usize) -> IndexMap<String, Cost> {
        let mut sums: IndexMap<String, Cost> = IndexMap::new();
        for node in self.nodes.iter().filter(|node| node.cost.is_work()) {
            let path: Vec<_> = node.module.split('.').take(depth).collect();
            sums.entry(path.join(".")).or_default().add(&node.cost);
        }
        sums
    }

    /// [`CostReport::by_module`] as a table.
    pub fn module_table(&self, depth: usize) -> String {
        let row = |(path, cost): (&str, &Cost)| {
            let path = if path.is_empty() { "(root)" } else { path };
            [path.to_owned()].into_iter().chain(cost.cells()).collect()
        };
        let sums = self.by_module(depth);
        let total = self.total();
        let rows = sums.iter().map(|(path, cost)| (path.as_str(), cost)).chain([("total", &total)]);
        let head: Vec<_> = ["module"].into_iter().chain(CELLS).collect();
        table(&head, &[1, 2, 3, 4, 5], &rows.map(row).collect::<Vec<_>>())
    }
}

impl fmt::Display for CostReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |name: &str, target: &str, cost: &Cost| -> Vec<String> {
            [name, target].into_iter().map(str::to_owned).chain(cost.cells()).collect()
        };
        let work = self.nodes.iter().filter(|node| node.cost.is_work());
        let mut rows: Vec<_> = work.map(|node| row(&node.name, &node.target, &node.cost)).collect();
        rows.push(row("total", "", &self.total()));
        let head: Vec<_> = ["node", "target"].into_iter().chain(CELLS).collect();
        f.write_str(&table(&head, &[2, 3, 4, 5, 6], &rows))
    }
}
