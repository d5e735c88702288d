//! The kernels of `fx_kernels` on tensors, where the layout suits them; everything else takes the general way.
//!
//! Floats that are computed in f32 come here: a function returns none where it has no kernel for its operands.

use fx_kernels::attention::{Mask, Scores, Sizes, Strides, attention};
use fx_kernels::conversion::{round_to_bf16, round_to_f16, widen_bf16, widen_f16};
use fx_kernels::elementwise::{self, Binary, Operand, Ternary, Unary};
use fx_kernels::rows::{self, Affine, Input, Reduction, Softmax};

use crate::tensor::{DType, Dims, Element, Tensor, iter, numel, view};

/// Whether floats of this type are computed in f32.
fn in_single(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F16 | DType::BF16)
}

/// The tensor as contiguous f32.
fn single(x: &Tensor) -> Tensor {
    x.to_dtype(DType::F32).contiguous()
}

fn elements(x: &Tensor) -> &[f32] {
    x.as_slice::<f32>().unwrap_or_default()
}

/// A tensor of a shape, whose elements a kernel writes, in the type of `like`.
fn written(shape: &[usize], like: DType, kernel: impl FnMut(&mut [f32])) -> Tensor {
    Tensor::written(shape, kernel).to_dtype(like)
}

/// What a function makes of half floats in the same place, if these are of one type and lie in the same order: a piece at a time, so that they
/// are f32 in the first-level cache only.
fn halves<const N: usize>(operands: [&Tensor; N], f: impl Fn(&mut [f32], [&[f32]; N])) -> Option<Tensor> {
    let (dtype, shape) = (operands[0].dtype(), operands[0].shape());
    if operands.iter().any(|x| x.dtype() != dtype || x.shape() != shape || !x.is_contiguous()) {
        return None;
    }
    match dtype {
        DType::BF16 => Some(in_pieces(operands, widen_bf16, round_to_bf16, &f)),
        DType::F16 => Some(in_pieces(operands, widen_f16, round_to_f16, &f)),
        _ => None,
    }
}

/// See [`halves`]. Other types do not get its room on their stack.
#[inline(never)]
fn in_pieces<H: Element, const N: usize>(
    operands: [&Tensor; N],
    widen: fn(&mut [f32], &[H]),
    round: fn(&mut [H], &[f32]),
    f: &dyn Fn(&mut [f32], [&[f32]; N]),
) -> Tensor {
    const PIECE: usize = 2048;
    let (mut wide, mut result) = ([[0.0; PIECE]; N], [0.0; PIECE]);
    Tensor::written::<H>(operands[0].shape(), |out| {
        for (index, out) in out.chunks_mut(PIECE).enumerate() {
            for (wide, x) in wide.iter_mut().zip(operands) {
                widen(&mut wide[..out.len()], &x.as_slice().unwrap_or_default()[index * PIECE..]);
            }
            let result = &mut result[..out.len()];
            f(result, wide.each_ref().map(|wide| &wide[..out.len()]));
            round(out, result);
        }
    })
}

/// An op of every element.
pub(super) fn unary(op: Unary, x: &Tensor) -> Option<Tensor> {
    if let Some(y) = halves([x], |out, [x]| elementwise::unary(op, out, Operand::Cycle(x))) {
        return Some(y);
    }
    if x.dtype() == DType::F64 {
        return unary_f64(op, x);
    }
    in_single(x.dtype()).then(|| {
        let single = single(x);
        written(x.shape(), x.dtype(), |out| elementwise::unary(op, out, Operand::Cycle(elements(&single))))
    })
}

/// As [`unary`], of f64.
fn unary_f64(op: Unary, x: &Tensor) -> Option<Tensor> {
    let (kernel, x) = (elementwise::unary_f64(op)?, x.contiguous());
    let elements = x.as_slice::<f64>()?;
    Some(Tensor::written(x.shape(), |out| kernel(out, elements)))
}

/// An op of the elements in the same place after broadcasting; both operands are f32, or half floats in the same order.
pub(super) fn binary(op: Binary, x: &Tensor, y: &Tensor) -> Option<Tensor> {
    if x.dtype() != DType::F32 || y.dtype() != DType::F32 {
        return halves([x, y], |out, [x, y]| elementwise::binary(op, out, Operand::Cycle(x), Operand::Cycle(y)));
    }
    let shape = view::broadcast_shape(&[x.shape(), y.shape()])?;
    let (a, b) = (operand(x, &shape)?, operand(y, &shape)?);
    Some(written(&shape, DType::F32, |out| elementwise::binary(op, out, a, b)))
}

