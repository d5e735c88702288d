//! The types that ops compute in: f32, f64 or i64. The others are converted before and after, so that an op is compiled
//! three times at most.

use fx_kernels::gemm;

use crate::tensor::num::Real;
use crate::tensor::{DType, Element};

/// A type that the kernels compute in: `f32` or `f64`.
pub(crate) trait Number: Element + Real + gemm::Scalar {}

impl Number for f32 {}
impl Number for f64 {}

/// The type in which floats of a type are computed.
pub(crate) fn wide(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

/// Runs an expression with `$T` as the type in which floats of `$dtype` are computed.
macro_rules! in_floats {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::tensor::DType::F64 => {
                type $T = f64;
                $body
            }
            _ => {
                type $T = f32;
                $body
            }
        }
    };
}

/// Runs an expression with `$T` as the type in which elements of `$dtype` are compared; each is in it as it is.
macro_rules! in_ordered {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            dtype if !dtype.is_float() => {
                type $T = i64;
                $body
            }
            dtype => $crate::ops::wide::in_floats!(dtype, $T => $body),
        }
    };
}

pub(crate) use {in_floats, in_ordered};
