//! Element types, their names, and PyTorch's promotion between them.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// `bool`.
    Bool,
    /// `torch.uint8`.
    U8,
    /// `torch.int8`.
    I8,
    /// `torch.int32`.
    I32,
    /// `torch.int64`, the default for integers.
    I64,
    /// `torch.float16`.
    F16,
    /// `torch.bfloat16`.
    BF16,
    /// `torch.float32`, the default for floats.
    F32,
    /// `torch.float64`.
    F64,
}

impl DType {
    /// Every element type.
    pub const ALL: [DType; 9] =
        [DType::Bool, DType::U8, DType::I8, DType::I32, DType::I64, DType::F16, DType::BF16, DType::F32, DType::F64];

    /// Rust's short name: `f32`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::U8 => "u8",
            DType::I8 => "i8",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    /// PyTorch's name, as a graph prints it: `torch.float32`.
    pub const fn torch_name(self) -> &'static str {
        match self {
            DType::Bool => "torch.bool",
            DType::U8 => "torch.uint8",
            DType::I8 => "torch.int8",
            DType::I32 => "torch.int32",
            DType::I64 => "torch.int64",
            DType::F16 => "torch.float16",
            DType::BF16 => "torch.bfloat16",
            DType::F32 => "torch.float32",
            DType::F64 => "torch.float64",
        }
    }

    /// Bytes per element.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::U8 | DType::I8 => 1,
            DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::F32 => 4,
            DType::I64 | DType::F64 => 8,
        }
    }

    /// Whether elements are floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
    }

    /// Whether elements are integers (`bool` is not).
    pub const fn is_int(self) -> bool {
        matches!(self, DType::U8 | DType::I8 | DType::I32 | DType::I64)
    }

    /// The element type in which values of both can be computed, by PyTorch's promotion table.
    ///
    /// ```
    /// # use fx_core::DType;
    /// assert_eq!(DType::promote(DType::I64, DType::F16), DType::F16);
    /// assert_eq!(DType::promote(DType::F16, DType::BF16), DType::F32);
    /// ```
    pub const fn promote(a: DType, b: DType) -> DType {
        use DType::{BF16, Bool, F16, F32, I8, I32, U8};
        match (a, b) {
            (Bool, x) | (x, Bool) => x,
            // PyTorch gives int16 here, which we do not have: the next wider type.
            (U8, I8) | (I8, U8) => I32,
            (F16, BF16) | (BF16, F16) => F32,
            _ if a.is_float() && !b.is_float() => a,
            _ if b.is_float() && !a.is_float() => b,
            _ if a.size() >= b.size() => a,
            _ => b,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DType {
    type Err = Error;

    /// Reads either name: `f32` or `torch.float32`.
    fn from_str(name: &str) -> Result<Self, Error> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name || dtype.torch_name() == name).ok_or_else(|| {
            Error::not_found(format!("there is no element type named `{name}`"))
                .help(format!("the element types are {}", DType::ALL.map(DType::name).join(", ")))
        })
    }
}
