//! Transposed convolutions.
//!
//! Of a step of the output, as many lines and columns as the windows' stride, each is a convolution of the input with its own taps.
//! Columns are computed beside each other, so that what a band of lines gives are lines of the output.

use std::ops::Range;

use super::algorithm::Algorithm;
use super::conv::{Held, PackedConv};
use super::epilogue::Epilogue;
use super::format::Format;
use super::images::Images;
use super::quantized::{Activations, Bytes, QuantizedConv};
use super::shape::ConvShape;
use super::weight::Weight;
use super::words::Words;
use crate::memory::scratch;
use crate::quantization::Quantization;
use crate::rounded::Rounded;
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

    /// Whether there are convolutions for it: no more is cut off than a window reaches.
    pub fn fits(&self) -> bool {
        (0..2).all(|i| self.stride[i] > 0 && self.padding[i] < self.kernel[i])
    }

    /// The taps of the window that meet the `phase`-th line or column of a step, one at least: in gaps between windows it is 0.
    fn taps(&self, dim: usize, phase: usize) -> usize {
        (self.kernel[dim].max(self.stride[dim]) - phase).div_ceil(self.stride[dim])
    }

    /// How many steps beyond the input a line or column is in the output: what a window reaches without what is cut off.
    fn beyond(&self, dim: usize, phase: usize) -> usize {
        let reach = self.kernel[dim] + self.output_padding[dim] - 1;
        reach.saturating_sub(self.padding[dim] + phase) / self.stride[dim]
    }

    /// The steps before the first one in which a line or column is in the output.
    fn before(&self, dim: usize, phase: usize) -> usize {
        self.padding[dim].saturating_sub(phase).div_ceil(self.stride[dim])
    }

    /// As many of these as windows can begin later.
    fn skipped(&self, line: usize) -> usize {
        self.before(0, line).min(self.taps(0, line) - 1)
    }

    /// Each column on its own: exactly those that are in the output, if that is possible.
    fn columns_alone(&self) -> Option<Vec<Columns>> {
        let Self { kernel: [_, window], stride: [_, step], padding: [_, padding], output_padding: [_, added], .. } =
            *self;
        let column = |column: usize| {
            let (taps, skipped) = (self.taps(1, column), self.before(1, column));
            Some(Columns {
                all: column..column + 1,
                taps,
                before: (taps - 1).checked_sub(skipped)?,
                after: (window + added + step * skipped).checked_sub(step + 2 * padding)?.div_ceil(step),
                place: step * skipped + column - padding,
            })
        };
        (0..step).map(column).collect()
    }

    /// All columns of a step together, and how many of a line's first ones are cut off.
    fn columns_together(&self) -> (Columns, usize) {
        let (step, taps) = (self.stride[1], self.taps(1, 0));
        let skipped = (self.padding[1] / step).min(taps - 1);
        let (before, after) = (taps - 1 - skipped, self.beyond(1, 0));
        (Columns { all: 0..step, taps, before, after, place: 0 }, self.padding[1] - skipped * step)
    }

    /// The same for inputs of a size: windows of a single line or column do not overlap, whatever their steps.
    #[must_use]
    pub fn for_input(self, size: [usize; 2]) -> Self {
        let stride = [0, 1].map(|i| if size[i] == 1 { self.kernel[i] } else { self.stride[i] });
        Self { stride, ..self }
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
    /// How many of a line's first columns are cut off.
    cut: usize,
}

/// Columns of a step that are computed together.
struct Columns {
    all: Range<usize>,
    /// The taps of the first one.
    taps: usize,
    /// The padding of the convolution.
    before: usize,
    after: usize,
    /// Where the first one is in what is computed of a step.
    place: usize,
}

/// The convolution for some columns of a line of a step.
#[derive(Debug)]
struct Part {
    packed: Packed,
    /// Where the first of the columns is in what is computed of a step.
    place: usize,
}

#[derive(Debug)]
enum Packed {
    Numbers(PackedConv),
    Rounded(QuantizedConv),
}

