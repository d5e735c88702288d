//! Products of matrices: linear layers, with known weights and what follows them, and products of two values.

use std::ops::Range;
use std::sync::Arc;

use fx_kernels::dense::{Algorithm, CompactLinear, Epilogue, Format, PackedLinear, Residual, Words};
use fx_kernels::elementwise::Unary;
use fx_kernels::threads::{for_each_piece, num_threads};
use fx_kernels::{Matrix, Rounded, gemm};

use super::{
    ByRows, Input, Kernel, Known, Lowered, Operands, Site, Wanted, by, kept, numbers, read, rows_of_words, saved,
    written,
};
use crate::compile::layout::Layout;
use crate::ops::kind;
use crate::ops::{Attr, functions as ops};
use crate::tensor::{DType, Scalar, Tensor, numel};

/// What follows a product.
#[derive(Clone)]
pub(super) struct Follow {
    bias: Option<Tensor>,
    activation: Option<Unary>,
}

impl Follow {
    /// A bias, if any, and nothing more.
    pub(super) fn new(bias: Option<Tensor>) -> Self {
        Self { bias, activation: None }
    }

    /// Of a call with such an operand as bias.
    pub(super) fn of(site: &Site<'_>, bias: usize) -> Option<Self> {
        let text = site.attribute::<kind::string>("attr", "none".into())?;
        let activation = if text == "none" { None } else { Some(text.parse::<Attr>().ok()?.0) };
        Some(Self { bias: site.optional(bias)?, activation })
    }

    /// The same with a function after it, if there is none.
    pub(super) fn then(&self, function: Unary) -> Option<Self> {
        self.activation.is_none().then(|| Self { activation: Some(function), ..self.clone() })
    }

    pub(super) fn epilogue<'a>(&'a self, residual: Option<Option<&'a [f32]>>, stride: usize) -> Epilogue<'a> {
        Epilogue {
            bias: self.bias.as_ref().and_then(Tensor::as_slice),
            residual: residual.flatten().map(|data| Residual { data, stride }),
            accumulate: matches!(residual, Some(None)),
            activation: self.activation,
        }
    }

    /// What follows: how what is added is read, if something is.
    pub(super) fn describe(&self, added: Option<&str>) -> String {
        let activation = self.activation.map(|activation| format!(" + {activation}")).unwrap_or_default();
        let added = added.map(|how| format!(" + add{how}")).unwrap_or_default();
        format!("{added}{activation}")
    }
}

/// The operand `other` of a fused call: None if the kernel cannot add it, else its register if there is one.
pub(super) fn other(site: &Site<'_>, index: usize, layout: &Layout) -> Option<Option<Wanted>> {
    if site.arg(index).is_none() {
        return Some(None);
    }
    let (other, register) = site.value(index)?;
    (other.shape == layout.shape).then(|| Some(Wanted::new(register, layout.clone())))
}

#[derive(Clone)]
struct Linear {
    product: Product,
    follow: Follow,
    residual: bool,
    words: Words,
}

/// What rows are multiplied with.
#[derive(Clone)]
enum Product {
    /// So many.
    Rows(usize, Arc<PackedLinear>),
    /// A single one.
    Row(Arc<CompactLinear>),
}

impl Product {
    /// The numbers in a row of the input, and of the output.
    fn sizes(&self) -> [usize; 2] {
        match self {
            Self::Rows(_, packed) => [packed.inputs(), packed.outputs()],
            Self::Row(packed) => [packed.inputs(), packed.outputs()],
        }
    }
}

pub(super) fn linear(site: &Site<'_>) -> Option<Lowered> {
    let output = Layout::row_major(DType::F32, site.shape());
    let other = other(site, 3, &output)?;
    packed(site, 0, 1, true, Follow::of(site, 2)?, other)
}

/// `bias + input @ weight` with a known weight, as GPT-2 writes its linear layers.
pub(super) fn addmm(site: &Site<'_>) -> Option<Lowered> {
    let one = |name| Some(site.attribute::<kind::scalar>(name, Scalar::Int(1))?.to_f64() == 1.0);
    let bias = site.constant(0).filter(|bias| bias.shape() == &site.shape()[1..])?;
    let plain = one("alpha")? && one("beta")?;
    if !plain {
        return None;
    }
    packed(site, 1, 2, false, Follow::new(Some(bias)), None)
}

