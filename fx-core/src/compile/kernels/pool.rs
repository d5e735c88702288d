//! Pooling of images and volumes with the channels last.

use std::sync::Arc;

use fx_kernels::Rounded;
use fx_kernels::dense::{Divisor, Images, Pool, PoolShape, VolumePool, Words};
use smallvec::smallvec;

use super::conv::on_plane;
use super::norm::global_pool;
use super::{Kernel, Lowered, Operands, Site, Wanted, all_half, images_of_words, read, written};
use crate::compile::layout::Layout;
use crate::ops::{AVERAGES, Function, functions as ops, kind};
use crate::tensor::{DType, Dims, numel};

/// The largest elements of windows over as many.
pub(super) const LARGEST: [Function; 6] = [
    ops::max_pool1d,
    ops::max_pool2d,
    ops::max_pool3d,
    ops::adaptive_max_pool1d,
    ops::adaptive_max_pool2d,
    ops::adaptive_max_pool3d,
];

/// Pooling of images or volumes.
#[derive(Clone)]
struct Pooling {
    pool: Pooled,
    channels: usize,
    /// The sizes of a window.
    kernel: Dims,
    batch: usize,
    name: &'static str,
    words: Words,
}

/// What is pooled: images, or volumes, of a size.
#[derive(Clone)]
enum Pooled {
    Images(Pool, [usize; 2]),
    Volumes(VolumePool, [usize; 3]),
}

/// The windows of a call over so many dimensions.
struct Windows<const N: usize> {
    kernel: [usize; N],
    stride: [usize; N],
    dilation: [usize; N],
    padding: [usize; N],
    output: [usize; N],
}

/// Pooling of images, or of lines as such, or of volumes.
pub(super) fn pool(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let dims = AVERAGES.iter().chain(&LARGEST).position(|known| *known == site.function)? % 3 + 1;
    // Without a batch the op itself is run.
    if input.shape.len() != 2 + dims {
        return None;
    }
    if let Some(lowered) = global_pool(site) {
        return Some(lowered);
    }
    let [batch, channels, ref size @ ..] = *input.shape else { return None };
    let wanted = smallvec![Wanted::new(register, Layout::channels_last(DType::F32, &input.shape))];
    let output = Layout::channels_last(DType::F32, site.shape());
    let is_max = LARGEST.contains(&site.function);
    let name = if is_max { "max" } else { "average" };
    let divisor = match site.attribute::<kind::opt_int>("divisor_override", None)? {
        Some(divisor) => Divisor::Fixed(divisor as f32),
        None if site.attribute::<kind::flag>("count_include_pad", true)? => Divisor::Padded,
        None => Divisor::Inside,
    };
    let of_images = |shape: PoolShape, size: [usize; 2]| {
        let pool = if is_max { Pool::max(shape) } else { Pool::avg(shape, divisor) };
        (Pooled::Images(pool, size), Dims::from_slice(&shape.kernel))
    };
    let (pool, kernel) = match *size {
        [width] => of_images(windows(site, [width])?.of_images(channels), [1, width]),
        [height, width] => of_images(windows(site, [height, width])?.of_images(channels), [height, width]),
        [depth, height, width] => {
            let windows = windows(site, [depth, height, width])?;
            let (frames, places) = windows.of_volumes(channels);
            let pool = if is_max { VolumePool::max(frames, places) } else { VolumePool::avg(frames, places, divisor) };
            (Pooled::Volumes(pool, [depth, height, width]), Dims::from_slice(&windows.kernel))
        }
        _ => return None,
    };
    Some(Lowered::new(Pooling { pool, channels, kernel, batch, name, words: Words::default() }, wanted, output))
}

