//! A number outside a tensor, which promotes as PyTorch's Python numbers do.

use crate::tensor::{DType, Tensor, Word};

/// A number outside a tensor: `2.0` in `x * 2.0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
}

impl Scalar {
    /// As a float: `true` is 1.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Bool(x) => f64::from(u8::from(x)),
            Scalar::Int(x) => x as f64,
            Scalar::Float(x) => x,
        }
    }

    /// As an integer, towards zero.
    pub fn to_i64(self) -> i64 {
        match self {
            Scalar::Bool(x) => i64::from(x),
            Scalar::Int(x) => x,
            Scalar::Float(x) => x as i64,
        }
    }

    /// Whether it is not zero.
    pub fn to_bool(self) -> bool {
        match self {
            Scalar::Bool(x) => x,
            Scalar::Int(x) => x != 0,
            Scalar::Float(x) => x != 0.0,
        }
    }

    /// As the word of an element.
    ///
    /// # Panics
    /// If elements of the type are no such words.
    pub(crate) fn word<W: Word>(self, dtype: DType) -> W {
        Tensor::filled([], self, dtype).words().map_or_else(W::default, |words| words[0])
    }

    /// The element type of a tensor made of it alone.
    pub fn dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::I64,
            Scalar::Float(_) => DType::F32,
        }
    }

    /// The element type of a tensor of `dtype` combined with this number: the number only matters if it is of
    /// a higher category (bool, int, float).
    pub fn promote(self, dtype: DType) -> DType {
        match self {
            Scalar::Float(_) if !dtype.is_float() => DType::F32,
            Scalar::Int(_) if dtype == DType::Bool => DType::I64,
            _ => dtype,
        }
    }
}

macro_rules! scalar_from {
    ($($variant:ident: $($from:ty),+;)+) => { $($(
        impl From<$from> for Scalar {
            fn from(x: $from) -> Self {
                Scalar::$variant(x.into())
            }
        }
    )+)+ };
}
scalar_from! {
    Bool: bool;
    Int: i64, i32, u32, u8, i8;
    Float: f64, f32;
}

impl From<usize> for Scalar {
    fn from(x: usize) -> Self {
        Scalar::Int(x as i64)
    }
}
