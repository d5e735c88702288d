//! What an expansion or a capture demands of a module, each in a trait of its own, so that the compiler's first line is
//! about the module and not about the trait behind.

use std::marker::PhantomData;

use super::Capture;
use crate::arg::Arg;
use crate::error::Result;
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

/// The static arguments of what was refused: all that are given fit.
pub enum RefusedStatics {}

macro_rules! refused_statics {
    ($($Given:ty: $($T:ident)*;)+) => { $(
        #[diagnostic::do_not_recommend]
        impl<$($T),*> StaticsFrom<$Given> for RefusedStatics {
            fn from_given(_: $Given) -> Self {
                unreachable!("what was refused does not pass the compiler")
            }
        }
    )+ };
}
refused_statics! {
    ():;
    (A,): A;
    (A, B): A B;
    (A, B, C): A B C;
}

/// Takes the body of what was refused for being `async`: it is checked, and never run.
pub fn unawaited<T>(_: impl Future<Output = T>) {}

/// A leaf module, which needs a `forward`.
#[diagnostic::on_unimplemented(
    message = "the leaf module `{Self}` has no traceable `forward`",
    label = "a leaf is recorded as one call of its `forward`",
    note = "write `forward` in an `impl` block marked `#[traceable]`, or remove `leaf`"
)]
pub trait LeafForward {}

#[diagnostic::do_not_recommend]
impl<M: Capture> LeafForward for M {}

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

/// A structure of values, read from an argument and written to one. What is no structure is refused elsewhere, once, and
/// here [`NoStructure`] stands in.
pub struct Structure<V, T>(PhantomData<fn() -> (V, T)>);

impl<V, T> Structure<V, T> {
    /// Of a type.
    pub fn new() -> Self {
        Self(PhantomData)
    }

    /// Of the type of a value.
    pub fn of(_: &T) -> Self {
        Self::new()
    }
}

impl<V, T> Default for Structure<V, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V, T: Tree<V>> Structure<V, T> {
    /// The argument.
    pub fn to_arg(&self, value: &T) -> Arg<V> {
        value.to_arg()
    }

    /// The structure.
    ///
    /// # Errors
    /// If the argument has another form.
    pub fn read(&self, arg: Arg<V>) -> Result<T> {
        T::from_arg(arg)
    }
}

/// The fallback of [`Structure`], never called.
pub trait NoStructure<V, T> {
    /// The argument.
    fn to_arg(&self, _: &T) -> Arg<V> {
        unreachable!("what was refused does not pass the compiler")
    }

    /// The structure.
    ///
    /// # Errors
    /// Never.
    fn read(&self, _: Arg<V>) -> Result<T> {
        unreachable!("what was refused does not pass the compiler")
    }
}

impl<V, T> NoStructure<V, T> for Structure<V, T> {}
