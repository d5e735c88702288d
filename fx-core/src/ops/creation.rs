//! Tensors made from nothing.

use super::table::ops;

ops! {
    /// Tensors made from nothing.
    pub trait Creation;
}
