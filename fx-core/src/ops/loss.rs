//! Losses.

use super::table::ops;

ops! {
    /// Losses.
    pub trait Loss;
}
