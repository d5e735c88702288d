//! The ops: what each is, and what is known about it.

mod function;

pub use function::{Definition, Effect, Function};