/// A product of an argument with a known matrix, which may be transposed.
fn packed(
    site: &Site<'_>,
    input: usize,
    weight: usize,
    transposed: bool,
    follow: Follow,
    other: Option<Wanted>,
) -> Option<Lowered> {
    let (input, register) = site.value(input)?;
    let (weight, shape) = site.weight(weight).filter(|(_, shape)| shape.len() == 2)?;
    let columns = if transposed { shape[0] } else { shape[1] };
    let output = Layout::row_major(DType::F32, site.shape());
    let rows = output.numel().checked_div(columns)?;
    let single = if rows == 1 { site.packs.linear_of_a_row(weight, transposed) } else { None };
    let product = match single {
        Some(packed) => Product::Row(packed),
        None => Product::Rows(rows, site.packs.linear(weight, transposed)?),
    };
    let kernel = Linear { product, follow, residual: other.is_some(), words: Words::default() };
    let wanted = Wanted::new(register, Layout::row_major(DType::F32, &input.shape));
    let operands = [wanted].into_iter().chain(other).collect();
    Some(Lowered::new(kernel, operands, output))
}

impl Kernel for Linear {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let rows = match &self.product {
            Product::Rows(rows, _) => *rows,
            Product::Row(_) => 1,
        };
        self.run_rows(0..rows, out, operands);
    }

    fn weights(&self) -> usize {
        let Product::Rows(_, packed) = &self.product else { return 0 };
        packed.bytes()
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let Product::Rows(rows, packed) = &self.product else { return None };
        let product = Product::Rows(rows / count, Arc::clone(packed));
        rows.is_multiple_of(count).then(|| Arc::new(Self { product, ..self.clone() }) as Arc<dyn Kernel>)
    }

    fn by_rows(&self, outputs: usize) -> Option<Arc<dyn ByRows>> {
        let Product::Rows(rows, packed) = &self.product else { return None };
        let is_direct = packed.algorithm(*rows) == Algorithm::Direct && self.words.output.is_none();
        (is_direct && packed.outputs() == outputs).then(|| Arc::new(self.clone()) as Arc<dyn ByRows>)
    }

    fn followed(&self, function: Unary) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self { follow: self.follow.then(function)?, ..self.clone() }))
    }

    fn is_half(&self, operands: &[bool]) -> bool {
        let is_product = matches!(&self.product, Product::Rows(_, packed) if packed.format() == Format::Bf16);
        is_product && operands[1..].iter().all(|added| *added)
    }

    fn rounds(&self, operand: usize) -> Option<Rounded> {
        let Product::Rows(_, packed) = &self.product else { return None };
        (operand == 0 && packed.reads_words()).then_some(Rounded::Pairs)
    }

    fn reading_words(&self, _operand: usize, rounded: Rounded) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self { words: self.words.reading(rounded), ..self.clone() }))
    }

    fn writing_words(&self, rounded: Rounded, layout: &Layout) -> Option<(Arc<dyn Kernel>, Layout)> {
        let Product::Rows(_, packed) = &self.product else { return None };
        let layout = rows_of_words(layout, rounded).filter(|_| packed.writes_words(rounded))?;
        Some((Arc::new(Self { words: self.words.writing(rounded), ..self.clone() }), layout))
    }

    fn overwrites(&self, operand: usize) -> bool {
        operand == 1 && self.words.output.is_none()
    }

    fn describe(&self) -> String {
        let [inputs, outputs] = self.product.sizes();
        let how = match &self.product {
            Product::Rows(rows, packed) => format!("{}{}", by(packed.algorithm(*rows)), kept(packed.format())),
            Product::Row(_) => " in 28 bits".into(),
        };
        let follow = self.follow.describe(self.residual.then_some(""));
        format!("linear {inputs} to {outputs}{how}{}{follow}{}", read(self.words.input), written(self.words.output))
    }

    fn bytes_saved(&self) -> usize {
        match &self.product {
            Product::Rows(_, packed) => saved(packed.format(), packed.bytes()),
            Product::Row(packed) => {
                let [inputs, outputs] = self.product.sizes();
                (inputs * outputs * size_of::<f32>()).saturating_sub(packed.bytes())
            }
        }
    }
}

