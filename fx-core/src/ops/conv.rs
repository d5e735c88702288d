//! Convolutions.

use super::table::ops;

ops! {
    /// Convolutions.
    pub trait Convolution;
}
