//! Collections and iterators of traced values, where the items must be plain Rust: as keys of a map, or sorted.
//!
//! [`TracedItems`] is found by value, [`PlainItems`](super::PlainItems) by reference for everything else.

use super::faults::{Hashable, Ordered};
use super::{Plain, SymbolicSize, TracedTensor};
use crate::value::{SymInt, Value};

/// A traced value, or a pair whose first part is one.
pub trait TracedItem<V> {
    /// Its name in messages.
    type Name;
}

macro_rules! items {
    ($([$($a:lifetime)?] $T:ty: $Name:ty;)+) => { $(
        impl<$($a,)? V: Value> TracedItem<V> for $T {
            type Name = &'static $Name;
        }

        impl<$($a,)? V: Value, T> TracedItem<V> for ($T, T) {
            type Name = &'static $Name;
        }
    )+ };
}
items! {
    [] V: TracedTensor;
    ['a] &'a V: TracedTensor;
    [] SymInt<V>: SymbolicSize;
    ['a] &'a SymInt<V>: SymbolicSize;
}

/// The guards of a collection of traced values. None of them can be called.
pub trait TracedItems<V>: Sized {
    /// The name of its items in messages.
    type Name;

    /// What becomes the keys of a map.
    fn keys(self) -> <Self::Name as Hashable>::Output
    where
        Self::Name: Hashable,
    {
        unreachable!("a traced value does not pass the compiler here")
    }

    /// What is sorted.
    fn sorted(self) -> <Self::Name as Ordered>::Output
    where
        Self::Name: Ordered,
    {
        unreachable!("a traced value does not pass the compiler here")
    }
}

impl<V: Value, I: IntoIterator> TracedItems<V> for Plain<I>
where
    I::Item: TracedItem<V>,
{
    type Name = <I::Item as TracedItem<V>>::Name;
}
