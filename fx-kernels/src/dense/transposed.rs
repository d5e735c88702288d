//! Transposed convolutions whose windows overlap.
//!
//! Of a step of the output, as many lines and columns as the windows' stride, each is a convolution of the input with its own taps.
//! Columns are computed beside each other, so that what a band of lines gives are lines of the output.

use std::ops::Range;

use super::algorithm::Algorithm;
use super::conv::{ConvShape, Held, PackedConv};
use super::epilogue::Epilogue;
use super::format::Format;
use super::images::Images;
use super::quantized::{Bytes, QuantizedConv};
use super::weight::Weight;
use crate::memory::scratch;
use crate::quantization::Quantization;
use crate::simd::Level;
use crate::threads::{Shared, for_each, num_threads};

/// The sizes of a transposed convolution, which has one group and neighbouring taps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransposedShape {
    /// The channels of the input.
    pub inputs: usize,
    /// The channels of the output.
    pub outputs: usize,
    /// The height and width of the window.
    pub kernel: [usize; 2],
    /// The steps of the window.
    pub stride: [usize; 2],
    /// What is cut off on each side of the output.
    pub padding: [usize; 2],
    /// What is added to its end.
    pub output_padding: [usize; 2],
}

impl TransposedShape {
    /// The height and width of the output for an input of a size.
    pub fn output(&self, size: [usize; 2]) -> [usize; 2] {
        let whole = [0, 1].map(|i| match size[i] {
            0 => 0,
            size => (size - 1) * self.stride[i] + self.kernel[i] + self.output_padding[i],
        });
        [0, 1].map(|i| whole[i].saturating_sub(2 * self.padding[i]))
    }

    /// Whether there are convolutions for it: windows leave no gaps, and no more is cut off than a window reaches.
    pub fn is_covered(&self) -> bool {
        (0..2).all(|i| self.stride[i] > 0 && self.kernel[i] >= self.stride[i] && self.padding[i] < self.kernel[i])
    }

    /// The taps of the window that meet the `phase`-th line or column of a step.
    fn taps(&self, dim: usize, phase: usize) -> usize {
        (self.kernel[dim] - phase).div_ceil(self.stride[dim])
    }

    /// How many steps beyond the input a line or column is in the output: what a window reaches without what is cut off.
    fn beyond(&self, dim: usize, phase: usize) -> usize {
        let reach = self.kernel[dim] + self.output_padding[dim] - 1;
        reach.saturating_sub(self.padding[dim] + phase) / self.stride[dim]
    }

    /// The columns before the output's first one that are not computed, in steps.
    fn skipped(&self) -> usize {
        (self.padding[1] / self.stride[1]).min(self.taps(1, self.stride[1] - 1) - 1)
    }
}

/// A transposed convolution.
///
/// ```
/// use fx_kernels::dense::{Epilogue, Format, Images, TransposedConv, TransposedShape};
///
/// let shape = TransposedShape {
///     inputs: 1,
///     outputs: 1,
///     kernel: [1, 3],
///     stride: [1, 2],
///     padding: [0, 0],
///     output_padding: [0, 0],
/// };
/// let conv = TransposedConv::new(&[1.0, 2.0, 3.0], shape, Format::F32);
/// let mut y = [0.0; 5];
/// conv.run(&mut y, &Images::pixels(&[1.0, 10.0], 1, [1, 2], 1), None, &Epilogue::default());
/// assert_eq!(y, [1.0, 2.0, 13.0, 20.0, 30.0]);
/// ```
#[derive(Debug)]
pub struct TransposedConv {
    shape: TransposedShape,
    /// For each line of a step.
    lines: Vec<Vec<Part>>,
}

/// The convolution for some columns of a line of a step.
#[derive(Debug)]
struct Part {
    packed: Packed,
    /// The first of the columns.
    first: usize,
}

#[derive(Debug)]
enum Packed {
    Numbers(PackedConv),
    Rounded(QuantizedConv),
}

impl TransposedConv {
    /// Packs a weight in PyTorch's layout: inputs, outputs, height, width.
    ///
    /// # Panics
    /// If the weight has another length, or the shape is not [covered](TransposedShape::is_covered).
    pub fn new(weight: &[f32], shape: TransposedShape, format: Format) -> Self {
        Self::at(Level::detect(), weight, shape, format)
    }

