//! Padding of images.

use fx::Tensor;
use fx::functional;
use fx::ops::PadOptions;
use fx::ops::kind::Window;
use fx_macros::traceable;

use crate::settings::{Source, brief, float, tuple, window};

macro_rules! paddings {
    ($($(#[doc = $doc:literal])* $Pad:ident, $name:literal, $mode:literal;)+) => { $(
        $(#[doc = $doc])*
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Pad {
            padding: [usize; 4],
        }

        #[traceable]
        impl $Pad {
            /// By one amount everywhere, or by `[left, right, top, bottom]`.
            pub fn new(padding: impl Window<4>) -> Self {
                Self { padding: window(padding) }
            }

            /// `input`: `[N, C, H, W]`.
            pub fn forward(&self, input: &Tensor) -> Tensor {
                functional::pad_with(input, self.padding, PadOptions::new().mode($mode))
            }

            fn extra_repr(&self) -> String {
                tuple(&self.padding)
            }

            fn constructor(&self) -> String {
                Source::new($name, brief(&self.padding)).text()
            }
        }
    )+ };
}
paddings! {
    /// Pads images with zeros, as `torch.nn.ZeroPad2d`.
    ZeroPad2d, "ZeroPad2d", "constant";
    /// Pads images with their reflection, as `torch.nn.ReflectionPad2d`.
    ReflectionPad2d, "ReflectionPad2d", "reflect";
}

/// Pads images with a number, as `torch.nn.ConstantPad2d`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct ConstantPad2d {
    padding: [usize; 4],
    value: f64,
}

#[traceable]
impl ConstantPad2d {
    /// By one amount everywhere, or by `[left, right, top, bottom]`, with `value`.
    pub fn new(padding: impl Window<4>, value: f64) -> Self {
        Self { padding: window(padding), value }
    }

    /// `input`: `[N, C, H, W]`.
    pub fn forward(&self, input: &Tensor) -> Tensor {
        functional::pad_with(input, self.padding, PadOptions::new().value(self.value))
    }

    fn extra_repr(&self) -> String {
        format!("padding={}, value={}", tuple(&self.padding), float(self.value))
    }

    fn constructor(&self) -> String {
        Source::new("ConstantPad2d", format_args!("{}, {:?}", brief(&self.padding), self.value)).text()
    }
}
