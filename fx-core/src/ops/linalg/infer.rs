//! Shapes and element types of products.

use crate::error::{Error, Result};
use crate::ops::shape::{self, require_equal, require_float, require_ndim};
use crate::tensor::{DType, Scalar};
use crate::value::{Dim, Shape, TensorMeta};

/// Checks that operands have one element type.
pub(super) fn one_dtype<'a>(first: &TensorMeta, others: impl IntoIterator<Item = &'a TensorMeta>) -> Result<()> {
    for other in others {
        if other.dtype != first.dtype {
            return Err(Error::dtype(format!(
                "the operands must have one element type, found {} and {}",
                first.dtype, other.dtype
            ))
            .help("convert one with `to`"));
        }
    }
    Ok(())
}

fn multiplied(a: &TensorMeta, b: &TensorMeta) -> Result<()> {
    one_dtype(a, [b])?;
    if a.dtype == DType::Bool {
        return Err(Error::dtype("is not defined for bool").help("convert with `to` first"));
    }
    Ok(())
}

fn inner(a: &TensorMeta, b: &TensorMeta, x: &Dim, y: &Dim) -> Result<()> {
    require_equal(x, y, || format!("{a} and {b} cannot be multiplied: the inner dimensions {x} and {y} differ"))
}

pub(super) fn matmul(a: &TensorMeta, b: &TensorMeta) -> Result<TensorMeta> {
    multiplied(a, b)?;
    require_ndim(a, "the left operand", 1.., "at least 1")?;
    require_ndim(b, "the right operand", 1.., "at least 1")?;
    let (m, k) = match a.shape.as_slice() {
        [k] => (None, k),
        [.., m, k] => (Some(m), k),
        [] => unreachable!("invariant: checked above"),
    };
    let (k2, n) = match b.shape.as_slice() {
        [k] => (k, None),
        [.., k, n] => (k, Some(n)),
        [] => unreachable!("invariant: checked above"),
    };
    inner(a, b, k, k2)?;
    let lead = |x: &TensorMeta| Shape::from(&x.shape[..x.ndim().saturating_sub(2)]);
    let mut result = shape::broadcast(&lead(a), &lead(b))?;
    result.extend(m.cloned());
    result.extend(n.cloned());
    Ok(TensorMeta { shape: result, dtype: a.dtype })
}

fn ranked(a: &TensorMeta, b: &TensorMeta, ranks: [usize; 2]) -> Result<TensorMeta> {
    require_ndim(a, "the left operand", ranks[0]..=ranks[0], &ranks[0].to_string())?;
    require_ndim(b, "the right operand", ranks[1]..=ranks[1], &ranks[1].to_string())?;
    matmul(a, b)
}

pub(super) fn mm(a: &TensorMeta, b: &TensorMeta) -> Result<TensorMeta> {
    ranked(a, b, [2, 2])
}

pub(super) fn bmm(a: &TensorMeta, b: &TensorMeta) -> Result<TensorMeta> {
    let meta = ranked(a, b, [3, 3])?;
    require_equal(&a.shape[0], &b.shape[0], || {
        format!("the numbers of matrices {} and {} differ", a.shape[0], b.shape[0])
    })?;
    Ok(meta)
}

pub(super) fn mv(a: &TensorMeta, b: &TensorMeta) -> Result<TensorMeta> {
    ranked(a, b, [2, 1])
}

pub(super) fn dot(a: &TensorMeta, b: &TensorMeta) -> Result<TensorMeta> {
    ranked(a, b, [1, 1])
}

pub(super) fn outer(a: &TensorMeta, b: &TensorMeta) -> Result<TensorMeta> {
    require_ndim(a, "the left operand", 1..=1, "1")?;
    require_ndim(b, "the right operand", 1..=1, "1")?;
    Ok(TensorMeta { shape: [&a.shape[..], &b.shape[..]].concat().into(), dtype: DType::promote(a.dtype, b.dtype) })
}

