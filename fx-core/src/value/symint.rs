//! Symbolic sizes: integers that a trace records instead of reading.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use super::{Call, Value};
use crate::arg::Arg;
use crate::ops::{self, Function};

/// A size that depends on the input: an integer in eager code, a node in a trace, a [`Dim`](super::Dim) in
/// shape propagation.
///
/// Arithmetic on it is recorded, so that one trace serves every batch size. It has no value that a condition or a
/// loop could use. Division rounds down, as Python's `//`. Numbers beside it are `i64`: with several kinds of them the compiler would
/// not know what `size / 2` is until the end of a function, and refuse what is made of it before.
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

macro_rules! arithmetic {
    ($($Trait:ident $method:ident $op:ident;)+) => { $(
        impl<V: Value> $Trait<SymInt<V>> for SymInt<V> {
            type Output = SymInt<V>;

            #[track_caller]
            fn $method(self, rhs: SymInt<V>) -> SymInt<V> {
                SymInt::binary(ops::$op, self.0, rhs.0)
            }
        }

        impl<V: Value> $Trait<&SymInt<V>> for SymInt<V> {
            type Output = SymInt<V>;

            #[track_caller]
            fn $method(self, rhs: &SymInt<V>) -> SymInt<V> {
                SymInt::binary(ops::$op, self.0, rhs.0.clone())
            }
        }

        impl<V: Value> $Trait<SymInt<V>> for &SymInt<V> {
            type Output = SymInt<V>;

            #[track_caller]
            fn $method(self, rhs: SymInt<V>) -> SymInt<V> {
                SymInt::binary(ops::$op, self.0.clone(), rhs.0)
            }
        }

        impl<V: Value> $Trait<&SymInt<V>> for &SymInt<V> {
            type Output = SymInt<V>;

            #[track_caller]
            fn $method(self, rhs: &SymInt<V>) -> SymInt<V> {
                SymInt::binary(ops::$op, self.0.clone(), rhs.0.clone())
            }
        }

        impl<V: Value> $Trait<i64> for SymInt<V> {
            type Output = SymInt<V>;

            #[track_caller]
            fn $method(self, rhs: i64) -> SymInt<V> {
                SymInt::binary(ops::$op, self.0, Arg::Int(rhs))
            }
        }

        impl<V: Value> $Trait<i64> for &SymInt<V> {
            type Output = SymInt<V>;

            #[track_caller]
            fn $method(self, rhs: i64) -> SymInt<V> {
                SymInt::binary(ops::$op, self.0.clone(), Arg::Int(rhs))
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