impl Packed {
    fn shape(&self) -> &ConvShape {
        match self {
            Self::Numbers(conv) => conv.shape(),
            Self::Rounded(conv) => conv.shape(),
        }
    }
}

impl TransposedConv {
    /// Packs a weight in PyTorch's layout: inputs, outputs, height, width.
    ///
    /// # Panics
    /// If the weight has another length, or the shape does not [fit](TransposedShape::fits).
    pub fn new(weight: &[f32], shape: TransposedShape, format: Format) -> Self {
        Self::at(Level::detect(), weight, shape, format)
    }

    /// As [`new`](Self::new), for instructions of the given level.
    ///
    /// # Panics
    /// As [`new`](Self::new), and if the processor does not have the level.
    pub fn at(level: Level, weight: &[f32], shape: TransposedShape, format: Format) -> Self {
        Self::of(shape, |line, columns| {
            let conv = shape.conv(line, columns);
            let rows = shape.rows(weight, line, columns);
            Packed::Numbers(PackedConv::at(level, Weight::Numbers(&rows), conv, Algorithm::Direct, format))
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
        Self::of(shape, |line, columns| {
            let conv = shape.conv(line, columns);
            let (rows, scales) = (shape.rows(weight.weight, line, columns), weight.scales.repeat(columns.all.len()));
            let bytes = Bytes { weight: &rows, scales: &scales, bits: weight.bits };
            Packed::Rounded(QuantizedConv::at(level, bytes, conv))
        })
    }

    fn of(shape: TransposedShape, pack: impl Fn(usize, &Columns) -> Packed) -> Self {
        /// The outputs that fill vectors.
        const MANY: usize = 16;
        assert!(shape.fits(), "of {shape:?} more is cut off than a window reaches");
        // Nothing of a whole step is left out, in taps or in the output.
        let is_whole = [shape.kernel[1], shape.padding[1]].iter().all(|count| count.is_multiple_of(shape.stride[1]));
        let alone = (shape.outputs >= MANY && !is_whole).then(|| shape.columns_alone()).flatten();
        let (columns, cut) = match alone {
            Some(columns) => (columns, 0),
            None => {
                let (columns, cut) = shape.columns_together();
                (vec![columns], cut)
            }
        };
        let line = |line: usize| {
            let part = |columns: &Columns| Part { packed: pack(line, columns), place: columns.place };
            columns.iter().map(part).collect()
        };
        Self { shape, lines: (0..shape.stride[0]).map(line).collect(), cut }
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

    /// Whether the images may be [words](Words), with the channels last: of pairs or of bytes, as the weights are.
    pub fn reads_words(&self) -> bool {
        self.parts().all(|part| match &part.packed {
            Packed::Numbers(conv) => conv.reads_words(),
            Packed::Rounded(conv) => conv.reads_words(),
        })
    }

    /// Whether the result may be words of what is rounded so.
    pub fn writes_words(&self, rounded: Rounded) -> bool {
        let writes = |part: &Part| match &part.packed {
            Packed::Numbers(conv) => conv.writes_words(rounded),
            Packed::Rounded(conv) => conv.writes_lines_of_words(rounded),
        };
        self.shape.outputs.is_multiple_of(rounded.numbers()) && self.parts().all(writes)
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
        self.run_words(out, images, quantization, Words::default(), epilogue);
    }

    /// As [`run`](Self::run), of operands that may be words.
    ///
    /// # Panics
    /// As there, or if an operand [cannot be](Self::reads_words) [words](Self::writes_words).
    pub fn run_words(
        &self,
        out: &mut [f32],
        images: &Images<'_>,
        quantization: Option<Quantization>,
        words: Words,
        epilogue: &Epilogue<'_>,
    ) {
        words.check(self.reads_words(), |_| false, |rounded| self.writes_words(rounded));
        let TransposedShape { inputs, outputs, stride, .. } = self.shape;
        let (output, pixel) = (self.shape.output(images.size), words.output_len(outputs));
        let len = images.batch * output[0] * output[1] * pixel;
        assert!(len <= out.len(), "the result does not fit");
        assert!(epilogue.residual.is_none() && !epilogue.accumulate, "nothing is added to a transposed convolution");
        if len == 0 {
            return;
        }
        epilogue.check(0, outputs);
        let steps = self.parts().next().map_or(0, |part| part.packed.shape().output(images.size)[1]);
        let line = steps * stride[1] * pixel;
        images.with_pixels(words.input_len(inputs), 0..images.size[0], |images| {
            let each = epilogue.bias.map_or(&[][..], |bias| &bias[..outputs]);
            // For each column of a step.
            scratch(each.len() * stride[1], |bias| {
                bias.chunks_exact_mut(outputs).for_each(|bias| bias.copy_from_slice(each));
                let epilogue = Epilogue { bias: epilogue.bias.map(|_| &*bias), ..*epilogue };
                Run { conv: self, images: *images, quantization, words, epilogue, output, pixel, line }.run(out);
            });
        });
    }
}

/// The computation for some images.
struct Run<'a> {
    conv: &'a TransposedConv,
    images: Images<'a>,
    quantization: Option<Quantization>,
    words: Words,
    epilogue: Epilogue<'a>,
    /// The height and width of the output.
    output: [usize; 2],
    /// The numbers, or words, of a pixel of the output.
    pixel: usize,
    /// Those that are computed of a line.
    line: usize,
}

impl Run<'_> {
    fn run(&self, out: &mut [f32]) {
        let TransposedShape { inputs, outputs, kernel, stride, .. } = self.conv.shape;
        let Images { batch, size, .. } = self.images;
        let (some, bands) = self.split();
        let work = 2 * batch * size[0] * size[1] * inputs * outputs * kernel[0] * kernel[1];
        let (out, tasks) = (Shared(out.as_mut_ptr()), batch.div_ceil(some) * stride[0] * bands);
        for_each(tasks, work, |task| {
            let (first, phase, band) = (task / (stride[0] * bands) * some, task / bands % stride[0], task % bands);
            let all = self.lines(phase);
            let part = |band: usize| all.start + band * all.len() / bands;
            if part(band) < part(band + 1) {
                self.band(first..batch.min(first + some), phase, part(band)..part(band + 1), &out);
            }
        });
    }

    /// How many images are computed at a time, and in how many bands of lines if it is one.
    fn split(&self) -> (usize, usize) {
        /// The numbers of a band, which stay in the cache until they are copied, and its fewest pixels: as many use weights well.
        const NUMBERS: usize = 64 * 1024;
        const PIXELS: usize = 192;
        let lines = self.images.size[0] + self.conv.shape.beyond(0, 0);
        let most = (NUMBERS / self.line).max((PIXELS * self.conv.shape.stride[1] * self.pixel).div_ceil(self.line));
        // A product of a single row sums up in another order: how many rows there are is not for the number of threads to say.
        let threads = if self.line == self.conv.shape.stride[1] * self.pixel { 1 } else { num_threads() };
        match (most / lines).min(self.images.batch.div_ceil(threads)) {
            some if some > 1 => (some, 1),
            _ => (1, lines.div_ceil(most.min(lines.div_ceil(threads)))),
        }
    }

    /// Which of the lines that the convolutions for a line of each step give are lines of the output.
    fn lines(&self, phase: usize) -> Range<usize> {
        let TransposedShape { stride, padding, .. } = self.conv.shape;
        let (first, skipped) = (self.conv.shape.before(0, phase), self.conv.shape.skipped(phase));
        let end = (self.output[0] + padding[0]).saturating_sub(phase).div_ceil(stride[0]);
        first - skipped..end.max(first) - skipped
    }

    /// Some of these lines, of some images.
    fn band(&self, images: Range<usize>, phase: usize, lines: Range<usize>, out: &Shared<f32>) {
        let TransposedShape { kernel, stride, padding, .. } = self.conv.shape;
        let ([height, width], skipped) = (self.output, self.conv.shape.skipped(phase));
        let (cut, kept) = (self.conv.cut * self.pixel, width * self.pixel);
        let to = |image: usize, index: usize, count: usize| {
            let y = image * height + (index + skipped) * stride[0] + phase - padding[0];
            // SAFETY: `run` has seen that the output holds the lines, and no other task has them.
            unsafe { std::slice::from_raw_parts_mut(out.at(y * kept), count * kept) }
        };
        // Lines of the output that follow each other, or that are computed one by one from one line each.
        match self.line == kept && images.len() == 1 {
            true if stride[0] == 1 => {
                return self.compute(to(images.start, lines.start, lines.len()), &images, phase, lines);
            }
            true if kernel[0] == stride[0] => {
                return lines
                    .for_each(|index| self.compute(to(images.start, index, 1), &images, phase, index..index + 1));
            }
            _ => {}
        }
        // Of several images all lines are computed.
        let whole = self.images.size[0] + self.conv.shape.beyond(0, phase) - skipped;
        let computed = if images.len() == 1 { lines.clone() } else { 0..whole };
        scratch(images.len() * computed.len() * self.line, |numbers| {
            self.compute(numbers, &images, phase, computed.clone());
            for (image, numbers) in images.zip(numbers.chunks_exact(computed.len() * self.line)) {
                let numbers = numbers[(lines.start - computed.start) * self.line..].chunks_exact(self.line);
                let all = lines.clone().zip(numbers);
                all.for_each(|(index, numbers)| to(image, index, 1).copy_from_slice(&numbers[cut..cut + kept]));
            }
        });
    }

    /// What the convolutions for a line of each step give.
    fn compute(&self, numbers: &mut [f32], images: &Range<usize>, phase: usize, lines: Range<usize>) {
        let step = self.conv.shape.stride[1] * self.pixel;
        let held = Held { first: 0, height: self.images.size[0] };
        let images = Images { batch: images.len(), ..self.images.one(images.start) };
        for Part { packed, place } in &self.conv.lines[phase] {
            let to = &mut numbers[place * self.pixel..];
            match (packed, self.quantization) {
                (Packed::Numbers(conv), None) => {
                    let written = self.words.written(None);
                    conv.run_lines(to, step, &images, (held, lines.clone()), &self.epilogue, written);
                }
                (Packed::Rounded(conv), Some(input)) => {
                    let activations = Activations { words: self.words, ..input.into() };
                    conv.run_lines(to, step, &images, (held, lines.clone()), activations, &self.epilogue);
                }
                _ => panic!("whole numbers are multiplied with whole numbers"),
            }
        }
    }
}

impl TransposedShape {
    /// The convolution that gives some columns of a line of each step.
    fn conv(&self, line: usize, columns: &Columns) -> ConvShape {
        let taps = self.taps(0, line);
        ConvShape {
            kernel: [taps, columns.taps],
            before: [taps - 1 - self.skipped(line), columns.before],
            after: [self.beyond(0, line), columns.after],
            ..ConvShape::pointwise(self.inputs, columns.all.len() * self.outputs)
        }
    }

    /// The weights of that convolution: the outputs of one column after those of another. A tap beyond the window is 0.
    fn rows<T: Copy + Default>(&self, weight: &[T], line: usize, columns: &Columns) -> Vec<T> {
        let Self { inputs, outputs, kernel: [height, width], stride, .. } = *self;
        assert_eq!(weight.len(), inputs * outputs * height * width, "the weight of {self:?} has another length");
        let [down, across] = self.conv(line, columns).kernel;
        let mut rows = Vec::with_capacity(columns.all.len() * outputs * inputs * down * across);
        for column in columns.all.clone() {
            for (output, input) in (0..outputs).flat_map(|output| (0..inputs).map(move |input| (output, input))) {
                let window = &weight[(input * outputs + output) * height * width..][..height * width];
                for [i, j] in (0..down).flat_map(|i| (0..across).map(move |j| [i, j])) {
                    // The pixel before another one's has the next step's number in its window.
                    let [y, x] = [(down - 1 - i) * stride[0] + line, (across - 1 - j) * stride[1] + column];
                    rows.push(if y < height && x < width { window[y * width + x] } else { T::default() });
                }
            }
        }
        rows
    }
}
