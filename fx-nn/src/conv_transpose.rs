//! Transposed convolutions.

use fx::functional;
use fx::ops::kind::Window;
use fx::ops::{ConvTranspose1dOptions, ConvTranspose2dOptions, ConvTranspose3dOptions};
use fx::prelude::*;
use fx_macros::traceable;

use crate::init;
use crate::settings::{Source, brief, tuple, window};

/// The hyper-parameters of a transposed convolution of `N` spatial dimensions.
#[derive(Clone, Debug)]
struct Settings<const N: usize> {
    in_channels: usize,
    out_channels: usize,
    kernel_size: [usize; N],
    stride: [usize; N],
    padding: [usize; N],
    output_padding: [usize; N],
    groups: usize,
    dilation: [usize; N],
}

impl<const N: usize> Settings<N> {
    fn new(in_channels: usize, out_channels: usize, kernel_size: [usize; N]) -> Self {
        let (ones, zeros) = ([1; N], [0; N]);
        Self {
            in_channels,
            out_channels,
            kernel_size,
            stride: ones,
            padding: zeros,
            output_padding: zeros,
            groups: 1,
            dilation: ones,
        }
    }

    // PyTorch takes the second size of the weight for the fan-in, here too.
    fn bound(&self) -> f64 {
        init::fan_in_bound(self.out_channels / self.groups * self.kernel_size.iter().product::<usize>())
    }

    fn weight(&self) -> Parameter {
        let mut size = vec![self.in_channels, self.out_channels / self.groups];
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

    fn repr(&self, bias: bool) -> String {
        let mut text = format!(
            "{}, {}, kernel_size={}, stride={}",
            self.in_channels,
            self.out_channels,
            tuple(&self.kernel_size),
            tuple(&self.stride)
        );
        for (name, value, default) in [
            ("padding", self.padding, [0; N]),
            ("dilation", self.dilation, [1; N]),
            ("output_padding", self.output_padding, [0; N]),
        ] {
            if value != default {
                text += &format!(", {name}={}", tuple(&value));
            }
        }
        if self.groups != 1 {
            text += &format!(", groups={}", self.groups);
        }
        if !bias {
            text += ", bias=False";
        }
        text
    }

    fn source(&self, name: &str, bias: bool) -> String {
        Source::new(name, format_args!("{}, {}, {}", self.in_channels, self.out_channels, brief(&self.kernel_size)))
            .window("stride", &self.stride, 1)
            .window("padding", &self.padding, 0)
            .window("output_padding", &self.output_padding, 0)
            .option("groups", self.groups, 1)
            .option("bias", bias, true)
            .window("dilation", &self.dilation, 1)
            .text()
    }
}

macro_rules! transposed_convolution {
    ($(#[doc = $doc:literal])* $Conv:ident, $n:literal, $name:literal, $op:ident, $Options:ident) => {
        $(#[doc = $doc])*
        ///
        /// `weight` is `[in_channels, out_channels / groups, *kernel_size]`.
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Conv {
            /// `[in_channels, out_channels / groups, *kernel_size]`
            pub weight: Parameter,
            /// `[out_channels]`
            pub bias: Option<Parameter>,
            settings: Settings<$n>,
        }

        #[traceable]
        impl $Conv {
            /// A transposed convolution with stride 1, without padding, with bias.
            pub fn new(in_channels: usize, out_channels: usize, kernel_size: impl Window<$n>) -> Self {
                let settings = Settings::new(in_channels, out_channels, window(kernel_size));
                Self { weight: settings.weight(), bias: Some(settings.bias()), settings }
            }

            /// Sets the distance in the output between neighbours in the input.
            #[must_use]
            pub fn stride(mut self, stride: impl Window<$n>) -> Self {
                self.settings.stride = window(stride);
                self
            }

            /// Sets what is cut from both sides of each dimension of the output.
            #[must_use]
            pub fn padding(mut self, padding: impl Window<$n>) -> Self {
                self.settings.padding = window(padding);
                self
            }

            /// Sets what is added at the end of each dimension of the output.
            #[must_use]
            pub fn output_padding(mut self, output_padding: impl Window<$n>) -> Self {
                self.settings.output_padding = window(output_padding);
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

            /// `input`: `[N, in_channels, *]`; gives `[N, out_channels, *]`.
            pub fn forward(&self, input: &Tensor) -> Tensor {
                let Settings { stride, padding, output_padding, groups, dilation, .. } = self.settings;
                let options = $Options::new().stride(stride).padding(padding).output_padding(output_padding);
                functional::$op(input, &self.weight, &self.bias, options.groups(groups).dilation(dilation))
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
transposed_convolution! {
    /// A transposed convolution over one dimension, as `torch.nn.ConvTranspose1d`.
    ConvTranspose1d, 1, "ConvTranspose1d", conv_transpose1d_with, ConvTranspose1dOptions
}
transposed_convolution! {
    /// A transposed convolution over two dimensions, as `torch.nn.ConvTranspose2d`.
    ConvTranspose2d, 2, "ConvTranspose2d", conv_transpose2d_with, ConvTranspose2dOptions
}
transposed_convolution! {
    /// A transposed convolution over three dimensions, as `torch.nn.ConvTranspose3d`.
    ConvTranspose3d, 3, "ConvTranspose3d", conv_transpose3d_with, ConvTranspose3dOptions
}
