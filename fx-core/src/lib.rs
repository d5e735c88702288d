//! The core of fx: tensors, the op table, the graph and its transforms.
//!
//! Use it through the facade crate `fx`, which re-exports everything here.

pub mod arg;
pub mod error;
pub mod graph;
pub mod ops;
pub mod tensor;

pub use arg::{Arg, Kwargs};
pub use error::{Error, ErrorKind, Result};
pub use ops::Function;
pub use tensor::{DType, Scalar, Tensor};
