//! Scaled dot-product attention: one pair of products a head, with the softmax between them in the same memory.

use fx_kernels::gemm;
use fx_kernels::threads::for_each_piece;
use smallvec::smallvec;

use super::infer::one_dtype;
use super::product::{matrix_at, offset};
use crate::error::{Error, Result};
use crate::ops::fast;
use crate::ops::shape::{self as rules, require_equal, require_float, require_ndim};
use crate::ops::structure::{eval_unflatten, infer_unflatten};
use crate::ops::wide::{Number, in_floats, wide};
use crate::tensor::num::Real;
use crate::tensor::{DType, Dims, Tensor, iter, numel, random, view};
use crate::value::{Dim, Shape, TensorMeta};

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn shape(
    query: &TensorMeta,
    key: &TensorMeta,
    value: &TensorMeta,
    mask: Option<&TensorMeta>,
    dropout_p: f64,
    is_causal: bool,
    _: Option<f64>,
    enable_gqa: bool,
) -> Result<TensorMeta> {
    require_float(query)?;
    one_dtype(query, [key, value])?;
    for (x, what) in [(query, "the query"), (key, "the key"), (value, "the value")] {
        require_ndim(x, what, 2.., "at least 2")?;
    }
    if !(0.0..=1.0).contains(&dropout_p) {
        return Err(Error::argument(format!("the probability must lie between 0 and 1, found {dropout_p}")));
    }
    if is_causal && mask.is_some() {
        return Err(Error::argument("`attn_mask` cannot be given together with `is_causal`"));
    }
    let end = |x: &TensorMeta, back: usize| x.shape[x.ndim() - back].clone();
    require_equal(&end(query, 1), &end(key, 1), || {
        format!("the widths of the query {query} and the key {key} differ")
    })?;
    require_equal(&end(key, 2), &end(value, 2), || format!("the lengths of the key {key} and value {value} differ"))?;
    let lead = |x: &TensorMeta| Shape::from(&x.shape[..x.ndim() - 2]);
    let (mut of_key, mut of_value) = (lead(key), lead(value));
    if enable_gqa {
        for (x, lead) in [(key, &mut of_key), (value, &mut of_value)] {
            require_ndim(query, "the query", 3.., "at least 3")?;
            require_ndim(x, "the key and the value", 3.., "at least 3")?;
            let (heads, shared) = (end(query, 3), end(x, 3));
            if let (Some(heads), Some(shared)) = (heads.as_int(), shared.as_int())
                && (shared == 0 || heads % shared != 0)
            {
                return Err(Error::shape(format!("{heads} heads of the query cannot share {shared} heads")));
            }
            if let Some(last) = lead.last_mut() {
                *last = heads;
            }
        }
    }
    let mut result = rules::broadcast_all([&lead(query)[..], &of_key, &of_value])?;
    if let Some(mask) = mask {
        if mask.dtype != DType::Bool && mask.dtype != query.dtype {
            return Err(Error::dtype(format!("the mask must be bool or {}, found {mask}", query.dtype)));
        }
        let mut scores = result.clone();
        scores.extend([end(query, 2), end(key, 2)]);
        let both = rules::broadcast(&scores, &mask.shape)?;
        if both.len() != scores.len() || both.iter().zip(&scores).any(|(a, b)| !a.may_eq(b)) {
            return Err(Error::shape(format!("the mask {mask} does not broadcast to the scores {scores:?}")));
        }
    }
    result.extend([end(query, 2), end(value, 1)]);
    Ok(TensorMeta { shape: result, dtype: query.dtype })
}

