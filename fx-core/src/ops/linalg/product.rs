//! Products of stacks of matrices with any strides, on which all other products rest.
//!
//! Floats go to the kernel of `fx_kernels` without being copied first; half floats are multiplied in f32 and rounded
//! once. Integers wrap, as everywhere.

use fx_kernels::threads::for_each_piece;
use fx_kernels::{Matrix, gemm};

use crate::ops::wide::{Number, in_floats, wide};
use crate::tensor::{DType, Dims, Tensor, numel, view};

/// The matrix in the last two dimensions at a place in the leading ones; `data` are the tensor's elements.
pub(super) fn matrix_at<'a, T>(x: &Tensor, data: &'a [T], index: usize) -> Matrix<'a, T> {
    let lead = x.ndim() - 2;
    let (shape, strides) = (x.shape(), x.strides());
    Matrix::new(&data[offset(x, lead, index)..], shape[lead], shape[lead + 1], strides[lead], strides[lead + 1])
}

/// How far from the first element the element is that has this row-major index in the first `lead` dimensions.
pub(super) fn offset(x: &Tensor, lead: usize, mut index: usize) -> usize {
    let mut offset = 0;
    for dim in (0..lead).rev() {
        let size = x.shape()[dim];
        offset += index % size * x.strides()[dim];
        index /= size;
    }
    offset
}

/// The products of two stacks of matrices with the same leading dimensions.
pub(crate) fn stacked(a: &Tensor, b: &Tensor) -> Tensor {
    let lead = a.ndim() - 2;
    let mut shape = Dims::from_slice(&a.shape()[..=lead]);
    shape.push(b.shape()[lead + 1]);
    let dtype = a.dtype();
    if !dtype.is_float() {
        return Tensor::from_vec(&shape, integers(&a.to_dtype(DType::I64), &b.to_dtype(DType::I64))).to_dtype(dtype);
    }
    let (a, b) = (a.to_dtype(wide(dtype)), b.to_dtype(wide(dtype)));
    in_floats!(dtype, T => Tensor::written::<T>(&shape, |out| floats(out, &a, &b))).to_dtype(dtype)
}

fn floats<T: Number>(out: &mut [T], a: &Tensor, b: &Tensor) {
    let lead = a.ndim() - 2;
    let (m, k, n) = (a.shape()[lead], a.shape()[lead + 1], b.shape()[lead + 1]);
    let batch = numel(&a.shape()[..lead]);
    if k == 0 {
        return out.fill(T::default());
    }
    let (x, y) = (a.strided::<T>(), b.strided::<T>());
    for_each_piece(out, m * n, 2 * batch * m * n * k, |index, out| {
        gemm(out, n, false, matrix_at(a, x, index), matrix_at(b, y, index));
    });
}

fn integers(a: &Tensor, b: &Tensor) -> Vec<i64> {
    let lead = a.ndim() - 2;
    let (m, k, n) = (a.shape()[lead], a.shape()[lead + 1], b.shape()[lead + 1]);
    let batch = numel(&a.shape()[..lead]);
    let (x, y) = (a.to_vec::<i64>(), b.to_vec::<i64>());
    let mut out = vec![0_i64; batch * m * n];
    for_each_piece(&mut out, n, 2 * batch * m * n * k, |row, out| {
        let y = &y[row / m * k * n..];
        for (p, &x) in x[row * k..(row + 1) * k].iter().enumerate() {
            for (out, &y) in out.iter_mut().zip(&y[p * n..(p + 1) * n]) {
                *out = out.wrapping_add(x.wrapping_mul(y));
            }
        }
    });
    out
}

/// Writes `x` of shape `[rows, in]` times the transposed weight `[out, in]`, plus the bias; all of type `T`.
pub(crate) fn affine<T: Number>(out: &mut [T], x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) {
    let n = weight.shape()[0];
    let (x, weight) = (matrix_at(x, x.strided::<T>(), 0), matrix_at(weight, weight.strided::<T>(), 0).t());
    gemm(out, n, false, x, weight);
    if let Some(bias) = bias {
        let bias = bias.to_vec::<T>();
        let rows = out.chunks_exact_mut(n.max(1));
        rows.for_each(|row| row.iter_mut().zip(&bias).for_each(|(out, bias)| *out += *bias));
    }
}

/// The sum over the last dimension, by which a tensor without it is left.
pub(super) fn sum_last(x: &Tensor) -> Tensor {
    let (last, rest) = x.shape().split_last().expect("invariant: there is a dimension to sum over");
    let ones = Tensor::filled([*last, 1], 1, x.dtype());
    let rows = view::reshape(x, &[numel(rest), *last]);
    view::reshape(&stacked(&rows, &ones), rest)
}
