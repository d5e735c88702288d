//! The order of a graph's nodes: the one writer of the links between them.
//!
//! Each node has a rank that grows along the order, so that two nodes are compared without a walk.

use std::sync::Arc;

use super::edit::Cursor;
use super::node::Slot;
use super::{Graph, NodeId, Opcode, namer};
use crate::error::{Error, ErrorKind, Result};
use crate::sort::sort_by_key;

/// How far apart the ranks of nodes are that are made one after the other.
const STEP: u64 = 1 << 20;

impl Graph {
    /// Moves a node before another.
    ///
    /// # Panics
    /// If a node was erased or belongs to another graph.
    #[track_caller]
    pub fn move_before(&mut self, id: NodeId, place: NodeId) {
        self.relocate(id, place, Cursor::Before(place));
    }

    /// Moves a node after another.
    ///
    /// # Panics
    /// If a node was erased or belongs to another graph.
    #[track_caller]
    pub fn move_after(&mut self, id: NodeId, place: NodeId) {
        self.relocate(id, place, Cursor::After(place));
    }

    /// Whether a node comes before another; `a < b` of torch.fx's nodes.
    ///
    /// # Panics
    /// If a node was erased or belongs to another graph.
    #[track_caller]
    pub fn comes_before(&self, a: NodeId, b: NodeId) -> bool {
        self.slots[self.require(a).index()].rank < self.slots[self.require(b).index()].rank
    }

    /// Sorts nodes by their order; those that were erased come first.
    pub fn sort_by_order(&self, ids: &mut [NodeId]) {
        sort_by_key(ids, |id| self.rank(*id));
    }

    /// The node that comes last.
    pub fn last_of(&self, ids: impl IntoIterator<Item = NodeId>) -> Option<NodeId> {
        ids.into_iter().max_by_key(|id| self.rank(*id))
    }

    pub(super) fn rank(&self, id: NodeId) -> Option<u64> {
        self.get(id).map(|_| self.slots[id.index()].rank)
    }

    /// Moves nodes behind what they use, and leaves the others as they are. Gives how many were moved.
    ///
    /// # Errors
    /// If there is a cycle; the error names its nodes. Then nothing has moved.
    pub fn sort_topologically(&mut self) -> Result<usize> {
        let before = self.node_ids();
        // How many inputs each node waits for; none before the walk has come to it.
        let mut waiting: Vec<Option<usize>> = vec![None; self.slot_count()];
        let mut order = Vec::with_capacity(before.len());
        let mut ready = Vec::new();
        for id in &before {
            // A node that waits for nothing goes where it is; one that does goes right after the last thing it waits for.
            let inputs = self[*id].inputs();
            let count = inputs.iter().filter(|input| waiting[input.index()] != Some(0)).count();
            waiting[id.index()] = Some(count);
            ready.extend((count == 0).then_some(*id));
            while let Some(id) = ready.pop() {
                order.push(id);
                let first = ready.len();
                for user in self[id].users() {
                    if let Some(left) = waiting[user.index()].as_mut().filter(|left| **left > 0) {
                        *left -= 1;
                        ready.extend((*left == 0).then_some(user));
                    }
                }
                ready[first..].reverse();
            }
        }
        if order.len() < before.len() {
            let waits = |id: &NodeId| waiting[id.index()].is_some_and(|left| left > 0);
            // Back from any node that waits, what it waits for comes to a node that was there before.
            let mut walk = indexmap::IndexSet::new();
            let mut at = before.iter().copied().find(waits);
            while let Some(id) = at.filter(|id| walk.insert(*id)) {
                at = self[id].inputs().into_iter().find(waits);
            }
            let first = at.and_then(|id| walk.get_index_of(&id)).unwrap_or(0);
            let names: Vec<_> = walk.iter().skip(first).rev().map(|id| format!("%{}", self[*id].name())).collect();
            return Err(Error::new(ErrorKind::Graph, format!("these nodes need each other: {}", names.join(", "))));
        }
        self.arrange(&order);
        Ok(before.iter().zip(&order).filter(|(before, after)| before != after).count())
    }

    /// Puts all nodes in this order.
    pub(crate) fn arrange(&mut self, order: &[NodeId]) {
        for pair in order.windows(2) {
            if self.next(pair[0]) != Some(pair[1]) {
                self.move_after(pair[1], pair[0]);
            }
        }
    }

