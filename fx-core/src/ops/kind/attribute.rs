//! Kinds of attributes that are single values, and lists of integers.

use std::borrow::Cow;
use std::marker::PhantomData;

use smallvec::SmallVec;

use super::{Concrete, Encode, Kind, int_of, scalar_of};
use crate::arg::Arg;
use crate::tensor::{DType, Scalar};

/// An attribute that may be `None`.
pub struct maybe<K>(PhantomData<K>);

impl<K: Kind> Kind for maybe<K> {
    type Held<C: Concrete> = Option<K::Held<C>>;
    const EXPECTED: &'static str = K::EXPECTED;

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Self::Held<C>> {
        if arg.is_none() { Some(None) } else { K::read(arg).map(Some) }
    }
}

/// Declares kinds of attributes: the marker, what functions get, what messages say, how it is read, and what
/// callers may write, the first of which is also the type in an `Option`.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident, $maybe:ident: $Held:ty, $expected:literal, $read:expr,
        $First:ty $(, $More:ty)* => $encode:expr;)+) => { $(
        $(#[doc = $doc])*
        pub struct $kind;
        #[doc = concat!("`", stringify!($kind), "` or `None`.")]
        pub type $maybe = maybe<$kind>;

        impl Kind for $kind {
            type Held<C: Concrete> = $Held;
            const EXPECTED: &'static str = $expected;

            fn read<C: Concrete>(arg: &Arg<C>) -> Option<$Held> {
                let read: fn(&Arg<C>) -> Option<$Held> = $read;
                read(arg)
            }
        }

        kinds!(@encode $kind: $First $(, $More)* => $encode);

        impl<V> Encode<maybe<$kind>, V> for Option<$First> {
            fn encode(self) -> Arg<V> {
                self.map_or(Arg::None, |x| Encode::<$kind, V>::encode(x))
            }
        }
    )+ };
    (@encode $kind:ident: $($From:ty),+ => $encode:expr) => { $(
        impl<V> Encode<$kind, V> for $From {
            fn encode(self) -> Arg<V> {
                let encode: fn($From) -> Arg<V> = $encode;
                encode(self)
            }
        }

        impl<V> Encode<maybe<$kind>, V> for $From {
            fn encode(self) -> Arg<V> {
                Encode::<$kind, V>::encode(self)
            }
        }
    )+ };
}

kinds! {
    /// A boolean.
    flag, opt_flag: bool, "a bool", |arg| match arg { Arg::Bool(x) => Some(*x), _ => None },
        bool => |x| Arg::Bool(x);
    /// An integer.
    int, opt_int: i64, "an int", |arg| int_of(arg),
        i64, i32, usize => |x| Arg::Int(x as i64);
    /// A floating-point number.
    float, opt_float: f64, "a float", |arg| scalar_of(arg).map(Scalar::to_f64),
        f64, f32, i64, i32 => |x| Arg::Float(x.into_f64());
    /// A number.
    scalar, opt_scalar: Scalar, "a number", |arg| scalar_of(arg),
        f64, f32, i64, i32, usize, bool, Scalar => |x| Scalar::from(x).into();
    /// An element type.
    dtype, opt_dtype: DType, "a dtype", |arg| match arg { Arg::DType(x) => Some(*x), _ => None },
        DType => |x| Arg::DType(x);
    /// One of a few words.
    string, opt_string: Cow<'static, str>, "a string",
        |arg| match arg { Arg::Str(x) => Some(x.clone()), _ => None },
        &'static str, String => |x| Arg::Str(x.into());
}

/// A number that becomes a float.
pub trait IntoF64: Copy {
    /// The float.
    fn into_f64(self) -> f64;
}

macro_rules! into_f64 {
    ($($T:ty),+) => { $(impl IntoF64 for $T {
        fn into_f64(self) -> f64 {
            self as f64
        }
    })+ };
}
into_f64!(f64, f32, i64, i32);

/// Floating-point numbers, one a dimension. One number stands for a list of one.
pub struct floats;
/// `floats` or `None`.
pub type opt_floats = maybe<floats>;

impl Kind for floats {
    type Held<C: Concrete> = SmallVec<[f64; 4]>;
    const EXPECTED: &'static str = "a number or a list of numbers";

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<SmallVec<[f64; 4]>> {
        let number = |arg| scalar_of(arg).map(Scalar::to_f64);
        match arg.as_items() {
            Some(items) => items.iter().map(number).collect(),
            None => number(arg).map(|x| SmallVec::from_slice(&[x])),
        }
    }
}

/// What may be written for [`floats`]: a number, or an array, a slice or a vector of numbers.
pub trait Floats {
    /// The argument to record: a float, or a tuple of floats.
    fn into_arg<V>(self) -> Arg<V>;
}

impl<V, T: Floats> Encode<floats, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_arg()
    }
}

impl<V, T: Floats> Encode<maybe<floats>, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_arg()
    }
}

impl<T: IntoF64> Floats for T {
    fn into_arg<V>(self) -> Arg<V> {
        Arg::Float(self.into_f64())
    }
}

impl<T: IntoF64> Floats for &[T] {
    fn into_arg<V>(self) -> Arg<V> {
        Arg::Tuple(self.iter().map(|x| Arg::Float(x.into_f64())).collect())
    }
}

impl<T: IntoF64, const N: usize> Floats for [T; N] {
    fn into_arg<V>(self) -> Arg<V> {
        self.as_slice().into_arg()
    }
}

impl Floats for Option<Vec<f64>> {
    fn into_arg<V>(self) -> Arg<V> {
        self.map_or(Arg::None, Floats::into_arg)
    }
}

impl<T: IntoF64> Floats for Vec<T> {
    fn into_arg<V>(self) -> Arg<V> {
        self.as_slice().into_arg()
    }
}

/// Integers: dimensions, shifts. One integer stands for a list of one.
pub struct ints;
/// `ints` or `None`.
pub type opt_ints = maybe<ints>;

impl Kind for ints {
    type Held<C: Concrete> = SmallVec<[i64; 4]>;
    const EXPECTED: &'static str = "an int or a list of ints";

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<SmallVec<[i64; 4]>> {
        match arg.as_items() {
            Some(items) => items.iter().map(int_of).collect(),
            None => int_of(arg).map(|x| SmallVec::from_slice(&[x])),
        }
    }
}

/// What may be written for [`ints`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used where an integer or a list of integers is expected",
    label = "neither an integer nor a list of integers",
    note = "an i64, or an array, a slice or a vector of them can"
)]
pub trait Ints {
    /// The argument to record: an int, or a tuple of ints.
    fn into_arg<V>(self) -> Arg<V>;
}

impl<V, T: Ints> Encode<ints, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_arg()
    }
}

impl<V, T: Ints> Encode<maybe<ints>, V> for T {
    fn encode(self) -> Arg<V> {
        self.into_arg()
    }
}

impl Ints for Option<i64> {
    fn into_arg<V>(self) -> Arg<V> {
        self.map_or(Arg::None, Arg::Int)
    }
}

macro_rules! int_tuples {
    ($(($($T:ident $i:tt),+);)+) => { $(
        impl<$($T: Into<i64>),+> Ints for ($($T,)+) {
            fn into_arg<V>(self) -> Arg<V> {
                Arg::Tuple(vec![$(Arg::Int(self.$i.into())),+])
            }
        }
    )+ };
}
int_tuples! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
}
