//! Elementwise functions of one operand that a fused call ends with, and their text.

use std::fmt;
use std::str::FromStr;

use fx_kernels::elementwise::Unary;

use crate::arg::{Arg, Key, Kwargs};
use crate::error::{Error, Result};
use crate::ops::Function;
use crate::ops::functions as ops;
use crate::ops::kind::scalar_of;

/// An elementwise function of one operand with its numbers: `relu`, `clamp[0, 6]`, `gelu_tanh`.
///
/// ```
/// use fx_core::ops::Attr;
/// let attr: Attr = "leaky_relu[0.1]".parse()?;
/// assert_eq!(attr.to_string(), "leaky_relu[0.1]");
/// # Ok::<(), fx_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attr(pub(crate) Unary);

impl Attr {
    /// The function that a call computes, if it is one of these on tensors of any type of floats.
    pub fn of<V>(function: Function, kwargs: &Kwargs<V>) -> Option<Self> {
        Self::with(function, kwargs, f32::NAN)
    }

    /// The function that a call computes on f32, if it is one of these.
    pub(crate) fn of_single<V>(function: Function, kwargs: &Kwargs<V>) -> Option<Self> {
        Self::with(function, kwargs, f32::MAX)
    }

    /// The function that a call computes where this is the largest number, or NaN if that is not known.
    fn with<V>(function: Function, kwargs: &Kwargs<V>, largest: f32) -> Option<Self> {
        let number = |name: &str, default: f32| match kwargs.get(name) {
            Some(Arg::None) | None => Some(default),
            Some(arg) => scalar_of(arg).map(|x| x.to_f64() as f32),
        };
        let unary = PLAIN.iter().find(|(known, _)| *known == function).map(|(_, unary)| *unary);
        Some(Self(match function {
            _ if unary.is_some() => unary?,
            f if f == ops::gelu => match kwargs.get("approximate") {
                Some(Arg::Str(form)) if form == "tanh" => Unary::GeluTanh,
                _ => Unary::Gelu,
            },
            f if f == ops::elu => Unary::Elu(number("alpha", 1.0)?),
            f if f == ops::celu => Unary::Celu(number("alpha", 1.0)?),
            f if f == ops::leaky_relu => Unary::LeakyRelu(number("negative_slope", 0.01)?),
            f if f == ops::softplus => Unary::Softplus(number("beta", 1.0)?, number("threshold", 20.0)?),
            f if f == ops::hardtanh => Unary::Clamp(number("min_val", -1.0)?, number("max_val", 1.0)?),
            f if f == ops::clamp => Unary::Clamp(number("min", f32::NEG_INFINITY)?, number("max", f32::INFINITY)?),
            f if f == ops::nan_to_num => {
                let limit = |name: &str, default: f32| number(name, default).filter(|x| !x.is_nan());
                Unary::NanToNum(number("nan", 0.0)?, limit("posinf", largest)?, limit("neginf", -largest)?)
            }
            _ => return None,
        }))
    }

