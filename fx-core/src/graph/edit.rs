//! The one writer of arguments and users.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::namer;
use super::node::{Node, NodeIds, Slot};
use super::{Change, Graph, Metadata, NodeArg, NodeId, Opcode, Target, missing};
use crate::arg::{Key, Kwargs};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::Effect;

/// Where the next node goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cursor {
    /// After all nodes.
    #[default]
    End,
    /// Before all nodes.
    Start,
    Before(NodeId),
    After(NodeId),
}

impl Graph {
    /// Makes a node at the insertion point, named after `name` or else its target.
    ///
    /// # Panics
    /// If an argument is a node of another graph.
    #[track_caller]
    pub fn create_node(
        &mut self,
        op: Opcode,
        target: impl Into<Target>,
        args: Vec<NodeArg>,
        kwargs: Kwargs<NodeId>,
        name: Option<&str>,
    ) -> NodeId {
        let (target, id) = (target.into(), self.next_id());
        let names = Arc::make_mut(&mut self.names);
        let name = match name {
            Some(name) => names.create(name, id),
            None => names.create(&namer::candidate(op, &target), id),
        };
        let node = Node {
            name,
            op,
            target,
            args: args.into_iter().collect(),
            kwargs,
            users: Default::default(),
            annotation: None,
            meta: Metadata::default(),
        };
        let inputs = node.inputs();
        for input in &inputs {
            self.require(*input);
        }
        self.note_call(id, op, &node.target);
        self.put(id, node);
        self.link(id, self.cursor);
        if let Cursor::After(_) | Cursor::Start = self.cursor {
            // Several nodes made after one place come in the order in which they are made.
            self.cursor = Cursor::After(id);
        }
        self.add_user(&inputs, id);
        self.notify(Change::Created(id));
        id
    }

    /// Runs `f` with the insertion point before a node.
    ///
    /// # Panics
    /// If the node was erased or belongs to another graph.
    #[track_caller]
    pub fn inserting_before<R>(&mut self, id: NodeId, f: impl FnOnce(&mut Graph) -> R) -> R {
        self.with_cursor(Cursor::Before(self.require(id)), f)
    }

    /// Runs `f` with the insertion point after a node; what it makes comes in the order in which it is made.
    ///
    /// # Panics
    /// If the node was erased or belongs to another graph.
    #[track_caller]
    pub fn inserting_after<R>(&mut self, id: NodeId, f: impl FnOnce(&mut Graph) -> R) -> R {
        self.with_cursor(Cursor::After(self.require(id)), f)
    }

    /// Runs `f` with the insertion point before all nodes.
    pub fn inserting_at_start<R>(&mut self, f: impl FnOnce(&mut Graph) -> R) -> R {
        self.with_cursor(Cursor::Start, f)
    }

    /// Puts the insertion point elsewhere until it is put elsewhere again; gives the one before.
    pub(crate) fn set_cursor(&mut self, cursor: Cursor) -> Cursor {
        std::mem::replace(&mut self.cursor, cursor)
    }

    /// Removes a node that has no users.
    ///
    /// # Errors
    /// If it has users, or is not in this graph.
    pub fn erase_node(&mut self, id: NodeId) -> Result<()> {
        let node = self.get(id).ok_or_else(|| unknown(id))?;
        if !node.users.is_empty() {
            let users: Vec<_> = node.users().map(|user| self.display_name(user)).collect();
            let (count, name) = (users.len(), node.name());
            let s = if count == 1 { "" } else { "s" };
            let message = format!("tried to erase node {name} but it still had {count} user{s}: {}", users.join(", "));
            return Err(Error::new(ErrorKind::Graph, message)
                .help("replace its uses first, for example with `replace_all_uses_with`"));
        }
        let inputs = node.inputs();
        self.notify(Change::Erased(id));
        self.forget_user(&inputs, id);
        self.repair_cursors(id);
        self.unlink(id);
        self.len -= 1;
        let slot = &mut self.slots[id.index()];
        slot.node = None;
        slot.generation += 1;
        self.free.push(id.index);
        Ok(())
    }

