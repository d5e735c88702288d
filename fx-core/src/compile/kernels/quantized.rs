//! Linear layers and convolutions of quantized values, with what follows them. A kernel rounds its input as it reads it, if that is not
//! [bytes](super::super::words) already.

use std::ops;
use std::sync::Arc;

use fx_kernels::dense::{Activations, Images, QuantizedConv, QuantizedLinear, QuantizedVolumeConv, Words};
use fx_kernels::elementwise::Unary;
use fx_kernels::{Quantization, Rounded};

use super::conv::{is_of_pixels, reads, sizes, window_of};
use super::product::{Follow, other};
use super::volumes;
use super::{
    ByRows, Kernel, Known, Lowered, Operands, Site, Wanted, images_of_words, kept, read, rows_of_words, written,
};
use crate::compile::layout::Layout;
use crate::ops::{OF_ADDED, QPARAMS_EPS, chosen_qparams, kind};
use crate::tensor::{DType, Dims, numel};

/// A product of an input that is rounded.
#[derive(Clone)]
struct Quantized {
    product: Product,
    range: Range,
    follow: Follow,
    added: Added,
    words: Words,
}

/// What is added to the sums.
#[derive(Clone, Copy)]
enum Added {
    Nothing,
    Numbers,
    /// Numbers that are rounded first.
    Rounded(Quantization),
}

#[derive(Clone)]
enum Product {
    /// Of so many rows.
    Linear(Arc<QuantizedLinear>, usize),
    Conv(Arc<QuantizedConv>, Pixels),
    /// Of so many volumes of a size.
    Volumes(Arc<QuantizedVolumeConv>, usize, [usize; 3]),
}

/// Images.
#[derive(Clone, Copy)]
struct Pixels {
    batch: usize,
    size: [usize; 2],
    /// Whether channels are first.
    planes: bool,
}

/// The integers that an input is rounded to.
#[derive(Clone, Copy)]
pub(super) struct Range {
    min: i64,
    max: i64,
    /// The scale and the zero point, if they are known.
    qparams: Option<(f32, i64)>,
}

pub(super) fn linear(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let output = Layout::row_major(DType::F32, site.shape());
    let residual = other(site, 4, &output)?;
    let (operands, weight) = weight(site)?;
    // The weight of a single output may have no dimension for it.
    if weight.len() != 2 {
        return None;
    }
    let range = Range::at(site)?;
    let packed = site.packs.quantized_linear(operands, range.bits())?;
    let rows = output.numel().checked_div(packed.outputs())?;
    let wanted = Wanted::new(register, Layout::row_major(DType::F32, &input.shape));
    lowered(site, range, Product::Linear(packed, rows), wanted, residual, output)
}

pub(super) fn conv(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let (operands, weight) = weight(site)?;
    let (shape, batch, size) = sizes(site, input, &weight)?;
    let output = Layout::channels_last(DType::F32, site.shape());
    let residual = other(site, 4, &output)?;
    let (planes, wanted) = reads(input, shape.inputs);
    let pixels = Pixels { batch, size, planes };
    let range = Range::at(site)?;
    let product = Product::Conv(site.packs.quantized_conv(operands, range.bits(), shape)?, pixels);
    lowered(site, range, product, Wanted::new(register, wanted), residual, output)
}

pub(super) fn volumes(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let (operands, weight) = weight(site)?;
    let (shape, batch, size) = volumes::sizes(site, input, &weight)?;
    let output = Layout::channels_last(DType::F32, site.shape());
    let residual = other(site, 4, &output)?;
    let range = Range::at(site)?;
    let product = Product::Volumes(site.packs.quantized_volumes(operands, range.bits(), shape)?, batch, size);
    let wanted = Wanted::new(register, Layout::channels_last(DType::F32, &input.shape));
    lowered(site, range, product, wanted, residual, output)
}

