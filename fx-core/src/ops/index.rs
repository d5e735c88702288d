//! Looking up, scattering and ordering elements.

use super::table::ops;

ops! {
    /// Looking up, scattering and ordering elements.
    pub trait Indexing;
}
