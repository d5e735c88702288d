//! Symbolic sizes: integers that a trace records instead of reading.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use super::{Call, Value};
use crate::arg::Arg;
use crate::ops::{self, Function};

/// A size that depends on the input: an integer in eager code, a node in a trace, a [`Dim`](super::Dim) in
/// shape propagation.
///
/// Arithmetic on it is recorded, so that one trace serves every batch size. It has no value that a condition or a
/// loop could use. Division rounds down, as Python's `//`. On its right may stand sizes and integers (`i64`, `i32`, `usize`), on its
/// left sizes and `i64`: with several kinds of numbers there the compiler would not know what `2 * size` is until the end of a
/// function, and refuse what is made of it before.
#[derive(Clone, Debug)]
pub struct SymInt<V>(Arg<V>);

impl<V> SymInt<V> {
    /// The size as an argument: an int or a value.
    pub fn as_arg(&self) -> &Arg<V> {
        &self.0
    }

    /// A size made of an argument that is known to be an int or a value.
    pub(crate) fn new(arg: Arg<V>) -> Self {
        Self(arg)
    }
}

impl<V: Value> SymInt<V> {
    #[track_caller]
    fn binary(function: Function, lhs: Arg<V>, rhs: Arg<V>) -> Self {
        Call::function(function).arg(lhs).arg(rhs).output()
    }
}

impl<V> From<i64> for SymInt<V> {
    fn from(size: i64) -> Self {
        Self(Arg::Int(size))
    }
}

impl<V> From<usize> for SymInt<V> {
    fn from(size: usize) -> Self {
        Self(Arg::Int(size as i64))
    }
}

impl<V> From<i32> for SymInt<V> {
    fn from(size: i32) -> Self {
        Self(Arg::Int(size.into()))
    }
}

impl<V> From<&SymInt<V>> for SymInt<V>
where
    V: Clone,
{
    fn from(size: &SymInt<V>) -> Self {
        size.clone()
    }
}

impl<V: Value> Neg for SymInt<V> {
    type Output = SymInt<V>;

    #[track_caller]
    fn neg(self) -> SymInt<V> {
        Call::function(ops::neg).arg(self.0).output()
    }
}

impl<V: Value> Neg for &SymInt<V> {
    type Output = SymInt<V>;

    #[track_caller]
    fn neg(self) -> SymInt<V> {
        -self.clone()
    }
}

// One implementation for all that becomes a size: so `size / 2` is one before the type of 2 is known.
macro_rules! arithmetic {
    ($($Trait:ident $method:ident $op:ident;)+) => { $(
        impl<V: Value, T: Into<SymInt<V>>> $Trait<T> for SymInt<V> {
            type Output = SymInt<V>;

            #[track_caller]
            fn $method(self, rhs: T) -> SymInt<V> {
                SymInt::binary(ops::$op, self.0, rhs.into().0)
            }
        }

        impl<V: Value, T: Into<SymInt<V>>> $Trait<T> for &SymInt<V> {
            type Output = SymInt<V>;

            #[track_caller]
            fn $method(self, rhs: T) -> SymInt<V> {
                SymInt::binary(ops::$op, self.0.clone(), rhs.into().0)
            }
        }

        impl<V: Value> $Trait<SymInt<V>> for i64 {
            type Output = SymInt<V>;

            #[track_caller]
            fn $method(self, rhs: SymInt<V>) -> SymInt<V> {
                SymInt::binary(ops::$op, Arg::Int(self), rhs.0)
            }
        }

        impl<V: Value> $Trait<&SymInt<V>> for i64 {
            type Output = SymInt<V>;

            #[track_caller]
            fn $method(self, rhs: &SymInt<V>) -> SymInt<V> {
                SymInt::binary(ops::$op, Arg::Int(self), rhs.0.clone())
            }
        }
    )+ };
}
arithmetic! {
    Add add add;
    Sub sub sub;
    Mul mul mul;
    Div div floor_divide;
    Rem rem remainder;
}
