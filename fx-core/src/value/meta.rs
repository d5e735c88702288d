//! The abstract value: a shape and an element type, no data.

use std::fmt;

use smallvec::SmallVec;

use super::{Call, Callee, Dim, Value};
use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::ops::fallible;
use crate::tensor::{DType, Tensor};

/// The dimensions of a shape, each an integer or a symbolic expression.
pub type Shape = SmallVec<[Dim; 5]>;

/// What is known of a tensor without its data.
#[derive(Clone, PartialEq)]
pub struct TensorMeta {
    /// Its dimensions.
    pub shape: Shape,
    /// The type of its elements.
    pub dtype: DType,
}

/// What is known of a value without its data.
#[derive(Clone, PartialEq)]
pub enum Meta {
    /// A tensor of known shape and element type.
    Tensor(TensorMeta),
    /// A symbolic size.
    Int(Dim),
    /// Nothing: the result of a function without a shape rule.
    Unknown,
}

impl TensorMeta {
    /// A tensor of this shape and element type.
    pub fn new(shape: impl IntoIterator<Item = impl Into<Dim>>, dtype: DType) -> Self {
        Self { shape: shape.into_iter().map(Into::into).collect(), dtype }
    }

    /// The number of dimensions.
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    pub fn numel(&self) -> Dim {
        self.shape.iter().fold(Dim::from(1), |numel, dim| numel * dim)
    }

    /// The same shape with another element type.
    #[must_use]
    pub fn with_dtype(&self, dtype: DType) -> Self {
        Self { shape: self.shape.clone(), dtype }
    }

    /// The same element type with another shape.
    #[must_use]
    pub fn with_shape(&self, shape: impl IntoIterator<Item = Dim>) -> Self {
        Self { shape: shape.into_iter().collect(), dtype: self.dtype }
    }

    /// The dimensions as integers, if all are known.
    pub fn concrete_shape(&self) -> Option<SmallVec<[usize; 6]>> {
        self.shape.iter().map(|dim| dim.as_int().and_then(|dim| usize::try_from(dim).ok())).collect()
    }

    /// The number of bytes that its elements take, if all dimensions are known.
    pub fn bytes(&self) -> Option<usize> {
        Some(self.concrete_shape()?.iter().product::<usize>() * self.dtype.size())
    }
}

impl Meta {
    /// A tensor of this shape and element type.
    pub fn tensor(shape: impl IntoIterator<Item = impl Into<Dim>>, dtype: DType) -> Self {
        Meta::Tensor(TensorMeta::new(shape, dtype))
    }

    /// The tensor, if it is one.
    pub fn as_tensor(&self) -> Option<&TensorMeta> {
        match self {
            Meta::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The same with another size for each: those of a tensor, or the one that it is.
    ///
    /// ```
    /// use fx_core::value::Dim;
    /// use fx_core::{DType, Meta};
    ///
    /// let rows = Meta::tensor([Dim::symbol("N", 1), Dim::from(3)], DType::F32);
    /// let known = rows.map_sizes(|size| size.substitute(&|_| Some(Dim::from(8))));
    /// assert_eq!(known, Meta::tensor([8, 3], DType::F32));
    /// ```
    #[must_use]
    pub fn map_sizes(&self, mut f: impl FnMut(&Dim) -> Dim) -> Self {
        match self {
            Meta::Tensor(tensor) => tensor.with_shape(tensor.shape.iter().map(f)).into(),
            Meta::Int(size) => Meta::Int(f(size)),
            Meta::Unknown => Meta::Unknown,
        }
    }
}

impl From<&Tensor> for TensorMeta {
    fn from(tensor: &Tensor) -> Self {
        Self { shape: tensor.shape().iter().map(|&dim| Dim::from(dim)).collect(), dtype: tensor.dtype() }
    }
}

impl From<&Tensor> for Meta {
    fn from(tensor: &Tensor) -> Self {
        Meta::Tensor(tensor.into())
    }
}

impl From<TensorMeta> for Meta {
    fn from(tensor: TensorMeta) -> Self {
        Meta::Tensor(tensor)
    }
}

impl From<Meta> for Arg<Meta> {
    fn from(meta: Meta) -> Self {
        Arg::Value(meta)
    }
}

impl Value for Meta {
    fn apply(call: Call<'_, Self>) -> Result<Arg<Self>> {
        match call.callee {
            Callee::Function(function) | Callee::Method(function) => {
                function.infer(&call.args, &call.kwargs).map_err(|error| error.at_caller(call.location))
            }
            Callee::Module(_, forward) => forward(),
            Callee::Parameter(parameter) => Ok(Arg::Value(Meta::tensor(parameter.shape(), parameter.dtype()))),
            Callee::Buffer(buffer) => Ok(Arg::Value(Meta::tensor(buffer.shape(), buffer.dtype()))),
            Callee::Constant(tensor) => Ok(Arg::Value(Meta::from(tensor))),
        }
    }

    #[track_caller]
    fn fail(error: Error) -> Self {
        fallible::note(error);
        Meta::Unknown
    }
}

impl fmt::Display for TensorMeta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.dtype)?;
        for (i, dim) in self.shape.iter().enumerate() {
            write!(f, "{}{dim}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Meta::Tensor(tensor) => tensor.fmt(f),
            Meta::Int(dim) => dim.fmt(f),
            Meta::Unknown => f.write_str("?"),
        }
    }
}

impl fmt::Debug for TensorMeta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