/// The windows over an input: of a call that only says how large the result is, windows of one size beside each other, if they cover
/// the input so.
fn windows<const N: usize>(site: &Site<'_>, input: [usize; N]) -> Option<Windows<N>> {
    let output: [usize; N] = site.shape().get(2..)?.try_into().ok()?;
    let attribute = |name: &str, default: usize| site.attribute::<kind::window<N>>(name, [default; N]);
    if site.kwargs.get("output_size").is_some() {
        let is_even = (0..N).all(|i| output[i] > 0 && input[i].is_multiple_of(output[i]));
        let kernel = is_even.then(|| std::array::from_fn(|i| input[i] / output[i]))?;
        return Some(Windows { kernel, stride: kernel, dilation: [1; N], padding: [0; N], output });
    }
    let kernel = attribute("kernel_size", 0)?;
    let stride = site.attribute::<kind::maybe<kind::window<N>>>("stride", None)?.unwrap_or(kernel);
    Some(Windows { kernel, stride, dilation: attribute("dilation", 1)?, padding: attribute("padding", 0)?, output })
}

impl<const N: usize> Windows<N> {
    /// Those of images, or of lines as such.
    fn of_images(&self, channels: usize) -> PoolShape {
        let padding = on_plane(self.padding, 0);
        PoolShape {
            channels,
            kernel: on_plane(self.kernel, 1),
            stride: on_plane(self.stride, 1),
            dilation: on_plane(self.dilation, 1),
            before: padding,
            after: padding,
            output: on_plane(self.output, 1),
        }
    }
}

impl Windows<3> {
    /// Those of frames, and of images whose lines are frames.
    fn of_volumes(&self, channels: usize) -> (PoolShape, PoolShape) {
        let of = |sizes: [usize; 3]| ([sizes[1], sizes[2]], sizes[0]);
        let ((kernel, depth), (stride, step)) = (of(self.kernel), of(self.stride));
        let ((dilation, apart), (padding, around)) = (of(self.dilation), of(self.padding));
        let (output, frames) = of(self.output);
        let of_frames = PoolShape { channels, kernel, stride, dilation, before: padding, after: padding, output };
        let of_places = PoolShape {
            channels,
            kernel: [depth, 1],
            stride: [step, 1],
            dilation: [apart, 1],
            before: [around, 0],
            after: [around, 0],
            output: [frames, output[0] * output[1]],
        };
        (of_frames, of_places)
    }
}

impl Kernel for Pooling {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let (channels, words) = (self.words.input_len(self.channels), self.words);
        let data = |size: &[usize]| &operands[0].unwrap_or(&[])[..self.batch * channels * numel(size)];
        match &self.pool {
            Pooled::Images(pool, size) => {
                let images = Images::pixels(data(size), self.batch, *size, channels);
                pool.run_words(out, words.output_len(self.channels), &images, words);
            }
            Pooled::Volumes(pool, size) => pool.run_words(out, data(size), self.batch, *size, words),
        }
    }

    fn is_half(&self, operands: &[bool]) -> bool {
        all_half(operands)
    }

    fn rounds(&self, _operand: usize) -> Option<Rounded> {
        self.words.output
    }

    fn reading_words(&self, _operand: usize, rounded: Rounded) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self { words: self.words.reading(rounded), ..self.clone() }))
    }

    fn writing_words(&self, rounded: Rounded, layout: &Layout) -> Option<(Arc<dyn Kernel>, Layout)> {
        let kernel = || Arc::new(Self { words: self.words.writing(rounded), ..self.clone() });
        let takes = match &self.pool {
            Pooled::Images(pool, _) => pool.takes_words(rounded),
            Pooled::Volumes(pool, _) => pool.takes_words(rounded),
        };
        takes.then(|| (kernel() as Arc<dyn Kernel>, images_of_words(layout, rounded)))
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let part = || Arc::new(Self { batch: self.batch / count, ..self.clone() });
        self.batch.is_multiple_of(count).then(|| part() as Arc<dyn Kernel>)
    }

    fn describe(&self) -> String {
        let window = self.kernel.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        format!("{} of {window}{}{}", self.name, read(self.words.input), written(self.words.output))
    }
}
