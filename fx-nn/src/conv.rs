//! Convolutions.

use fx::functional;
use fx::ops::kind::{Margin, Padding, Window};
use fx::ops::{Conv1dOptions, Conv2dOptions, Conv3dOptions, PadOptions};
use fx::prelude::*;
use fx_macros::traceable;

use crate::init;
use crate::settings::{Source, brief, margin, tuple, window};

/// The hyper-parameters of a convolution of `N` spatial dimensions.
#[derive(Clone, Debug)]
struct Settings<const N: usize> {
    in_channels: usize,
    out_channels: usize,
    kernel_size: [usize; N],
    stride: [usize; N],
    padding: Padding<N>,
    dilation: [usize; N],
    groups: usize,
    padding_mode: &'static str,
}

impl<const N: usize> Settings<N> {
    fn new(in_channels: usize, out_channels: usize, kernel_size: [usize; N]) -> Self {
        Self {
            in_channels,
            out_channels,
            kernel_size,
            stride: [1; N],
            padding: Padding::Explicit([0; N]),
            dilation: [1; N],
            groups: 1,
            padding_mode: "zeros",
        }
    }

    fn bound(&self) -> f64 {
        init::fan_in_bound(self.in_channels / self.groups * self.kernel_size.iter().product::<usize>())
    }

    fn weight(&self) -> Parameter {
        let mut size = vec![self.out_channels, self.in_channels / self.groups];
        size.extend(self.kernel_size);
        init::uniform(&size, self.bound())
    }

    fn bias(&self) -> Parameter {
        init::uniform(&[self.out_channels], self.bound())
    }

    #[track_caller]
    fn set_groups(&mut self, groups: usize) {
        assert!(
            groups > 0 && self.in_channels.is_multiple_of(groups) && self.out_channels.is_multiple_of(groups),
            "{groups} groups do not divide {} input and {} output channels",
            self.in_channels,
            self.out_channels
        );
        self.groups = groups;
    }

    /// What `pad` takes, from the last dimension on, where padding is not with zeros.
    fn pad(&self) -> Option<Vec<i64>> {
        if self.padding_mode == "zeros" {
            return None;
        }
        let around = |dim: usize| match self.padding {
            Padding::Explicit(amounts) => [amounts[dim] as i64; 2],
            Padding::Valid => [0; 2],
            Padding::Same => {
                let total = (self.dilation[dim] * (self.kernel_size[dim].max(1) - 1)) as i64;
                [total / 2, total - total / 2]
            }
        };
        Some((0..N).rev().flat_map(around).collect())
    }

    fn repr(&self, bias: bool) -> String {
        let mut text = format!(
            "{}, {}, kernel_size={}, stride={}",
            self.in_channels,
            self.out_channels,
            tuple(&self.kernel_size),
            tuple(&self.stride)
        );
        match self.padding {
            Padding::Explicit(amounts) if amounts == [0; N] => {}
            Padding::Explicit(amounts) => text += &format!(", padding={}", tuple(&amounts)),
            Padding::Same => text += ", padding=same",
            Padding::Valid => text += ", padding=valid",
        }
        if self.dilation != [1; N] {
            text += &format!(", dilation={}", tuple(&self.dilation));
        }
        if self.groups != 1 {
            text += &format!(", groups={}", self.groups);
        }
        if !bias {
            text += ", bias=False";
        }
        if self.padding_mode != "zeros" {
            text += &format!(", padding_mode={}", self.padding_mode);
        }
        text
    }

    fn source(&self, name: &str, bias: bool) -> String {
        let arguments = format!("{}, {}, {}", self.in_channels, self.out_channels, brief(&self.kernel_size));
        let source = Source::new(name, arguments).window("stride", &self.stride, 1);
        let source = match self.padding {
            Padding::Explicit(amounts) => source.window("padding", &amounts, 0),
            Padding::Same => source.option("padding", "same", ""),
            Padding::Valid => source.option("padding", "valid", ""),
        };
        source
            .window("dilation", &self.dilation, 1)
            .option("groups", self.groups, 1)
            .option("bias", bias, true)
            .option("padding_mode", self.padding_mode, "zeros")
            .text()
    }
}

