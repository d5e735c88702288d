//! Comparisons: a mask of traced values, a bool of plain Rust. The macro cannot tell which, method lookup can: it finds
//! the traits in the order [`TracedCompare`] (by value), [`PlainCompare`] (by reference).

use crate::arg::Arg;
use crate::module::{Buffer, Parameter};
use crate::ops;
use crate::value::{Call, SymInt, Value};

/// A comparison.
pub struct Compare<'a, A, B>(&'a A, &'a B);

/// The comparison of two sides; the operator is the method that is called on it.
pub fn compare<'a, A, B>(left: &'a A, right: &'a B) -> Compare<'a, A, B> {
    Compare(left, right)
}

/// An operand of a traced comparison.
pub trait Comparand<V> {
    /// The argument to record.
    fn comparand(&self) -> Arg<V>;
}

impl<V: Value> Comparand<V> for V {
    fn comparand(&self) -> Arg<V> {
        Arg::Value(self.clone())
    }
}

impl<V: Value> Comparand<V> for &V {
    fn comparand(&self) -> Arg<V> {
        Arg::Value((*self).clone())
    }
}

impl<V: Value> Comparand<V> for &&V {
    fn comparand(&self) -> Arg<V> {
        Arg::Value((**self).clone())
    }
}

impl<V: Value> Comparand<V> for SymInt<V> {
    fn comparand(&self) -> Arg<V> {
        self.as_arg().clone()
    }
}

impl<V: Value> Comparand<V> for &Parameter {
    #[track_caller]
    fn comparand(&self) -> Arg<V> {
        Arg::Value(self.value())
    }
}

impl<V: Value> Comparand<V> for &Buffer {
    #[track_caller]
    fn comparand(&self) -> Arg<V> {
        Arg::Value(self.value())
    }
}

macro_rules! comparands {
    ($($T:ty),+) => { $(
        impl<V> Comparand<V> for $T {
            fn comparand(&self) -> Arg<V> {
                Arg::from(*self)
            }
        }
    )+ };
}
comparands!(f64, i64, bool);

/// A comparison of which the left side, or the right side of a number, is traced.
pub trait TracedCompare<V>: Sized {
    /// The operands to record.
    fn operands(&self) -> [Arg<V>; 2];

    /// `==`
    #[track_caller]
    fn eq(self) -> V
    where
        V: Value,
    {
        record(ops::eq, self.operands())
    }

    /// `!=`
    #[track_caller]
    fn ne(self) -> V
    where
        V: Value,
    {
        record(ops::ne, self.operands())
    }

    /// `<`
    #[track_caller]
    fn lt(self) -> V
    where
        V: Value,
    {
        record(ops::lt, self.operands())
    }

    /// `<=`
    #[track_caller]
    fn le(self) -> V
    where
        V: Value,
    {
        record(ops::le, self.operands())
    }

    /// `>`
    #[track_caller]
    fn gt(self) -> V
    where
        V: Value,
    {
        record(ops::gt, self.operands())
    }

    /// `>=`
    #[track_caller]
    fn ge(self) -> V
    where
        V: Value,
    {
        record(ops::ge, self.operands())
    }
}

#[track_caller]
fn record<V: Value>(function: ops::Function, [a, b]: [Arg<V>; 2]) -> V {
    Call::function(function).arg(a).arg(b).output()
}

impl<V: Value, B: Comparand<V>> TracedCompare<V> for Compare<'_, V, B> {
    fn operands(&self) -> [Arg<V>; 2] {
        [self.0.comparand(), self.1.comparand()]
    }
}

impl<V: Value, B: Comparand<V>> TracedCompare<V> for Compare<'_, &V, B> {
    fn operands(&self) -> [Arg<V>; 2] {
        [self.0.comparand(), self.1.comparand()]
    }
}

impl<V: Value, B: Comparand<V>> TracedCompare<V> for Compare<'_, SymInt<V>, B> {
    fn operands(&self) -> [Arg<V>; 2] {
        [self.0.comparand(), self.1.comparand()]
    }
}

/// A number on the left, as Python does it: `1 < x` is recorded as `gt(x, 1)`.
macro_rules! reflected {
    ($($T:ty),+) => { $(
        impl<V: Value> TracedCompare<V> for Compare<'_, $T, V> {
            fn operands(&self) -> [Arg<V>; 2] {
                [self.0.comparand(), self.1.comparand()]
            }
        }

        impl<V: Value> TracedCompare<V> for Compare<'_, $T, &V> {
            fn operands(&self) -> [Arg<V>; 2] {
                [self.0.comparand(), self.1.comparand()]
            }
        }

        impl<V: Value> TracedCompare<V> for Compare<'_, $T, SymInt<V>> {
            fn operands(&self) -> [Arg<V>; 2] {
                [self.0.comparand(), self.1.comparand()]
            }
        }
    )+ };
}
reflected!(f64, i64);

/// A comparison of plain Rust.
pub trait PlainCompare {
    /// The left side's type.
    type Left: ?Sized;
    /// The right side's type.
    type Right: ?Sized;

    /// The two sides.
    fn sides(&self) -> (&Self::Left, &Self::Right);

    /// `==`
    fn eq(&self) -> bool
    where
        Self::Left: PartialEq<Self::Right>,
    {
        let (a, b) = self.sides();
        a == b
    }

    /// `!=`
    fn ne(&self) -> bool
    where
        Self::Left: PartialEq<Self::Right>,
    {
        let (a, b) = self.sides();
        a != b
    }

    /// `<`
    fn lt(&self) -> bool
    where
        Self::Left: PartialOrd<Self::Right>,
    {
        let (a, b) = self.sides();
        a < b
    }

    /// `<=`
    fn le(&self) -> bool
    where
        Self::Left: PartialOrd<Self::Right>,
    {
        let (a, b) = self.sides();
        a <= b
    }

    /// `>`
    fn gt(&self) -> bool
    where
        Self::Left: PartialOrd<Self::Right>,
    {
        let (a, b) = self.sides();
        a > b
    }

    /// `>=`
    fn ge(&self) -> bool
    where
        Self::Left: PartialOrd<Self::Right>,
    {
        let (a, b) = self.sides();
        a >= b
    }
}

impl<A, B> PlainCompare for Compare<'_, A, B> {
    type Left = A;
    type Right = B;

    fn sides(&self) -> (&A, &B) {
        (self.0, self.1)
    }
}
