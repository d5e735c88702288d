//! Layers that rearrange or resample.

use fx::Tensor;
use fx::functional;
use fx::ops::kind::Ints;
use fx::ops::{FlattenOptions, InterpolateOptions};
use fx_macros::traceable;

use crate::settings::{Source, float, sizes, tuple};

/// Makes dimensions one, as `torch.nn.Flatten`: by default all but the first.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct Flatten {
    start_dim: i64,
    end_dim: i64,
}

#[traceable]
impl Flatten {
    /// All dimensions but the first.
    pub fn new() -> Self {
        Self { start_dim: 1, end_dim: -1 }
    }

    /// Sets the first dimension.
    #[must_use]
    pub fn start_dim(mut self, start_dim: i64) -> Self {
        self.start_dim = start_dim;
        self
    }

    /// Sets the last dimension.
    #[must_use]
    pub fn end_dim(mut self, end_dim: i64) -> Self {
        self.end_dim = end_dim;
        self
    }

    /// The elements of `input` in fewer dimensions.
    pub fn forward(&self, input: &Tensor) -> Tensor {
        input.flatten_with(FlattenOptions::new().start_dim(self.start_dim).end_dim(self.end_dim))
    }

    fn extra_repr(&self) -> String {
        format!("start_dim={}, end_dim={}", self.start_dim, self.end_dim)
    }

    fn constructor(&self) -> String {
        Source::new("Flatten", "").option("start_dim", self.start_dim, 1).option("end_dim", self.end_dim, -1).text()
    }
}

impl Default for Flatten {
    fn default() -> Self {
        Self::new()
    }
}

/// Makes one dimension several, as `torch.nn.Unflatten`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct Unflatten {
    dim: i64,
    unflattened_size: Vec<usize>,
}

#[traceable]
impl Unflatten {
    /// Dimension `dim` becomes these.
    pub fn new(dim: i64, unflattened_size: impl Ints) -> Self {
        Self { dim, unflattened_size: sizes(unflattened_size) }
    }

    /// The elements of `input` in more dimensions.
    pub fn forward(&self, input: &Tensor) -> Tensor {
        input.unflatten(self.dim, self.unflattened_size.as_slice())
    }

    fn extra_repr(&self) -> String {
        format!("dim={}, unflattened_size={}", self.dim, tuple(&self.unflattened_size))
    }

    fn constructor(&self) -> String {
        Source::new("Unflatten", format_args!("{}, {:?}", self.dim, self.unflattened_size)).text()
    }
}

macro_rules! pixels {
    ($($(#[doc = $doc:literal])* $Pixel:ident, $name:literal, $op:ident, $factor:ident;)+) => { $(
        $(#[doc = $doc])*
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Pixel {
            $factor: usize,
        }

        #[traceable]
        impl $Pixel {
            /// By this factor, or with as many groups.
            pub fn new($factor: usize) -> Self {
                Self { $factor }
            }

            /// `input`: `[*, C, H, W]`.
            pub fn forward(&self, input: &Tensor) -> Tensor {
                functional::$op(input, self.$factor)
            }

            fn extra_repr(&self) -> String {
                format!(concat!(stringify!($factor), "={}"), self.$factor)
            }

            fn constructor(&self) -> String {
                Source::new($name, self.$factor).text()
            }
        }
    )+ };
}
pixels! {
    /// Rearranges channels into space, as `torch.nn.PixelShuffle` (Shi et al., 2016).
    PixelShuffle, "PixelShuffle", pixel_shuffle, upscale_factor;
    /// Rearranges space into channels, as `torch.nn.PixelUnshuffle`.
    PixelUnshuffle, "PixelUnshuffle", pixel_unshuffle, downscale_factor;
    /// Deals the channels of groups out, as `torch.nn.ChannelShuffle` (Zhang et al., 2018).
    ChannelShuffle, "ChannelShuffle", channel_shuffle, groups;
}

/// Resamples to a size or by a factor, as `torch.nn.Upsample`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct Upsample {
    size: Option<Vec<usize>>,
    scale_factor: Option<f64>,
    mode: &'static str,
    align_corners: Option<bool>,
}

#[traceable]
impl Upsample {
    /// To this size; one for each spatial dimension, or one for all.
    pub fn size(size: impl Ints) -> Self {
        Self { size: Some(sizes(size)), scale_factor: None, mode: "nearest", align_corners: None }
    }

    /// By this factor in each spatial dimension.
    pub fn scale_factor(scale_factor: impl Into<f64>) -> Self {
        Self { size: None, scale_factor: Some(scale_factor.into()), mode: "nearest", align_corners: None }
    }

    /// Sets how: `"nearest"`, `"linear"`, `"bilinear"`, `"bicubic"` or `"trilinear"`.
    #[must_use]
    pub fn mode(mut self, mode: &'static str) -> Self {
        self.mode = mode;
        self
    }

    /// Sets whether the corners of input and output fall together, for modes that interpolate.
    #[must_use]
    pub fn align_corners(mut self, align_corners: bool) -> Self {
        self.align_corners = Some(align_corners);
        self
    }

    /// `input`: `[N, C, *]`.
    pub fn forward(&self, input: &Tensor) -> Tensor {
        let mut options = InterpolateOptions::new().mode(self.mode).align_corners(self.align_corners);
        if let Some(size) = &self.size {
            options = options.size(size.as_slice());
        }
        if let Some(scale_factor) = self.scale_factor {
            options = options.scale_factor(scale_factor);
        }
        functional::interpolate_with(input, options)
    }

    fn extra_repr(&self) -> String {
        let what = match (&self.size, self.scale_factor) {
            (Some(size), _) if size.len() == 1 => format!("size={}", size[0]),
            (Some(size), _) => format!("size={}", tuple(size)),
            (None, factor) => format!("scale_factor={}", float(factor.unwrap_or(1.0))),
        };
        format!("{what}, mode='{}'", self.mode)
    }

    fn constructor(&self) -> String {
        let start = match &self.size {
            Some(size) => format!("nn::Upsample::size({size:?})"),
            None => format!("nn::Upsample::scale_factor({:?})", self.scale_factor.unwrap_or(1.0)),
        };
        Source::from(start).option("mode", self.mode, "nearest").optional("align_corners", self.align_corners).text()
    }
}