impl ByRows for Linear {
    fn inputs(&self) -> usize {
        self.product.sizes()[0]
    }

    fn run_rows(&self, rows: Range<usize>, out: &mut [f32], operands: &Operands<'_>) {
        let [inputs, outputs] = self.product.sizes();
        let epilogue = self.follow.epilogue(operands.get(1).copied(), outputs).at_row(rows.start);
        let words = self.words;
        let (stride, read) = (words.output_len(outputs), words.input_len(inputs));
        let input = &operands[0].unwrap_or(&[])[rows.start * read..];
        match &self.product {
            Product::Rows(_, packed) => packed.run_words(out, stride, input, read, rows.len(), words, &epilogue),
            Product::Row(packed) => packed.run(out, input, &epilogue),
        }
    }
}

/// Products of stacks of matrices.
struct Batched {
    /// Rows, inner length, columns.
    sizes: [usize; 3],
    /// For both operands the distances of rows and columns.
    steps: [[usize; 2]; 2],
    /// Where each pair of matrices begins.
    starts: Vec<[usize; 2]>,
    /// The left operand, if it is known.
    known: Option<Tensor>,
}

/// Products of matrices with known ones.
struct Stacked {
    /// The rows of each, and their distance.
    rows: usize,
    stride: usize,
    /// Where each begins, and which of the known ones it is multiplied with.
    starts: Vec<[usize; 2]>,
    packed: Arc<Vec<PackedLinear>>,
}

pub(super) fn matmul(site: &Site<'_>) -> Option<Lowered> {
    match site.weight(1) {
        Some((_, shape)) if shape.len() == 2 => return packed(site, 0, 1, false, Follow::new(None), None),
        Some((weight, shape)) if shape.len() > 2 && site.value(0).is_some() => return stacked(site, weight, &shape),
        _ => {}
    }
    let (b, right) = site.value(1)?;
    let Input { layout: a, from } = &site.input(0)?;
    let (n, m) = (a.shape.len(), b.shape.len());
    if n < 2 || m < 2 {
        return None;
    }
    debug_assert!(site.function != ops::mm || n == 2);
    // A single matrix is multiplied with all rows at once.
    let all = (m == 2 && n > 2).then(|| Layout::row_major(DType::F32, &a.shape));
    let (sizes, steps, starts) = if all.is_some() {
        let (rows, inner) = (numel(&a.shape[..n - 1]), a.shape[n - 1]);
        ([rows, inner, b.shape[1]], [[inner, 1], [b.strides[0], b.strides[1]]], vec![[0; 2]])
    } else {
        let starts = pairs(site, a, b)?;
        let steps = [a, b].map(|layout| [2, 1].map(|from_end| layout.strides[layout.shape.len() - from_end]));
        ([a.shape[n - 2], a.shape[n - 1], b.shape[m - 1]], steps, starts)
    };
    let left = from.as_ref().ok().map(|register| Wanted::new(*register, all.unwrap_or_else(|| a.clone())));
    let operands = left.into_iter().chain([Wanted::new(right, b.clone())]).collect();
    let kernel = Batched { sizes, steps, starts, known: from.as_ref().err().cloned() };
    let output = Layout::row_major(DType::F32, site.shape());
    Some(Lowered::new(kernel, operands, output))
}

