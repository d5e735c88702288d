//! Which kernel computes a call, and what it wants of its operands.
//!
//! A kernel is chosen when shapes are known. What has none runs as the op itself.

mod attention;
mod concat;
mod conv;
mod conv_transpose;
mod copy;
mod norm;
mod pad;
mod pointwise;
mod pool;
mod product;
mod quantized;
mod recurrent;
mod resize;
mod rotary;
mod rounding;
mod sampling;
mod volumes;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use fx_kernels::Rounded;
use fx_kernels::dense::{Algorithm, Format};
use fx_kernels::elementwise::Unary;
use smallvec::SmallVec;

use super::known::Known;
use super::layout::Layout;
use super::packs::Packs;
use crate::arg::{Arg, Kwargs};
use crate::ops::kind::Kind;
use crate::ops::{AVERAGES, Function, functions as ops};
use crate::tensor::{DType, Dims, Tensor};
use crate::value::Meta;

pub(super) use attention::{Added, written_out};
use conv::Convs;
pub(super) use copy::Copy;
pub(super) use pad::margins;
pub(super) use pointwise::Addend;
use pointwise::Pointwise;
pub(super) use rotary::{Factors, rotary};
pub(super) use rounding::rounding;

/// The operands of a kernel that are not known before a run; None is what the output already holds.
pub(super) type Operands<'a> = [Option<&'a [f32]>];

/// Computes f32 results of a known layout.
pub(super) trait Kernel: Send + Sync {
    /// Writes the result.
    fn run(&self, out: &mut [f32], operands: &Operands<'_>);

    /// What it is, in a printed plan.
    fn describe(&self) -> String;

    /// The bytes that are not read because weights are rounded.
    fn bytes_saved(&self) -> usize {
        0
    }

    /// The bytes of its packed weights.
    fn weights(&self) -> usize {
        0
    }

    /// The same for one of so many equal parts of the batch, if it does the same with each image, and images lie one after the
    /// other in all operands and in the result.
    fn part(&self, _count: usize) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// The convolutions that it is.
    fn convs(&self) -> Option<&Convs> {
        None
    }

    /// The same, if it computes rows of so many numbers of its result one by one.
    fn by_rows(&self, _outputs: usize) -> Option<Arc<dyn ByRows>> {
        None
    }

    /// The same with a function of each number of the result, if that is for it to compute.
    fn followed(&self, _function: Unary) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// The elementwise ops that it is.
    fn pointwise(&self) -> Option<&Pointwise> {
        None
    }

    /// The elements in a row of each operand, if it writes rows of these side by side.
    fn joined(&self) -> Option<SmallVec<[usize; 4]>> {
        None
    }

    /// Whether it is a product of two stacks of matrices, neither of which is known.
    fn is_product(&self) -> bool {
        false
    }

    /// Whether it is a softmax of neighbours.
    fn is_softmax(&self) -> bool {
        false
    }

    /// A kernel for this one and for another that gives one of its operands, which nobody else reads, if that is faster.
    /// The other's operands take that one's place.
    fn after(&self, _before: &dyn Kernel, _operand: usize) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// What an operand is rounded to, if that is known and the kernel could [read](Self::reading_words) it as words of such numbers.
    fn rounds(&self, _operand: usize) -> Option<Rounded> {
        None
    }

    /// What an operand may be words of, if it is computed with as precisely as they are anyway: what it is [rounded](Self::rounds) to, or
    /// what products of such numbers are added to.
    fn takes(&self, operand: usize) -> Option<Rounded> {
        self.rounds(operand)
    }

    /// Whether the result is as precise as bf16 where these operands are: it is that of products of such numbers, to which nothing more
    /// precise is added, or of elementwise ops.
    fn is_half(&self, _operands: &[bool]) -> bool {
        false
    }

    /// The same, where an operand that it [takes](Self::takes) so is words.
    fn reading_words(&self, _operand: usize, _rounded: Rounded) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// The same, whose result, which lies so, is written as words of numbers that are rounded so, if it can be; and how these lie.
    fn writing_words(&self, _rounded: Rounded, _layout: &Layout) -> Option<(Arc<dyn Kernel>, Layout)> {
        None
    }

    /// Whether the result may be written over an operand, which lies as the result does.
    fn overwrites(&self, _operand: usize) -> bool {
        false
    }
}

/// What computes each row of its result of one of its input: a product with a matrix, say, or elementwise ops.
pub(super) trait ByRows: Kernel {
    /// How many numbers each of the result's is computed of.
    fn inputs(&self) -> usize;