pub(super) fn mask_shape(mask: &TensorMeta, num_heads: i64, dtype: DType) -> Result<TensorMeta> {
    if !dtype.is_float() {
        return Err(
            Error::dtype(format!("a mask cannot become {dtype}")).help("ask for a type of floating-point numbers")
        );
    }
    if mask.dtype != DType::Bool {
        require_float(mask)?;
    }
    let mask = mask.with_dtype(if mask.dtype == DType::Bool { dtype } else { mask.dtype });
    if mask.ndim() != 3 {
        return Ok(mask);
    }
    let heads = infer_unflatten(&mask, 0, smallvec![Dim::Int(-1), Dim::Int(num_heads)]);
    heads.map_err(|error| error.help("a mask for each head has the heads of the whole batch in its first dimension"))
}

pub(super) fn canonical_mask(mask: &Tensor, num_heads: i64, dtype: DType) -> Result<Tensor> {
    let added = if mask.dtype() == DType::Bool { additive(mask, dtype, true) } else { mask.clone() };
    if added.ndim() == 3 { eval_unflatten(&added, 0, smallvec![-1, num_heads]) } else { Ok(added) }
}

/// Makes a row of scores sum to 1; a row of minus infinities becomes zeros.
fn softmax_row<R: Real>(row: &mut [R]) {
    let highest =
        row.iter().copied().fold(R::of(f64::NEG_INFINITY), |a, b| if a < b || b.f64().is_nan() { b } else { a });
    if highest.f64() == f64::NEG_INFINITY {
        row.fill(R::of(0.0));
        return;
    }
    row.iter_mut().for_each(|x| *x = (*x - highest).exp());
    let sum: R = row.iter().copied().sum();
    let scale = R::of(1.0) / sum;
    row.iter_mut().for_each(|x| *x = *x * scale);
}

/// What is done to the scores of one head before they are used.
struct Scores<'a, T> {
    scale: T,
    is_causal: bool,
    /// Added to the scores, with its elements.
    mask: Option<(&'a Tensor, &'a [T])>,
    /// Factors of the probabilities, all heads' one after the other.
    dropout: Option<Vec<T>>,
}

