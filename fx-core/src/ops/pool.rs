//! Pooling over windows.

use super::table::ops;

ops! {
    /// Pooling over windows.
    pub trait Pooling;
}