/// An op of the elements in the same place after broadcasting; all operands are f32.
pub(super) fn ternary(op: Ternary, operands: [&Tensor; 3]) -> Option<Tensor> {
    if operands.iter().any(|x| x.dtype() != DType::F32) {
        return None;
    }
    let shape = view::broadcast_shape(&operands.map(Tensor::shape))?;
    let [x, y, z] = operands.map(|x| operand(x, &shape));
    let (x, y, z) = (x?, y?, z?);
    Some(written(&shape, DType::F32, |out| elementwise::ternary(op, out, x, y, z)))
}

/// How an operand broadcasts to a shape: its dimensions of size 1 must lie before or behind all others.
fn operand<'a>(x: &'a Tensor, shape: &[usize]) -> Option<Operand<'a>> {
    let elements = x.as_slice::<f32>().filter(|elements| !elements.is_empty())?;
    if let [number] = elements {
        return Some(Operand::Number(*number));
    }
    let lead = shape.len() - x.ndim();
    let first = x.shape().iter().position(|&size| size != 1)?;
    let last = x.ndim() - x.shape().iter().rev().position(|&size| size != 1)?;
    let same = x.shape()[first..last] == shape[lead + first..lead + last];
    let run = numel(&shape[lead + last..]);
    same.then_some(if run == 1 { Operand::Cycle(elements) } else { Operand::Repeat(elements, run) })
}

/// A shape as what lies before a dimension, the dimension, and what lies behind it.
fn around(shape: &[usize], dim: usize) -> [usize; 3] {
    [numel(&shape[..dim]), shape[dim], numel(&shape[dim + 1..])]
}

/// The softmax along a dimension, or its logarithm.
pub(super) fn softmax(kind: Softmax, x: &Tensor, dim: usize) -> Option<Tensor> {
    (in_single(x.dtype()) && x.ndim() > 0).then(|| {
        let single = single(x);
        let [_, len, inner] = around(x.shape(), dim);
        written(x.shape(), x.dtype(), |out| rows::softmax(kind, out, Input::of(elements(&single)), len, inner))
    })
}

/// What a normalisation multiplies with and adds.
struct Factors {
    weight: Option<Tensor>,
    bias: Option<Tensor>,
    eps: f32,
}

impl Factors {
    fn new(weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Self {
        Self { weight: weight.map(single), bias: bias.map(single), eps: eps as f32 }
    }

    fn affine(&self) -> Affine<'_> {
        Affine { weight: self.weight.as_ref().map(elements), bias: self.bias.as_ref().map(elements), eps: self.eps }
    }
}

/// Layer norm of rows of `len` elements.
pub(super) fn layer_norm(
    x: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    len: usize,
    eps: f64,
) -> Option<Tensor> {
    in_single(x.dtype()).then(|| {
        let (single, factors) = (single(x), Factors::new(weight, bias, eps));
        written(x.shape(), x.dtype(), |out| {
            rows::layer_norm(out, Input::of(elements(&single)), len, factors.affine());
        })
    })
}

/// RMS norm of rows of `len` elements.
pub(super) fn rms_norm(x: &Tensor, weight: Option<&Tensor>, len: usize, eps: f64) -> Option<Tensor> {
    in_single(x.dtype()).then(|| {
        let (single, factors) = (single(x), Factors::new(weight, None, eps));
        written(x.shape(), x.dtype(), |out| rows::rms_norm(out, Input::of(elements(&single)), len, factors.affine()))
    })
}

/// Group norm of images with the channels first.
pub(super) fn group_norm(
    x: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    groups: usize,
    eps: f64,
) -> Option<Tensor> {
    in_single(x.dtype()).then(|| {
        let (single, factors) = (single(x), Factors::new(weight, bias, eps));
        let [_, channels, area] = around(x.shape(), 1);
        written(x.shape(), x.dtype(), |out| {
            rows::group_norm(out, Input::of(elements(&single)), channels, area, groups, factors.affine());
        })
    })
}

/// A reduction of neighbouring dimensions to none.
pub(super) fn reduce(reduction: Reduction, x: &Tensor, dims: &[usize]) -> Option<Tensor> {
    let (&first, &last) = (dims.iter().min()?, dims.iter().max()?);
    if x.dtype() != DType::F32 || last - first + 1 != dims.len() || x.numel() == 0 {
        return None;
    }
    let elements = x.as_slice::<f32>()?;
    let len = numel(&x.shape()[first..=last]);
    let inner = numel(&x.shape()[last + 1..]);
    let mut shape = Dims::from_slice(&x.shape()[..first]);
    shape.extend_from_slice(&x.shape()[last + 1..]);
    Some(written(&shape, DType::F32, |out| rows::reduce(reduction, out, elements, len, inner)))
}

