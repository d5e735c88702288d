//! Copies of modules that share no state with the original.
//!
//! The clone of a module shares its state. While a deep copy is made, on its thread, the clone of a piece of state is a
//! new one instead, and always the same new one: what was shared within the original is shared within the copy.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Entry, Module, entries};
use crate::error::{Error, ErrorKind, Result};

thread_local! {
    /// The copy of each piece of state, by the address of the original; none if no deep copy is being made.
    static COPIES: RefCell<Option<FxHashMap<usize, Box<dyn Any>>>> = const { RefCell::new(None) };
}

/// A copy of a module with state of its own: parameters, buffers, training flags. Tensors are shared until one side
/// replaces its own. Works on models and on captured models.
///
/// # Errors
/// If a part of the module cannot be copied, because it lies in an `Arc`.
///
/// ```
/// use fx_core::{GraphModule, Result, StateDictExt, module};
/// # fn copy(traced: &GraphModule) -> Result<()> {
/// let copy = module::deep_copy(traced)?;
/// copy.load_state_dict(&traced.state_dict())?; // leaves `traced` alone
/// # Ok(())
/// # }
/// ```
pub fn deep_copy<M: Module + Clone>(module: &M) -> Result<M> {
    let outer = COPIES.replace(Some(FxHashMap::default()));
    let scope = Scope { outer };
    let copy = module.clone();
    drop(scope);
    let own: FxHashSet<usize> = entries(module).iter().filter_map(|(_, entry)| entry.address()).collect();
    match entries(&copy).iter().find(|(_, entry)| entry.address().is_some_and(|address| own.contains(&address))) {
        None => Ok(copy),
        Some((path, _)) => {
            let message = format!("the copy of a {} would share `{path}` with the original", module.type_name());
            Err(Error::new(ErrorKind::State, message).help("keep modules in a Box, not in an Arc, to copy them deeply"))
        }
    }
}

/// Whether clones are deep copies now.
pub(crate) fn is_copying() -> bool {
    COPIES.with_borrow(Option::is_some)
}

/// The clone of a handle of state.
pub(super) fn handle<T: 'static>(state: &Arc<T>, copy: impl FnOnce(&T) -> T) -> Arc<T> {
    if !is_copying() {
        return Arc::clone(state);
    }
    let address = Arc::as_ptr(state).addr();
    let known = || COPIES.with_borrow(|copies| copies.as_ref()?.get(&address)?.downcast_ref::<Arc<T>>().cloned());
    known().unwrap_or_else(|| {
        let copy = Arc::new(copy(state));
        COPIES.with_borrow_mut(|copies| copies.as_mut().map(|copies| copies.insert(address, Box::new(copy.clone()))));
        copy
    })
}

/// Ends a deep copy when dropped, whether or not it succeeded.
struct Scope {
    outer: Option<FxHashMap<usize, Box<dyn Any>>>,
}

impl Drop for Scope {
    fn drop(&mut self) {
        COPIES.set(self.outer.take());
    }
}

impl Entry<'_> {
    /// The address of a piece of state.
    fn address(&self) -> Option<usize> {
        match self {
            Entry::Module(_) => None,
            Entry::Parameter(parameter) => Some(parameter.id()),
            Entry::Buffer(buffer) => Some(buffer.id()),
            Entry::Training(flag) => Some(flag.id()),
        }
    }
}
