//! The ops: what each is, and what is known about it. One file a family, with its rows and its functions.
//!
//! [`table`] describes the form of a row and what is derived from it.

pub mod cost;
mod derived;
pub mod fallible;
pub mod function;
pub mod kind;
mod read;
mod shape;
pub mod table;

mod elementwise;
mod structure;

#[doc(inline)]
pub use elementwise::{targets::*, *};
#[doc(inline)]
pub use function::{Definition, Effect, Function, Tolerance};
#[doc(inline)]
pub use structure::{targets::*, *};

/// All functions of the op table, as PyTorch's `torch.nn.functional` and `torch` have them.
pub mod functional {
    pub use super::elementwise::functional::*;
    pub use super::structure::functional::*;
}

/// A family of ops.
#[derive(Debug)]
pub struct Family {
    /// Its name, that of its trait.
    pub name: &'static str,
    /// Its functions, in the order of their rows.
    pub functions: &'static [Function],
}

/// All families.
pub fn families() -> &'static [&'static Family] {
    static FAMILIES: [&Family; 2] = [&elementwise::FAMILY, &structure::FAMILY];
    &FAMILIES
}

/// The methods of all families: what every value has.
pub trait Families: Elementwise + Structure {}

impl<V: Elementwise + Structure> Families for V {}
