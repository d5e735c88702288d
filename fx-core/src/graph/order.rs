//! Orders of a graph's nodes.

use std::collections::HashMap;

use super::{Graph, NodeId, Opcode, namer};
use crate::error::{Error, ErrorKind, Result};

impl Graph {
    /// Moves nodes behind what they use, and leaves the others as they are. Gives how many were moved.
    ///
    /// # Errors
    /// If there is a cycle; the error names its nodes. Then nothing has moved.
    pub fn sort_topologically(&mut self) -> Result<usize> {
        let before = self.node_ids();
        let mut waiting: HashMap<NodeId, usize> = HashMap::with_capacity(before.len());
        let mut order = Vec::with_capacity(before.len());
        let mut ready = Vec::new();
        for id in &before {
            // A node that waits for nothing goes where it is; one that does goes right after the last thing it waits for.
            let inputs = self[*id].inputs();
            let count = inputs.iter().filter(|input| waiting.get(*input) != Some(&0)).count();
            waiting.insert(*id, count);
            ready.extend((count == 0).then_some(*id));
            while let Some(id) = ready.pop() {
                order.push(id);
                let mut woken: Vec<_> = self[id].users().filter(|user| waiting.contains_key(user)).collect();
                woken.retain(|user| {
                    let left = waiting.get_mut(user).filter(|left| **left > 0);
                    left.is_some_and(|left| {
                        *left -= 1;
                        *left == 0
                    })
                });
                ready.extend(woken.into_iter().rev());
            }
        }
        if order.len() < before.len() {
            // Back from any node that waits, what it waits for comes to a node that was there before.
            let mut walk = indexmap::IndexSet::new();
            let mut at = before.iter().copied().find(|id| waiting[id] > 0);
            while let Some(id) = at.filter(|id| walk.insert(*id)) {
                at = self[id].inputs().into_iter().find(|input| waiting.get(input).is_some_and(|left| *left > 0));
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
        self.namer = namer::Namer::default();
        for id in self.node_ids() {
            let node = &self[id];
            let candidate = match node.op() {
                Opcode::Placeholder => node.target().name().to_owned(),
                op => namer::candidate(op, node.target()),
            };
            let name = self.namer.create(&candidate);
            if let Some(node) = self.node_mut(id) {
                node.name = name;
            }
        }
    }
}