impl<T: Number> Scores<'_, T> {
    fn apply(&self, head: usize, scores: &mut [T], keys: usize) {
        let mask = self.mask.map(|(mask, data)| {
            let lead = mask.ndim() - 2;
            (&data[offset(mask, lead, head)..], mask.strides()[lead], mask.strides()[lead + 1])
        });
        for (i, row) in scores.chunks_exact_mut(keys).enumerate() {
            row.iter_mut().for_each(|x| *x = *x * self.scale);
            if let Some((data, down, right)) = mask {
                let data = &data[i * down..];
                match right {
                    1 => row.iter_mut().zip(data).for_each(|(x, &mask)| *x += mask),
                    0 => row.iter_mut().for_each(|x| *x += data[0]),
                    _ => row.iter_mut().zip(data.iter().step_by(right)).for_each(|(x, &mask)| *x += mask),
                }
            }
            if self.is_causal && i + 1 < keys {
                row[i + 1..].fill(T::of(f64::NEG_INFINITY));
            }
            softmax_row(row);
        }
        if let Some(factors) = &self.dropout {
            let factors = &factors[head * scores.len()..];
            scores.iter_mut().zip(factors).for_each(|(x, &factor)| *x = *x * factor);
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn attention(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    mask: Option<&Tensor>,
    dropout_p: f64,
    is_causal: bool,
    scale: Option<f64>,
    enable_gqa: bool,
) -> Result<Tensor> {
    let dtype = query.dtype();
    let scale = scale.unwrap_or_else(|| 1.0 / (query.shape()[query.ndim() - 1] as f64).sqrt());
    let [mut q, mut k, mut v] = [query, key, value].map(|x| x.to_dtype(wide(dtype)));
    if enable_gqa {
        let heads = q.shape()[q.ndim() - 3];
        (k, v) = (repeat_heads(&k, heads), repeat_heads(&v, heads));
    }
    let lead = view::broadcast_shape(&[&q, &k, &v].map(|x| &x.shape()[..x.ndim() - 2]));
    let lead = lead.expect("invariant: shapes that broadcast");
    let spread = |x: &Tensor, rows: usize, columns: usize| {
        let mut to = lead.clone();
        to.extend([rows, columns]);
        view::expand(x, &to)
    };
    let own = |x: &Tensor| spread(x, x.shape()[x.ndim() - 2], x.shape()[x.ndim() - 1]);
    (q, k, v) = (own(&q), own(&k), own(&v));
    let (queries, keys) = (q.shape()[lead.len()], k.shape()[lead.len()]);
    if dtype == DType::F32 && dropout_p == 0.0 {
        let mask = mask.map(|mask| spread(mask, queries, keys));
        if let Some(y) = fast::attend([&q, &k, &v], mask.as_ref(), is_causal, scale) {
            return Ok(y);
        }
    }
    let mask = mask.map(|mask| spread(&additive(mask, wide(dtype), false), queries, keys));
    let heads = numel(&lead);
    let out = in_floats!(dtype, T => heads_of::<T>(&q, &k, &v, &Scores {
        scale: T::of(scale),
        is_causal,
        mask: mask.as_ref().map(|mask| (mask, mask.strided::<T>())),
        dropout: (dropout_p > 0.0).then(|| dropout(heads * queries * keys, dropout_p)),
    }));
    Ok(out.to_dtype(dtype))
}

/// All heads, in parallel.
fn heads_of<T: Number>(q: &Tensor, k: &Tensor, v: &Tensor, scores: &Scores<'_, T>) -> Tensor {
    let lead = q.ndim() - 2;
    let (queries, keys, width, values) = (q.shape()[lead], k.shape()[lead], q.shape()[lead + 1], v.shape()[lead + 1]);
    let mut shape = Dims::from_slice(&q.shape()[..=lead]);
    shape.push(values);
    let mut out = vec![T::default(); numel(&shape)];
    if keys > 0 {
        let work = 2 * out.len() * keys * 2;
        let (qs, ks, vs) = (q.strided::<T>(), k.strided::<T>(), v.strided::<T>());
        for_each_piece(&mut out, queries * values, work, |head, out| {
            let mut table = vec![T::default(); queries * keys];
            if width > 0 {
                gemm(&mut table, keys, false, matrix_at(q, qs, head), matrix_at(k, ks, head).t());
            }
            scores.apply(head, &mut table, keys);
            gemm(out, values, false, fx_kernels::Matrix::rows(&table, queries, keys), matrix_at(v, vs, head));
        });
    }
    Tensor::from_vec(shape, out)
}

/// Each head as often in a row as makes `heads` of them.
fn repeat_heads(x: &Tensor, heads: usize) -> Tensor {
    let dim = x.ndim() - 3;
    let mut shape = Dims::from_slice(x.shape());
    let times = heads / shape[dim].max(1);
    shape.insert(dim + 1, times);
    let spread = view::expand(&view::unsqueeze(x, dim + 1), &shape);
    shape.remove(dim + 1);
    shape[dim] = heads;
    view::reshape(&spread, &shape)
}

/// A mask as numbers to add to the scores; a boolean one hides the keys where it is `hidden`.
fn additive(mask: &Tensor, dtype: DType, hidden: bool) -> Tensor {
    if mask.dtype() != DType::Bool {
        return mask.to_dtype(dtype);
    }
    let number = |mask| if mask == hidden { f64::NEG_INFINITY } else { 0.0 };
    in_floats!(dtype, T => iter::map::<bool, T>(mask, |mask| T::of(number(mask)))).to_dtype(dtype)
}

fn dropout<T: Number>(count: usize, p: f64) -> Vec<T> {
    let scale = if p < 1.0 { 1.0 / (1.0 - p) } else { 0.0 };
    random::with_default(|generator| {
        (0..count).map(|_| T::of(if generator.uniform() < p { 0.0 } else { scale })).collect()
    })
}