/// The logarithm of the sum of powers over neighbouring dimensions.
pub(super) fn logsumexp(x: &Tensor, dims: &[usize]) -> Option<Tensor> {
    let highest = reduce(Reduction::Max, x, dims)?;
    // An infinity would be subtracted from itself.
    let shift = iter::map::<f32, f32>(&highest, |x| if x.is_finite() { x } else { 0.0 });
    let mut kept = Dims::from_slice(x.shape());
    dims.iter().for_each(|&dim| kept[dim] = 1);
    let powers = unary(Unary::Exp, &binary(Binary::Sub, x, &view::reshape(&shift, &kept))?)?;
    let sum = reduce(Reduction::Sum, &powers, dims)?;
    binary(Binary::Add, &unary(Unary::Log, &sum)?, &shift)
}

/// An operand of attention: its elements, and the strides of up to two leading dimensions and of its rows, if the
/// numbers of a row lie side by side.
fn heads(x: &Tensor) -> Option<(&[f32], Strides)> {
    let &[ref lead @ .., row, 1] = x.strides() else { return None };
    let (batch, head) = match *lead {
        [] => (0, 0),
        [head] => (0, head),
        [batch, head] => (batch, head),
        _ => return None,
    };
    Some((x.strided::<f32>(), Strides { batch, head, row }))
}

/// Attention of f32 operands that have up to two leading dimensions in common, maybe with a stride of 0; heads of keys
/// may be fewer.
pub(super) fn attend([q, k, v]: [&Tensor; 3], mask: Option<&Tensor>, is_causal: bool, scale: f64) -> Option<Tensor> {
    let lead = q.ndim() - 2;
    let (of_q, of_k, of_v) = (heads(q)?, heads(k)?, heads(v)?);
    let count = |x: &Tensor, back: usize| lead.checked_sub(back).map_or(1, |dim| x.shape()[dim]);
    let sizes = Sizes {
        batches: count(q, 2),
        heads: count(q, 1),
        key_heads: count(k, 1),
        queries: q.shape()[lead],
        keys: k.shape()[lead],
        width: q.shape()[lead + 1],
        values: v.shape()[lead + 1],
    };
    if q.numel() == 0 || k.numel() == 0 || v.numel() == 0 {
        return None;
    }
    let mask = match mask {
        None if is_causal => Mask::Causal,
        None => Mask::None,
        Some(mask) => {
            let step = mask.strides()[lead + 1];
            let at = |back: usize| lead.checked_sub(back).map_or(0, |dim| mask.strides()[dim]);
            let strides = Strides { batch: at(2), head: at(1), row: mask.strides()[lead] };
            match mask.dtype() {
                DType::Bool => Mask::Keep(mask.strided::<bool>(), strides, step),
                DType::F32 => Mask::Add(mask.strided::<f32>(), strides, step),
                _ => return None,
            }
        }
    };
    let mut shape = Dims::from_slice(&q.shape()[..=lead]);
    shape.push(sizes.values);
    let row = sizes.values;
    let to = Strides { batch: sizes.heads * sizes.queries * row, head: sizes.queries * row, row };
    let scores = Scores::new(scale as f32, mask);
    Some(written(&shape, DType::F32, |out| attention(sizes, (out, to), of_q, of_k, of_v, scores)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::creation::Creation;

    /// Half floats that are computed a piece at a time are those that are computed in f32 and rounded.
    #[test]
    fn halves_are_f32_rounded() {
        for dtype in [DType::F16, DType::BF16] {
            check_halves(dtype);
        }
    }

    fn check_halves(dtype: DType) {
        let [x, y] = [0, 1].map(|_| Tensor::randn([3, 1500]).to_dtype(dtype));
        let wide = x.to_dtype(DType::F32);
        for op in [Unary::Exp, Unary::Neg, Unary::Log, Unary::Trunc] {
            let (got, want) = (unary(op, &x).unwrap(), unary(op, &wide).unwrap().to_dtype(dtype));
            assert!(got.dtype() == dtype && got.all_close(&want, 0.0, 0.0), "{op}");
        }
        for op in [Binary::Add, Binary::Div, Binary::Maximum] {
            let want = binary(op, &wide, &y.to_dtype(DType::F32)).unwrap().to_dtype(dtype);
            assert!(binary(op, &x, &y).unwrap().all_close(&want, 0.0, 0.0), "{op}");
            // A tensor in another order, and one that repeats, go the general way.
            let (turned, row) = (view::transpose(&x, 0, 1), view::narrow(&y, 0, 0, 1));
            assert!(binary(op, &turned, &turned).is_none() && binary(op, &x, &row).is_none(), "{op}");
        }
    }
}
