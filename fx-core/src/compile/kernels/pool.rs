//! Pooling of images with the channels last.

use std::sync::Arc;

use fx_kernels::Rounded;
use fx_kernels::dense::{Divisor, Images, Pool, PoolShape, Words};
use smallvec::smallvec;

use super::conv::{on_plane, plane};
use super::{Kernel, Lowered, Operands, Site, Wanted, images_of_words, read, written};
use crate::compile::layout::Layout;
use crate::ops::{functions as ops, kind};
use crate::tensor::DType;

#[derive(Clone)]
struct Pooling {
    pool: Pool,
    shape: PoolShape,
    batch: usize,
    input: [usize; 2],
    name: &'static str,
    words: Words,
}

/// Pooling over so many dimensions: of images, or of lines as such.
pub(super) fn pool<const N: usize>(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let [batch, channels, ref size @ ..] = *input.shape else { return None };
    if size.len() != N {
        return None;
    }
    let ([height, width], output) = (plane(size)?, plane(site.shape().get(2..)?)?);
    let is_max = [ops::max_pool1d, ops::max_pool2d].contains(&site.function);
    let shape = if site.function == ops::adaptive_avg_pool2d {
        even_windows(channels, [height, width], output)?
    } else {
        let attribute = |name: &str, default: usize| site.attribute::<kind::window<N>>(name, [default; N]);
        let kernel = attribute("kernel_size", 0)?;
        let stride = on_plane(site.attribute::<kind::maybe<kind::window<N>>>("stride", None)?.unwrap_or(kernel), 1);
        let (padding, dilation) = (on_plane(attribute("padding", 0)?, 0), on_plane(attribute("dilation", 1)?, 1));
        let kernel = on_plane(kernel, 1);
        PoolShape { channels, kernel, stride, dilation, before: padding, after: padding, output }
    };
    let divisor = match site.attribute::<kind::opt_int>("divisor_override", None)? {
        Some(divisor) => Divisor::Fixed(divisor as f32),
        None if site.attribute::<kind::flag>("count_include_pad", true)? => Divisor::Padded,
        None => Divisor::Inside,
    };
    let (pool, name) = if is_max { (Pool::max(shape), "max") } else { (Pool::avg(shape, divisor), "average") };
    let wanted = Wanted::new(register, Layout::channels_last(DType::F32, &input.shape));
    let kernel = Pooling { pool, shape, batch, input: [height, width], name, words: Words::default() };
    let output = Layout::channels_last(DType::F32, site.shape());
    Some(Lowered::new(kernel, smallvec![wanted], output))
}

/// Windows of one size beside each other, if they cover the input so.
fn even_windows(channels: usize, input: [usize; 2], output: [usize; 2]) -> Option<PoolShape> {
    let even = (0..2).all(|i| output[i] > 0 && input[i].is_multiple_of(output[i]));
    let kernel = [input[0].checked_div(output[0])?, input[1].checked_div(output[1])?];
    let (none, one) = ([0; 2], [1; 2]);
    even.then_some(PoolShape { channels, kernel, stride: kernel, dilation: one, before: none, after: none, output })
}

impl Kernel for Pooling {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let (channels, words) = (self.words.input_len(self.shape.channels), self.words);
        let data = &operands[0].unwrap_or(&[])[..self.batch * channels * self.input[0] * self.input[1]];
        let images = Images::pixels(data, self.batch, self.input, channels);
        self.pool.run_words(out, words.output_len(self.shape.channels), &images, words);
    }

    fn rounds(&self, _operand: usize) -> Option<Rounded> {
        self.words.output
    }

    fn reading_words(&self, _operand: usize, rounded: Rounded) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self { words: self.words.reading(rounded), ..self.clone() }))
    }

    fn writing_words(&self, rounded: Rounded, layout: &Layout) -> Option<(Arc<dyn Kernel>, Layout)> {
        let kernel = || Arc::new(Self { words: self.words.writing(rounded), ..self.clone() });
        self.pool.takes_words(rounded).then(|| (kernel() as Arc<dyn Kernel>, images_of_words(layout, rounded)))
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let part = || Arc::new(Self { batch: self.batch / count, ..self.clone() });
        self.batch.is_multiple_of(count).then(|| part() as Arc<dyn Kernel>)
    }

    fn describe(&self) -> String {
        let [h, w] = self.shape.kernel;
        format!("{} of {h}x{w}{}{}", self.name, read(self.words.input), written(self.words.output))
    }
}