    /// Writes some rows of the result, of as many numbers as it was asked for.
    fn run_rows(&self, rows: Range<usize>, out: &mut [f32], operands: &Operands<'_>);
}

/// A call, as far as it is known before a run.
pub(super) struct Site<'a> {
    pub(super) function: Function,
    pub(super) args: &'a [Arg<Known>],
    pub(super) kwargs: &'a Kwargs<Known>,
    /// How the results lie, row-major; at least one.
    pub(super) results: &'a [Layout],
    pub(super) packs: &'a Packs,
    /// The zeros around the images that a convolution reads, beside its own padding.
    pub(super) around: &'a [Margin],
}

/// How much stands before and after a dimension of images.
pub(super) type Margin = [usize; 2];

/// Convolutions of images or lines, of volumes, and of quantized ones.
const CONVS: [Function; 4] = [ops::conv1d, ops::conv1d_pointwise, ops::conv2d, ops::conv2d_pointwise];
const VOLUMES: [Function; 2] = [ops::conv3d, ops::conv3d_pointwise];
const QUANTIZED: [Function; 3] = [ops::qconv1d_pointwise, ops::qconv2d_pointwise, ops::qconv3d_pointwise];

/// Whether a function is a convolution whose kernel reads [zeros](Site::around) around its images.
pub(super) fn is_conv(function: Function) -> bool {
    [&CONVS[..], &VOLUMES, &QUANTIZED].iter().any(|convs| convs.contains(&function))
}

/// A call for which there is a kernel.
pub(super) struct Lowered {
    pub(super) kernel: Arc<dyn Kernel>,
    pub(super) operands: SmallVec<[Wanted; 4]>,
    /// How the result lies, or what holds all results.
    pub(super) output: Layout,
    /// The results of a call that has several, one after the other from the start of the output.
    pub(super) parts: SmallVec<[Layout; 1]>,
    /// What makes the call's result of its first argument and of the parts, if these are not the results themselves.
    pub(super) then: Option<fn(&Site<'_>) -> Option<Lowered>>,
}

impl Lowered {
    /// A kernel with one result.
    fn new(kernel: impl Kernel + 'static, operands: SmallVec<[Wanted; 4]>, output: Layout) -> Self {
        Self { kernel: Arc::new(kernel), operands, output, parts: SmallVec::new(), then: None }
    }
}

/// An operand: its register, and how it has to lie.
#[derive(Clone)]
pub(super) struct Wanted {
    pub(super) register: usize,
    pub(super) layout: Layout,
}

impl Wanted {
    pub(super) fn new(register: usize, layout: Layout) -> Self {
        Self { register, layout }
    }
}

/// An operand of a call: how it lies, and its register, or itself if it is known.
struct Input {
    layout: Layout,
    from: Result<usize, Tensor>,
}

/// The numbers of an operand that is known, or else of the next value.
fn numbers<'a>(known: Option<&'a Tensor>, values: &mut dyn Iterator<Item = &Option<&'a [f32]>>) -> &'a [f32] {
    match known {
        Some(known) => known.as_slice(),
        None => values.next().copied().flatten(),
    }
    .unwrap_or(&[])
}

/// The kernel of a call, if there is one.
pub(super) fn lower(site: &Site<'_>) -> Option<Lowered> {
    if site.results.iter().any(|result| result.dtype != DType::F32 || result.numel() == 0) {
        return None;
    }
    let function = site.function;
    let is = |others: &[Function]| others.contains(&function);
    if is(&CONVS) {
        conv::conv(site)
    } else if is(&VOLUMES) {
        volumes::conv(site)
    } else if function == ops::conv_transpose3d {
        volumes::conv_transpose(site)
    } else if is(&[ops::conv_transpose1d, ops::conv_transpose2d, ops::qconv_transpose1d, ops::qconv_transpose2d]) {
        conv_transpose::conv_transpose(site)
    } else if is(&[ops::linear, ops::linear_pointwise]) {
        product::linear(site)
    } else if function == ops::qlinear_pointwise {
        quantized::linear(site)
    } else if function == ops::qconv3d_pointwise {
        quantized::volumes(site)
    } else if is(&QUANTIZED) {
        quantized::conv(site)
    } else if function == ops::addmm {
        product::addmm(site)
    } else if is(&[ops::matmul, ops::bmm, ops::mm]) {
        product::matmul(site)
    } else if is(&[ops::softmax, ops::log_softmax]) {
        norm::softmax(site)
    } else if is(&[ops::layer_norm, ops::rms_norm]) {
        norm::layer_norm(site)
    } else if is(&[ops::group_norm, ops::instance_norm]) {
        norm::group_norm(site)
    } else if is(&[ops::mean, ops::sum, ops::amax, ops::amin]) {
        norm::reduce(site)
    } else if is(&AVERAGES) || is(&pool::LARGEST) {
        pool::pool(site)
    } else if function == ops::scaled_dot_product_attention {
        attention::attention(site)
    } else if is(&[ops::lstm, ops::gru, ops::rnn]) {
        recurrent::recurrent(site)
    } else if function == ops::interpolate {
        resize::interpolate(site)
    } else if function == ops::grid_sample {
        sampling::grid_sample(site)
    } else if is(&[ops::pixel_shuffle, ops::pixel_unshuffle]) {
        resize::pixel_shuffle(site)
    } else if function == ops::pad {
        pad::pad(site)
    } else if is(&[ops::cat, ops::stack]) {
        concat::cat(site)
    } else if function == ops::glu {
        pointwise::glu(site)
    } else if function == ops::batch_norm {
        pointwise::batch_norm(site)
    } else if function == ops::prelu {
        pointwise::prelu(site)
    } else {
        pointwise::pointwise(site)
    }
}

impl<'a> Site<'a> {
    /// The shape of the result, if there is one.
    fn shape(&self) -> &'a [usize] {
        &self.results[0].shape
    }

