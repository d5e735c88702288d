//! The Rust types that a tensor's elements can have.

use fx_kernels::memory::Plain;
use half::{bf16, f16};

use super::{DType, Scalar, Word};

/// A type of tensor elements.
pub trait Element: Plain<Word: Word> + PartialOrd + std::fmt::Debug {
    /// Its name as data.
    const DTYPE: DType;

    /// Converts from a float as PyTorch does: towards zero, wrapping through i64.
    fn from_f64(x: f64) -> Self;

    /// Converts from an integer; narrower integers wrap.
    fn from_i64(x: i64) -> Self;

    /// As a float.
    fn to_f64(self) -> f64;

    /// As an integer, towards zero.
    fn to_i64(self) -> i64;

    /// As a number.
    fn to_scalar(self) -> Scalar;

    /// From a number.
    fn from_scalar(x: Scalar) -> Self {
        match x {
            Scalar::Float(x) => Self::from_f64(x),
            other => Self::from_i64(other.to_i64()),
        }
    }
}

/// A floating-point element type, and the type in which it computes.
pub trait Float: Element {
    /// `f32`, or `f64` for `f64`.
    type Compute: Element + num::Real;

    /// As the type in which it computes.
    fn widen(self) -> Self::Compute;

    /// Rounded back.
    fn narrow(x: Self::Compute) -> Self;
}

/// The arithmetic of `f32` and `f64` that kernels are generic over.
pub mod num {
    macro_rules! unary {
        (@declare $($f:ident)+) => { $(
            #[doc = concat!("As `f64::", stringify!($f), "`.")]
            fn $f(self) -> Self;
        )+ };
        (@implement $T:ident: $($f:ident)+) => { $(
            fn $f(self) -> Self { $T::$f(self) }
        )+ };
    }

    /// A real number type of the machine.
    pub trait Real:
        Copy
        + PartialOrd
        + std::ops::Add<Output = Self>
        + std::ops::Sub<Output = Self>
        + std::ops::Mul<Output = Self>
        + std::ops::Div<Output = Self>
        + std::ops::Neg<Output = Self>
        + std::ops::AddAssign
        + std::iter::Sum
        + Into<f64>
        + Send
        + Sync
        + 'static
    {
        /// From a literal.
        fn of(x: f64) -> Self;
        /// As `f64`.
        fn f64(self) -> f64;
        /// This to a power.
        fn powf(self, exponent: Self) -> Self;
        /// The angle of the point `(x, self)`.
        fn atan2(self, x: Self) -> Self;
        /// The error function.
        fn erf(self) -> Self;
        /// One minus the error function.
        fn erfc(self) -> Self;
        /// To the nearest integer, halves to even.
        fn round(self) -> Self;
        unary!(@declare sqrt exp ln abs tanh sin cos tan asin acos atan sinh cosh asinh acosh atanh floor ceil trunc
            exp_m1 ln_1p log2 log10);
    }

    macro_rules! real {
        ($($T:ident $erf:ident $erfc:ident),+) => { $(impl Real for $T {
            fn of(x: f64) -> Self { x as $T }
            fn f64(self) -> f64 { self.into() }
            fn powf(self, exponent: Self) -> Self { $T::powf(self, exponent) }
            fn atan2(self, x: Self) -> Self { $T::atan2(self, x) }
            fn erf(self) -> Self { libm::$erf(self) }
            fn erfc(self) -> Self { libm::$erfc(self) }
            fn round(self) -> Self { self.round_ties_even() }
            unary!(@implement $T: sqrt exp ln abs tanh sin cos tan asin acos atan sinh cosh asinh acosh atanh floor
                ceil trunc exp_m1 ln_1p log2 log10);
        })+ };
    }
    real!(f32 erff erfcf, f64 erf erfc);
}

