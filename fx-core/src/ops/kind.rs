//! The vocabulary of the op table: what an operand or an attribute of each kind may be written as, how it is
//! recorded, and what the op's functions get.
//!
//! A kind is a marker type with the name that rows use. [`Encode`] says what a caller may write for it,
//! [`Kind`] and [`OperandKind`] say what the recorded argument is read as. Reading is generic in [`Concrete`], so
//! that `eval` (on tensors) and `infer` (on shapes) get the same signature in their own terms.

#![allow(non_camel_case_types, reason = "kinds are the table's keywords")]

mod attribute;
mod operand;
mod shapes;
mod windows;

pub use attribute::*;
pub use operand::*;
pub use shapes::*;
pub use windows::*;

use super::function;
use crate::arg::Arg;
use crate::tensor::{Scalar, Tensor};
use crate::value::{Dim, Meta, TensorMeta, Value};

/// A value that an op's own functions are written for: tensors (`eval`) or their shapes (`infer`).
pub trait Concrete: Value + function::Describe {
    /// What a tensor operand is.
    type Data: 'static;
    /// What a size is: an integer, or a symbolic dimension.
    type Size: Clone + PartialEq + std::fmt::Debug;

    /// The tensor in a value.
    fn data(&self) -> Option<&Self::Data>;

    /// The size that an argument stands for.
    fn size_of(arg: &Arg<Self>) -> Option<Self::Size>;
}

impl Concrete for Tensor {
    type Data = Tensor;
    type Size = i64;

    fn data(&self) -> Option<&Tensor> {
        Some(self)
    }

    fn size_of(arg: &Arg<Self>) -> Option<i64> {
        int_of(arg)
    }
}

impl Concrete for Meta {
    type Data = TensorMeta;
    type Size = Dim;

    fn data(&self) -> Option<&TensorMeta> {
        self.as_tensor()
    }

    fn size_of(arg: &Arg<Self>) -> Option<Dim> {
        match arg {
            Arg::Value(Meta::Int(dim)) => Some(dim.clone()),
            other => int_of(other).map(Dim::from),
        }
    }
}

/// How a caller may write an argument of kind `K`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of the kind `{K}`",
    label = "not what the op takes here",
    note = "`one` is a tensor, `opt` a tensor or `None`, `many` a list of tensors, `num` a tensor or a number, `int` an \
            i64; the other kinds say what they are"
)]
pub trait Encode<K, V> {
    /// The argument to record.
    fn encode(self) -> Arg<V>;
}

/// A kind of attribute.
pub trait Kind {
    /// What the op's functions get.
    type Held<C: Concrete>;
    /// What it is called in messages.
    const EXPECTED: &'static str;

    /// Reads a recorded argument.
    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Self::Held<C>>;
}

/// A kind of operand.
pub trait OperandKind {
    /// What the op's functions get.
    type Held<'a, C: Concrete>;
    /// The kind as data.
    const KIND: function::OperandKind;

    /// Reads a recorded argument; an absent one is `Arg::None`.
    fn read<C: Concrete>(arg: &Arg<C>) -> Option<Self::Held<'_, C>>;
}

/// A number or a tensor, as the functions of an op get it.
pub enum Num<'a, C: Concrete> {
    /// A tensor.
    Tensor(&'a C::Data),
    /// A number.
    Scalar(Scalar),
    /// A size that is not known yet.
    Size(C::Size),
}

/// A size or a number that is none, as in `arange(x.size(0))`.
#[derive(Clone, Debug, PartialEq)]
pub enum Number<C: Concrete> {
    /// An integer, perhaps symbolic.
    Size(C::Size),
    /// A floating-point number.
    Float(f64),
}

pub(in crate::ops) fn int_of<V>(arg: &Arg<V>) -> Option<i64> {
    match arg {
        Arg::Int(x) => Some(*x),
        _ => None,
    }
}

pub(in crate::ops) fn scalar_of<V>(arg: &Arg<V>) -> Option<Scalar> {
    match arg {
        Arg::Bool(x) => Some(Scalar::Bool(*x)),
        Arg::Int(x) => Some(Scalar::Int(*x)),
        Arg::Float(x) => Some(Scalar::Float(*x)),
        _ => None,
    }
}