    /// Makes every user of `old` use `new` instead, but for `new` itself; gives the changed nodes.
    ///
    /// # Panics
    /// If a node was erased or belongs to another graph.
    #[track_caller]
    pub fn replace_all_uses_with(&mut self, old: NodeId, new: NodeId) -> Vec<NodeId> {
        self.replace_uses_if(old, new, |_, user| user != new)
    }

    /// Puts a whole argument, such as a constant or a tuple, where a node was used; gives the changed nodes.
    ///
    /// # Panics
    /// If a node was erased or belongs to another graph.
    #[track_caller]
    pub fn replace_all_uses_with_arg(&mut self, old: NodeId, new: &NodeArg) -> Vec<NodeId> {
        let users: Vec<_> = self[old].users().filter(|user| !mentions(new, *user)).collect();
        self.replace_uses(old, new, &users);
        users
    }

    /// Notes for the node that takes the place of another the shape that is noted for that one.
    pub fn keep_shape(&mut self, old: NodeId, new: &NodeArg) {
        let shape = self.get(old).and_then(|node| node.meta.shape().cloned());
        if let (Some(shape), Some(meta)) = (shape, new.as_value().and_then(|new| self.meta_mut(*new))) {
            meta.insert(shape);
        }
    }

    /// Makes those users of `old` that `replace` accepts use `new` instead; gives the changed nodes.
    ///
    /// # Panics
    /// If a node was erased or belongs to another graph.
    #[track_caller]
    pub fn replace_uses_if(
        &mut self,
        old: NodeId,
        new: NodeId,
        replace: impl Fn(&Graph, NodeId) -> bool,
    ) -> Vec<NodeId> {
        self.require(new);
        let users: Vec<_> = self[old].users().filter(|user| replace(self, *user)).collect();
        self.replace_uses(old, &new.into(), &users);
        users
    }

    /// Makes one node use `new` where it used `old`.
    ///
    /// # Panics
    /// If a node was erased or belongs to another graph.
    #[track_caller]
    pub fn replace_input_with(&mut self, id: NodeId, old: NodeId, new: NodeId) {
        self.map_inputs(id, &mut |input| NodeArg::Value(if input == old { new } else { input }));
    }

    /// Replaces every node among a node's arguments by an argument.
    ///
    /// # Panics
    /// If a node was erased or belongs to another graph.
    #[track_caller]
    pub fn map_inputs(&mut self, id: NodeId, f: &mut impl FnMut(NodeId) -> NodeArg) {
        let mut f = |input: &NodeId| Ok::<_, std::convert::Infallible>(f(*input));
        let node = &self[id];
        let args: Result<Vec<_>, _> = node.args.iter().map(|arg| arg.try_flat_map(&mut f)).collect();
        let kwargs = node.kwargs.try_flat_map(&mut f);
        match (args, kwargs) {
            (Ok(args), Ok(kwargs)) => self.set_arguments(id, args, kwargs),
            (Err(never), _) | (_, Err(never)) => match never {},
        }
    }

    /// Sets the positional arguments.
    ///
    /// # Panics
    /// If a node was erased or belongs to another graph.
    #[track_caller]
    pub fn set_args(&mut self, id: NodeId, args: Vec<NodeArg>) {
        let kwargs = self[id].kwargs.clone();
        self.set_arguments(id, args, kwargs);
    }

    /// Sets the keyword arguments.
    ///
    /// # Panics
    /// If a node was erased or belongs to another graph.
    #[track_caller]
    pub fn set_kwargs(&mut self, id: NodeId, kwargs: Kwargs<NodeId>) {
        let args = self[id].args.to_vec();
        self.set_arguments(id, args, kwargs);
    }

    /// Sets one positional argument.
    ///
    /// # Panics
    /// If there is no such argument, or a node was erased or belongs to another graph.
    #[track_caller]
    pub fn update_arg(&mut self, id: NodeId, index: usize, arg: impl Into<NodeArg>) {
        let mut args = self[id].args.to_vec();
        match args.get_mut(index) {
            Some(old) => *old = arg.into(),
            None => panic!("node {} has no positional argument {index}", self.display_name(id)),
        }
        self.set_args(id, args);
    }