    /// The call that computes it.
    pub fn call<V>(self) -> (Function, Kwargs<V>) {
        let plain = PLAIN.iter().find(|(_, unary)| *unary == self.0).map(|(function, _)| *function);
        let given = |numbers: &[(&'static str, f32)]| -> Kwargs<V> {
            numbers.iter().map(|(key, x)| (Key::from(*key), Arg::Float(f64::from(*x)))).collect()
        };
        match self.0 {
            Unary::GeluTanh => (ops::gelu, [(Key::from("approximate"), Arg::Str("tanh".into()))].into_iter().collect()),
            Unary::Gelu => (ops::gelu, Kwargs::new()),
            Unary::Elu(alpha) => (ops::elu, given(&[("alpha", alpha)])),
            Unary::Celu(alpha) => (ops::celu, given(&[("alpha", alpha)])),
            Unary::LeakyRelu(slope) => (ops::leaky_relu, given(&[("negative_slope", slope)])),
            Unary::Softplus(beta, threshold) => (ops::softplus, given(&[("beta", beta), ("threshold", threshold)])),
            Unary::Clamp(min, max) => (ops::clamp, given(&[("min", min), ("max", max)])),
            Unary::NanToNum(nan, posinf, neginf) => {
                (ops::nan_to_num, given(&[("nan", nan), ("posinf", posinf), ("neginf", neginf)]))
            }
            // Every other function of the kernels is in the list.
            _ => (plain.unwrap_or(ops::clone_), Kwargs::new()),
        }
    }
}

/// The functions without numbers.
static PLAIN: &[(Function, Unary)] = &[
    (ops::abs, Unary::Abs),
    (ops::neg, Unary::Neg),
    (ops::square, Unary::Square),
    (ops::sqrt, Unary::Sqrt),
    (ops::rsqrt, Unary::Rsqrt),
    (ops::reciprocal, Unary::Reciprocal),
    (ops::exp, Unary::Exp),
    (ops::expm1, Unary::Expm1),
    (ops::log, Unary::Log),
    (ops::log2, Unary::Log2),
    (ops::log10, Unary::Log10),
    (ops::log1p, Unary::Log1p),
    (ops::sin, Unary::Sin),
    (ops::cos, Unary::Cos),
    (ops::tan, Unary::Tan),
    (ops::atan, Unary::Atan),
    (ops::asin, Unary::Asin),
    (ops::acos, Unary::Acos),
    (ops::sinh, Unary::Sinh),
    (ops::cosh, Unary::Cosh),
    (ops::asinh, Unary::Asinh),
    (ops::acosh, Unary::Acosh),
    (ops::atanh, Unary::Atanh),
    (ops::tanh, Unary::Tanh),
    (ops::sigmoid, Unary::Sigmoid),
    (ops::erf, Unary::Erf),
    (ops::erfc, Unary::Erfc),
    (ops::floor, Unary::Floor),
    (ops::ceil, Unary::Ceil),
    (ops::trunc, Unary::Trunc),
    (ops::frac, Unary::Frac),
    (ops::round, Unary::Round),
    (ops::relu, Unary::Relu),
    (ops::relu6, Unary::Relu6),
    (ops::selu, Unary::Selu),
    (ops::silu, Unary::Silu),
    (ops::mish, Unary::Mish),
    (ops::softsign, Unary::Softsign),
    (ops::logsigmoid, Unary::LogSigmoid),
    (ops::hardswish, Unary::Hardswish),
    (ops::hardsigmoid, Unary::Hardsigmoid),
];

impl fmt::Display for Attr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Attr {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.parse().map(Self).map_err(|_| {
            Error::argument(format!("there is no elementwise function `{text}`"))
                .help("`attr` is one such as `relu`, `gelu_tanh` or `clamp[0, 6]`, or `none`")
        })
    }
}

/// An attribute's value: no function, or one.
pub(super) fn parse(text: &str) -> Result<Option<Attr>> {
    if text == "none" { Ok(None) } else { text.parse().map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Meta;

    #[test]
    fn a_function_and_its_call_are_inverse() {
        let texts = [
            "relu",
            "clamp[0, 6]",
            "gelu",
            "gelu_tanh",
            "elu[0.5]",
            "softplus[2, 10]",
            "nan_to_num[0, 1, -1]",
            "hardswish",
            "selu",
        ];
        for text in texts {
            let attr: Attr = text.parse().unwrap();
            let (function, kwargs) = attr.call::<Meta>();
            assert_eq!(Attr::of(function, &kwargs), Some(attr), "{text}");
            assert_eq!(attr.to_string(), text);
        }
        // What stands for an infinity depends on the type, if nothing is said.
        let none = Kwargs::<Meta>::new();
        assert_eq!(Attr::of(ops::nan_to_num, &none), None);
        let single = Attr(Unary::NanToNum(0.0, f32::MAX, f32::MIN));
        assert_eq!(Attr::of_single(ops::nan_to_num, &none), Some(single));
        assert_eq!(single.to_string(), "nan_to_num[0, 3.4028235e38, -3.4028235e38]");
        assert_eq!(single.to_string().parse::<Attr>().unwrap(), single);
        assert!("relu[1]".parse::<Attr>().is_err() && "clamp[0]".parse::<Attr>().is_err());
        for (function, unary) in PLAIN {
            assert_eq!(Attr(*unary).call::<Meta>().0, *function);
        }
    }
}
