//! Observers: functions that hear of every change of a graph, as torch.fx's hooks on nodes.

use std::sync::Arc;

use super::{Graph, NodeId};

/// A change of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A node was made.
    Created(NodeId),
    /// A node is about to be erased; it is still there.
    Erased(NodeId),
    /// A node has other arguments.
    Arguments(NodeId),
}

/// A function that hears of every change.
pub type Observer = Arc<dyn Fn(&Graph, Change) + Send + Sync>;

/// The observers of a graph, each with its number.
pub(super) type Observers = Vec<(u64, Observer)>;

impl Graph {
    /// Calls `observer` at every change from now on, of copies of this graph too: an edit is made on a copy. Gives a number
    /// for [`Graph::unobserve`].
    pub fn observe(&mut self, observer: impl Fn(&Graph, Change) + Send + Sync + 'static) -> u64 {
        let number = self.observers.last().map_or(0, |(number, _)| number + 1);
        self.observers.push((number, Arc::new(observer)));
        number
    }

    /// Ends what [`Graph::observe`] began. Whether it was there.
    pub fn unobserve(&mut self, number: u64) -> bool {
        let before = self.observers.len();
        self.observers.retain(|(have, _)| *have != number);
        self.observers.len() < before
    }

    pub(super) fn notify(&self, change: Change) {
        self.observers.iter().for_each(|(_, observer)| observer(self, change));
    }
}