    /// Inserts a positional argument.
    ///
    /// # Panics
    /// If the index is past the end, or a node was erased or belongs to another graph.
    #[track_caller]
    pub fn insert_arg(&mut self, id: NodeId, index: usize, arg: impl Into<NodeArg>) {
        let mut args = self[id].args.to_vec();
        assert!(index <= args.len(), "node {} has no place for a positional argument {index}", self.display_name(id));
        args.insert(index, arg.into());
        self.set_args(id, args);
    }

    /// Sets one keyword argument.
    ///
    /// # Panics
    /// If a node was erased or belongs to another graph.
    #[track_caller]
    pub fn update_kwarg(&mut self, id: NodeId, key: impl Into<Key>, arg: impl Into<NodeArg>) {
        let mut kwargs = self[id].kwargs.clone();
        kwargs.insert(key, arg.into());
        self.set_kwargs(id, kwargs);
    }

    /// Sets what a node does and to what, keeping its arguments.
    ///
    /// # Panics
    /// If the node was erased or belongs to another graph.
    #[track_caller]
    pub fn set_call(&mut self, id: NodeId, op: Opcode, target: impl Into<Target>) {
        let target = target.into();
        self.note_call(self.require(id), op, &target);
        if let Some(node) = self.node_mut(id) {
            (node.op, node.target) = (op, target);
        }
    }

    /// Sets the type written for a node.
    ///
    /// # Panics
    /// If the node was erased or belongs to another graph.
    #[track_caller]
    pub fn annotate(&mut self, id: NodeId, annotation: Option<String>) {
        match self.node_mut(id) {
            Some(node) => node.annotation = annotation,
            None => missing(id),
        }
    }

    /// Gives a node a new name like `candidate`.
    ///
    /// # Panics
    /// If the node was erased or belongs to another graph.
    #[track_caller]
    pub fn rename(&mut self, id: NodeId, candidate: &str) {
        self.require(id);
        if self[id].name() != candidate {
            let name = Arc::make_mut(&mut self.names).create(candidate, id);
            if let Some(node) = self.node_mut(id) {
                node.name = name;
            }
        }
    }

    /// Removes nodes without users that `is_impure` does not protect; placeholders, the output and calls of functions
    /// whose effect is [`Effect::Impure`] always stay. Whether any went.
    pub fn eliminate_dead_code(&mut self, is_impure: impl Fn(&Graph, NodeId) -> bool) -> bool {
        let before = self.len;
        for id in self.node_ids().into_iter().rev() {
            let node = &self[id];
            let kept = matches!(node.op, Opcode::Placeholder | Opcode::Output) || has_effect(node);
            if !kept && node.users.is_empty() && !is_impure(self, id) {
                let erased = self.erase_node(id);
                debug_assert!(erased.is_ok(), "a node without users can be erased");
            }
        }
        self.len != before
    }

    /// Removes a node that has no users, and the reads of state that only it used.
    ///
    /// # Errors
    /// As [`Graph::erase_node`].
    pub fn erase_with_reads(&mut self, id: NodeId) -> Result<()> {
        let mut reads = self.get(id).map(Node::inputs).unwrap_or_default();
        reads.retain(|input| self[*input].op == Opcode::GetAttr);
        self.erase_node(id)?;
        self.erase_unused(reads);
        Ok(())
    }

    /// Removes those of the nodes that nobody uses, the last one first, and gives how many went.
    pub fn erase_unused(&mut self, ids: impl IntoIterator<Item = NodeId, IntoIter: DoubleEndedIterator>) -> usize {
        let mut count = 0;
        for id in ids.into_iter().rev() {
            let unused = self.get(id).is_some_and(|node| node.users.is_empty());
            count += usize::from(unused && self.erase_node(id).is_ok());
        }
        count
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        let slot = self.slots.get_mut(id.index()).filter(|slot| slot.generation == id.generation)?;
        slot.node.as_mut().map(Arc::make_mut)
    }

    #[track_caller]
    pub(super) fn require(&self, id: NodeId) -> NodeId {
        if !self.contains(id) {
            missing(id);
        }
        id
    }

