//! Kinds of attributes that may be symbolic: sizes, shapes, numbers made of sizes.

use smallvec::SmallVec;

use super::{Concrete, Encode, Kind, Number, maybe};
use crate::arg::Arg;
use crate::value::SymInt;

/// A size, perhaps symbolic.
pub struct size;
/// `size` or `None`.
pub type opt_size = maybe<size>;
/// Sizes, perhaps symbolic: a shape. One size stands for a list of one.
pub struct sizes;
/// `sizes` or `None`.
pub type opt_sizes = maybe<sizes>;
/// A size or a number that is none.
pub struct number;
/// `number` or `None`.
pub type opt_number = maybe<number>;

impl Kind for size {
    type Held<C: Concrete> = C::Size;
    const EXPECTED: &'static str = "a size";

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<C::Size> {
        C::size_of(arg)
    }
}

impl Kind for sizes {
    type Held<C: Concrete> = SmallVec<[C::Size; 6]>;
    const EXPECTED: &'static str = "a list of sizes";

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<SmallVec<[C::Size; 6]>> {
        match arg.as_items() {
            Some(items) => items.iter().map(C::size_of).collect(),
            None => C::size_of(arg).map(|x| SmallVec::from_iter([x])),
        }
    }
}

impl Kind for number {
    type Held<C: Concrete> = Number<C>;
    const EXPECTED: &'static str = "a number or a size";

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Number<C>> {
        match arg {
            Arg::Float(x) => Some(Number::Float(*x)),
            other => C::size_of(other).map(Number::Size),
        }
    }
}

impl<V, T: Into<SymInt<V>>> Encode<size, V> for T
where
    V: Clone,
{
    fn encode(self) -> Arg<V> {
        self.into().as_arg().clone()
    }
}

impl<V, T: Into<SymInt<V>>> Encode<maybe<size>, V> for T
where
    V: Clone,
{
    fn encode(self) -> Arg<V> {
        self.into().as_arg().clone()
    }
}

impl<V, T: Sizes<V>> Encode<sizes, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_sizes()
    }
}

impl<V, T: Sizes<V>> Encode<maybe<sizes>, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_sizes()
    }
}

/// What may be written for a shape: an array, a slice, a vector or a tuple of integers and symbolic sizes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used as a shape",
    label = "not a shape",
    note = "arrays, vectors and tuples of integers and symbolic sizes can: `(x.size(0), -1)`"
)]
pub trait Sizes<V> {
    /// The argument to record: a tuple of ints and values.
    fn into_sizes(self) -> Arg<V>;
}

impl<V: Clone, T: Into<SymInt<V>>, const N: usize> Sizes<V> for [T; N] {
    fn into_sizes(self) -> Arg<V> {
        Arg::Tuple(self.into_iter().map(|x| x.into().as_arg().clone()).collect())
    }
}

impl<V: Clone, T: Into<SymInt<V>> + Clone> Sizes<V> for &[T] {
    fn into_sizes(self) -> Arg<V> {
        Arg::Tuple(self.iter().map(|x| x.clone().into().as_arg().clone()).collect())
    }
}

impl<V: Clone, T: Into<SymInt<V>>> Sizes<V> for Vec<T> {
    fn into_sizes(self) -> Arg<V> {
        Arg::Tuple(self.into_iter().map(|x| x.into().as_arg().clone()).collect())
    }
}

impl<V: Clone> Sizes<V> for SymInt<V> {
    fn into_sizes(self) -> Arg<V> {
        Arg::Tuple(vec![self.as_arg().clone()])
    }
}

impl<V: Clone> Sizes<V> for &SymInt<V> {
    fn into_sizes(self) -> Arg<V> {
        Arg::Tuple(vec![self.as_arg().clone()])
    }
}

macro_rules! size_tuples {
    ($(($($T:ident $i:tt),*);)+) => { $(
        impl<V: Clone, $($T: Into<SymInt<V>>),*> Sizes<V> for ($($T,)*) {
            fn into_sizes(self) -> Arg<V> {
                Arg::Tuple(vec![$(self.$i.into().as_arg().clone()),*])
            }
        }
    )+ };
}
size_tuples! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}

macro_rules! numbers {
    ($($T:ty),+) => { $(
        impl<V> Sizes<V> for $T {
            fn into_sizes(self) -> Arg<V> {
                Arg::Tuple(vec![Arg::Int(self as i64)])
            }
        }

        impl<V> Encode<number, V> for $T {
            fn encode(self) -> Arg<V> {
                Arg::Int(self as i64)
            }
        }
    )+ };
}
numbers!(i64, i32, usize);

impl<V> Encode<number, V> for f64 {
    fn encode(self) -> Arg<V> {
        Arg::Float(self)
    }
}

impl<V: Clone> Encode<number, V> for SymInt<V> {
    fn encode(self) -> Arg<V> {
        self.as_arg().clone()
    }
}

impl<V: Clone> Encode<number, V> for &SymInt<V> {
    fn encode(self) -> Arg<V> {
        self.as_arg().clone()
    }
}
