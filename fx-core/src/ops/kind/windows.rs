//! Kinds of attributes with one integer for each spatial dimension: windows, strides, padding.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::{Concrete, Encode, Ints, Kind, ints, maybe};
use crate::arg::Arg;

/// One integer for each of `N` spatial dimensions; one integer stands for all of them.
pub struct window<const N: usize>;
/// A window of one dimension.
pub type single = window<1>;
/// A window of two dimensions.
pub type pair = window<2>;
/// A window of three dimensions.
pub type triple = window<3>;
/// `single` or `None`.
pub type opt_single = maybe<single>;
/// `pair` or `None`.
pub type opt_pair = maybe<pair>;
/// `triple` or `None`.
pub type opt_triple = maybe<triple>;

impl<const N: usize> Kind for window<N> {
    type Held<C: Concrete> = [usize; N];
    const EXPECTED: &'static str = "an int or one for each spatial dimension";

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<[usize; N]> {
        let held = ints::read(arg)?;
        // Products of two windows and sums of a few fit an i64.
        let size = |x: i64| i32::try_from(x).ok().and_then(|x| usize::try_from(x).ok());
        let held: SmallVec<[usize; 4]> = held.into_iter().map(size).collect::<Option<_>>()?;
        match held.len() {
            1 => Some([held[0]; N]),
            len if len == N => held.as_slice().try_into().ok(),
            _ => None,
        }
    }
}

/// What may be written for a [`window`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used where a size for each of {N} spatial dimensions is expected",
    label = "no size of {N} dimensions",
    note = "an integer or an array of {N} integers can"
)]
pub trait Window<const N: usize> {
    /// The argument to record: a tuple of `N` ints.
    fn into_arg<V>(self) -> Arg<V>;
}

impl<V, const N: usize, T: Window<N>> Encode<window<N>, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_arg()
    }
}

impl<V, const N: usize, T: Window<N>> Encode<maybe<window<N>>, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_arg()
    }
}

impl<const N: usize> Window<N> for Option<[usize; N]> {
    fn into_arg<V>(self) -> Arg<V> {
        self.map_or(Arg::None, Ints::into_arg)
    }
}

/// Padding of `N` spatial dimensions: amounts, `"same"` or `"valid"`.
pub struct margin<const N: usize>;
/// Padding of one dimension.
pub type margin1 = margin<1>;
/// Padding of two dimensions.
pub type margin2 = margin<2>;
/// Padding of three dimensions.
pub type margin3 = margin<3>;

/// Padding of `N` spatial dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding<const N: usize> {
    /// This much on both sides of each dimension.
    Explicit([usize; N]),
    /// As much as keeps the size; more after than before if it is odd.
    Same,
    /// None.
    Valid,
}

impl<const N: usize> Kind for margin<N> {
    type Held<C: Concrete> = Padding<N>;
    const EXPECTED: &'static str = "an int, one for each spatial dimension, \"same\" or \"valid\"";

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Padding<N>> {
        match arg {
            Arg::Str(word) if word == "same" => Some(Padding::Same),
            Arg::Str(word) if word == "valid" => Some(Padding::Valid),
            other => window::read(other).map(Padding::Explicit),
        }
    }
}

impl<V, const N: usize, T: Margin<N>> Encode<margin<N>, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_arg()
    }
}

/// What may be written for a [`margin`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used where a padding of each of {N} spatial dimensions is expected",
    label = "no padding of {N} dimensions",
    note = "an integer, an array of {N} integers, `\"same\"` and `\"valid\"` can"
)]
pub trait Margin<const N: usize> {
    /// The argument to record: a tuple of `N` ints, or a word.
    fn into_arg<V>(self) -> Arg<V>;
}

impl<const N: usize> Margin<N> for Padding<N> {
    fn into_arg<V>(self) -> Arg<V> {
        match self {
            Padding::Explicit(amounts) => Ints::into_arg(amounts),
            Padding::Same => Arg::Str(Cow::Borrowed("same")),
            Padding::Valid => Arg::Str(Cow::Borrowed("valid")),
        }
    }
}

impl<const N: usize> Margin<N> for &'static str {
    fn into_arg<V>(self) -> Arg<V> {
        Arg::Str(Cow::Borrowed(self))
    }
}

macro_rules! margins {
    ($($T:ty),+) => { $(
        impl<const N: usize> Margin<N> for $T {
            fn into_arg<V>(self) -> Arg<V> {
                Ints::into_arg([self; N])
            }
        }

        impl<const N: usize> Margin<N> for [$T; N] {
            fn into_arg<V>(self) -> Arg<V> {
                Ints::into_arg(self)
            }
        }
    )+ };
}
margins!(i64, i32, usize);

macro_rules! int_lists {
    ($($T:ty),+) => { $(
        impl Ints for $T {
            fn into_arg<V>(self) -> Arg<V> {
                Arg::Int(self as i64)
            }
        }

        impl<const N: usize> Ints for [$T; N] {
            fn into_arg<V>(self) -> Arg<V> {
                Arg::Tuple(self.into_iter().map(|x| Arg::Int(x as i64)).collect())
            }
        }

        impl Ints for &[$T] {
            fn into_arg<V>(self) -> Arg<V> {
                Arg::Tuple(self.iter().map(|x| Arg::Int(*x as i64)).collect())
            }
        }

        impl Ints for Vec<$T> {
            fn into_arg<V>(self) -> Arg<V> {
                self.as_slice().into_arg()
            }
        }

        impl<const N: usize> Window<N> for $T {
            fn into_arg<V>(self) -> Arg<V> {
                Ints::into_arg([self; N])
            }
        }

        impl<const N: usize> Window<N> for [$T; N] {
            fn into_arg<V>(self) -> Arg<V> {
                Ints::into_arg(self)
            }
        }
    )+ };
}
int_lists!(i64, i32, usize);
