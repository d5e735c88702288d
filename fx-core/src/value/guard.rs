//! What `#[traceable]` writes into the body of a function, so that the types decide what the macro cannot know: whether
//! an expression is traced.
//!
//! Each place that needs plain Rust (a condition, a loop, a cast) becomes `plain(expr).condition()` or alike. Method
//! lookup finds [`TracedGuard`] for a traced value, and that does not compile, with the message of one of the
//! `faults`; for everything else it finds [`PlainGuard`], which gives the value back. Methods that Rust's collections
//! have and a traced tensor cannot have (`len`, `iter`) are refused by [`Untraceable`]. What a refused expression gives
//! is an error to the compiler too, so nothing else turns red in its wake.

mod compare;
mod faults;
mod items;
mod methods;

use std::cell::Cell;

pub use compare::{Compare, PlainCompare, TracedCompare, compare};
pub use faults::{
    CollectionIndex, Hashable, Iterable, KnownCondition, KnownCount, KnownLength, KnownPattern, KnownShape, Mutable,
    Never, Ordered, PlainBool, Printable, Readable, RustNumber,
};
pub use items::{TracedItem, TracedItems};
pub use methods::{Untraceable, UntraceableList, UntraceableSize};

use super::{SymInt, Value};

/// How a traced tensor is called in the compiler's messages.
pub struct TracedTensor;

/// How a symbolic size is called in the compiler's messages.
pub struct SymbolicSize;

/// An expression that must be plain Rust.
pub struct Plain<T>(Cell<Option<T>>);

/// Marks an expression that must be plain Rust; the method called on it says why.
pub fn plain<T>(value: T) -> Plain<T> {
    Plain(Cell::new(Some(value)))
}

macro_rules! guards {
    ($($(#[$traced:meta])* $Traced:ident { $($(#[$doc:meta])* $method:ident: $Fault:ident;)+ })+) => {
        $(
            $(#[$traced])*
            pub trait $Traced<V>: Sized {
                /// Its name in messages.
                type Name;

                $(
                    $(#[$doc])*
                    fn $method(self) -> <Self::Name as $Fault>::Output
                    where
                        Self::Name: $Fault,
                    {
                        unreachable!("a traced value does not pass the compiler here")
                    }
                )+
            }
        )+

        /// The guards of plain Rust: all give the value back.
        pub trait PlainGuard {
            /// The plain value.
            type Value;

            /// The value.
            fn value(&self) -> Self::Value;

            $($(
                $(#[$doc])*
                fn $method(&self) -> Self::Value {
                    self.value()
                }
            )+)+
        }
    };
}
guards! {
    /// The guards of a traced value, or of one that is optional. None of them can be called.
    TracedGuard {
        /// A condition.
        condition: KnownCondition;
        /// How often a loop runs, or a bound of a range.
        count: KnownCount;
        /// What is matched against patterns.
        pattern: KnownPattern;
        /// What becomes a number.
        number: RustNumber;
        /// The index of a Rust collection.
        index: CollectionIndex;
        /// What is printed.
        printable: Printable;
        /// A result of type `bool`.
        truth: PlainBool;
        /// The key of a map.
        key: Hashable;
        /// What is ordered.
        order: Ordered;
        /// What is read into a Rust collection.
        data: Readable;
    }
    /// The guard of a traced value that is no option: of an option it is known whether there is an item.
    TracedIterable {
        /// What is iterated over.
        iterable: Iterable;
    }
}

/// The guards of plain collections, and of what has no items: all give it back.
pub trait PlainItems: PlainGuard {
    /// What becomes the keys of a map.
    fn keys(&self) -> Self::Value {
        self.value()
    }

    /// What is sorted.
    fn sorted(&self) -> Self::Value {
        self.value()
    }
}

impl<T> PlainItems for Plain<T> {}

impl<T> PlainGuard for Plain<T> {
    type Value = T;

    fn value(&self) -> T {
        self.0.take().expect("a guard is asked once")
    }
}

macro_rules! traced {
    ($Guard:ident; $([$($a:lifetime)?] $T:ty: $Name:ty;)+) => { $(
        impl<$($a,)? V: Value> $Guard<V> for Plain<$T> {
            type Name = &'static $Name;
        }
    )+ };
}
macro_rules! values {
    ($($Guard:ident)+) => { $(
        traced! {
            $Guard;
            [] V: TracedTensor;
            ['a] &'a V: TracedTensor;
            ['a] &'a &'a V: TracedTensor;
            [] SymInt<V>: SymbolicSize;
            ['a] &'a SymInt<V>: SymbolicSize;
        }
    )+ };
}
values!(TracedGuard TracedIterable);
traced! {
    TracedGuard;
    [] Option<V>: TracedTensor;
    ['a] Option<&'a V>: TracedTensor;
    [] Option<SymInt<V>>: SymbolicSize;
}

/// All sizes at once, matched against numbers.
impl<V: Value, const N: usize> TracedGuard<V> for Plain<[SymInt<V>; N]> {
    type Name = &'static SymbolicSize;
}
