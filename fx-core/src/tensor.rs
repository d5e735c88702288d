//! Tensors: shared storage, a layout over it, and the element types.

mod dtype;
mod scalar;

pub use dtype::DType;
pub use scalar::Scalar;

/// A tensor.
#[derive(Clone, Debug)]
pub struct Tensor;