/// The weight and its scales, if they are known, and the weight's shape.
pub(super) fn weight<'a>(site: &Site<'a>) -> Option<([&'a Known; 2], Dims)> {
    let [weight, scales] = [site.arg(1).as_value()?, site.arg(2).as_value()?];
    let shape = weight.weight_in(DType::I8).filter(|_| scales.is_known())?;
    Some(([weight, scales], shape))
}

fn lowered(
    site: &Site<'_>,
    range: Range,
    product: Product,
    input: Wanted,
    residual: Option<Wanted>,
    output: Layout,
) -> Option<Lowered> {
    let follow = Follow::of(site, 3)?;
    let added = match residual {
        None => Added::Nothing,
        Some(_) => match Range::of_added(site)? {
            range if range.is_known() => Added::Rounded(range.of(&[])),
            _ => Added::Numbers,
        },
    };
    let kernel = Quantized { product, range, follow, added, words: Words::default() };
    Some(Lowered::new(kernel, [input].into_iter().chain(residual).collect(), output))
}

impl Range {
    /// That of the input.
    pub(super) fn at(site: &Site<'_>) -> Option<Self> {
        Self::named(site, ["scale", "zero_point", "quant_min", "quant_max"])
    }

    /// That of what is added.
    fn of_added(site: &Site<'_>) -> Option<Self> {
        Self::named(site, OF_ADDED)
    }

    /// By the names of its attributes.
    fn named(site: &Site<'_>, [scale, zero_point, min, max]: [&'static str; 4]) -> Option<Self> {
        let scale = site.attribute::<kind::opt_float>(scale, None)?;
        let zero_point = site.attribute::<kind::int>(zero_point, 0)?;
        let [min, max] = [(min, 0), (max, 255)].map(|(name, default)| site.attribute::<kind::int>(name, default));
        Some(Self { min: min?, max: max?, qparams: scale.map(|scale| (scale as f32, zero_point)) })
    }

    /// The bits of its numbers.
    pub(super) fn bits(self) -> u32 {
        self.with(1.0, 0).bits()
    }

    /// Whether the scale and the zero point are known.
    pub(super) fn is_known(self) -> bool {
        self.qparams.is_some()
    }

    /// What an input is rounded to, if that is known.
    pub(super) fn rounded(self) -> Option<Rounded> {
        self.is_known().then(|| Rounded::Bytes(self.of(&[])))
    }

    /// How an input is rounded.
    pub(super) fn of(self, input: &[f32]) -> Quantization {
        let (scale, zero_point) =
            self.qparams.unwrap_or_else(|| chosen_qparams(input, [self.min, self.max], QPARAMS_EPS));
        self.with(scale, zero_point)
    }

    fn with(self, scale: f32, zero_point: i64) -> Quantization {
        let [zero_point, min, max] = [zero_point, self.min, self.max].map(|whole| whole as i32);
        Quantization { scale, zero_point, min, max }
    }
}

impl Pixels {
    /// The numbers of all images of so many channels.
    fn len(&self, channels: usize) -> usize {
        self.batch * channels * numel(&self.size)
    }

    fn images<'a>(&self, data: &'a [f32], channels: usize) -> Images<'a> {
        match self.planes {
            true => Images::planes(data, self.batch, self.size),
            false => Images::pixels(data, self.batch, self.size, channels),
        }
    }
}

impl Quantized {
    /// How many numbers each of a result is computed of, and the numbers of a row or a pixel.
    fn sizes(&self) -> [usize; 2] {
        match &self.product {
            Product::Linear(packed, _) => [packed.inputs(), packed.outputs()],
            Product::Conv(packed, _) => [packed.shape().inputs, packed.shape().outputs],
            Product::Volumes(packed, ..) => [packed.shape().frame.inputs, packed.shape().frame.outputs],
        }
    }

    /// An input as it is rounded, if all of it is this.
    fn activations(&self, input: &[f32]) -> Activations {
        let added = match self.added {
            Added::Rounded(quantization) => Some(quantization),
            Added::Nothing | Added::Numbers => None,
        };
        Activations { input: self.range.of(input), added, words: self.words }
    }
}