    /// As [`new`](Self::new), for instructions of the given level.
    ///
    /// # Panics
    /// As [`new`](Self::new), and if the processor does not have the level.
    pub fn at(level: Level, weight: &[f32], shape: TransposedShape, format: Format) -> Self {
        Self::of(shape, |columns, part| {
            let rows = shape.rows(weight, columns, &part);
            Packed::Numbers(PackedConv::at(level, Weight::Numbers(&rows), part.shape, Algorithm::Direct, format))
        })
    }

    /// As [`new`](Self::new), of whole numbers with a scale for each output, multiplied with such.
    ///
    /// # Panics
    /// As [`new`](Self::new), or if there is no scale for each output.
    pub fn quantized(weight: Bytes<'_>, shape: TransposedShape) -> Self {
        Self::quantized_at(Level::detect(), weight, shape)
    }

    /// As [`quantized`](Self::quantized), for instructions of the given level.
    ///
    /// # Panics
    /// As there, and if the processor does not have the level.
    pub fn quantized_at(level: Level, weight: Bytes<'_>, shape: TransposedShape) -> Self {
        Self::of(shape, |columns, part| {
            let (rows, scales) = (shape.rows(weight.weight, columns, &part), weight.scales.repeat(columns.len()));
            let bytes = Bytes { weight: &rows, scales: &scales, bits: weight.bits };
            Packed::Rounded(QuantizedConv::by_lines(level, bytes, part.shape))
        })
    }

    fn of(shape: TransposedShape, pack: impl Fn(&Range<usize>, PartShape) -> Packed) -> Self {
        /// The outputs that fill vectors.
        const MANY: usize = 16;
        assert!(shape.is_covered(), "{shape:?} leaves gaps");
        let steps = shape.stride[1];
        // Columns with as many taps go together, and those that have few outputs: a tap more is less than what vectors leave empty.
        let together = shape.kernel[1].is_multiple_of(steps) || shape.outputs < MANY;
        let count = if together { 1 } else { steps };
        let line = |line: usize| {
            let part = |part: usize| {
                let columns = if together { 0..steps } else { part..part + 1 };
                let packed = pack(&columns, shape.part(line, &columns));
                Part { packed, first: columns.start }
            };
            (0..count).map(part).collect()
        };
        Self { shape, lines: (0..shape.stride[0]).map(line).collect() }
    }

    /// The sizes.
    pub fn shape(&self) -> &TransposedShape {
        &self.shape
    }

    /// The type in which the weights are kept.
    pub fn format(&self) -> Format {
        match self.parts().next() {
            Some(Part { packed: Packed::Numbers(conv), .. }) => conv.format(),
            Some(Part { packed: Packed::Rounded(conv), .. }) => conv.format(),
            None => Format::F32,
        }
    }

    /// The bytes of the packed weights.
    pub fn bytes(&self) -> usize {
        let bytes = |part: &Part| match &part.packed {
            Packed::Numbers(conv) => conv.bytes(),
            Packed::Rounded(conv) => conv.bytes(),
        };
        self.parts().map(bytes).sum()
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.lines.iter().flatten()
    }

    /// Applies the convolution to images, which are rounded so if the weights are whole numbers; the output's channels are last, without
    /// gaps. Of what follows there may be a bias and an activation.
    ///
    /// # Panics
    /// If an operand is too short, or whole numbers are to be multiplied with others.
    pub fn run(
        &self,
        out: &mut [f32],
        images: &Images<'_>,
        quantization: Option<Quantization>,
        epilogue: &Epilogue<'_>,
    ) {
        images.with_pixels(self.shape.inputs, 0..images.size[0], |images| {
            self.run_pixels(out, images, quantization, epilogue);
        });
    }

