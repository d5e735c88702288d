//! Pooling.

use fx::Tensor;
use fx::functional;
use fx::ops::kind::Window;
use fx::ops::{
    AvgPool1dOptions, AvgPool2dOptions, AvgPool3dOptions, MaxPool1dOptions, MaxPool2dOptions, MaxPool3dOptions,
};
use fx_macros::traceable;

use crate::settings::{Source, brief, flag, given, tuple, window};

macro_rules! max_pools {
    ($($(#[doc = $doc:literal])* $Pool:ident, $n:literal, $name:literal, $op:ident, $Options:ident;)+) => { $(
        $(#[doc = $doc])*
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Pool {
            kernel_size: [usize; $n],
            stride: Option<[usize; $n]>,
            padding: [usize; $n],
            dilation: [usize; $n],
            ceil_mode: bool,
        }

        #[traceable]
        impl $Pool {
            /// Over windows of this size, side by side.
            pub fn new(kernel_size: impl Window<$n>) -> Self {
                let (padding, dilation) = ([0; $n], [1; $n]);
                Self { kernel_size: window(kernel_size), stride: None, padding, dilation, ceil_mode: false }
            }

            /// Sets the distance between windows; that of windows side by side by default.
            #[must_use]
            pub fn stride(mut self, stride: impl Window<$n>) -> Self {
                self.stride = Some(window(stride));
                self
            }

            /// Sets the padding of both sides of each dimension.
            #[must_use]
            pub fn padding(mut self, padding: impl Window<$n>) -> Self {
                self.padding = window(padding);
                self
            }

            /// Sets the distance between the elements of a window.
            #[must_use]
            pub fn dilation(mut self, dilation: impl Window<$n>) -> Self {
                self.dilation = window(dilation);
                self
            }

            /// Sets whether windows may reach beyond the end.
            #[must_use]
            pub fn ceil_mode(mut self, ceil_mode: bool) -> Self {
                self.ceil_mode = ceil_mode;
                self
            }

            /// `input`: `[N, C, *]`.
            pub fn forward(&self, input: &Tensor) -> Tensor {
                let options = $Options::new().stride(self.stride).padding(self.padding).dilation(self.dilation);
                functional::$op(input, self.kernel_size, options.ceil_mode(self.ceil_mode))
            }

            fn extra_repr(&self) -> String {
                format!(
                    "kernel_size={}, stride={}, padding={}, dilation={}, ceil_mode={}",
                    given(&self.kernel_size),
                    given(&self.stride.unwrap_or(self.kernel_size)),
                    given(&self.padding),
                    given(&self.dilation),
                    flag(self.ceil_mode)
                )
            }

            fn constructor(&self) -> String {
                let source = Source::new($name, brief(&self.kernel_size));
                let source = self.stride.iter().fold(source, |source, stride| source.window("stride", stride, 0));
                source
                    .window("padding", &self.padding, 0)
                    .window("dilation", &self.dilation, 1)
                    .option("ceil_mode", self.ceil_mode, false)
                    .text()
            }
        }
    )+ };
}
max_pools! {
    /// The largest element of each window, as `torch.nn.MaxPool1d`.
    MaxPool1d, 1, "MaxPool1d", max_pool1d_with, MaxPool1dOptions;
    /// The largest element of each window, as `torch.nn.MaxPool2d`.
    MaxPool2d, 2, "MaxPool2d", max_pool2d_with, MaxPool2dOptions;
    /// The largest element of each window, as `torch.nn.MaxPool3d`.
    MaxPool3d, 3, "MaxPool3d", max_pool3d_with, MaxPool3dOptions;
}

macro_rules! avg_pools {
    ($(
        $(#[doc = $doc:literal])* $Pool:ident, $n:literal, $name:literal, $op:ident, $Options:ident, $print:expr
        $(, $divisor:ident)?;
    )+) => { $(
        $(#[doc = $doc])*
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Pool {
            kernel_size: [usize; $n],
            stride: Option<[usize; $n]>,
            padding: [usize; $n],
            ceil_mode: bool,
            count_include_pad: bool,
            $($divisor: Option<i64>,)?
        }

        #[traceable]
        impl $Pool {
            /// Over windows of this size, side by side.
            pub fn new(kernel_size: impl Window<$n>) -> Self {
                Self {
                    kernel_size: window(kernel_size),
                    stride: None,
                    padding: [0; $n],
                    ceil_mode: false,
                    count_include_pad: true,
                    $($divisor: None,)?
                }
            }

            /// Sets the distance between windows; that of windows side by side by default.
            #[must_use]
            pub fn stride(mut self, stride: impl Window<$n>) -> Self {
                self.stride = Some(window(stride));
                self
            }

            /// Sets the padding of both sides of each dimension.
            #[must_use]
            pub fn padding(mut self, padding: impl Window<$n>) -> Self {
                self.padding = window(padding);
                self
            }

            /// Sets whether windows may reach beyond the end.
            #[must_use]
            pub fn ceil_mode(mut self, ceil_mode: bool) -> Self {
                self.ceil_mode = ceil_mode;
                self
            }

            /// Sets whether padding counts in the mean.
            #[must_use]
            pub fn count_include_pad(mut self, count_include_pad: bool) -> Self {
                self.count_include_pad = count_include_pad;
                self
            }

            $(
                /// Sets what sums are divided by, in place of the size of the window.
                #[must_use]
                pub fn $divisor(mut self, $divisor: i64) -> Self {
                    self.$divisor = Some($divisor);
                    self
                }
            )?

            /// `input`: `[N, C, *]`.
            pub fn forward(&self, input: &Tensor) -> Tensor {
                let options = $Options::new().stride(self.stride).padding(self.padding).ceil_mode(self.ceil_mode);
                let options = options.count_include_pad(self.count_include_pad)$(.$divisor(self.$divisor))?;
                functional::$op(input, self.kernel_size, options)
            }

            fn extra_repr(&self) -> String {
                let print: fn(&[usize]) -> String = $print;
                format!(
                    "kernel_size={}, stride={}, padding={}",
                    print(&self.kernel_size),
                    print(&self.stride.unwrap_or(self.kernel_size)),
                    print(&self.padding)
                )
            }

            fn constructor(&self) -> String {
                let source = Source::new($name, brief(&self.kernel_size));
                let source = self.stride.iter().fold(source, |source, stride| source.window("stride", stride, 0));
                source
                    .window("padding", &self.padding, 0)
                    .option("ceil_mode", self.ceil_mode, false)
                    .option("count_include_pad", self.count_include_pad, true)
                    $(.optional(stringify!($divisor), self.$divisor))?
                    .text()
            }
        }
    )+ };
}
avg_pools! {
    /// The mean of each window, as `torch.nn.AvgPool1d`.
    AvgPool1d, 1, "AvgPool1d", avg_pool1d_with, AvgPool1dOptions, |sizes| tuple(sizes);
    /// The mean of each window, as `torch.nn.AvgPool2d`.
    AvgPool2d, 2, "AvgPool2d", avg_pool2d_with, AvgPool2dOptions, given, divisor_override;
    /// The mean of each window, as `torch.nn.AvgPool3d`.
    AvgPool3d, 3, "AvgPool3d", avg_pool3d_with, AvgPool3dOptions, given, divisor_override;
}

macro_rules! adaptive_pools {
    ($($(#[doc = $doc:literal])* $Pool:ident, $n:literal, $name:literal, $op:ident;)+) => { $(
        $(#[doc = $doc])*
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Pool {
            output_size: [usize; $n],
        }

        #[traceable]
        impl $Pool {
            /// To this size, whatever that of the input.
            pub fn new(output_size: impl Window<$n>) -> Self {
                Self { output_size: window(output_size) }
            }

            /// `input`: `[N, C, *]`; gives `[N, C, *output_size]`.
            pub fn forward(&self, input: &Tensor) -> Tensor {
                functional::$op(input, self.output_size)
            }

            fn extra_repr(&self) -> String {
                format!("output_size={}", given(&self.output_size))
            }

            fn constructor(&self) -> String {
                Source::new($name, brief(&self.output_size)).text()
            }
        }
    )+ };
}
adaptive_pools! {
    /// The means of as many windows as the output has places, as `torch.nn.AdaptiveAvgPool1d`.
    AdaptiveAvgPool1d, 1, "AdaptiveAvgPool1d", adaptive_avg_pool1d;
    /// The means of as many windows as the output has places, as `torch.nn.AdaptiveAvgPool2d`.
    AdaptiveAvgPool2d, 2, "AdaptiveAvgPool2d", adaptive_avg_pool2d;
    /// The means of as many windows as the output has places, as `torch.nn.AdaptiveAvgPool3d`.
    AdaptiveAvgPool3d, 3, "AdaptiveAvgPool3d", adaptive_avg_pool3d;
    /// The largest elements of as many windows as the output has places, as `torch.nn.AdaptiveMaxPool1d`.
    AdaptiveMaxPool1d, 1, "AdaptiveMaxPool1d", adaptive_max_pool1d;
    /// The largest elements of as many windows as the output has places, as `torch.nn.AdaptiveMaxPool2d`.
    AdaptiveMaxPool2d, 2, "AdaptiveMaxPool2d", adaptive_max_pool2d;
    /// The largest elements of as many windows as the output has places, as `torch.nn.AdaptiveMaxPool3d`.
    AdaptiveMaxPool3d, 3, "AdaptiveMaxPool3d", adaptive_max_pool3d;
}
