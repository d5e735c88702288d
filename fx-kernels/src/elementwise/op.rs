//! The elementwise ops: a row each, with its name and what it computes on vectors.

use super::tile::{Area, Loop1, Loop2, Loop3, Operands};
use crate::math::{self, Floats};
use crate::simd::{Level, dispatch};

/// The type of an op's parameter.
macro_rules! parameter {
    ($name:ident) => {
        f32
    };
}

/// Makes the ops of as many operands as the rows name: an enum, its text, and the loop over a tile for each.
macro_rules! ops {
    ($(#[$doc:meta])* $Ops:ident, $operands:literal, $Function:ident, $Loop:ident:
        $($(#[$about:meta])* $Name:ident $(($($p:ident),+))? $text:literal = |$($x:ident),+| $body:expr $(, $WAITS:ident)?;)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum $Ops { $(
            $(#[$about])*
            $Name $(($(parameter!($p)),+))?,
        )+ }

        impl $Ops {
            /// Runs the op over a tile, with instructions of a level.
            ///
            /// # Safety
            /// The operands must be as [`Loop1`] and its siblings say.
            pub(super) unsafe fn run(self, level: Level, out: *mut f32, area: Area, x: Operands<'_>) {
                match self { $(
                    $Ops::$Name $(($($p),+))? => {
                        struct Row { $($($p: f32),+)? }

                        impl $Function for Row {
                            $(const $WAITS: bool = true;)?

                            #[inline(always)]
                            fn of<V: Floats>(&self, $($x: V),+) -> V {
                                $(let Row { $($p),+ } = *self;)?
                                $body
                            }
                        }
                        dispatch(level, $Loop { function: Row { $($($p),+)? }, out, area, x });
                    }
                )+ }
            }

            /// The name, and the parameters.
            fn parts(self) -> (&'static str, [Option<f32>; 3]) {
                match self { $(
                    $Ops::$Name $(($($p),+))? => ($text, {
                        let parameters: &[f32] = &[$($($p),+)?];
                        std::array::from_fn(|index| parameters.get(index).copied())
                    }),
                )+ }
            }
        }

        impl std::str::FromStr for $Ops {
            type Err = UnknownOp;

            /// Reads what is printed.
            fn from_str(text: &str) -> Result<Self, UnknownOp> {
                let (name, numbers) = match text.strip_suffix(']').map(|text| text.split_once('[')) {
                    Some(parts) => parts.ok_or(UnknownOp)?,
                    None => (text, ""),
                };
                let mut numbers = numbers.split_terminator(',').map(|x| x.trim().parse::<f32>().map_err(|_| UnknownOp));
                let op = match name {
                    $($text => $Ops::$Name $(($({
                        let $p = numbers.next().ok_or(UnknownOp)??;
                        $p
                    }),+))?,)+
                    _ => return Err(UnknownOp),
                };
                if numbers.next().is_none() { Ok(op) } else { Err(UnknownOp) }
            }
        }

        impl std::fmt::Display for $Ops {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let (name, parameters) = self.parts();
                f.write_str(name)?;
                for (index, parameter) in parameters.iter().flatten().enumerate() {
                    f.write_str(if index == 0 { "[" } else { ", " })?;
                    // The digits of numbers that are so large are of no meaning.
                    let is_large = parameter.abs() >= LARGE && parameter.is_finite();
                    if is_large { write!(f, "{parameter:e}")? } else { write!(f, "{parameter}")? }
                }
                f.write_str(if parameters[0].is_some() { "]" } else { "" })
            }
        }
    };
}

/// From here on numbers are printed with an exponent.
const LARGE: f32 = 1e9;

/// A text that is no op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownOp;

/// A function of one vector.
pub(super) trait Function1 {
    /// Whether its steps wait for each other, for so long that several vectors are computed side by side.
    const WAITS: bool = false;

    fn of<V: Floats>(&self, x: V) -> V;
}

/// A function of two vectors.
pub(super) trait Function2 {
    /// As for [`Function1`].
    const WAITS: bool = false;

    fn of<V: Floats>(&self, x: V, y: V) -> V;
}

/// A function of three vectors.
pub(super) trait Function3 {
    /// As for [`Function1`].
    const WAITS: bool = false;

    fn of<V: Floats>(&self, x: V, y: V, z: V) -> V;
}

ops! {
    /// The ops of one operand; NaN and infinities give what they give in PyTorch.
    Unary, 1, Function1, Loop1:
    /// The absolute value.
    Abs "abs" = |x| x.abs();
    /// `-x`.
    Neg "neg" = |x| -x;
    /// `x * x`.
    Square "square" = |x| x * x;
    /// The square root, correctly rounded.
    Sqrt "sqrt" = |x| x.sqrt();
    /// `1 / sqrt(x)`.
    Rsqrt "rsqrt" = |x| V::splat(1.0) / x.sqrt();
    /// `1 / x`.
    Reciprocal "reciprocal" = |x| V::splat(1.0) / x;
    /// The exponential.
    Exp "exp" = |x| math::exp(x), WAITS;
    /// The exponential less 1, accurate near 0.
    Expm1 "expm1" = |x| math::expm1(x);
    /// The natural logarithm.
    Log "log" = |x| math::log(x), WAITS;
    /// The logarithm to base 2.
    Log2 "log2" = |x| math::log2(x);
    /// The logarithm to base 10.
    Log10 "log10" = |x| math::log10(x);
    /// The logarithm of `1 + x`, accurate near 0.
    Log1p "log1p" = |x| math::log1p(x);
    /// The sine.
    Sin "sin" = |x| math::sin(x);
    /// The cosine.
    Cos "cos" = |x| math::cos(x);
    /// The tangent.
    Tan "tan" = |x| math::tan(x);
    /// The inverse of the tangent.
    Atan "atan" = |x| math::atan(x);
    /// The inverse of the sine.
    Asin "asin" = |x| math::asin(x);
    /// The inverse of the cosine.
    Acos "acos" = |x| math::acos(x);
    /// The hyperbolic sine.
    Sinh "sinh" = |x| math::hyperbolic::sinh(x);
    /// The hyperbolic cosine.
    Cosh "cosh" = |x| math::hyperbolic::cosh(x);
    /// The inverse of the hyperbolic sine.
    Asinh "asinh" = |x| math::hyperbolic::asinh(x);
    /// The inverse of the hyperbolic cosine.
    Acosh "acosh" = |x| math::hyperbolic::acosh(x);
    /// The inverse of the hyperbolic tangent.
    Atanh "atanh" = |x| math::hyperbolic::atanh(x);
    /// The hyperbolic tangent.
    Tanh "tanh" = |x| math::tanh(x), WAITS;
    /// `1 / (1 + exp(-x))`.
    Sigmoid "sigmoid" = |x| math::sigmoid(x), WAITS;
    /// The error function.
    Erf "erf" = |x| math::erf(x), WAITS;
    /// 1 less the error function.
    Erfc "erfc" = |x| math::erfc(x), WAITS;
    /// The largest integer that is not larger.
    Floor "floor" = |x| x.floor();
    /// The smallest integer that is not smaller.
    Ceil "ceil" = |x| -(-x).floor();
    /// The integer part, with the sign of the number.
    Trunc "trunc" = |x| math::trunc(x);
    /// What is behind the point, with the sign of the number.
    Frac "frac" = |x| x - math::trunc(x);
    /// The nearest integer, the even one of two.
    Round "round" = |x| x.round();
    /// `max(x, 0)`.
    Relu "relu" = |x| V::zero().max(x);
    /// `min(max(x, 0), 6)`.
    Relu6 "relu6" = |x| math::clamp(x, 0.0, 6.0);
    /// `x` above 0, else the parameter times it.
    LeakyRelu(slope) "leaky_relu" = |x| V::select(V::zero().lt(x), x, x * V::splat(slope));
    /// `x` above 0, else the parameter times `exp(x) - 1`.
    Elu(alpha) "elu" = |x| math::elu(x, alpha, 1.0, 1.0);
    /// `x` above 0, else the parameter times `exp(x / parameter) - 1`.
    Celu(alpha) "celu" = |x| math::elu(x, alpha, 1.0, 1.0 / alpha);
    /// The self-normalising `elu` (Klambauer et al., 2017).
    Selu "selu" = |x| math::elu(x, 1.758_099_3, 1.050_701, 1.0);
    /// `x` times the normal distribution function.
    Gelu "gelu" = |x| math::gelu(x);
    /// The approximation of `gelu` with a hyperbolic tangent.
    GeluTanh "gelu_tanh" = |x| math::gelu_tanh(x), WAITS;
    /// `x * sigmoid(x)`.
    Silu "silu" = |x| math::silu(x), WAITS;
    /// `x * tanh(log(1 + exp(x)))`.
    Mish "mish" = |x| math::mish(x);
    /// `log(1 + exp(beta * x)) / beta`, and `x` itself where `beta * x` is above a threshold, the second parameter.
    Softplus(beta, threshold) "softplus" = |x| math::softplus(x, beta, threshold);
    /// `x / (1 + |x|)`.
    Softsign "softsign" = |x| x / (x.abs() + V::splat(1.0));
    /// `log(sigmoid(x))`.
    LogSigmoid "logsigmoid" = |x| math::log_sigmoid(x);
    /// `x * relu6(x + 3) / 6`.
    Hardswish "hardswish" = |x| math::hardswish(x);
    /// `relu6(x + 3) / 6`.
    Hardsigmoid "hardsigmoid" = |x| math::hardsigmoid(x);
    /// The value, but at least the first parameter and at most the second.
    Clamp(low, high) "clamp" = |x| math::clamp(x, low, high);
    /// The value, but the first parameter for NaN, the second for infinity, the third for minus infinity.
    NanToNum(nan, above, below) "nan_to_num" = |x| math::nan_to_num(x, nan, above, below);
}

ops! {
    /// The ops of two operands; comparisons give 1 or 0.
    Binary, 2, Function2, Loop2:
    /// `x + y`.
    Add "add" = |x, y| x + y;
    /// `x - y`.
    Sub "sub" = |x, y| x - y;
    /// `x * y`.
    Mul "mul" = |x, y| x * y;
    /// `x / y`.
    Div "div" = |x, y| x / y;
    /// The larger; NaN if there is one.
    Maximum "maximum" = |x, y| V::select(x.eq(x), x.max(y), x);
    /// The smaller; NaN if there is one.
    Minimum "minimum" = |x, y| V::select(x.eq(x), x.min(y), x);
    /// Whether `x = y`.
    Eq "eq" = |x, y| V::select(x.eq(y), V::splat(1.0), V::zero());
    /// Whether `x < y`.
    Lt "lt" = |x, y| V::select(x.lt(y), V::splat(1.0), V::zero());
    /// Whether `x <= y`.
    Le "le" = |x, y| V::select(x.le(y), V::splat(1.0), V::zero());
    /// The angle of the point `(y, x)`.
    Atan2 "atan2" = |x, y| math::atan2(x, y);
    /// `sqrt(x * x + y * y)`.
    Hypot "hypot" = |x, y| math::hypot(x, y);
    /// A loss of the distance `z = |x - y|`: `steepness * z * z` up to the bound, the first parameter, and beyond it the line that goes on
    /// from there with `slope`, if that is `2 * steepness * bound`.
    Distance(bound, steepness, slope) "distance" = |x, y| math::distance_loss(x, y, bound, steepness, slope);
    /// `x` where it is larger than 0, else `x * y`.
    Prelu "prelu" = |x, y| V::select(V::zero().lt(x), x, x * y);
}

ops! {
    /// The ops of three operands.
    Ternary, 3, Function3, Loop3:
    /// `x * y + z`, rounded once where the processor can.
    MulAdd "mul_add" = |x, y, z| x.mul_add(y, z);
    /// `y` where `x` is not 0, else `z`.
    Where "where" = |x, y, z| V::select(x.eq(V::zero()), z, y);
    /// From `x` to `y` as `z` goes from 0 to 1.
    Lerp "lerp" = |x, y, z| {
        let far = V::splat(0.5).le(z.abs());
        V::select(far, y - (y - x) * (V::splat(1.0) - z), z.mul_add(y - x, x))
    };
}
