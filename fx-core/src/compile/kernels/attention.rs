//! Scaled dot-product attention on values with any strides.

use std::sync::Arc;

use fx_kernels::attention::{self, Grid, Mask, Scores, Sizes, Strides};
use fx_kernels::dense::Format;
use smallvec::SmallVec;

use super::{Input, Kernel, Known, Lowered, Operands, Site, Wanted, kept, numbers};
use crate::arg::Arg;
use crate::compile::layout::Layout;
use crate::ops::kind;
use crate::tensor::{DType, Dims, Tensor};

#[derive(Clone)]
struct Attention {
    sizes: Sizes,
    /// Of the query, key, value and result.
    strides: [Strides; 4],
    /// The query, key and value, if they are known.
    known: [Option<Tensor>; 3],
    how: How,
}

/// What becomes of the scores.
#[derive(Clone)]
struct How {
    scale: f32,
    masked: Masked,
    /// What a query gives that no key counts for.
    empty: f32,
    /// What operands may be rounded to.
    format: Format,
}

/// Which keys count for a query, or what is added to its scores.
#[derive(Clone)]
enum Masked {
    No,
    Causal,
    By(Added),
    /// By a sum: which of the last two operands has the numbers of lines and which those of places in a line, and the keys of a line.
    ByGrid([usize; 2], usize),
}

/// What is added to the scores.
#[derive(Clone)]
pub(in crate::compile) struct Added {
    pub(in crate::compile) strides: Strides,
    /// The distance of neighbours in a row.
    pub(in crate::compile) step: usize,
    /// After how many batches the numbers begin anew.
    pub(in crate::compile) period: usize,
    /// The numbers, if they are known.
    pub(in crate::compile) known: Option<Tensor>,
    /// Whether minus infinity takes the place of a score.
    pub(in crate::compile) hides: bool,
}

pub(super) fn attention(site: &Site<'_>) -> Option<Lowered> {
    let [q, k, v] = [site.input(0)?, site.input(1)?, site.input(2)?].map(in_rows);
    let grouped = site.attribute::<kind::flag>("enable_gqa", false)?;
    let dropout = site.attribute::<kind::float>("dropout_p", 0.0)?;
    let keys = k.layout.shape[k.layout.shape.len().checked_sub(2)?];
    let (mask, register) = match site.arg(3) {
        Arg::None => (None, None),
        Arg::Value(Known::Value(mask, register)) if mask.dtype == DType::F32 => {
            (Some(Added::of(mask, site.shape(), keys, None)?), Some(Wanted::new(*register, mask.clone())))
        }
        Arg::Value(known) => {
            let mask = added(&known.constant()?)?;
            (Some(Added::of(&Layout::of(&mask), site.shape(), keys, Some(mask))?), None)
        }
        _ => return None,
    };
    let causal = site.attribute::<kind::flag>("is_causal", false)?;
    if causal && mask.is_some() || dropout != 0.0 {
        return None;
    }
    let default = 1.0 / (*q.layout.shape.last()? as f64).sqrt();
    let scale = site.attribute::<kind::opt_float>("scale", None)?.unwrap_or(default) as f32;
    let masked = if causal { Masked::Causal } else { Masked::of(mask) };
    let how = How { scale, masked, empty: 0.0, format: site.packs.format() };
    lowered([q, k, v], site.shape(), grouped, how, register)
}

/// An operand with the numbers of each row side by side, into which it is copied if it lies otherwise.
fn in_rows(input: Input) -> Input {
    if heads_of(&input.layout).as_ref().and_then(rows).is_some() {
        return input;
    }
    let Input { layout, from } = input;
    Input { layout: Layout::row_major(DType::F32, &layout.shape), from: from.map_err(|known| known.contiguous()) }
}

/// Attention that is written out, with a softmax that gives NaN where no key counts. A mask is added to scores, or hides some; one
/// that is not known has a register.
pub(in crate::compile) fn written_out(
    operands: [Wanted; 3],
    shape: &[usize],
    scale: f32,
    mask: Option<Added>,
    register: Option<Wanted>,
    format: Format,
) -> Option<Lowered> {
    let how = How { scale, masked: Masked::of(mask), empty: f32::NAN, format };
    let operands = operands.map(|Wanted { register, layout }| Input { layout, from: Ok(register) });
    lowered(operands, shape, false, how, register)
}