/// The products of an argument with known matrices of a shape.
fn stacked(site: &Site<'_>, weight: &Known, shape: &[usize]) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    if shape.contains(&0) {
        return None;
    }
    let n = input.shape.len();
    let rows = input.shape[n.checked_sub(2)?];
    // Rows of neighbours, at any distance.
    let input = match input.strides[n - 1] {
        1 => input.clone(),
        _ => Layout::row_major(DType::F32, &input.shape),
    };
    // Known ones are counted, as if each were one number.
    let counted = Layout::row_major(DType::F32, &[&shape[..shape.len() - 2], &[1, 1]].concat());
    let (starts, stride) = (pairs(site, &input, &counted)?, input.strides[n - 2]);
    let kernel = Stacked { rows, stride, starts, packed: site.packs.stack(weight)? };
    let output = Layout::row_major(DType::F32, site.shape());
    Some(Lowered::new(kernel, [Wanted::new(register, input)].into_iter().collect(), output))
}

/// Where the matrices of two stacks begin that are multiplied with each other.
fn pairs(site: &Site<'_>, a: &Layout, b: &Layout) -> Option<Vec<[usize; 2]>> {
    let lead = &site.shape()[..site.shape().len() - 2];
    Some(matrices(a, lead)?.into_iter().zip(matrices(b, lead)?).map(|(a, b)| [a, b]).collect())
}

/// Where the matrices of a stack of some shape begin, along which those that lie so repeat; none if they are very many.
fn matrices(layout: &Layout, lead: &[usize]) -> Option<Vec<usize>> {
    const MOST: usize = 1 << 16;
    if numel(lead) > MOST {
        return None;
    }
    let own = layout.shape.len() - 2;
    let mut starts = vec![0];
    for (dim, &size) in lead.iter().enumerate() {
        let stride = match (dim + own).checked_sub(lead.len()) {
            Some(dim) if layout.shape[dim] != 1 => layout.strides[dim],
            _ => 0,
        };
        starts = starts.iter().flat_map(|start| (0..size).map(move |index| start + index * stride)).collect();
    }
    Some(starts)
}

impl Kernel for Batched {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let [rows, inner, columns] = self.sizes;
        let values = &mut operands.iter();
        let sides = [self.known.as_ref(), None].map(|known| numbers(known, values));
        let product = |index: usize, out: &mut [f32]| {
            let matrix = |side: usize, rows: usize, columns: usize| {
                let [row, column] = self.steps[side];
                Matrix::new(&sides[side][self.starts[index][side]..], rows, columns, row, column)
            };
            gemm(out, columns, false, matrix(0, rows, inner), matrix(1, inner, columns));
        };
        each(out, rows * columns, inner, self.starts.len(), product);
    }

    fn is_product(&self) -> bool {
        self.known.is_none()
    }

    fn describe(&self) -> String {
        let [rows, inner, columns] = self.sizes;
        format!("{} products {rows} x {inner} x {columns}", self.starts.len())
    }
}

/// Computes some products of `len` numbers each. Few are shared out among threads one by one.
fn each(out: &mut [f32], len: usize, inner: usize, count: usize, product: impl Fn(usize, &mut [f32]) + Sync) {
    if count < num_threads() {
        out.chunks_exact_mut(len.max(1)).enumerate().for_each(|(index, out)| product(index, out));
    } else {
        let work = 2 * inner * out.len();
        for_each_piece(out, len, work, product);
    }
}

impl Kernel for Stacked {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let Self { rows, stride, starts, packed } = self;
        let input = operands[0].unwrap_or(&[]);
        let [inner, columns] = packed.first().map_or([0; 2], |packed| [packed.inputs(), packed.outputs()]);
        let product = |at: usize, out: &mut [f32]| {
            let [start, index] = starts[at];
            packed[index].run(out, columns, &input[start..], *stride, *rows, &Epilogue::default());
        };
        each(out, rows * columns, inner, starts.len(), product);
    }

    fn describe(&self) -> String {
        let Self { rows, starts, packed, .. } = self;
        let Some(first) = packed.first() else { return String::new() };
        let (inner, columns, how) = (first.inputs(), first.outputs(), by(first.algorithm(*rows)));
        format!("{} products {rows} x {inner} x {columns} with known ones{how}{}", starts.len(), kept(first.format()))
    }

    fn bytes_saved(&self) -> usize {
        self.packed.iter().map(|packed| saved(packed.format(), packed.bytes())).sum()
    }
}
