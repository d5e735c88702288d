//! Kinds of operands: tensors, lists of them, numbers.

use super::{Concrete, Encode, Num, OperandKind, scalar_of};
use crate::arg::Arg;
use crate::ops::function;
use crate::value::{self, OptOperand, Scalarlike, Value};

/// One tensor.
pub struct one;
/// A tensor or nothing.
pub struct opt;
/// A list of tensors.
pub struct many;
/// A tensor or a number.
pub struct num;
/// Anything, as it was recorded.
pub struct any;

impl OperandKind for one {
    type Held<'a, C: Concrete> = &'a C::Data;
    const KIND: function::OperandKind = function::OperandKind::One;

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<&C::Data> {
        arg.as_value()?.data()
    }
}

impl OperandKind for opt {
    type Held<'a, C: Concrete> = Option<&'a C::Data>;
    const KIND: function::OperandKind = function::OperandKind::Opt;

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Option<&C::Data>> {
        if arg.is_none() { Some(None) } else { one::read(arg).map(Some) }
    }
}

impl OperandKind for many {
    type Held<'a, C: Concrete> = Vec<&'a C::Data>;
    const KIND: function::OperandKind = function::OperandKind::Many;

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Vec<&C::Data>> {
        arg.as_items()?.iter().map(one::read).collect()
    }
}

impl OperandKind for num {
    type Held<'a, C: Concrete> = Num<'a, C>;
    const KIND: function::OperandKind = function::OperandKind::Num;

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Num<'_, C>> {
        match arg {
            Arg::Value(value) => match value.data() {
                Some(data) => Some(Num::Tensor(data)),
                None => C::size_of(arg).map(Num::Size),
            },
            other => scalar_of(other).map(Num::Scalar),
        }
    }
}

impl OperandKind for any {
    type Held<'a, C: Concrete> = &'a Arg<C>;
    const KIND: function::OperandKind = function::OperandKind::Any;

    fn read<C: Concrete>(arg: &Arg<C>) -> Option<&Arg<C>> {
        Some(arg)
    }
}

impl<V, T: value::Operand<V>> Encode<one, V> for T {
    #[track_caller]
    fn encode(self) -> Arg<V> {
        self.into_operand()
    }
}

impl<V, T: OptOperand<V>> Encode<opt, V> for T {
    #[track_caller]
    fn encode(self) -> Arg<V> {
        self.into_opt_operand()
    }
}

impl<V, T: Scalarlike<V>> Encode<num, V> for T {
    #[track_caller]
    fn encode(self) -> Arg<V> {
        self.into_scalarlike()
    }
}

impl<V: Value> Encode<many, V> for Vec<V> {
    fn encode(self) -> Arg<V> {
        Arg::List(self.into_iter().map(Arg::Value).collect())
    }
}

impl<V: Value> Encode<many, V> for &[V] {
    fn encode(self) -> Arg<V> {
        Arg::List(self.iter().cloned().map(Arg::Value).collect())
    }
}

impl<V: Value> Encode<many, V> for &Vec<V> {
    fn encode(self) -> Arg<V> {
        Arg::List(self.iter().cloned().map(Arg::Value).collect())
    }
}

impl<V, T: value::Operand<V>, const N: usize> Encode<many, V> for [T; N] {
    #[track_caller]
    fn encode(self) -> Arg<V> {
        Arg::List(self.into_iter().map(T::into_operand).collect())
    }
}

impl<V, const N: usize, T> Encode<many, V> for &[T; N]
where
    for<'a> &'a T: value::Operand<V>,
{
    #[track_caller]
    fn encode(self) -> Arg<V> {
        Arg::List(self.iter().map(|operand| value::Operand::into_operand(operand)).collect())
    }
}