    /// A positional argument.
    fn arg(&self, index: usize) -> &'a Arg<Known> {
        self.args.get(index).unwrap_or(&Arg::None)
    }

    /// An f32 argument that is not known before a run.
    fn value(&self, index: usize) -> Option<(&'a Layout, usize)> {
        match self.arg(index) {
            Arg::Value(Known::Value(layout, register)) if layout.dtype == DType::F32 => Some((layout, *register)),
            _ => None,
        }
    }

    /// An f32 argument that is known, contiguous.
    fn constant(&self, index: usize) -> Option<Tensor> {
        self.arg(index).as_value().and_then(Known::single)
    }

    /// An f32 argument, known or not.
    fn input(&self, index: usize) -> Option<Input> {
        if let Some((layout, register)) = self.value(index) {
            return Some(Input { layout: layout.clone(), from: Ok(register) });
        }
        let known = self.constant(index)?;
        Some(Input { layout: Layout::of(&known), from: Err(known) })
    }

    /// An f32 weight that is known, and its shape.
    fn weight(&self, index: usize) -> Option<(&'a Known, Dims)> {
        let known = self.arg(index).as_value()?;
        known.weight().map(|shape| (known, shape))
    }

    /// An f32 argument that is known, or absent.
    fn optional(&self, index: usize) -> Option<Option<Tensor>> {
        if self.arg(index).is_none() { Some(None) } else { self.constant(index).map(Some) }
    }

    /// An attribute.
    fn attribute<K: Kind>(&self, name: &str, default: K::Held<Meta>) -> Option<K::Held<Meta>> {
        match self.kwargs.get(name) {
            None => Some(default),
            Some(arg) => K::read(&arg.try_map(&mut |_| Err(())).ok()?),
        }
    }
}

/// Rows whose last numbers are in words that are rounded so.
fn rows_of_words(layout: &Layout, rounded: Rounded) -> Option<Layout> {
    let mut shape = layout.shape.clone();
    *shape.last_mut()? /= rounded.numbers();
    Some(Layout::row_major(layout.dtype, &shape))
}

/// Images whose channels are in words that are rounded so.
fn images_of_words(layout: &Layout, rounded: Rounded) -> Layout {
    let mut shape = layout.shape.clone();
    shape[1] /= rounded.numbers();
    Layout::channels_last(layout.dtype, &shape)
}

/// Whether there are operands, and all are as precise as bf16.
fn all_half(operands: &[bool]) -> bool {
    !operands.is_empty() && operands.iter().all(|is_half| *is_half)
}

/// The same in words that are rounded so: of channels, if these lie last, or of the last numbers of rows.
fn words_of(layout: &Layout, rounded: Rounded) -> Option<Layout> {
    let last = if layout.is_channels_last() { layout.shape.get(1) } else { layout.shape.last() };
    last.filter(|last| last.is_multiple_of(rounded.numbers()))?;
    match layout.is_channels_last() {
        true => Some(images_of_words(layout, rounded)),
        false if layout.is_row_major() => rows_of_words(layout, rounded),
        false => None,
    }
}

/// Says that what is read is words that are rounded so.
fn read(rounded: Option<Rounded>) -> &'static str {
    match rounded {
        None => "",
        Some(Rounded::Pairs) => " of pairs",
        Some(Rounded::Bytes(_)) => " of bytes",
    }
}

/// Says that the result is words that are rounded so.
fn written(rounded: Option<Rounded>) -> &'static str {
    match rounded {
        None => "",
        Some(Rounded::Pairs) => " to pairs",
        Some(Rounded::Bytes(_)) => " to bytes",
    }
}

/// How a product is computed, for a description.
fn by(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Direct => "",
        Algorithm::Strassen => " by Strassen",
        Algorithm::Winograd2 => " by Winograd F(2x2, 3x3)",
        Algorithm::Winograd4 => " by Winograd F(4x4, 3x3)",
        Algorithm::WinogradLine => " by Winograd F(4, 3)",
        Algorithm::Bf16x6 => " by bf16x6",
        Algorithm::TwoPixels => " by two pixels",
    }
}

/// Says in what weights or operands are kept, if they are rounded.
fn kept(format: Format) -> &'static str {
    match format {
        Format::F32 => "",
        Format::Bf16 => " in bf16",
        Format::F16 => " in f16",
        Format::Int8 => " in int8",
    }
}

/// How much less these bytes of weights are than in f32.
fn saved(format: Format, bytes: usize) -> usize {
    if format == Format::F32 { 0 } else { bytes }
}

impl fmt::Debug for dyn Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}
