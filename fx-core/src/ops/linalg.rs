//! Products of vectors and matrices.

use super::table::ops;

ops! {
    /// Products of vectors and matrices.
    pub trait LinearAlgebra;
}
