//! What an expansion or a capture demands of a module, each in a trait of its own, so that the compiler's first line is
//! about the module and not about the trait behind.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use super::Traceable;
use crate::arg::Arg;
use crate::value::Tree;

/// The static arguments of a `forward`, made of those that were given: they have to be the same.
#[diagnostic::on_unimplemented(
    message = "`forward` takes the static arguments `{Self}`, not `{Given}`",
    label = "other static arguments than its signature has",
    note = "give a tuple with one value for each parameter that is no tensor: `fx::trace_with(&model, (true,))`"
)]
pub trait StaticsFrom<Given> {
    /// The arguments.
    fn from_given(given: Given) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T> StaticsFrom<T> for T {
    fn from_given(given: T) -> T {
        given
    }
}

/// Keeps the compiler from taking what is expected for what was given, before it has looked at that.
pub struct Other<T>(T);

#[diagnostic::do_not_recommend]
impl<T> StaticsFrom<Other<T>> for T {
    fn from_given(given: Other<T>) -> T {
        given.0
    }
}

/// A leaf module, which needs a `forward`.
#[diagnostic::on_unimplemented(
    message = "the leaf module `{Self}` has no traceable `forward`",
    label = "a leaf is recorded as one call of its `forward`",
    note = "write `forward` in an `impl` block marked `#[traceable]`, or remove `leaf`"
)]
pub trait LeafForward {}

#[diagnostic::do_not_recommend]
impl<M: Traceable> LeafForward for M {}

/// That a module is a leaf.
pub fn leaf<M: LeafForward>(_: &M) -> bool {
    true
}

/// A field of a module, which is cloned with it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a module",
    label = "a module is cloned to be shared with its captures",
    note = "derive `Clone` for it, or hold it in an `Arc`"
)]
pub trait FieldType {
    /// A handle of it.
    #[must_use]
    fn share(&self) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Clone> FieldType for T {
    fn share(&self) -> T {
        self.clone()
    }
}

/// What a refused field becomes: it is shared and cloned as a module needs it, and its uses stay right.
pub struct RefusedField<T>(PhantomData<fn() -> T>);

impl<T> Deref for RefusedField<T> {
    type Target = T;

    fn deref(&self) -> &T {
        unreachable!("a refused field does not pass the compiler")
    }
}

impl<T> Clone for RefusedField<T> {
    fn clone(&self) -> Self {
        Self(PhantomData)
    }
}

impl<T> fmt::Debug for RefusedField<T> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

/// The result of a `forward` as an argument. What is no structure is refused where the `forward` is written, and here
/// [`NoStructure`] stands in.
pub struct Output<'a, V, R>(&'a R, PhantomData<V>);

impl<'a, V, R> Output<'a, V, R> {
    /// Of this result.
    pub fn new(result: &'a R) -> Self {
        Self(result, PhantomData)
    }
}

impl<V, R: Tree<V>> Output<'_, V, R> {
    /// The argument.
    pub fn to_arg(&self) -> Arg<V> {
        self.0.to_arg()
    }
}

/// The fallback of [`Output`].
pub trait NoStructure<V> {
    /// Never called.
    fn to_arg(&self) -> Arg<V> {
        Arg::None
    }
}

impl<V, R> NoStructure<V> for Output<'_, V, R> {}
