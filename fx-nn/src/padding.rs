//! Padding of lines, images and volumes.

use fx::Tensor;
use fx::functional;
use fx::ops::PadOptions;
use fx::ops::kind::Window;
use fx_macros::traceable;

use crate::settings::{Source, brief, float, tuple, window};

macro_rules! paddings {
    ($($(#[doc = $doc:literal])* $Pad:ident, $n:literal, $name:literal, $mode:literal;)+) => { $(
        $(#[doc = $doc])*
        ///
        /// Amounts are pairs of before and after, from the last dimension on.
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Pad {
            padding: [usize; $n],
        }

        #[traceable]
        impl $Pad {
            /// By one amount everywhere, or by one for each side: `[left, right, top, bottom, front, back]`, as many as there are.
            pub fn new(padding: impl Window<$n>) -> Self {
                Self { padding: window(padding) }
            }

            /// `input`: `[N, C, *]`.
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
    /// Pads lines with zeros, as `torch.nn.ZeroPad1d`.
    ZeroPad1d, 2, "ZeroPad1d", "constant";
    /// Pads images with zeros, as `torch.nn.ZeroPad2d`.
    ZeroPad2d, 4, "ZeroPad2d", "constant";
    /// Pads volumes with zeros, as `torch.nn.ZeroPad3d`.
    ZeroPad3d, 6, "ZeroPad3d", "constant";
    /// Pads lines with their reflection, as `torch.nn.ReflectionPad1d`.
    ReflectionPad1d, 2, "ReflectionPad1d", "reflect";
    /// Pads images with their reflection, as `torch.nn.ReflectionPad2d`.
    ReflectionPad2d, 4, "ReflectionPad2d", "reflect";
    /// Pads volumes with their reflection, as `torch.nn.ReflectionPad3d`.
    ReflectionPad3d, 6, "ReflectionPad3d", "reflect";
    /// Pads lines with their ends, as `torch.nn.ReplicationPad1d`.
    ReplicationPad1d, 2, "ReplicationPad1d", "replicate";
    /// Pads images with their edges, as `torch.nn.ReplicationPad2d`.
    ReplicationPad2d, 4, "ReplicationPad2d", "replicate";
    /// Pads volumes with their faces, as `torch.nn.ReplicationPad3d`.
    ReplicationPad3d, 6, "ReplicationPad3d", "replicate";
    /// Pads lines with their other end, as `torch.nn.CircularPad1d`.
    CircularPad1d, 2, "CircularPad1d", "circular";
    /// Pads images with their other side, as `torch.nn.CircularPad2d`.
    CircularPad2d, 4, "CircularPad2d", "circular";
    /// Pads volumes with their other side, as `torch.nn.CircularPad3d`.
    CircularPad3d, 6, "CircularPad3d", "circular";
}

macro_rules! constant_paddings {
    ($($(#[doc = $doc:literal])* $Pad:ident, $n:literal, $name:literal;)+) => { $(
        $(#[doc = $doc])*
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Pad {
            padding: [usize; $n],
            value: f64,
        }

        #[traceable]
        impl $Pad {
            /// By one amount everywhere, or by one for each side: `[left, right, top, bottom, front, back]`, as many as there are, with
            /// `value`.
            pub fn new(padding: impl Window<$n>, value: f64) -> Self {
                Self { padding: window(padding), value }
            }

            /// `input`: `[N, C, *]`.
            pub fn forward(&self, input: &Tensor) -> Tensor {
                functional::pad_with(input, self.padding, PadOptions::new().value(self.value))
            }

            fn extra_repr(&self) -> String {
                format!("padding={}, value={}", tuple(&self.padding), float(self.value))
            }

            fn constructor(&self) -> String {
                Source::new($name, format_args!("{}, {:?}", brief(&self.padding), self.value)).text()
            }
        }
    )+ };
}
constant_paddings! {
    /// Pads lines with a number, as `torch.nn.ConstantPad1d`.
    ConstantPad1d, 2, "ConstantPad1d";
    /// Pads images with a number, as `torch.nn.ConstantPad2d`.
    ConstantPad2d, 4, "ConstantPad2d";
    /// Pads volumes with a number, as `torch.nn.ConstantPad3d`.
    ConstantPad3d, 6, "ConstantPad3d";
}
