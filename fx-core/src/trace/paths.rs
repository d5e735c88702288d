//! Where modules, parameters and buffers are, by what identifies them. What is shared is known by the first of its paths.

use std::any::{Any, TypeId};

use rustc_hash::FxHashMap;

use crate::module::{Entry, Module, Visitor};

/// What identifies a module: its address and its type, for a struct and its first field share an address.
type Identity = (usize, TypeId);

/// The paths that are known.
#[derive(Default)]
pub(super) struct Paths {
    /// All paths, one after the other.
    text: String,
    /// From where to where each path is in the text.
    modules: FxHashMap<Identity, (usize, usize)>,
    state: FxHashMap<usize, (usize, usize)>,
}

impl Paths {
    /// Notes a module that is at `path`, and all below it.
    pub(super) fn add(&mut self, path: &str, module: &dyn Module) {
        self.module(path, module);
        module.visit(path, self);
    }

    /// Notes a parameter or buffer that is at `path`.
    pub(super) fn add_state(&mut self, path: &str, id: usize) {
        if !self.state.contains_key(&id) {
            let place = self.push(path);
            self.state.insert(id, place);
        }
    }

    /// The path of a module.
    pub(super) fn of_module(&self, module: &dyn Module) -> Option<&str> {
        self.modules.get(&identity(module)).map(|place| self.text(*place))
    }

    /// The path of a parameter or buffer.
    pub(super) fn of_state(&self, id: usize) -> Option<&str> {
        self.state.get(&id).map(|place| self.text(*place))
    }

    /// How many parameters and buffers are known.
    pub(super) fn state_count(&self) -> usize {
        self.state.len()
    }

    /// Whether a module is at this path.
    pub(super) fn has_module(&self, path: &str) -> bool {
        self.modules.values().any(|place| self.text(*place) == path)
    }

    /// Whether a parameter or buffer is at this path.
    pub(super) fn has_state(&self, path: &str) -> bool {
        self.state.values().any(|place| self.text(*place) == path)
    }

    fn push(&mut self, path: &str) -> (usize, usize) {
        let start = self.text.len();
        self.text.push_str(path);
        (start, self.text.len())
    }

    fn text(&self, (start, end): (usize, usize)) -> &str {
        &self.text[start..end]
    }
}

impl<'a> Visitor<'a> for Paths {
    fn module(&mut self, path: &str, module: &'a dyn Module) -> bool {
        let identity = identity(module);
        if !self.modules.contains_key(&identity) {
            let place = self.push(path);
            self.modules.insert(identity, place);
        }
        true
    }

    fn state(&mut self, path: &str, entry: Entry<'a>) {
        match entry {
            Entry::Parameter(parameter) => self.add_state(path, parameter.id()),
            Entry::Buffer(buffer) => self.add_state(path, buffer.id()),
            Entry::Module(_) | Entry::Training(_) => {}
        }
    }
}

fn identity(module: &dyn Module) -> Identity {
    ((module as *const dyn Module).cast::<()>().addr(), Any::type_id(module))
}
