//! Values: the one idea. A model is written once against [`Value`]; everything else is an interpretation.
//!
//! | interpretation | the value is | what comes out |
//! | --- | --- | --- |
//! | eager | [`Tensor`](crate::Tensor) | numbers |
//! | symbolic | [`Proxy`](crate::trace::Proxy) | a [`Graph`](crate::graph::Graph) |
//! | abstract | [`Meta`] | shapes and element types, errors before any data |
//! | replay | any, through [`Interpreter`](crate::interpreter::Interpreter) | the same, from a graph |
//!
//! [`Value::apply`] is the one required method. Every tensor method comes from a row of the op table (the
//! family traits of [`crate::ops`], implemented for every value) or is a composition of them.

pub mod assume;
mod call;
mod dim;
mod eager;
#[doc(hidden)]
pub mod guard;
mod index;
mod input;
mod meta;
mod operand;
mod operators;
mod symint;
mod tree;

use std::fmt;

pub use call::{Call, Callee, Held};
pub use dim::Dim;
pub use index::{Index, item, item_of};
pub use input::Input;
pub use meta::{Meta, Shape, TensorMeta};
pub use operand::{Operand, OptOperand, Scalarlike};
pub use operators::{AssignOps, RefOps, ScalarOps};
pub use symint::SymInt;
#[doc(hidden)]
pub use tree::unpack;
pub use tree::{StaticArg, Tree};

use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::ops::Families;

/// What a model computes with: tensors, proxies, shapes, or a type of your own.
///
/// ```
/// use fx_core::{Arg, Error, Result, value::{Call, Value}};
///
/// /// Counts the calls that led to it.
/// #[derive(Clone, Debug)]
/// struct Depth(usize);
///
/// impl Value for Depth {
///     fn apply(call: Call<'_, Self>) -> Result<Arg<Self>> {
///         let mut depth = 0;
///         call.for_each_value(|value| depth = depth.max(value.0 + 1));
///         Ok(Arg::Value(Depth(depth)))
///     }
/// }
///
/// fx_core::value_operators!(Depth);
///
/// use fx_core::prelude::*;
/// let x = Depth(0);
/// assert_eq!(x.relu().softmax(1).0, 2);
/// ```
pub trait Value: Families + Clone + fmt::Debug + RefOps<Self> + AssignOps + 'static {
    /// Whether calls of modules are recorded with their arguments, so that one value may stand for several. Eager values need not gather
    /// them.
    const RECORDS: bool = true;

    /// Applies a callee (a function, a method, a module, a piece of state) to its arguments.
    ///
    /// # Errors
    /// If the callee does not take these arguments.
    fn apply(call: Call<'_, Self>) -> Result<Arg<Self>>;

    /// What an infallible method does with an error: by default it panics at the user's line.
    ///
    /// Values that can go on without data (proxies, shapes) note the first error and give a stand-in.
    #[track_caller]
    fn fail(error: Error) -> Self {
        panic!("{error}")
    }
}
