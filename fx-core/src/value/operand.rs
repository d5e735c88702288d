//! What may be written where an op takes a tensor: values, parameters, buffers, by value or by reference.

use super::{SymInt, Value};
use crate::arg::Arg;
use crate::module::{Buffer, Parameter};
use crate::tensor::Scalar;

/// Something that stands for a tensor: a value, a parameter, a buffer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used where a tensor is expected",
    label = "not a tensor",
    note = "tensors, `&Parameter` and `&Buffer` can"
)]
pub trait Operand<V> {
    /// The argument to record.
    fn into_operand(self) -> Arg<V>;
}

/// Something that stands for a tensor that may be absent.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used where an optional tensor is expected",
    label = "neither a tensor nor an option",
    note = "pass the tensor or `&Parameter` itself, an `Option<&Tensor>`, an `&Option<Parameter>`, or `None`"
)]
pub trait OptOperand<V> {
    /// The argument to record.
    fn into_opt_operand(self) -> Arg<V>;
}

/// Something that stands for a tensor or a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used where a tensor or a number is expected",
    label = "neither a tensor nor a number",
    note = "tensors, `&Parameter`, `&Buffer`, symbolic sizes, f64 and i64 can"
)]
pub trait Scalarlike<V> {
    /// The argument to record.
    fn into_scalarlike(self) -> Arg<V>;
}

impl<V: Value> Operand<V> for V {
    fn into_operand(self) -> Arg<V> {
        Arg::Value(self)
    }
}

impl<V: Value> Operand<V> for &V {
    fn into_operand(self) -> Arg<V> {
        Arg::Value(self.clone())
    }
}

impl<V: Value> Operand<V> for &Parameter {
    #[track_caller]
    fn into_operand(self) -> Arg<V> {
        Arg::Value(self.value())
    }
}

impl<V: Value> Operand<V> for &Buffer {
    #[track_caller]
    fn into_operand(self) -> Arg<V> {
        Arg::Value(self.value())
    }
}

impl<V: Value> OptOperand<V> for V {
    fn into_opt_operand(self) -> Arg<V> {
        Arg::Value(self)
    }
}

impl<V: Value> OptOperand<V> for &V {
    fn into_opt_operand(self) -> Arg<V> {
        Arg::Value(self.clone())
    }
}

impl<V: Value> OptOperand<V> for Option<&V> {
    fn into_opt_operand(self) -> Arg<V> {
        self.map_or(Arg::None, |value| Arg::Value(value.clone()))
    }
}

impl<V: Value> OptOperand<V> for &Parameter {
    #[track_caller]
    fn into_opt_operand(self) -> Arg<V> {
        Arg::Value(self.value())
    }
}

impl<V: Value> OptOperand<V> for &Option<Parameter> {
    #[track_caller]
    fn into_opt_operand(self) -> Arg<V> {
        match self {
            Some(parameter) => Arg::Value(parameter.value()),
            None => Arg::None,
        }
    }
}

impl<V: Value> OptOperand<V> for &Buffer {
    #[track_caller]
    fn into_opt_operand(self) -> Arg<V> {
        Arg::Value(self.value())
    }
}

impl<V: Value> OptOperand<V> for &Option<Buffer> {
    #[track_caller]
    fn into_opt_operand(self) -> Arg<V> {
        match self {
            Some(buffer) => Arg::Value(buffer.value()),
            None => Arg::None,
        }
    }
}

impl<V: Value> Scalarlike<V> for V {
    fn into_scalarlike(self) -> Arg<V> {
        Arg::Value(self)
    }
}

impl<V: Value> Scalarlike<V> for &V {
    fn into_scalarlike(self) -> Arg<V> {
        Arg::Value(self.clone())
    }
}

impl<V: Value> Scalarlike<V> for &Parameter {
    #[track_caller]
    fn into_scalarlike(self) -> Arg<V> {
        Arg::Value(self.value())
    }
}

impl<V: Value> Scalarlike<V> for &Buffer {
    #[track_caller]
    fn into_scalarlike(self) -> Arg<V> {
        Arg::Value(self.value())
    }
}

impl<V: Value> Scalarlike<V> for SymInt<V> {
    fn into_scalarlike(self) -> Arg<V> {
        self.as_arg().clone()
    }
}

impl<V: Value> Scalarlike<V> for &SymInt<V> {
    fn into_scalarlike(self) -> Arg<V> {
        self.as_arg().clone()
    }
}

macro_rules! numbers {
    ($($number:ty),+) => { $(
        impl<V> Scalarlike<V> for $number {
            fn into_scalarlike(self) -> Arg<V> {
                Scalar::from(self).into()
            }
        }
    )+ };
}
numbers!(f64, f32, i64, i32, usize, bool, Scalar);
