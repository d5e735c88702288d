//! Activations as layers.

use fx::functional;
use fx::ops::{
    CeluOptions, EluOptions, GeluOptions, GluOptions, HardshrinkOptions, HardtanhOptions, LeakyReluOptions,
    SoftplusOptions, SoftshrinkOptions,
};
use fx::prelude::*;
use fx_macros::traceable;

use crate::settings::{Marker, Source, float};

/// Activations without hyper-parameters.
macro_rules! plain {
    ($($(#[doc = $doc:literal])* $Name:ident, $name:literal, $op:ident;)+) => { $(
        $(#[doc = $doc])*
        #[traceable(leaf)]
        #[derive(Clone, Debug, Default)]
        pub struct $Name {
            marker: Marker,
        }

        #[traceable]
        impl $Name {
            /// The layer.
            pub fn new() -> Self {
                Self::default()
            }

            /// The same shape as `input`.
            pub fn forward(&self, input: &Tensor) -> Tensor {
                functional::$op(input)
            }

            fn constructor(&self) -> String {
                Source::new($name, "").text()
            }
        }
    )+ };
}
plain! {
    /// `max(x, 0)`, as `torch.nn.ReLU`.
    ReLU, "ReLU", relu;
    /// `min(max(x, 0), 6)`, as `torch.nn.ReLU6`.
    ReLU6, "ReLU6", relu6;
    /// The self-normalising ELU, as `torch.nn.SELU`.
    SELU, "SELU", selu;
    /// `x * sigmoid(x)`, as `torch.nn.SiLU`.
    SiLU, "SiLU", silu;
    /// `x * tanh(softplus(x))`, as `torch.nn.Mish`.
    Mish, "Mish", mish;
    /// `x / (1 + |x|)`, as `torch.nn.Softsign`.
    Softsign, "Softsign", softsign;
    /// The hyperbolic tangent, as `torch.nn.Tanh`.
    Tanh, "Tanh", tanh;
    /// `1 / (1 + exp(-x))`, as `torch.nn.Sigmoid`.
    Sigmoid, "Sigmoid", sigmoid;
    /// `relu6(x + 3) / 6`, as `torch.nn.Hardsigmoid`.
    Hardsigmoid, "Hardsigmoid", hardsigmoid;
    /// `x * relu6(x + 3) / 6`, as `torch.nn.Hardswish`.
    Hardswish, "Hardswish", hardswish;
    /// `log(sigmoid(x))`, as `torch.nn.LogSigmoid`.
    LogSigmoid, "LogSigmoid", logsigmoid;
    /// `x - tanh(x)`, as `torch.nn.Tanhshrink`.
    Tanhshrink, "Tanhshrink", tanhshrink;
}

/// Activations with hyper-parameters that have defaults.
macro_rules! with_defaults {
    ($(
        $(#[doc = $doc:literal])* $Name:ident, $name:literal,
        { $($(#[doc = $field_doc:literal])* $field:ident: $ty:ty = $default:expr),+ },
        $op:ident, $Options:ident, |$self:ident| $repr:expr;
    )+) => { $(
        $(#[doc = $doc])*
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Name {
            $($field: $ty,)+
        }

        #[traceable]
        impl $Name {
            /// The layer with its defaults.
            pub fn new() -> Self {
                Self { $($field: $default),+ }
            }

            $(
                $(#[doc = $field_doc])*
                #[must_use]
                pub fn $field(mut self, $field: $ty) -> Self {
                    self.$field = $field;
                    self
                }
            )+

            /// Applies the activation.
            pub fn forward(&self, input: &Tensor) -> Tensor {
                functional::$op(input, $Options::new()$(.$field(self.$field))+)
            }

            fn extra_repr(&$self) -> String {
                $repr
            }

            fn constructor(&self) -> String {
                Source::new($name, "")$(.option(stringify!($field), self.$field, $default))+.text()
            }
        }

        impl Default for $Name {
            fn default() -> Self {
                Self::new()
            }
        }
    )+ };
}
with_defaults! {
    /// `x` above 0, else `alpha * (exp(x) - 1)`, as `torch.nn.ELU`.
    ELU, "ELU", {
        /// Sets the value that is approached below 0, without its sign.
        alpha: f64 = 1.0
    }, elu_with, EluOptions, |self| format!("alpha={}", float(self.alpha));
    /// `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`, as `torch.nn.CELU`.
    CELU, "CELU", {
        /// Sets the value that is approached below 0, without its sign.
        alpha: f64 = 1.0
    }, celu_with, CeluOptions, |self| format!("alpha={}", float(self.alpha));
    /// `x` above 0, else `negative_slope * x`, as `torch.nn.LeakyReLU`.
    LeakyReLU, "LeakyReLU", {
        /// Sets the slope below 0.
        negative_slope: f64 = 0.01
    }, leaky_relu_with, LeakyReluOptions, |self| format!("negative_slope={}", float(self.negative_slope));
    /// `x` times the normal distribution function, as `torch.nn.GELU`.
    GELU, "GELU", {
        /// Sets how it is computed: `"none"` or `"tanh"`.
        approximate: &'static str = "none"
    }, gelu_with, GeluOptions, |self| format!("approximate='{}'", self.approximate);
    /// `log(1 + exp(beta * x)) / beta`, as `torch.nn.Softplus`.
    Softplus, "Softplus", {
        /// Sets the steepness.
        beta: f64 = 1.0,
        /// Sets the value of `beta * x` above which the result is `x`.
        threshold: f64 = 20.0
    }, softplus_with, SoftplusOptions, |self| {
        format!("beta={}, threshold={}", float(self.beta), float(self.threshold))
    };
    /// The value, but at least `min_val` and at most `max_val`, as `torch.nn.Hardtanh`.
    Hardtanh, "Hardtanh", {
        /// Sets the least value.
        min_val: f64 = -1.0,
        /// Sets the largest value.
        max_val: f64 = 1.0
    }, hardtanh_with, HardtanhOptions, |self| {
        format!("min_val={}, max_val={}", float(self.min_val), float(self.max_val))
    };
    /// The value moved towards 0 by `lambd`, 0 within it, as `torch.nn.Softshrink`.
    Softshrink, "Softshrink", {
        /// Sets the distance.
        lambd: f64 = 0.5
    }, softshrink_with, SoftshrinkOptions, |self| float(self.lambd);
    /// The value where it is farther from 0 than `lambd`, else 0, as `torch.nn.Hardshrink`.
    Hardshrink, "Hardshrink", {
        /// Sets the distance.
        lambd: f64 = 0.5
    }, hardshrink_with, HardshrinkOptions, |self| float(self.lambd);
    /// The first half of a dimension times the sigmoid of the second, as `torch.nn.GLU`.
    GLU, "GLU", {
        /// Sets the dimension.
        dim: i64 = -1
    }, glu_with, GluOptions, |self| format!("dim={}", self.dim);
}

/// Activations along a dimension.
macro_rules! along {
    ($($(#[doc = $doc:literal])* $Name:ident, $name:literal, $op:ident;)+) => { $(
        $(#[doc = $doc])*
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Name {
            dim: i64,
        }

        #[traceable]
        impl $Name {
            /// Along this dimension.
            pub fn new(dim: i64) -> Self {
                Self { dim }
            }

            /// The same shape as `input`.
            pub fn forward(&self, input: &Tensor) -> Tensor {
                functional::$op(input, self.dim)
            }

            fn extra_repr(&self) -> String {
                format!("dim={}", self.dim)
            }

            fn constructor(&self) -> String {
                Source::new($name, self.dim).text()
            }
        }
    )+ };
}
along! {
    /// `exp(x)` over the sum of it along a dimension, as `torch.nn.Softmax`.
    Softmax, "Softmax", softmax;
    /// The softmax of `-x`, as `torch.nn.Softmin`.
    Softmin, "Softmin", softmin;
    /// The logarithm of the softmax, as `torch.nn.LogSoftmax`.
    LogSoftmax, "LogSoftmax", log_softmax;
}

/// `x` above 0, else `weight * x` with a weight that is learned, as `torch.nn.PReLU` (He et al., 2015).
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct PReLU {
    /// `[num_parameters]`, starts as 0.25
    pub weight: Parameter,
    num_parameters: usize,
}

#[traceable]
impl PReLU {
    /// One weight for all channels.
    pub fn new() -> Self {
        Self { weight: weights(1, 0.25), num_parameters: 1 }
    }

    /// Sets the number of weights: 1, or that of the channels.
    #[must_use]
    pub fn num_parameters(mut self, num_parameters: usize) -> Self {
        self.weight = weights(num_parameters, 0.25);
        self.num_parameters = num_parameters;
        self
    }

    /// Sets what the weights start as.
    #[must_use]
    pub fn init(mut self, init: f64) -> Self {
        self.weight = weights(self.num_parameters, init);
        self
    }

    /// The same shape as `input`.
    pub fn forward(&self, input: &Tensor) -> Tensor {
        functional::prelu(input, &self.weight)
    }

    fn extra_repr(&self) -> String {
        format!("num_parameters={}", self.num_parameters)
    }

    fn constructor(&self) -> String {
        Source::new("PReLU", "").option("num_parameters", self.num_parameters, 1).text()
    }
}

impl Default for PReLU {
    fn default() -> Self {
        Self::new()
    }
}

fn weights(count: usize, init: f64) -> Parameter {
    Parameter::new(Tensor::filled([count], init, DType::F32))
}

/// The element where it is above a threshold, else a value, as `torch.nn.Threshold`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct Threshold {
    threshold: f64,
    value: f64,
}

#[traceable]
impl Threshold {
    /// `value` where the element is not above `threshold`.
    pub fn new(threshold: f64, value: f64) -> Self {
        Self { threshold, value }
    }

    /// The same shape as `input`.
    pub fn forward(&self, input: &Tensor) -> Tensor {
        functional::threshold(input, self.threshold, self.value)
    }

    fn extra_repr(&self) -> String {
        format!("threshold={}, value={}", float(self.threshold), float(self.value))
    }

    fn constructor(&self) -> String {
        Source::new("Threshold", format_args!("{:?}, {:?}", self.threshold, self.value)).text()
    }
}