    fn display_name(&self, id: NodeId) -> String {
        self.get(id).map_or_else(|| id.to_string(), |node| format!("%{}", node.name()))
    }

    #[track_caller]
    fn with_cursor<R>(&mut self, cursor: Cursor, f: impl FnOnce(&mut Graph) -> R) -> R {
        let depth = self.outer_cursors.len();
        self.outer_cursors.push(std::mem::replace(&mut self.cursor, cursor));
        let result = f(self);
        // `f` may have put another graph in the place of this one.
        self.cursor = self.outer_cursors.get(depth).copied().unwrap_or_default();
        self.outer_cursors.truncate(depth);
        result
    }

    #[track_caller]
    fn set_arguments(&mut self, id: NodeId, args: Vec<NodeArg>, kwargs: Kwargs<NodeId>) {
        let mut check = |input: &NodeId| {
            self.require(*input);
        };
        args.iter().for_each(|arg| arg.for_each(&mut check));
        kwargs.iter().for_each(|(_, arg)| arg.for_each(&mut check));
        let before = self[id].inputs();
        if let Some(node) = self.node_mut(id) {
            (node.args, node.kwargs) = (args.into_iter().collect(), kwargs);
        }
        let after = self[id].inputs();
        // Where it is a user already, it keeps its place among them.
        self.forget_user(&without(&before, &after), id);
        self.add_user(&without(&after, &before), id);
        self.notify(Change::Arguments(id));
    }

    /// Puts an argument where these users used a node, in their order.
    fn replace_uses(&mut self, old: NodeId, new: &NodeArg, users: &[NodeId]) {
        if !mentions(new, old)
            && let Some(node) = self.node_mut(old)
        {
            // All at once: one by one would take the square of their number.
            let mut gone = users.iter().peekable();
            node.users.retain(|user| gone.next_if(|next| *next == user).is_none());
        }
        for user in users {
            self.map_inputs(*user, &mut |input| if input == old { new.clone() } else { NodeArg::Value(input) });
        }
    }

    /// Notes a user that these nodes do not have yet.
    fn add_user(&mut self, inputs: &[NodeId], user: NodeId) {
        for input in inputs {
            if let Some(node) = self.node_mut(*input) {
                node.users.push(user);
            }
        }
    }

    fn forget_user(&mut self, inputs: &[NodeId], user: NodeId) {
        for input in inputs {
            let place = self.get(*input).and_then(|node| node.users.iter().rposition(|have| *have == user));
            if let (Some(place), Some(node)) = (place, self.node_mut(*input)) {
                node.users.remove(place);
            }
        }
    }

    /// The id that the next new node gets.
    fn next_id(&self) -> NodeId {
        match self.free.last() {
            Some(index) => NodeId { index: *index, generation: self.slots[*index as usize].generation },
            None => {
                let index = u32::try_from(self.slots.len()).expect("a graph holds fewer than 2^32 nodes");
                NodeId { index, generation: 0 }
            }
        }
    }

    fn put(&mut self, id: NodeId, node: Node) {
        let slot = Slot { generation: id.generation, node: Some(Arc::new(node)), prev: None, next: None, rank: 0 };
        match self.free.pop() {
            Some(_) => self.slots[id.index()] = slot,
            None => self.slots.push(slot),
        }
        self.len += 1;
    }
}

/// The nodes of one list that are not in the other.
fn without(nodes: &[NodeId], others: &[NodeId]) -> NodeIds {
    if others.len() > 16 {
        let others: FxHashSet<_> = others.iter().collect();
        return nodes.iter().copied().filter(|id| !others.contains(id)).collect();
    }
    nodes.iter().copied().filter(|id| !others.contains(id)).collect()
}

fn mentions(arg: &NodeArg, id: NodeId) -> bool {
    let mut found = false;
    arg.for_each(&mut |other| found |= *other == id);
    found
}

/// Whether a node calls a function that must be called, used or not.
fn has_effect(node: &Node) -> bool {
    node.function().is_some_and(|function| function.effect() == Effect::Impure)
}

fn unknown(id: NodeId) -> Error {
    Error::new(ErrorKind::Graph, format!("node {id} was erased or belongs to another graph"))
}
