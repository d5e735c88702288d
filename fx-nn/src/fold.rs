//! Windows of images as columns, and images as sums of windows.

use fx::Tensor;
use fx::functional;
use fx::ops::kind::Window;
use fx::ops::{FoldOptions, Im2colOptions};
use fx_macros::traceable;

use crate::settings::{Source, brief, given, window};

macro_rules! folds {
    ($($(#[doc = $doc:literal])* $Fold:ident, $name:literal, [$($output_size:ident)?], $op:ident, $Options:ident,
        $input:literal;)+) => { $(
        $(#[doc = $doc])*
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Fold {
            $($output_size: [usize; 2],)?
            kernel_size: [usize; 2],
            dilation: [usize; 2],
            padding: [usize; 2],
            stride: [usize; 2],
        }

        #[traceable]
        impl $Fold {
            /// With windows of this size, one element apart.
            pub fn new($($output_size: impl Window<2>,)? kernel_size: impl Window<2>) -> Self {
                $(let $output_size = window($output_size);)?
                let kernel_size = window(kernel_size);
                Self { $($output_size,)? kernel_size, dilation: [1; 2], padding: [0; 2], stride: [1; 2] }
            }

            /// Sets the distance between the elements of a window.
            #[must_use]
            pub fn dilation(mut self, dilation: impl Window<2>) -> Self {
                self.dilation = window(dilation);
                self
            }

            /// Sets the padding of both sides of each dimension of the image.
            #[must_use]
            pub fn padding(mut self, padding: impl Window<2>) -> Self {
                self.padding = window(padding);
                self
            }

            /// Sets the distance between windows.
            #[must_use]
            pub fn stride(mut self, stride: impl Window<2>) -> Self {
                self.stride = window(stride);
                self
            }

            #[doc = $input]
            pub fn forward(&self, input: &Tensor) -> Tensor {
                let options = $Options::new().dilation(self.dilation).padding(self.padding).stride(self.stride);
                functional::$op(input, $(self.$output_size,)? self.kernel_size, options)
            }

            fn extra_repr(&self) -> String {
                let sizes = [
                    $((stringify!($output_size), self.$output_size),)?
                    ("kernel_size", self.kernel_size),
                    ("dilation", self.dilation),
                    ("padding", self.padding),
                    ("stride", self.stride),
                ];
                sizes.map(|(name, size)| format!("{name}={}", given(&size))).join(", ")
            }

            fn constructor(&self) -> String {
                let sizes = [$(self.$output_size,)? self.kernel_size].map(|size| brief(&size)).join(", ");
                Source::new($name, sizes)
                    .window("dilation", &self.dilation, 1)
                    .window("padding", &self.padding, 0)
                    .window("stride", &self.stride, 1)
                    .text()
            }
        }
    )+ };
}
folds! {
    /// The windows of images as columns, as `torch.nn.Unfold`.
    Unfold, "Unfold", [], im2col_with, Im2colOptions, "`input`: `[N, C, H, W]` or `[C, H, W]`.";
    /// Images as the sums of their windows, as `torch.nn.Fold`.
    Fold, "Fold", [output_size], fold_with, FoldOptions,
        "`input`: `[N, C * kh * kw, windows]` or, without the batch, two dimensions.";
}
