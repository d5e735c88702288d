//! Products on tensors.

use super::product::{affine, stacked, sum_last};
use crate::error::Result;
use crate::ops::elementwise;
use crate::ops::reduction::divisor_norms;
use crate::ops::shape;
use crate::ops::wide::{in_floats, wide};
use crate::tensor::num::Real;
use crate::tensor::{DType, Dims, Scalar, Tensor, iter, numel, view};

pub(super) fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let x = if a.ndim() == 1 { view::unsqueeze(a, 0) } else { a.clone() };
    let y = if b.ndim() == 1 { view::unsqueeze(b, 1) } else { b.clone() };
    let (m, n) = (x.shape()[x.ndim() - 2], y.shape()[y.ndim() - 1]);
    let mut shape: Dims;
    let product = if y.ndim() == 2 {
        // All matrices on the left are the rows of one.
        shape = Dims::from_slice(&x.shape()[..x.ndim() - 2]);
        let rows = numel(&shape) * m;
        stacked(&view::reshape(&x, &[rows, x.shape()[x.ndim() - 1]]), &y)
    } else {
        let leads = [&x.shape()[..x.ndim() - 2], &y.shape()[..y.ndim() - 2]];
        shape = view::broadcast_shape(&leads).expect("invariant: shapes that broadcast");
        let spread = |x: &Tensor| {
            let mut to = shape.clone();
            to.extend_from_slice(&x.shape()[x.ndim() - 2..]);
            view::expand(x, &to)
        };
        stacked(&spread(&x), &spread(&y))
    };
    if a.ndim() > 1 {
        shape.push(m);
    }
    if b.ndim() > 1 {
        shape.push(n);
    }
    Ok(view::reshape(&product, &shape))
}

pub(super) fn outer(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let dtype = DType::promote(a.dtype(), b.dtype());
    Ok(elementwise::product(&view::unsqueeze(&a.to_dtype(dtype), 1), &b.to_dtype(dtype)))
}

pub(super) fn addmm(input: &Tensor, a: &Tensor, b: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
    let dtype = a.dtype();
    if !dtype.is_float() {
        let (beta, alpha) = (beta.to_i64(), alpha.to_i64());
        let (input, product) = (input.to_dtype(DType::I64), matmul(a, b)?.to_dtype(DType::I64));
        return Ok(iter::zip::<i64, i64, i64>(&product, &input, |product, input| {
            alpha.wrapping_mul(product).wrapping_add(beta.wrapping_mul(input))
        })
        .to_dtype(dtype));
    }
    let (beta, alpha) = (beta.to_f64(), alpha.to_f64());
    let product = matmul(&a.to_dtype(wide(dtype)), &b.to_dtype(wide(dtype)))?;
    let input = input.to_dtype(wide(dtype));
    let sum = in_floats!(dtype, T => {
        let (beta, alpha) = (T::of(beta), T::of(alpha));
        if beta == 0.0 {
            iter::map::<T, T>(&product, |product| alpha * product)
        } else {
            iter::zip::<T, T, T>(&product, &input, |product, input| beta * input + alpha * product)
        }
    });
    Ok(sum.to_dtype(dtype))
}

pub(crate) fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let dtype = x.dtype();
    let (lead, last) = (&x.shape()[..x.ndim() - 1], x.shape()[x.ndim() - 1]);
    let rows = view::reshape(&x.to_dtype(wide(dtype)), &[numel(lead), last]);
    let matrix = if weight.ndim() == 1 { view::unsqueeze(weight, 0) } else { weight.clone() }.to_dtype(wide(dtype));
    let bias = bias.map(|bias| view::reshape(&bias.to_dtype(wide(dtype)), &[bias.numel()]));
    let mut shape = Dims::from_slice(lead);
    if weight.ndim() == 2 {
        shape.push(weight.shape()[0]);
    }
    let out = in_floats!(dtype, T => Tensor::written::<T>(&shape, |out| affine(out, &rows, &matrix, bias.as_ref())));
    Ok(out.to_dtype(dtype))
}

pub(super) fn bilinear(a: &Tensor, b: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let dtype = a.dtype();
    let [outputs, left, right] = [0, 1, 2].map(|dim| weight.shape()[dim]);
    let lead = &a.shape()[..a.ndim() - 1];
    let rows = numel(lead);
    let convert = |x: &Tensor| x.to_dtype(wide(dtype));
    let weight = view::reshape(&view::permute(&convert(weight), &[1, 0, 2]), &[left, outputs * right]);
    let half = stacked(&view::reshape(&convert(a), &[rows, left]), &weight);
    let half = view::reshape(&half, &[rows, outputs, right]);
    let product = stacked(&half, &view::reshape(&convert(b), &[rows, right, 1]));
    let mut shape = Dims::from_slice(lead);
    shape.push(outputs);
    let mut out = view::reshape(&product, &shape);
    if let Some(bias) = bias {
        out = in_floats!(dtype, T => iter::zip::<T, T, T>(&out, &convert(bias), |out, bias| out + bias));
    }
    Ok(out.to_dtype(dtype))
}

pub(super) fn cosine_similarity(a: &Tensor, b: &Tensor, dim: i64, eps: f64) -> Result<Tensor> {
    let dtype = DType::promote(a.dtype(), b.dtype());
    let shape = view::broadcast_shape(&[a.shape(), b.shape()]).expect("invariant: shapes that broadcast");
    let dim = shape::dim(dim, shape.len())?;
    let [a, b] = [a, b].map(|x| view::expand(&x.to_dtype(wide(dtype)), &shape));
    let dims = if shape.is_empty() { &[][..] } else { std::slice::from_ref(&dim) };
    // Both divided before they are multiplied, so that large elements do not overflow.
    let unit = |x: &Tensor| elementwise::quotient(x, &divisor_norms(x, 2.0, dims, true, eps));
    let products = elementwise::product(&unit(&a), &unit(&b));
    let sums = match dims {
        [] => products,
        _ => {
            let mut order: Dims = (0..shape.len()).filter(|i| *i != dim).collect();
            order.push(dim);
            sum_last(&view::permute(&products, &order))
        }
    };
    Ok(sums.to_dtype(dtype))
}
