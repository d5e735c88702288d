//! Recurrent layers over whole sequences.

use super::table::ops;

ops! {
    /// Recurrent layers over whole sequences.
    pub trait Recurrent;
}
