//! Splitting a whole graph between a device and the CPU: torch.fx's splitter.
//!
//! The parts take turns, `_run_on_cpu_0`, `_run_on_acc_1` and so on, as few as possible; nothing stays in the outer graph
//! but the calls of the parts.

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::extract::{Partition, dependencies, extract};
use super::partition::supported;
use super::split::calls;
use super::support::OperatorSupport;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::NodeId;
use crate::graph_module::GraphModule;
use crate::sort::sort_by_key;

/// Limits of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitSettings {
    /// A part for the device with fewer calls goes to the CPU.
    pub min_acc_module_size: usize,
    /// At most so many parts may go to the device.
    pub max_acc_splits: Option<usize>,
}

impl Default for SplitSettings {
    fn default() -> Self {
        Self { min_acc_module_size: 1, max_acc_splits: None }
    }
}

/// Splits a model into parts for a device, which has what `support` says, and parts for the CPU.
///
/// # Errors
/// If there are more parts for the device than the settings allow, or a part's name is taken.
pub fn split_by_support(
    module: &GraphModule,
    support: impl OperatorSupport,
    settings: SplitSettings,
) -> Result<GraphModule> {
    let mut acc = supported(module, &support);
    let mut parts = turns(module, &acc);
    let small = |nodes: &Vec<NodeId>| nodes.len() < settings.min_acc_module_size;
    let too_small = parts.iter().filter(|((_, is_acc), nodes)| *is_acc && small(nodes)).flat_map(|(_, nodes)| nodes);
    let too_small: FxHashSet<NodeId> = too_small.copied().collect();
    if !too_small.is_empty() {
        acc.retain(|id| !too_small.contains(id));
        parts = turns(module, &acc);
    }
    let count = parts.iter().filter(|((_, is_acc), _)| *is_acc).count();
    if let Some(limit) = settings.max_acc_splits.filter(|limit| count > *limit) {
        let message = format!("the split has {count} parts for the device, and at most {limit} are allowed");
        return Err(Error::new(ErrorKind::Unsupported, message)
            .help("raise `max_acc_splits` or `min_acc_module_size`, or support more ops"));
    }
    let named = |(i, ((_, is_acc), nodes)): (usize, ((usize, bool), Vec<NodeId>))| {
        let device = if is_acc { "acc" } else { "cpu" };
        Partition { name: format!("_run_on_{device}_{i}"), nodes }
    };
    extract(module, &parts.into_iter().enumerate().map(named).collect::<Vec<_>>())
}

/// The calls by turn: how often the longest way to them changes between device and CPU, and where they run.
fn turns(module: &GraphModule, acc: &FxHashSet<NodeId>) -> Vec<((usize, bool), Vec<NodeId>)> {
    let order: Vec<NodeId> = calls(module.graph()).collect();
    let mut turns: FxHashMap<NodeId, usize> = order.iter().map(|id| (*id, 0)).collect();
    for (before, id) in dependencies(module) {
        if let Some(turn) =
            turns.get(&before).map(|turn| turn + usize::from(acc.contains(&before) != acc.contains(&id)))
        {
            turns.entry(id).and_modify(|have| *have = turn.max(*have));
        }
    }
    let mut parts: IndexMap<(usize, bool), Vec<NodeId>> = IndexMap::new();
    for id in order {
        parts.entry((turns[&id], acc.contains(&id))).or_default().push(id);
    }
    let mut parts: Vec<_> = parts.into_iter().collect();
    sort_by_key(&mut parts, |(turn, _)| *turn);
    parts
}