    fn run_pixels(
        &self,
        out: &mut [f32],
        images: &Images<'_>,
        quantization: Option<Quantization>,
        epilogue: &Epilogue<'_>,
    ) {
        /// The numbers of a band, which stay in the cache until they are copied, and its fewest pixels: as many use weights well.
        const NUMBERS: usize = 64 * 1024;
        const PIXELS: usize = 192;
        let TransposedShape { inputs, outputs, kernel, stride, padding, .. } = self.shape;
        let [height, width] = self.shape.output(images.size);
        assert!(images.batch * height * width * outputs <= out.len(), "the result does not fit");
        assert!(epilogue.residual.is_none() && !epilogue.accumulate, "nothing is added to a transposed convolution");
        if images.batch * height * width * outputs == 0 {
            return;
        }
        epilogue.check(0, outputs);
        // The steps that are computed of a line, and how many of its first numbers are cut off.
        let skipped = self.shape.skipped();
        let steps = images.size[1] + self.shape.beyond(1, 0) - skipped;
        let cut = (padding[1] - skipped * stride[1]) * outputs;
        let (line, kept) = (steps * stride[1] * outputs, width * outputs);
        // The lines of the input's steps that are lines of the output.
        let lines = |phase: usize| {
            let end = (height + padding[0]).saturating_sub(phase).div_ceil(stride[0]);
            padding[0].saturating_sub(phase).div_ceil(stride[0])..end
        };
        let count = lines(0).len();
        let most = (NUMBERS / line).max(PIXELS.div_ceil(steps)).min(count.div_ceil(num_threads())).max(1);
        let bands = count.div_ceil(most);
        let bias: Option<Vec<f32>> = epilogue.bias.map(|bias| bias[..outputs].repeat(stride[1]));
        let epilogue = Epilogue { bias: bias.as_deref(), ..*epilogue };
        let work = 2 * images.batch * images.size[0] * images.size[1] * inputs * outputs * kernel[0] * kernel[1];
        let (out, tasks) = (Shared(out.as_mut_ptr()), images.batch * stride[0] * bands);
        for_each(tasks, work, |task| {
            let (image, phase, band) = (task / (stride[0] * bands), task / bands % stride[0], task % bands);
            let all = lines(phase);
            let part = |band: usize| all.start + band * all.len() / bands;
            let lines = part(band)..part(band + 1);
            let compute = |band: &mut [f32], lines: Range<usize>| {
                for Part { packed, first } in &self.lines[phase] {
                    let (to, stride) = (&mut band[first * outputs..], stride[1] * outputs);
                    let (images, held) = (images.one(image), Held { first: 0, height: images.size[0] });
                    match (packed, quantization) {
                        (Packed::Numbers(conv), None) => {
                            conv.run_lines(to, stride, &images, (held, lines.clone()), &epilogue, None);
                        }
                        (Packed::Rounded(conv), Some(range)) => {
                            conv.run_lines(to, stride, &images, (held, lines.clone()), range, &epilogue);
                        }
                        _ => panic!("whole numbers are multiplied with whole numbers"),
                    }
                }
            };
            let to = |index: usize| {
                let y = image * height + index * stride[0] + phase - padding[0];
                // SAFETY: the line is in the output (seen above), and no other task has it.
                unsafe { std::slice::from_raw_parts_mut(out.at(y * kept), kept) }
            };
            if line == kept {
                // Nothing is cut off.
                return lines.for_each(|index| compute(to(index), index..index + 1));
            }
            scratch(lines.len() * line, |band| {
                compute(band, lines.clone());
                let all = lines.clone().zip(band.chunks_exact(line));
                all.for_each(|(index, numbers)| to(index).copy_from_slice(&numbers[cut..cut + kept]));
            });
        });
    }
}

/// The convolution of some columns, and where in a step they are.
struct PartShape {
    shape: ConvShape,
    line: usize,
}

impl TransposedShape {
    /// The convolution that gives some columns of a line of each step.
    fn part(&self, line: usize, columns: &Range<usize>) -> PartShape {
        let taps = [self.taps(0, line), self.taps(1, columns.start)];
        let shape = ConvShape {
            kernel: taps,
            before: [taps[0] - 1, taps[1] - 1 - self.skipped()],
            after: [self.beyond(0, line), self.beyond(1, 0)],
            ..ConvShape::pointwise(self.inputs, columns.len() * self.outputs)
        };
        PartShape { shape, line }
    }

    /// The weights of that convolution: the outputs of one column after those of another. A tap beyond the window is 0.
    fn rows<T: Copy + Default>(&self, weight: &[T], columns: &Range<usize>, part: &PartShape) -> Vec<T> {
        let Self { inputs, outputs, kernel: [height, width], stride, .. } = *self;
        assert_eq!(weight.len(), inputs * outputs * height * width, "the weight of {self:?} has another length");
        let [down, across] = part.shape.kernel;
        let mut rows = Vec::with_capacity(columns.len() * outputs * inputs * down * across);
        for column in columns.clone() {
            for (output, input) in (0..outputs).flat_map(|output| (0..inputs).map(move |input| (output, input))) {
                let window = &weight[(input * outputs + output) * height * width..][..height * width];
                for [i, j] in (0..down).flat_map(|i| (0..across).map(move |j| [i, j])) {
                    // The pixel before another one's has the next step's number in its window.
                    let [y, x] = [(down - 1 - i) * stride[0] + part.line, (across - 1 - j) * stride[1] + column];
                    rows.push(if x < width { window[y * width + x] } else { T::default() });
                }
            }
        }
        rows
    }
}
