//! Splitting a graph by what a backend can run: torch.fx's `CapabilityBasedPartitioner`.
//!
//! Every supported node goes into the partition of its level: how many times the longest way to it goes from a supported
//! node to one that is not. A way that leaves a partition therefore comes back to a later one, so that there are no
//! cycles; no other partitioning has fewer partitions, for a graph with a way of that many changes needs as many; and
//! one walk over the graph finds them. torch.fx merges pairs of partitions as long as no cycle appears, which takes the
//! square of the nodes and may end with more.

mod groups;

use indexmap::IndexMap;
use rustc_hash::FxHashSet;

use super::extract::{Partition, extract};
use super::split::calls;
use super::support::OperatorSupport;
use crate::error::Result;
use crate::graph::{NodeId, Target};
use crate::graph_module::GraphModule;
pub(super) use groups::supported;
use groups::{connected, levels};

/// Groups the nodes that a backend supports into as few modules as possible, named `fused_0` and so on.
///
/// ```
/// # use fx_core::{GraphModule, graph::Graph};
/// use fx_core::passes::CapabilityBasedPartitioner;
/// # let mut graph = Graph::new();
/// # let x = graph.placeholder("x");
/// # let relu = graph.call_method("relu", [x]);
/// # let neg = graph.call_method("neg", [relu]);
/// # graph.output(neg);
/// # let module = GraphModule::with_state(graph, Default::default(), "Two")?;
/// let supported = |module: &GraphModule, id| ["relu", "neg"].contains(&module.graph()[id].target().name());
/// let fused = CapabilityBasedPartitioner::new(&module, supported).partition_and_fuse()?;
/// assert!(fused.graph().find("fused_0").is_some());
/// # Ok::<(), fx_core::Error>(())
/// ```
pub struct CapabilityBasedPartitioner<'a, S> {
    module: &'a GraphModule,
    support: S,
    single: bool,
    non_compute: Vec<Target>,
    allowed_single: Vec<Target>,
    horizontal: bool,
}

impl<'a, S: OperatorSupport> CapabilityBasedPartitioner<'a, S> {
    /// A partitioner for what `support` says.
    pub fn new(module: &'a GraphModule, support: S) -> Self {
        Self { module, support, single: false, non_compute: Vec::new(), allowed_single: Vec::new(), horizontal: true }
    }

    /// Whether a partition may have a single node that computes; it may not unless this says so.
    #[must_use]
    pub fn allows_single_node_partition(mut self, allows: bool) -> Self {
        self.single = allows;
        self
    }

    /// Calls that do not compute: they do not count, and do not stand at the ends of a partition.
    #[must_use]
    pub fn non_compute_ops(mut self, targets: impl IntoIterator<Item = impl Into<Target>>) -> Self {
        self.non_compute = targets.into_iter().map(Into::into).collect();
        self
    }

    /// Calls that may be a partition by themselves.
    #[must_use]
    pub fn allowed_single_node_partition_ops(mut self, targets: impl IntoIterator<Item = impl Into<Target>>) -> Self {
        self.allowed_single = targets.into_iter().map(Into::into).collect();
        self
    }

    /// Keeps nodes apart that do not use each other's values.
    #[must_use]
    pub fn skip_horizontal_fusion(mut self) -> Self {
        self.horizontal = false;
        self
    }

    /// The partitions that there would be, in their order.
    pub fn propose_partitions(&self) -> Vec<Partition> {
        let graph = self.module.graph();
        let supported = supported(self.module, &self.support);
        let levels = levels(self.module, &supported);
        let mut groups: IndexMap<usize, Vec<NodeId>> = IndexMap::new();
        for id in calls(graph).filter(|id| supported.contains(id)) {
            groups.entry(levels[&id]).or_default().push(id);
        }
        groups.sort_keys();
        let groups = groups.into_values();
        let groups: Vec<_> = if self.horizontal {
            groups.collect()
        } else {
            groups.flat_map(|nodes| connected(graph, &nodes)).collect()
        };
        let groups = groups.into_iter().map(|nodes| self.without_bookends(nodes)).filter(|nodes| self.is_worth(nodes));
        groups.enumerate().map(|(i, nodes)| Partition { name: format!("fused_{i}"), nodes }).collect()
    }

    /// The model with each partition in a module of its own.
    ///
    /// # Errors
    /// If a partition's name is taken, a node is in two, or they depend on each other in a cycle.
    pub fn fuse_partitions(&self, partitions: &[Partition]) -> Result<GraphModule> {
        extract(self.module, partitions)
    }

    /// [`propose_partitions`](Self::propose_partitions), then [`fuse_partitions`](Self::fuse_partitions).
    ///
    /// # Errors
    /// If the name `fused_0` is taken.
    pub fn partition_and_fuse(&self) -> Result<GraphModule> {
        self.fuse_partitions(&self.propose_partitions())
    }

    /// The nodes without those that do not compute and have nothing that computes before them, or nothing after.
    fn without_bookends(&self, nodes: Vec<NodeId>) -> Vec<NodeId> {
        let graph = self.module.graph();
        let computes = |id: &NodeId| !self.non_compute.contains(graph[*id].target());
        let (mut before, mut after): (FxHashSet<NodeId>, FxHashSet<NodeId>) =
            (FxHashSet::default(), FxHashSet::default());
        for id in &nodes {
            if computes(id) || graph[*id].inputs().iter().any(|input| before.contains(input)) {
                before.insert(*id);
            }
        }
        for id in nodes.iter().rev() {
            if computes(id) || graph[*id].users().any(|user| after.contains(&user)) {
                after.insert(*id);
            }
        }
        nodes.into_iter().filter(|id| before.contains(id) && after.contains(id)).collect()
    }

    fn is_worth(&self, nodes: &[NodeId]) -> bool {
        let graph = self.module.graph();
        let compute: Vec<_> = nodes.iter().filter(|id| !self.non_compute.contains(graph[**id].target())).collect();
        match compute[..] {
            [] => false,
            [one] => self.single || self.allowed_single.contains(graph[*one].target()),
            _ => true,
        }
    }
}