impl Kernel for Quantized {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let ([inputs, outputs], words) = (self.sizes(), self.words);
        let (read, input) = (words.input_len(inputs), operands[0].unwrap_or(&[]));
        let epilogue = self.follow.epilogue(operands.get(1).copied(), words.added_len(outputs));
        match &self.product {
            Product::Linear(_, rows) => self.run_rows(0..*rows, out, operands),
            Product::Conv(packed, pixels) => {
                let input = &input[..pixels.len(read)];
                let images = pixels.images(input, read);
                packed.run(out, words.output_len(outputs), &images, self.activations(input), &epilogue);
            }
            Product::Volumes(packed, batch, size) => {
                let input = &input[..batch * numel(size) * read];
                packed.run(out, input, *batch, *size, self.activations(input), &epilogue);
            }
        }
    }

    fn by_rows(&self, outputs: usize) -> Option<Arc<dyn ByRows>> {
        let is_of_rows = match &self.product {
            Product::Linear(..) => true,
            Product::Conv(packed, pixels) => !pixels.planes && is_of_pixels(packed.shape(), pixels.size),
            Product::Volumes(..) => false,
        };
        // A range that is not known is that of all rows.
        let is_known = self.range.is_known() && self.words.output.is_none();
        (is_of_rows && is_known && self.sizes()[1] == outputs).then(|| Arc::new(self.clone()) as Arc<dyn ByRows>)
    }

    fn rounds(&self, operand: usize) -> Option<Rounded> {
        let reads = match &self.product {
            Product::Linear(packed, _) => packed.reads_words(),
            Product::Conv(packed, pixels) => packed.reads_words() && !pixels.planes,
            Product::Volumes(packed, ..) => packed.reads_words(),
        };
        let adds = |rounded: &Rounded| match &self.product {
            Product::Linear(packed, _) => packed.adds_words(*rounded),
            Product::Conv(packed, _) => packed.adds_words(*rounded),
            Product::Volumes(packed, ..) => packed.adds_words(*rounded),
        };
        match self.added {
            Added::Rounded(range) if operand == 1 => Some(Rounded::Bytes(range)).filter(adds),
            _ => self.range.rounded().filter(|_| operand == 0 && reads),
        }
    }

    fn reading_words(&self, operand: usize, rounded: Rounded) -> Option<Arc<dyn Kernel>> {
        let words = if operand == 0 { self.words.reading(rounded) } else { self.words.adding(rounded) };
        Some(Arc::new(Self { words, ..self.clone() }))
    }

    fn writing_words(&self, rounded: Rounded, layout: &Layout) -> Option<(Arc<dyn Kernel>, Layout)> {
        let layout = match &self.product {
            Product::Linear(packed, _) if packed.writes_words(rounded) => rows_of_words(layout, rounded)?,
            Product::Conv(packed, _) if packed.writes_words(rounded) => images_of_words(layout, rounded),
            Product::Volumes(packed, ..) if packed.writes_words(rounded) => images_of_words(layout, rounded),
            _ => return None,
        };
        Some((Arc::new(Self { words: self.words.writing(rounded), ..self.clone() }), layout))
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let part = |batch: usize| (batch.is_multiple_of(count) && self.range.is_known()).then(|| batch / count);
        let product = match &self.product {
            Product::Linear(packed, rows) => Product::Linear(Arc::clone(packed), part(*rows)?),
            Product::Conv(packed, pixels) => {
                Product::Conv(Arc::clone(packed), Pixels { batch: part(pixels.batch)?, ..*pixels })
            }
            Product::Volumes(packed, batch, size) => Product::Volumes(Arc::clone(packed), part(*batch)?, *size),
        };
        Some(Arc::new(Self { product, ..self.clone() }))
    }

    fn followed(&self, function: Unary) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self { follow: self.follow.then(function)?, ..self.clone() }))
    }

    fn overwrites(&self, operand: usize) -> bool {
        let [added, written] = [self.words.added, self.words.output].map(|words| words.map(Rounded::numbers));
        operand == 1 && added == written
    }

    fn describe(&self) -> String {
        let what = match &self.product {
            Product::Linear(packed, _) => {
                format!("linear {} to {}{}", packed.inputs(), packed.outputs(), kept(packed.format()))
            }
            Product::Conv(packed, _) => format!("{}{}", window_of(packed.shape()), kept(packed.format())),
            Product::Volumes(packed, ..) => format!("{}{}", volumes::window_of(packed.shape()), kept(packed.format())),
        };
        let rounded = |words: Option<Rounded>| if words.is_some() { read(words) } else { " of rounded" };
        let from = rounded(self.words.input);
        let added = match self.added {
            Added::Nothing => None,
            Added::Numbers => Some(""),
            Added::Rounded(_) => Some(rounded(self.words.added)),
        };
        format!("{what}{from}{}{}", self.follow.describe(added), written(self.words.output))
    }

    fn weights(&self) -> usize {
        match &self.product {
            Product::Linear(packed, _) => packed.bytes(),
            Product::Conv(packed, _) => packed.bytes(),
            Product::Volumes(packed, ..) => packed.bytes(),
        }
    }
}

/// Of rows of a matrix, or of single pixels.
impl ByRows for Quantized {
    fn inputs(&self) -> usize {
        self.sizes()[0]
    }

    fn run_rows(&self, rows: ops::Range<usize>, out: &mut [f32], operands: &Operands<'_>) {
        let ([inputs, outputs], words) = (self.sizes(), self.words);
        let (stride, read, len) = (words.output_len(outputs), words.input_len(inputs), rows.len());
        let epilogue = self.follow.epilogue(operands.get(1).copied(), words.added_len(outputs)).at_row(rows.start);
        let input = &operands[0].unwrap_or(&[])[rows.start * read..rows.end * read];
        let activations = self.activations(input);
        match &self.product {
            Product::Linear(packed, _) => packed.run(out, stride, input, read, len, activations, &epilogue),
            Product::Conv(packed, _) => {
                packed.run(out, stride, &Images::pixels(input, 1, [1, len], read), activations, &epilogue);
            }
            Product::Volumes(packed, ..) => packed.run(out, input, 1, [1, 1, len], activations, &epilogue),
        }
    }
}