fn lowered(operands: [Input; 3], shape: &[usize], grouped: bool, how: How, mask: Option<Wanted>) -> Option<Lowered> {
    // Before the heads nothing repeats.
    let before = |shape: &[usize]| Dims::from_slice(&shape[..shape.len().saturating_sub(3)]);
    let is_like_result =
        |Input { layout, .. }: &Input| layout.shape.len() == shape.len() && before(&layout.shape) == before(shape);
    if !operands.iter().all(is_like_result) {
        return None;
    }
    // The result lies like the query, so that the heads can be joined without a copy.
    let output = like(&operands[0].layout, shape);
    let [q, k, v] = operands.each_ref().map(|operand| heads_of(&operand.layout));
    let (q, k, v) = (&q?, &k?, &v?);
    let (batches, heads, queries, width) = dims(q)?;
    let (_, key_heads, keys, key_width) = dims(k)?;
    let (_, value_heads, value_rows, values) = dims(v)?;
    if key_heads != value_heads || keys != value_rows || width != key_width || (heads != key_heads && !grouped) {
        return None;
    }
    let strides = [rows(q)?, rows(k)?, rows(v)?, rows(&heads_of(&output)?)?];
    let sizes = Sizes { batches, heads, key_heads, queries, keys, width, values };
    let mut wanted = SmallVec::new();
    let known =
        operands.map(|Input { layout, from }| from.map(|register| wanted.push(Wanted::new(register, layout))).err());
    wanted.extend(mask);
    Some(Lowered::new(Attention { sizes, strides, known, how }, wanted, output))
}

/// The same values with all dimensions before the heads as one, if they are at equal distances.
fn heads_of(layout: &Layout) -> Option<Layout> {
    let n = layout.shape.len();
    if n <= 4 {
        return Some(layout.clone());
    }
    let mut batch = (1, 0);
    for (&size, &stride) in layout.shape[..n - 3].iter().zip(&layout.strides).rev().filter(|(size, _)| **size != 1) {
        batch = match batch {
            (1, _) => (size, stride),
            (count, first) if stride == count * first => (count * size, first),
            _ => return None,
        };
    }
    let (mut shape, mut strides) =
        (Dims::from_slice(&layout.shape[n - 4..]), Dims::from_slice(&layout.strides[n - 4..]));
    (shape[0], strides[0]) = batch;
    Some(Layout { dtype: layout.dtype, shape, strides })
}

/// A mask as what is added to scores.
fn added(mask: &Tensor) -> Option<Tensor> {
    match mask.dtype() {
        DType::F32 => Some(mask.contiguous()),
        DType::Bool => {
            let number = |takes_part: bool| if takes_part { 0.0 } else { f32::NEG_INFINITY };
            let numbers: Vec<f32> = mask.to_vec::<bool>().into_iter().map(number).collect();
            Some(Tensor::from_vec(mask.shape(), numbers))
        }
        _ => None,
    }
}

/// Batches, heads, rows and columns.
fn dims(layout: &Layout) -> Option<(usize, usize, usize, usize)> {
    match *layout.shape {
        [rows, columns] => Some((1, 1, rows, columns)),
        [heads, rows, columns] => Some((1, heads, rows, columns)),
        [batches, heads, rows, columns] => Some((batches, heads, rows, columns)),
        _ => None,
    }
}

/// The distances of batches, heads and rows, if the numbers of a row are neighbours.
fn rows(layout: &Layout) -> Option<Strides> {
    let mut from_end = layout.shape.iter().zip(&layout.strides).rev();
    let (columns, step) = from_end.next()?;
    let [row, head, batch] = std::array::from_fn(|_| from_end.next().map_or(0, |(_, stride)| *stride));
    (*columns == 1 || *step == 1).then_some(Strides { batch, head, row })
}

/// A layout without gaps with the dimensions in the order of another's.
fn like(layout: &Layout, shape: &[usize]) -> Layout {
    let order = layout.slowest_first();
    // Where a row's numbers are not the fastest, nothing is gained.
    if order.last() != Some(&(shape.len() - 1)) {
        return Layout::row_major(DType::F32, shape);
    }
    Layout::in_order(DType::F32, shape, &order)
}

