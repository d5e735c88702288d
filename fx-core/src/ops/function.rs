//! Functions: handles to static definitions, open to user-defined ones.

use std::collections::HashMap;
use std::fmt;
use std::sync::{LazyLock, RwLock};

/// What is known about an op.
pub struct Definition {
    /// Its name, PyTorch's: `conv2d`. A wrapped user function's is its path: `my_crate::helper`.
    pub name: &'static str,
    /// What it does, the first paragraph of its documentation.
    pub doc: &'static str,
    /// Whether a call may be dropped, repeated or reordered.
    pub effect: Effect,
}

/// What a call does beside giving its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing: equal arguments give equal results, an unused call can go.
    Pure,
    /// Draws from the random generator: an unused call can go, two calls cannot be merged.
    Random,
    /// Something else that must happen, once, in order.
    Impure,
}

/// A function that a node can call: a handle to a static [`Definition`], equal by identity.
#[derive(Clone, Copy)]
pub struct Function(&'static Definition);

/// All functions by name: the op table's and the wrapped ones met so far.
static REGISTRY: LazyLock<RwLock<HashMap<&'static str, Function>>> = LazyLock::new(Default::default);

impl Function {
    /// The handle of a definition.
    pub const fn new(definition: &'static Definition) -> Self {
        Self(definition)
    }

    /// Makes the function known by its name to [`Function::lookup`], so that a printed graph parses.
    pub fn register(self) {
        REGISTRY.write().unwrap_or_else(|poison| poison.into_inner()).entry(self.0.name).or_insert(self);
    }

    /// The function named `name`.
    pub fn lookup(name: &str) -> Option<Self> {
        REGISTRY.read().unwrap_or_else(|poison| poison.into_inner()).get(name).copied()
    }

    /// Its definition.
    pub const fn definition(self) -> &'static Definition {
        self.0
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.0.name
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Function {}

impl std::hash::Hash for Function {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}