fn added(input: &TensorMeta, product: TensorMeta, beta: Scalar, alpha: Scalar) -> Result<TensorMeta> {
    one_dtype(&product, [input])?;
    if !product.dtype.is_float() && [beta, alpha].iter().any(|x| matches!(x, Scalar::Float(_))) {
        return Err(Error::argument("for integers `alpha` and `beta` must be integers"));
    }
    let shape = shape::broadcast(&product.shape, &input.shape)?;
    if shape.len() != product.ndim() || shape.iter().zip(&product.shape).any(|(a, b)| !a.may_eq(b)) {
        return Err(Error::shape(format!("{input} does not broadcast to the product, {product}")));
    }
    Ok(product)
}

pub(super) fn addmm(
    input: &TensorMeta,
    a: &TensorMeta,
    b: &TensorMeta,
    beta: Scalar,
    alpha: Scalar,
) -> Result<TensorMeta> {
    added(input, mm(a, b)?, beta, alpha)
}

pub(super) fn baddbmm(
    input: &TensorMeta,
    a: &TensorMeta,
    b: &TensorMeta,
    beta: Scalar,
    alpha: Scalar,
) -> Result<TensorMeta> {
    added(input, bmm(a, b)?, beta, alpha)
}

pub(crate) fn linear(x: &TensorMeta, weight: &TensorMeta, bias: Option<&TensorMeta>) -> Result<TensorMeta> {
    require_float(x)?;
    one_dtype(x, [Some(weight), bias].into_iter().flatten())?;
    require_ndim(x, "the input", 1.., "at least 1")?;
    require_ndim(weight, "the weight", 1..=2, "1 or 2")?;
    let (have, want) = (&x.shape[x.ndim() - 1], &weight.shape[weight.ndim() - 1]);
    require_equal(have, want, || format!("the input has {have} features, the weight {weight} takes {want}"))?;
    let mut shape = Shape::from(&x.shape[..x.ndim() - 1]);
    if weight.ndim() == 2 {
        shape.push(weight.shape[0].clone());
    }
    if let Some(bias) = bias {
        let outputs = if weight.ndim() == 2 { weight.shape[0].clone() } else { Dim::Int(1) };
        if bias.ndim() > 1 || !bias.numel().may_eq(&outputs) {
            return Err(Error::shape(format!("the bias must have {outputs} elements, found {bias}")));
        }
    }
    Ok(TensorMeta { shape, dtype: x.dtype })
}

pub(super) fn bilinear(
    a: &TensorMeta,
    b: &TensorMeta,
    weight: &TensorMeta,
    bias: Option<&TensorMeta>,
) -> Result<TensorMeta> {
    require_float(a)?;
    one_dtype(a, [Some(b), Some(weight), bias].into_iter().flatten())?;
    require_ndim(weight, "the weight", 3..=3, "3")?;
    require_ndim(a, "the first input", 1.., "at least 1")?;
    if a.ndim() != b.ndim() {
        return Err(Error::shape(format!("the inputs must have the same number of dimensions, found {a} and {b}")));
    }
    let last = a.ndim() - 1;
    for (i, (x, y)) in a.shape[..last].iter().zip(&b.shape[..last]).enumerate() {
        require_equal(x, y, || format!("the inputs differ in dimension {i}: {x} and {y}"))?;
    }
    for (x, dim, which) in [(a, 1, "first"), (b, 2, "second")] {
        let (have, want) = (&x.shape[last], &weight.shape[dim]);
        require_equal(have, want, || format!("the {which} input has {have} features, the weight takes {want}"))?;
    }
    let outputs = &weight.shape[0];
    if let Some(bias) = bias
        && (bias.ndim() != 1 || !bias.shape[0].may_eq(outputs))
    {
        return Err(Error::shape(format!("the bias must have {outputs} elements, found {bias}")));
    }
    let mut shape = Shape::from(&a.shape[..last]);
    shape.push(outputs.clone());
    Ok(TensorMeta { shape, dtype: a.dtype })
}

pub(super) fn cosine_similarity(a: &TensorMeta, b: &TensorMeta, dim: i64, _: f64) -> Result<TensorMeta> {
    let dtype = DType::promote(a.dtype, b.dtype);
    require_float(&a.with_dtype(dtype))?;
    let mut shape = shape::broadcast(&a.shape, &b.shape)?;
    let dim = shape::dim(dim, shape.len())?;
    if dim < shape.len() {
        shape.remove(dim);
    }
    Ok(TensorMeta { shape, dtype })
}