impl Masked {
    fn of(mask: Option<Added>) -> Self {
        mask.map_or(Self::No, Self::By)
    }
}

impl Added {
    /// A mask that lies so, over the scores; its strides are 0 where it repeats.
    fn of(mask: &Layout, result: &[usize], keys: usize, known: Option<Tensor>) -> Option<Self> {
        let mut shape = Dims::from_slice(result);
        *shape.last_mut()? = keys;
        let lead = shape.len().checked_sub(mask.shape.len())?;
        let mut strides = Dims::from_elem(0, shape.len());
        for (to, (size, stride)) in strides[lead..].iter_mut().zip(mask.shape.iter().zip(&mask.strides)) {
            *to = if *size == 1 { 0 } else { *stride };
        }
        let Layout { strides, .. } = heads_of(&Layout { dtype: mask.dtype, shape, strides })?;
        let mut from_end = strides.iter().rev().copied().chain(std::iter::repeat(0));
        let [step, row, head, batch] = std::array::from_fn(|_| from_end.next().unwrap_or(0));
        Some(Self { strides: Strides { batch, head, row }, step, period: usize::MAX, known, hides: false })
    }
}

impl Kernel for Attention {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let values = &mut operands.iter();
        let [q, k, v] = self.known.each_ref().map(|known| numbers(known.as_ref(), values));
        let How { scale, ref masked, empty, format } = self.how;
        let (mut hides, mut period) = (false, usize::MAX);
        let mask = match masked {
            Masked::No => Mask::None,
            Masked::Causal => Mask::Causal,
            Masked::By(mask) => {
                (hides, period) = (mask.hides, mask.period);
                Mask::Add(numbers(mask.known.as_ref(), values), mask.strides, mask.step)
            }
            Masked::ByGrid(order, len) => {
                let sides = [(); 2].map(|()| numbers(None, values));
                let Sizes { heads, queries, keys, .. } = self.sizes;
                let [lines, places] = [(0, keys / len), (1, *len)].map(|(index, row)| {
                    (sides[order[index]], Strides { batch: heads * queries * row, head: queries * row, row })
                });
                Mask::Grid(Grid { lines, places, len: *len })
            }
        };
        let scores = Scores { scale, mask, hides, period, empty, format };
        let [of_q, of_k, of_v, of_out] = self.strides;
        attention::attention(self.sizes, (out, of_out), (q, of_q), (k, of_k), (v, of_v), scores);
    }

    fn after(&self, before: &dyn Kernel, operand: usize) -> Option<Arc<dyn Kernel>> {
        let Sizes { batches, heads, queries, keys, .. } = self.sizes;
        let Masked::By(Added { strides, step, known: None, .. }) = &self.how.masked else { return None };
        // Each score has a number of its own, in their order.
        let of = |size: usize, stride: usize| if size == 1 { 0 } else { stride };
        let (head, row) = (of(heads, queries * keys), of(queries, keys));
        let in_order = Strides { batch: of(batches, heads * queries * keys), head, row };
        let is_mask = operand == self.known.iter().filter(|known| known.is_none()).count();
        if !is_mask || *step != 1 || *strides != in_order {
            return None;
        }
        let (order, len) = before.pointwise()?.grid(batches * heads * queries, keys)?;
        let how = How { masked: Masked::ByGrid(order, len), ..self.how.clone() };
        Some(Arc::new(Self { how, ..self.clone() }))
    }

    fn describe(&self) -> String {
        let Sizes { heads, key_heads, queries, keys, .. } = self.sizes;
        let shared = if heads == key_heads { String::new() } else { format!(" on {key_heads}") };
        let masked = match self.how.masked {
            Masked::No => "",
            Masked::Causal => ", causal",
            Masked::By(_) => ", masked",
            Masked::ByGrid(..) => ", masked by lines and places",
        };
        let rounded = kept(self.sizes.format(self.how.format));
        let many = if heads == 1 { "" } else { "s" };
        format!("attention of {heads} head{many}{shared}, {queries} x {keys}{masked}{rounded}")
    }
}