macro_rules! convolution {
    ($(#[doc = $doc:literal])* $Conv:ident, $n:literal, $name:literal, $op:ident, $Options:ident) => {
        $(#[doc = $doc])*
        ///
        /// `weight` is `[out_channels, in_channels / groups, *kernel_size]`; it and `bias` are uniform within one over
        /// the root of the number of inputs of an output.
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Conv {
            /// `[out_channels, in_channels / groups, *kernel_size]`
            pub weight: Parameter,
            /// `[out_channels]`
            pub bias: Option<Parameter>,
            settings: Settings<$n>,
        }

        #[traceable]
        impl $Conv {
            /// A convolution with stride 1, without padding, with bias.
            pub fn new(in_channels: usize, out_channels: usize, kernel_size: impl Window<$n>) -> Self {
                let settings = Settings::new(in_channels, out_channels, window(kernel_size));
                Self { weight: settings.weight(), bias: Some(settings.bias()), settings }
            }

            /// Sets the distance between places where the kernel is applied.
            #[must_use]
            pub fn stride(mut self, stride: impl Window<$n>) -> Self {
                self.settings.stride = window(stride);
                self
            }

            /// Sets the padding of both sides of each dimension: amounts, `"same"` or `"valid"`.
            #[must_use]
            pub fn padding(mut self, padding: impl Margin<$n>) -> Self {
                self.settings.padding = margin(padding);
                self
            }

            /// Sets the distance between the elements of the kernel.
            #[must_use]
            pub fn dilation(mut self, dilation: impl Window<$n>) -> Self {
                self.settings.dilation = window(dilation);
                self
            }

            /// Sets the number of groups of channels that are convolved apart, with new parameters.
            ///
            /// # Panics
            /// If it does not divide the numbers of channels.
            #[must_use]
            #[track_caller]
            pub fn groups(mut self, groups: usize) -> Self {
                self.settings.set_groups(groups);
                self.weight = self.settings.weight();
                self.bias = self.bias.take().map(|_| self.settings.bias());
                self
            }

            /// Sets whether there is a bias.
            #[must_use]
            pub fn bias(mut self, bias: bool) -> Self {
                self.bias = bias.then(|| self.bias.take().unwrap_or_else(|| self.settings.bias()));
                self
            }

            /// Sets what is padded with: `"zeros"`, `"reflect"`, `"replicate"` or `"circular"`.
            #[must_use]
            pub fn padding_mode(mut self, padding_mode: &'static str) -> Self {
                self.settings.padding_mode = padding_mode;
                self
            }

            /// `input`: `[N, in_channels, *]`; gives `[N, out_channels, *]`.
            pub fn forward(&self, input: &Tensor) -> Tensor {
                let Settings { stride, dilation, groups, padding, padding_mode, .. } = self.settings;
                let options = $Options::new().stride(stride).dilation(dilation).groups(groups);
                match self.settings.pad() {
                    Some(pad) => {
                        let padded = functional::pad_with(input, pad, PadOptions::new().mode(padding_mode));
                        functional::$op(padded, &self.weight, &self.bias, options)
                    }
                    None => functional::$op(input, &self.weight, &self.bias, options.padding(padding)),
                }
            }

            fn extra_repr(&self) -> String {
                self.settings.repr(self.bias.is_some())
            }

            fn constructor(&self) -> String {
                self.settings.source($name, self.bias.is_some())
            }
        }
    };
}
convolution! {
    /// A convolution over one dimension, as `torch.nn.Conv1d`.
    Conv1d, 1, "Conv1d", conv1d_with, Conv1dOptions
}
convolution! {
    /// A convolution over two dimensions, as `torch.nn.Conv2d`.
    Conv2d, 2, "Conv2d", conv2d_with, Conv2dOptions
}
convolution! {
    /// A convolution over three dimensions, as `torch.nn.Conv3d`.
    Conv3d, 3, "Conv3d", conv3d_with, Conv3dOptions
}
