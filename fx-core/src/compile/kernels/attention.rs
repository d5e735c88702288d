//! Scaled dot-product attention on values with any strides.

use fx_kernels::attention::{self, Mask, Sizes, Strides};
use smallvec::SmallVec;

use super::{Kernel, Known, Lowered, Operands, Site, Wanted};
use crate::arg::Arg;
use crate::compile::layout::Layout;
use crate::ops::kind;
use crate::tensor::{DType, Dims};

struct Attention {
    sizes: Sizes,
    /// Of the query, key, value and result.
    strides: [Strides; 4],
    scale: f32,
    causal: bool,
    /// The mask's strides and the distance of neighbours in a row.
    mask: Option<(Strides, usize)>,
}

pub(super) fn attention(site: &Site<'_>) -> Option<Lowered> {
    let operands = [site.value(0)?, site.value(1)?, site.value(2)?];
    let [q, k, v] = operands.map(|(layout, _)| layout);
    let grouped = site.attribute::<kind::flag>("enable_gqa", false)?;
    let dropout = site.attribute::<kind::float>("dropout_p", 0.0)?;
    let (batches, heads, queries, width) = dims(q)?;
    let (key_batches, key_heads, keys, key_width) = dims(k)?;
    let (value_batches, value_heads, value_rows, values) = dims(v)?;
    let fits = batches == key_batches && batches == value_batches && key_heads == value_heads && keys == value_rows;
    if !fits || dropout != 0.0 || width != key_width || (heads != key_heads && !grouped) {
        return None;
    }
    // The result lies like the query, so that the heads can be joined without a copy.
    let output = like(q, site.shape());
    let strides = [rows(q)?, rows(k)?, rows(v)?, rows(&output)?];
    let default = 1.0 / (width as f64).sqrt();
    let scale = site.attribute::<kind::opt_float>("scale", None)?.unwrap_or(default) as f32;
    let mut wanted: SmallVec<[Wanted; 4]> =
        operands.iter().map(|(layout, register)| Wanted::new(*register, (*layout).clone())).collect();
    let mask = match site.arg(3) {
        Arg::None => None,
        Arg::Value(Known::Value(mask, register)) if mask.dtype == DType::F32 => {
            wanted.push(Wanted::new(*register, mask.clone()));
            Some(broadcast(mask, site.shape(), keys)?)
        }
        _ => return None,
    };
    let causal = site.attribute::<kind::flag>("is_causal", false)?;
    if causal && mask.is_some() {
        return None;
    }
    let sizes = Sizes { batches, heads, key_heads, queries, keys, width, values };
    let kernel = Attention { sizes, strides, scale, causal, mask };
    Some(Lowered::new(kernel, wanted, output))
}

/// Batches, heads, rows and columns.
fn dims(layout: &Layout) -> Option<(usize, usize, usize, usize)> {
    match *layout.shape {
        [heads, rows, columns] => Some((1, heads, rows, columns)),
        [batches, heads, rows, columns] => Some((batches, heads, rows, columns)),
        _ => None,
    }
}

/// The distances of batches, heads and rows, if the numbers of a row are neighbours.
fn rows(layout: &Layout) -> Option<Strides> {
    let n = layout.strides.len();
    let neighbours = layout.strides[n - 1] == 1 || layout.shape[n - 1] == 1;
    neighbours.then(|| Strides {
        batch: if n > 3 { layout.strides[n - 4] } else { 0 },
        head: layout.strides[n - 3],
        row: layout.strides[n - 2],
    })
}

/// A layout without gaps with the dimensions in the order of another's.
fn like(layout: &Layout, shape: &[usize]) -> Layout {
    let mut order: SmallVec<[usize; 6]> = (0..shape.len()).collect();
    order.sort_by_key(|dim| std::cmp::Reverse(layout.strides[*dim]));
    // Where a row's numbers are not the fastest, nothing is gained.
    if order.last() != Some(&(shape.len() - 1)) {
        return Layout::row_major(DType::F32, shape);
    }
    let mut strides = Dims::from_elem(1, shape.len());
    let mut step = 1;
    for &dim in order.iter().rev() {
        strides[dim] = step;
        step *= shape[dim];
    }
    Layout { dtype: DType::F32, shape: Dims::from_slice(shape), strides }
}

/// A mask's strides over the scores, 0 where it repeats.
fn broadcast(mask: &Layout, result: &[usize], keys: usize) -> Option<(Strides, usize)> {
    let mut scores: SmallVec<[usize; 6]> = result.into();
    *scores.last_mut()? = keys;
    let lead = scores.len().checked_sub(mask.shape.len())?;
    let stride = |from_end: usize| {
        let dim = scores.len().checked_sub(from_end)?.checked_sub(lead)?;
        (mask.shape[dim] != 1).then_some(mask.strides[dim])
    };
    let strides = Strides { batch: stride(4).unwrap_or(0), head: stride(3).unwrap_or(0), row: stride(2).unwrap_or(0) };
    Some((strides, stride(1).unwrap_or(0)))
}

impl Kernel for Attention {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let operand = |index: usize| (operands[index].unwrap_or(&[]), self.strides[index]);
        let mask = match (self.mask, self.causal) {
            (Some((strides, step)), _) => Mask::Add(operands[3].unwrap_or(&[]), strides, step),
            (None, true) => Mask::Causal,
            (None, false) => Mask::None,
        };
        attention::attention(self.sizes, (out, self.strides[3]), operand(0), operand(1), operand(2), self.scale, mask);
    }

    fn describe(&self) -> String {
        let Sizes { heads, queries, keys, .. } = self.sizes;
        format!("attention of {heads} heads, {queries} x {keys}")
    }
}
