//! Two neighbours in a line of the result as one pixel with the channels of both: where a convolution's outputs fill half of a vector,
//! those of both fill it. The window is wider by a step then, with zeros where one of the two does not see.

use smallvec::SmallVec;

use super::algorithm::Algorithm;
use super::epilogue::{Epilogue, Residual};
use super::few::Few;
use super::format::Format;
use super::panels::tile_size;
use super::shape::ConvShape;
use super::volumes::VolumeShape;
use super::weight::Weight;
use crate::rounded::Rounded;
use crate::simd::Level;

/// A convolution packed for two pixels at once, and as it is.
#[derive(Debug)]
pub(super) struct TwoPixels<C> {
    pub(super) wide: C,
    /// For lines of an odd number of pixels, for what is added to what is at the result's place, which is gone then, and for what is not
    /// finite: a zero times that is NaN, in the pixel that does not see it too.
    pub(super) plain: C,
}

/// Whether two pixels of this convolution fill a vector of the level, and there are no outputs so few that another way is faster.
pub(super) fn fits(level: Level, shape: &VolumeShape, format: Format) -> bool {
    let VolumeShape { ref frame, depth, .. } = *shape;
    let (_, lanes) = tile_size(level);
    let is_single = depth == 1 && frame.kernel == [1; 2];
    frame.groups == 1
        && frame.dilation[1] == 1
        && (1..=lanes / 2).contains(&frame.outputs)
        && !is_single
        && !Few::fits(frame, Algorithm::Direct, format)
}

/// The convolution that gives two neighbours as one pixel.
fn widened(frame: &ConvShape) -> ConvShape {
    let ConvShape { outputs, kernel: [height, width], stride: [down, across], .. } = *frame;
    ConvShape { outputs: 2 * outputs, kernel: [height, width + across], stride: [down, 2 * across], ..*frame }
}

impl<C> TwoPixels<C> {
    /// Packs a weight for both.
    pub(super) fn new(
        weight: Weight<'_>,
        shape: &VolumeShape,
        pack: impl Fn(Weight<'_>, VolumeShape) -> C,
    ) -> Box<Self> {
        let (channels, taps) = shape.row();
        let ConvShape { outputs, kernel: [_, width], stride: [_, across], .. } = shape.frame;
        let row = channels * taps;
        weight.with_rows(0..outputs, row, |numbers| {
            let len = row / width * (width + across);
            let mut wide = vec![0.0; 2 * outputs * len];
            for (pixel, pixels) in wide.chunks_exact_mut(outputs * len).enumerate() {
                let lines = pixels.chunks_exact_mut(width + across).zip(numbers.chunks_exact(width));
                lines.for_each(|(to, from)| to[pixel * across..][..width].copy_from_slice(from));
            }
            let both = VolumeShape { frame: widened(&shape.frame), ..*shape };
            Box::new(Self { wide: pack(Weight::Numbers(&wide), both), plain: pack(Weight::Numbers(numbers), *shape) })
        })
    }

    /// Computes lines of so many pixels, of so many channels without gaps, words of what the result is rounded to if it is; what is added
    /// is numbers.
    pub(super) fn run(
        &self,
        out: &mut [f32],
        [width, channels]: [usize; 2],
        rounded: Option<Rounded>,
        epilogue: &Epilogue<'_>,
        compute: impl Fn(&C, &mut [f32], &Epilogue<'_>),
    ) {
        let is_dense = epilogue.residual.is_none_or(|residual| residual.stride == channels);
        if width.is_multiple_of(2) && is_dense && !epilogue.accumulate {
            let bias: Option<SmallVec<[f32; 16]>> = epilogue.bias.map(|bias| {
                let bias = &bias[..channels];
                bias.iter().chain(bias).copied().collect()
            });
            let residual = epilogue.residual.map(|Residual { data, stride }| Residual { data, stride: 2 * stride });
            compute(&self.wide, out, &Epilogue { bias: bias.as_deref(), residual, ..*epilogue });
            if !has_nan(out, rounded) {
                return;
            }
        }
        compute(&self.plain, out, epilogue);
    }
}

/// Whether one of some numbers, or of words of such, is NaN.
fn has_nan(numbers: &[f32], rounded: Option<Rounded>) -> bool {
    let any = |is_nan: fn(f32) -> bool| numbers.iter().fold(false, |any, x| any | is_nan(*x));
    match rounded {
        None => any(f32::is_nan),
        // The upper half, and the lower one.
        Some(_) => any(|word| {
            let is_nan = |half: u32| half << 1 > 0xff00_0000;
            is_nan(word.to_bits() & 0xffff_0000) | is_nan(word.to_bits() << 16)
        }),
    }
}
