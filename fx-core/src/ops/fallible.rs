//! Scopes in which an op that fails gives a stand-in instead of panicking, and the first error is kept.
//!
//! A `forward` returns a value, not a `Result`; eager code panics at the user's line. Where a graph, a plan or
//! shape propagation runs such a `forward` (a leaf module), the error must come out as an `Err` instead.

use std::cell::RefCell;

use crate::error::{Error, Result};

thread_local! {
    /// The open scopes of this thread, innermost last, each with its first error.
    static SCOPES: RefCell<Vec<Option<Error>>> = const { RefCell::new(Vec::new()) };
}

/// A scope; it closes when dropped, so that a panic does not leave it open.
struct Scope;

impl Scope {
    fn open() -> Self {
        SCOPES.with_borrow_mut(|scopes| scopes.push(None));
        Self
    }

    /// The error that was noted, if one was.
    fn close(self) -> Result<()> {
        SCOPES.with_borrow_mut(|scopes| scopes.last_mut().and_then(Option::take)).map_or(Ok(()), Err)
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        SCOPES.with_borrow_mut(|scopes| scopes.pop());
    }
}

/// Runs `f`; the first error that an op met in it comes out as the result.
///
/// # Errors
/// The first error noted while `f` ran.
pub fn scope<R>(f: impl FnOnce() -> R) -> Result<R> {
    let scope = Scope::open();
    let result = f();
    scope.close()?;
    Ok(result)
}

/// Keeps `error` if it is the first of the innermost scope; whether there is a scope.
pub(crate) fn note(error: Error) -> bool {
    SCOPES.with_borrow_mut(|scopes| match scopes.last_mut() {
        Some(first) => {
            first.get_or_insert(error);
            true
        }
        None => false,
    })
}

/// Whether a scope is open on this thread.
pub(crate) fn is_open() -> bool {
    SCOPES.with_borrow(|scopes| !scopes.is_empty())
}