    /// Names all nodes anew, in their order, as if they had just been made: inputs after their names, others after their
    /// targets.
    pub fn rename_all(&mut self) {
        let mut names = namer::Namer::default();
        for id in self.node_ids() {
            let node = &self[id];
            let candidate = match node.op() {
                Opcode::Placeholder => node.target().name().into(),
                op => namer::candidate(op, node.target()),
            };
            let name = names.create(&candidate, id);
            if let Some(node) = self.node_mut(id) {
                node.name = name;
            }
        }
        self.names = Arc::new(names);
    }

    pub(super) fn link(&mut self, id: NodeId, cursor: Cursor) {
        let (prev, next) = match (cursor, self.ends) {
            (_, None) => (None, None),
            (Cursor::End, Some((_, last))) => (Some(last), None),
            (Cursor::Start, Some((first, _))) => (None, Some(first)),
            (Cursor::Before(place), _) => (self.slots[place.index()].prev, Some(place)),
            (Cursor::After(place), _) => (Some(place), self.slots[place.index()].next),
        };
        let rank = self.rank_between(prev, next);
        let slot = &mut self.slots[id.index()];
        (slot.prev, slot.next, slot.rank) = (prev, next, rank);
        if let Some(prev) = prev {
            self.slots[prev.index()].next = Some(id);
        }
        if let Some(next) = next {
            self.slots[next.index()].prev = Some(id);
        }
        let (first, last) = self.ends.unwrap_or((id, id));
        self.ends = Some((if prev.is_none() { id } else { first }, if next.is_none() { id } else { last }));
    }

    pub(super) fn unlink(&mut self, id: NodeId) {
        let Slot { prev, next, .. } = self.slots[id.index()];
        self.slots[id.index()].prev = None;
        self.slots[id.index()].next = None;
        if let Some(prev) = prev {
            self.slots[prev.index()].next = next;
        }
        if let Some(next) = next {
            self.slots[next.index()].prev = prev;
        }
        self.ends = self.ends.and_then(|(first, last)| {
            let first = if first == id { next } else { Some(first) };
            let last = if last == id { prev } else { Some(last) };
            first.zip(last)
        });
    }

    #[track_caller]
    fn relocate(&mut self, id: NodeId, place: NodeId, cursor: Cursor) {
        self.require(id);
        self.require(place);
        if id != place {
            self.repair_cursors(id);
            self.unlink(id);
            self.link(id, cursor);
        }
    }

    /// Keeps the insertion points where they are when a node leaves its place.
    pub(super) fn repair_cursors(&mut self, id: NodeId) {
        let Slot { prev, next, .. } = self.slots[id.index()];
        for cursor in self.outer_cursors.iter_mut().chain([&mut self.cursor]) {
            *cursor = match *cursor {
                Cursor::Before(at) if at == id => next.map_or(Cursor::End, Cursor::Before),
                Cursor::After(at) if at == id => prev.map_or(Cursor::Start, Cursor::After),
                other => other,
            };
        }
    }

    /// A rank for a node between these two.
    fn rank_between(&mut self, prev: Option<NodeId>, next: Option<NodeId>) -> u64 {
        let rank = |graph: &Self, id: NodeId| graph.slots[id.index()].rank;
        match (prev, next) {
            (None, None) => u64::MAX / 2,
            (Some(prev), None) => rank(self, prev) + STEP,
            (None, Some(next)) => rank(self, next) - STEP,
            (Some(prev), Some(next)) => {
                if rank(self, next) - rank(self, prev) < 2 {
                    self.make_room(prev);
                }
                u64::midpoint(rank(self, prev), rank(self, next))
            }
        }
    }

    /// Spreads the ranks after a node as far as the first one that is further away than the square of the number of nodes
    /// between: on average few (Dietz and Sleator 1987).
    fn make_room(&mut self, id: NodeId) {
        let start = self.slots[id.index()].rank;
        let mut crowd = Vec::new();
        let mut at = self.next(id);
        let width = loop {
            let count = crowd.len() as u64 + 1;
            match at {
                None => break count * STEP,
                Some(end) if self.slots[end.index()].rank - start > count * count => {
                    break self.slots[end.index()].rank - start;
                }
                Some(close) => crowd.push(close),
            }
            at = at.and_then(|at| self.next(at));
        };
        let step = width / (crowd.len() as u64 + 1);
        for (place, id) in (1..).zip(crowd) {
            self.slots[id.index()].rank = start + place * step;
        }
    }
}
