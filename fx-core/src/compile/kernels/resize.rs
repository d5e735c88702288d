//! Images and lines made larger or smaller, and pixels made of channels.

use std::sync::Arc;

use fx_kernels::copy::copy;
use fx_kernels::resize::{Taps, resample};
use smallvec::{SmallVec, smallvec};

use super::{Kernel, Lowered, Operands, Site, Wanted};
use crate::compile::layout::Layout;
use crate::ops::{self, Lines, functions, kind};
use crate::tensor::{DType, Dims, numel};

/// Copies elements, of blocks or to blocks, to where others stand beside them.
#[derive(Clone)]
struct Blocks {
    /// That of the images first.
    shape: Dims,
    from: Dims,
    to: Dims,
    /// What it is.
    text: String,
}

pub(super) fn interpolate(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let given = site.attribute::<kind::opt_floats>("scale_factor", None)?;
    let align_corners = site.attribute::<kind::opt_flag>("align_corners", None)?;
    let lines = Lines::of(&input.shape, site.shape(), given.as_deref(), align_corners);
    let mode = site.attribute::<kind::string>("mode", "nearest".into())?;
    let resampled = Resampled { input, register, lines: &lines, mode: mode.to_string() };
    let single =
        |line: &Lines| line.nearest(mode == "nearest-exact", false).into_iter().map(|place| [(place, 1.0)]).collect();
    match &*mode {
        "nearest" => nearest(site, input, register, &lines).or_else(|| Some(resampled.lowered(site, single))),
        "nearest-exact" => Some(resampled.lowered(site, single)),
        "bicubic" => Some(resampled.lowered(site, Lines::cubic)),
        "linear" | "bilinear" | "trilinear" => Some(resampled.lowered(site, Lines::linear)),
        _ => None,
    }
}

/// Resampling to the nearest element, by whole factors.
fn nearest(site: &Site<'_>, input: &Layout, register: usize, lines: &[Lines]) -> Option<Lowered> {
    let output = Layout::images(DType::F32, site.shape(), input.has_channels_last());
    let mut factors: SmallVec<[String; 3]> = SmallVec::new();
    // For each spatial dimension one of blocks and one within a block.
    let [mut shape, mut from, mut to] =
        [&input.shape, &input.strides, &output.strides].map(|all| Dims::from_slice(&all[..2]));
    for (dim, line) in (2..).zip(lines) {
        let factor = output.shape[dim] / input.shape[dim];
        if line.nearest(false, false).iter().enumerate().any(|(i, place)| i.checked_div(factor) != Some(*place)) {
            return None;
        }
        factors.push(factor.to_string());
        shape.extend([input.shape[dim], factor]);
        from.extend([input.strides[dim], 0]);
        to.extend([factor * output.strides[dim], output.strides[dim]]);
    }
    let kernel = Blocks { shape, from, to, text: format!("nearest, {} times as large", factors.join("x")) };
    Some(Lowered::new(kernel, smallvec![Wanted::new(register, input.clone())], output))
}

/// Pixels made of channels, or the other way round.
pub(super) fn pixel_shuffle(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let is_shuffle = site.function == functions::pixel_shuffle;
    let factor = if is_shuffle { "upscale_factor" } else { "downscale_factor" };
    let side = usize::try_from(site.attribute::<kind::int>(factor, 1)?).ok()?;
    let output = Layout::images(DType::F32, site.shape(), input.has_channels_last());
    let (few, many) = if is_shuffle { (input, &output) } else { (&output, input) };
    let [batch, _, height, width] = *few.shape else { return None };
    let ([n, c, h, w], [images, channel, line, pixel]) = (of_image(few)?, of_image(many)?);
    let of_few = [n, c * side * side, c * side, c, h, w];
    let of_many = [images, channel, line, pixel, line * side, pixel * side];
    let (from, to) = if is_shuffle { (of_few, of_many) } else { (of_many, of_few) };
    // The images, their channels, lines and columns of a block, and lines and columns of blocks.
    let shape = [batch, many.shape[1], side, side, height, width];
    let [shape, from, to] = [shape, from, to].map(|all| Dims::from_slice(&all));
    let name = if is_shuffle { "pixel_shuffle" } else { "pixel_unshuffle" };
    let kernel = Blocks { shape, from, to, text: format!("{name}, {side} x {side}") };
    Some(Lowered::new(kernel, smallvec![Wanted::new(register, input.clone())], output))
}

/// The strides of an image.
fn of_image(layout: &Layout) -> Option<[usize; 4]> {
    layout.strides.as_slice().try_into().ok()
}

impl Kernel for Blocks {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        copy(out, &self.to, operands[0].unwrap_or(&[]), &self.from, &self.shape);
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let mut part = self.clone();
        part.shape[0] /= count;
        self.shape[0].is_multiple_of(count).then(|| Arc::new(part) as Arc<dyn Kernel>)
    }

    fn describe(&self) -> String {
        self.text.clone()
    }
}

/// A call that resamples in some way.
struct Resampled<'a> {
    input: &'a Layout,
    register: usize,
    lines: &'a [Lines],
    mode: String,
}

/// Each element a sum of others along each dimension.
#[derive(Clone)]
struct Sums<const N: usize> {
    batch: usize,
    channels: usize,
    /// Of volumes, images as such of one frame, or lines as images of one row.
    size: [usize; 3],
    places: [Option<Vec<Taps<N>>>; 3],
    /// What it is, and from which sizes to which.
    text: String,
}

impl Resampled<'_> {
    fn lowered<const N: usize>(&self, site: &Site<'_>, taps: impl Fn(&Lines) -> Vec<ops::Taps<N>>) -> Lowered {
        let Self { input, lines, .. } = *self;
        let (mut size, mut places) = ([1; 3], [const { None }; 3]);
        for ((line, len), at) in lines.iter().zip(&input.shape[2..]).zip(3 - lines.len()..) {
            size[at] = *len;
            let in_singles = |taps: ops::Taps<N>| taps.map(|(place, weight)| (place, weight as f32));
            places[at] =
                (!line.is_kept(self.mode == "bicubic")).then(|| taps(line).into_iter().map(in_singles).collect());
        }
        let sizes = |shape: &[usize]| shape[2..].iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        let text = format!("{}, {} to {}", self.mode, sizes(&input.shape), sizes(site.shape()));
        let kernel = Sums { batch: input.shape[0], channels: input.shape[1], size, places, text };
        let wanted = Wanted::new(self.register, Layout::channels_last(DType::F32, &input.shape));
        Lowered::new(kernel, smallvec![wanted], Layout::channels_last(DType::F32, site.shape()))
    }
}

impl<const N: usize> Kernel for Sums<N> {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let x = &operands[0].unwrap_or(&[])[..self.batch * numel(&self.size) * self.channels];
        resample(out, x, self.size, self.channels, self.places.each_ref().map(Option::as_deref));
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let part = || Arc::new(Self { batch: self.batch / count, ..self.clone() });
        self.batch.is_multiple_of(count).then(|| part() as Arc<dyn Kernel>)
    }

    fn describe(&self) -> String {
        self.text.clone()
    }
}