macro_rules! element {
    ($($T:ty, $Variant:ident, $from_f64:expr, $from_i64:expr, $to_f64:expr, $to_i64:expr, $to_scalar:expr;)+) => { $(
        impl Element for $T {
            const DTYPE: DType = DType::$Variant;

            fn from_f64(x: f64) -> Self {
                let convert: fn(f64) -> $T = $from_f64;
                convert(x)
            }

            fn from_i64(x: i64) -> Self {
                let convert: fn(i64) -> $T = $from_i64;
                convert(x)
            }

            fn to_f64(self) -> f64 {
                let convert: fn($T) -> f64 = $to_f64;
                convert(self)
            }

            fn to_i64(self) -> i64 {
                let convert: fn($T) -> i64 = $to_i64;
                convert(self)
            }

            fn to_scalar(self) -> Scalar {
                let convert: fn($T) -> Scalar = $to_scalar;
                convert(self)
            }
        }
    )+ };
}
element! {
    bool, Bool, |x| x != 0.0, |x| x != 0, |x| f64::from(u8::from(x)), |x| i64::from(x), |x| Scalar::Bool(x);
    u8, U8, |x| x as i64 as u8, |x| x as u8, |x| x.into(), |x| x.into(), |x| Scalar::Int(x.into());
    i8, I8, |x| x as i64 as i8, |x| x as i8, |x| x.into(), |x| x.into(), |x| Scalar::Int(x.into());
    i32, I32, |x| x as i64 as i32, |x| x as i32, |x| x.into(), |x| x.into(), |x| Scalar::Int(x.into());
    i64, I64, |x| x as i64, |x| x, |x| x as f64, |x| x, |x| Scalar::Int(x);
    f16, F16, |x| f16::from_f32(x as f32), |x| f16::from_f32(x as f32), |x| x.to_f64(), |x| x.to_f32() as i64,
        |x| Scalar::Float(x.to_f64());
    bf16, BF16, |x| bf16::from_f32(x as f32), |x| bf16::from_f32(x as f32), |x| x.to_f64(), |x| x.to_f32() as i64,
        |x| Scalar::Float(x.to_f64());
    f32, F32, |x| x as f32, |x| x as f32, |x| x.into(), |x| x as i64, |x| Scalar::Float(x.into());
    f64, F64, |x| x, |x| x as f64, |x| x, |x| x as i64, |x| Scalar::Float(x);
}

macro_rules! float {
    ($($T:ty, $Compute:ty, $widen:expr, $narrow:expr;)+) => { $(
        impl Float for $T {
            type Compute = $Compute;

            fn widen(self) -> $Compute {
                let convert: fn($T) -> $Compute = $widen;
                convert(self)
            }

            fn narrow(x: $Compute) -> $T {
                let convert: fn($Compute) -> $T = $narrow;
                convert(x)
            }
        }
    )+ };
}
float! {
    f32, f32, |x| x, |x| x;
    f64, f64, |x| x, |x| x;
    f16, f32, |x| x.to_f32(), f16::from_f32;
    bf16, f32, |x| x.to_f32(), bf16::from_f32;
}

/// Converts one element type to another with PyTorch's rules.
pub fn cast<T: Element, U: Element>(x: T) -> U {
    if T::DTYPE.is_float() { U::from_f64(x.to_f64()) } else { U::from_i64(x.to_i64()) }
}

/// Runs an expression with `$T` as the type that stands beside an element type; the last expression is for those that do not
/// stand here.
macro_rules! by_dtype {
    ($dtype:expr, $T:ident => $body:expr; $($($Variant:ident)|+: $Type:ty),+ $(; $other:expr)?) => {
        match $dtype {
            $($($crate::tensor::DType::$Variant)|+ => {
                type $T = $Type;
                $body
            })+
            $(_ => $other,)?
        }
    };
}

/// Runs an expression with `$T` as the Rust type of an element type.
macro_rules! dispatch {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::tensor::by_dtype!($dtype, $T => $body; Bool: bool, U8: u8, I8: i8, I32: i32, I64: i64, F16: half::f16,
            BF16: half::bf16, F32: f32, F64: f64)
    };
}

/// Runs an expression with `$W` as the word of an element type: for what is moved and not computed with.
macro_rules! dispatch_words {
    ($dtype:expr, $W:ident => $body:expr) => {
        $crate::tensor::by_dtype!($dtype, $W => $body; Bool: bool, U8 | I8: u8, F16 | BF16: u16, I32 | F32: u32,
            I64 | F64: u64)
    };
}

/// As `dispatch`, for the floating-point types; the last expression is for the others.
macro_rules! dispatch_float {
    ($dtype:expr, $T:ident => $body:expr, $other:expr) => {
        $crate::tensor::by_dtype!($dtype, $T => $body; F16: half::f16, BF16: half::bf16, F32: f32, F64: f64; $other)
    };
}

pub(crate) use {by_dtype, dispatch, dispatch_float, dispatch_words};
