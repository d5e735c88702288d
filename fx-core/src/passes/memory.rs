//! How much memory a schedule needs: which values live at each node, and where they are the most.
//!
//! A value lives from its node to its last use; a view lives in its operand's storage. Inputs are the caller's and live
//! throughout, as the output does to the end. State is counted apart. What a leaf module needs within itself, and what the
//! plan saves by writing into operands that nobody else needs, is not counted.

mod schedule;

use std::fmt;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::graph::{Graph, Node, NodeId, Opcode};
use crate::graph_module::GraphModule;
use crate::ops::is_view;
use crate::sort::sort_by_key;
use crate::text::{si, table};
use crate::value::Meta;
use schedule::check_order;

/// The memory that a schedule needs, in bytes.
///
/// Its printed form says how much, where, and which values live there, the largest first.
#[derive(Clone, Debug)]
pub struct MemoryProfile {
    /// Bytes of parameters and buffers.
    pub state: usize,
    /// Bytes of the values that live while each node runs, in the order of the schedule.
    pub live: Vec<(NodeId, usize)>,
    /// The most of them.
    pub peak: usize,
    /// The name of the first node where it is reached; empty for a graph without nodes.
    pub peak_node: String,
    /// The values that live there, by name, the largest first.
    pub at_peak: Vec<(String, usize)>,
}

/// The memory that the graph's own order needs. Shapes must have been propagated.
///
/// # Errors
/// If the size of a value is not known.
pub fn peak_memory(module: &GraphModule) -> Result<MemoryProfile> {
    peak_memory_of(module, &module.graph().node_ids())
}

/// The memory that an order of the graph's nodes needs. Shapes must have been propagated.
///
/// # Errors
/// If the size of a value is not known, the order leaves a node out or has it twice, or a node comes before an input of
/// it.
pub fn peak_memory_of(module: &GraphModule, order: &[NodeId]) -> Result<MemoryProfile> {
    let graph = module.graph();
    check_order(graph, order)?;
    let storages = storages(graph, order)?;
    let mut change = vec![0_isize; order.len() + 1];
    for storage in storages.values() {
        change[storage.born] += storage.bytes as isize;
        change[storage.dies + 1] -= storage.bytes as isize;
    }
    let mut sum = 0;
    let live: Vec<(NodeId, usize)> = order
        .iter()
        .zip(change)
        .map(|(id, change)| {
            sum += change;
            (*id, sum as usize)
        })
        .collect();
    let peak = live.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    let place = live.iter().position(|(_, bytes)| *bytes == peak).unwrap_or(0);
    let alive = order.iter().filter_map(|id| storages.get(id).map(|storage| (id, storage)));
    let alive = alive.filter(|(_, storage)| storage.bytes > 0 && (storage.born..=storage.dies).contains(&place));
    let mut at_peak: Vec<_> = alive.map(|(id, storage)| (graph[*id].name().to_owned(), storage.bytes)).collect();
    sort_by_key(&mut at_peak, |(_, bytes)| std::cmp::Reverse(*bytes));
    let peak_node = live.get(place).map_or_else(String::new, |(id, _)| graph[*id].name().to_owned());
    let state = module.state_dict().values().map(|tensor| tensor.numel() * tensor.dtype().size()).sum();
    Ok(MemoryProfile { state, live, peak, peak_node, at_peak })
}

/// The memory of one value and of its views: from which place in the order to which.
struct Storage {
    bytes: usize,
    born: usize,
    dies: usize,
}

fn storages(graph: &Graph, order: &[NodeId]) -> Result<IndexMap<NodeId, Storage>> {
    let mut storages: IndexMap<NodeId, Storage> = IndexMap::new();
    let mut owners: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    let end = order.len().saturating_sub(1);
    for (place, &id) in order.iter().enumerate() {
        let node = &graph[id];
        for input in node.inputs() {
            if let Some(storage) = storages.get_mut(&owners[&input]) {
                storage.dies = storage.dies.max(place);
            }
        }
        let owner = match viewed(node).filter(|input| owners.contains_key(input)) {
            Some(input) => owners[&input],
            None => {
                let (born, dies) = if node.op() == Opcode::Placeholder { (0, end) } else { (place, place) };
                storages.insert(id, Storage { bytes: bytes_of(graph, id)?, born, dies });
                id
            }
        };
        owners.insert(id, owner);
    }
    Ok(storages)
}

/// The node whose storage a node's value is in.
fn viewed(node: &Node) -> Option<NodeId> {
    node.function().filter(|function| is_view(*function)).and_then(|_| node.args().first()?.as_value().copied())
}

/// The bytes that a node's value takes; state and the output take none of their own.
fn bytes_of(graph: &Graph, id: NodeId) -> Result<usize> {
    let node = &graph[id];
    if matches!(node.op(), Opcode::GetAttr | Opcode::Output) {
        return Ok(0);
    }
    let unknown = |what: &str| {
        Error::shape(format!("the size of %{} is not known: {what}", node.name()))
            .help("run `infer_shapes` on sizes without symbols, or `propagate_shapes`, first")
            .at_node(|| graph.format_node(id))
    };
    let shape = node.meta().shape().ok_or_else(|| unknown("no shape was propagated"))?;
    let mut bytes = Some(0);
    shape.for_each(&mut |meta: &Meta| {
        let size = match meta {
            Meta::Tensor(tensor) => tensor.bytes(),
            Meta::Int(_) => Some(0),
            Meta::Unknown => None,
        };
        bytes = bytes.zip(size).map(|(sum, size)| sum + size);
    });
    bytes.ok_or_else(|| unknown(&shape.as_value().map_or_else(|| format!("{shape:?}"), ToString::to_string)))
}

impl fmt::Display for MemoryProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (peak, state) = (si(self.peak as f64), si(self.state as f64));
        writeln!(f, "peak: {peak} B of values at %{}, and {state} B of state", self.peak_node)?;
        let rows: Vec<_> = self.at_peak.iter().map(|(name, bytes)| vec![name.clone(), si(*bytes as f64)]).collect();
        f.write_str(&table(&["value", "B"], &[1], &rows))
    }
}
