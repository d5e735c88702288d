//! Normalisations.

use super::table::ops;

ops! {
    /// Normalisations.
    pub trait Normalization;
}
