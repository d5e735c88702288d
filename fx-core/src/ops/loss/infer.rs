//! Shapes and element types of losses.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::ops::shape::{self, Rank, elementwise, float_of, promote};
use crate::tensor::DType;
use crate::value::{Dim, Shape, TensorMeta};

type Word = Cow<'static, str>;

/// The loss after its reduction.
fn reduced(loss: TensorMeta, reduction: &str) -> Result<TensorMeta> {
    match reduction {
        "none" => Ok(loss),
        "mean" => {
            shape::require_float(&loss)?;
            Ok(loss.with_shape([]))
        }
        "sum" => {
            Ok(TensorMeta { shape: Shape::new(), dtype: if loss.dtype.is_float() { loss.dtype } else { DType::I64 } })
        }
        other => Err(Error::argument(format!("`reduction` is \"mean\", \"sum\" or \"none\", not \"{other}\""))),
    }
}

fn numbers(x: &TensorMeta, y: &TensorMeta) -> Result<TensorMeta> {
    shape::numbers_only(x)?;
    shape::numbers_only(y)?;
    elementwise(&x.into(), &y.into())
}

/// Both after broadcasting, which PyTorch does first in some losses: their dimensions do not matter to promotion.
fn broadcast(x: &TensorMeta, y: &TensorMeta) -> Result<TensorMeta> {
    Ok(TensorMeta { shape: shape::broadcast(&x.shape, &y.shape)?, dtype: DType::promote(x.dtype, y.dtype) })
}

/// Checks that two shapes are equal, as far as that can be told.
fn require_same_shape(x: &TensorMeta, y: &TensorMeta) -> Result<()> {
    let equal = x.ndim() == y.ndim() && x.shape.iter().zip(&y.shape).all(|(a, b)| a.may_eq(b));
    if equal { Ok(()) } else { Err(Error::shape(format!("the input ({x}) and the target ({y}) differ in shape"))) }
}

/// Checks that a weight broadcasts to the shape of the loss.
fn require_weight(weight: Option<&TensorMeta>, loss: &TensorMeta) -> Result<()> {
    let Some(weight) = weight else { return Ok(()) };
    let fits = shape::broadcast(&weight.shape, &loss.shape)?;
    let equal = fits.len() == loss.ndim() && fits.iter().zip(&loss.shape).all(|(a, b)| a.may_eq(b));
    if equal { Ok(()) } else { Err(Error::shape(format!("the weight ({weight}) has more elements than the loss"))) }
}

pub(super) fn mse_loss(x: &TensorMeta, y: &TensorMeta, reduction: Word) -> Result<TensorMeta> {
    let loss = broadcast(x, y)?;
    shape::require_float(&loss)?;
    reduced(loss, &reduction)
}

pub(super) fn l1_loss(x: &TensorMeta, y: &TensorMeta, reduction: Word) -> Result<TensorMeta> {
    numbers(x, y)?;
    reduced(broadcast(x, y)?, &reduction)
}

pub(super) fn smooth_l1_loss(x: &TensorMeta, y: &TensorMeta, reduction: Word, beta: f64) -> Result<TensorMeta> {
    if beta < 0.0 {
        return Err(Error::argument(format!("`beta` must not be below 0, found {beta}")));
    }
    if beta == 0.0 {
        numbers(x, y)?;
    }
    let loss = broadcast(x, y)?;
    shape::require_float(&loss)?;
    reduced(loss, &reduction)
}

pub(super) fn huber_loss(x: &TensorMeta, y: &TensorMeta, reduction: Word, delta: f64) -> Result<TensorMeta> {
    if delta <= 0.0 {
        return Err(Error::argument(format!("`delta` must be above 0, found {delta}")));
    }
    shape::require_float(x)?;
    reduced(broadcast(x, y)?.with_dtype(x.dtype), &reduction)
}

/// The dimension of the classes.
pub(super) fn class_dim(ndim: usize) -> usize {
    usize::from(ndim > 1)
}

fn require_classes(x: &TensorMeta, weight: Option<&TensorMeta>) -> Result<Dim> {
    shape::require_float(x)?;
    shape::require_ndim(x, "the input", 1.., "at least 1")?;
    let classes = x.shape[class_dim(x.ndim())].clone();
    if let Some(weight) = weight {
        shape::require_ndim(weight, "the weight", 1..=1, "1")?;
        let message = || format!("the weight ({weight}) must have an element for each of the {classes} classes");
        shape::require_equal(&weight.shape[0], &classes, message)?;
    }
    Ok(classes)
}

/// The loss of each target that is a class.
fn by_class(x: &TensorMeta, target: &TensorMeta, weight: Option<&TensorMeta>) -> Result<TensorMeta> {
    require_classes(x, weight)?;
    if let Some(weight) = weight.filter(|weight| weight.dtype != x.dtype) {
        return Err(Error::dtype(format!("the weight must have the input's element type, found {weight} for {x}")));
    }
    if !matches!(target.dtype, DType::I64 | DType::U8) {
        return Err(Error::dtype(format!("classes must be i64 or u8, found {target}")).help("convert with `to` first"));
    }
    if x.ndim() == 1 {
        let message = || format!("one class is expected, found {target}");
        shape::require_ndim(target, "the target", ..2, "0 or 1")?;
        shape::require_equal(&target.numel(), &Dim::Int(1), message)?;
        return Ok(x.with_shape([]));
    }
    let mut expected = x.shape.clone();
    expected.remove(1);
    let fits = target.ndim() == expected.len() && target.shape.iter().zip(&expected).all(|(a, b)| a.may_eq(b));
    if !fits {
        return Err(Error::shape(format!("classes of shape {expected:?} are expected for {x}, found {target}")));
    }
    Ok(x.with_shape(expected))
}

pub(super) fn nll_loss(
    x: &TensorMeta,
    target: &TensorMeta,
    weight: Option<&TensorMeta>,
    _: i64,
    reduction: Word,
) -> Result<TensorMeta> {
    reduced(by_class(x, target, weight)?, &reduction)
}

/// Whether the target of a cross entropy holds probabilities: it has the input's shape.
fn holds_probabilities(x: &TensorMeta, target: &TensorMeta) -> bool {
    x.ndim() == target.ndim() && x.shape.iter().zip(&target.shape).all(|(a, b)| a.known_eq(b) != Some(false))
}

/// The element type of a cross entropy with probabilities.
pub(super) fn promoted(parts: &[(DType, usize)]) -> DType {
    promote(parts.iter().map(|(dtype, ndim)| (*dtype, Rank::of(*ndim))).collect::<Vec<_>>())
}

pub(super) fn cross_entropy(
    x: &TensorMeta,
    target: &TensorMeta,
    weight: Option<&TensorMeta>,
    ignore_index: i64,
    reduction: Word,
    label_smoothing: f64,
) -> Result<TensorMeta> {
    if label_smoothing > 1.0 {
        return Err(Error::argument(format!("`label_smoothing` must lie between 0 and 1, found {label_smoothing}")));
    }
    if !holds_probabilities(x, target) {
        return reduced(by_class(x, target, weight)?, &reduction);
    }
    require_classes(x, weight)?;
    if !target.dtype.is_float() {
        return Err(Error::dtype(format!("class probabilities must be floats, found {target}"))
            .help("classes have the input's shape without its dimension of classes"));
    }
    if ignore_index >= 0 {
        return Err(Error::argument("`ignore_index` is for targets that are classes, not probabilities"));
    }
    let mut parts = vec![(x.dtype, x.ndim()), (target.dtype, target.ndim())];
    parts.extend(weight.map(|weight| (weight.dtype, weight.ndim())));
    let mut loss = x.with_dtype(promoted(&parts));
    loss.shape.remove(class_dim(x.ndim()));
    reduced(loss, &reduction)
}

pub(super) fn binary_cross_entropy(
    x: &TensorMeta,
    target: &TensorMeta,
    weight: Option<&TensorMeta>,
    reduction: Word,
) -> Result<TensorMeta> {
    shape::require_float(x)?;
    if target.dtype != x.dtype {
        return Err(Error::dtype(format!("the target must have the input's element type, found {target} for {x}")));
    }
    require_same_shape(x, target)?;
    require_weight(weight, x)?;
    reduced(x.clone(), &reduction)
}

pub(super) fn binary_cross_entropy_with_logits(
    x: &TensorMeta,
    target: &TensorMeta,
    weight: Option<&TensorMeta>,
    pos_weight: Option<&TensorMeta>,
    reduction: Word,
) -> Result<TensorMeta> {
    shape::require_float(x)?;
    shape::require_float(target)?;
    require_same_shape(x, target)?;
    require_weight(weight, x)?;
    require_weight(pos_weight, x)?;
    reduced(target.clone(), &reduction)
}

pub(super) fn kl_div(x: &TensorMeta, target: &TensorMeta, reduction: Word, _: bool) -> Result<TensorMeta> {
    shape::require_float(x)?;
    shape::require_float(target)?;
    reduced(elementwise(&x.into(), &target.into())?, if reduction == "batchmean" { "mean" } else { &reduction })
}

pub(super) fn poisson_nll_loss(
    x: &TensorMeta,
    target: &TensorMeta,
    log_input: bool,
    full: bool,
    _: f64,
    reduction: Word,
) -> Result<TensorMeta> {
    // Where something is subtracted from a tensor or a tensor from something, that cannot be bool.
    if full || x.dtype == DType::Bool {
        shape::numbers_only(target)?;
    }
    if !log_input {
        shape::numbers_only(x)?;
    }
    reduced(elementwise(&(&shape::float(x)?).into(), &target.into())?, &reduction)
}

pub(super) fn hinge_embedding_loss(x: &TensorMeta, target: &TensorMeta, _: f64, reduction: Word) -> Result<TensorMeta> {
    shape::numbers_only(x)?;
    let loss = TensorMeta { shape: shape::broadcast(&x.shape, &target.shape)?, dtype: x.dtype };
    reduced(loss, &reduction)
}

pub(super) fn margin_ranking_loss(
    x: &TensorMeta,
    y: &TensorMeta,
    target: &TensorMeta,
    _: f64,
    reduction: Word,
) -> Result<TensorMeta> {
    if x.ndim() != y.ndim() || x.ndim() != target.ndim() {
        return Err(Error::shape(format!("all operands must have as many dimensions, found {x}, {y} and {target}")));
    }
    let difference = numbers(x, y)?;
    let loss = numbers(target, &difference)?;
    reduced(loss.with_dtype(float_of(loss.dtype)), &reduction)
}

pub(super) fn cosine_embedding_loss(
    x: &TensorMeta,
    y: &TensorMeta,
    target: &TensorMeta,
    _: f64,
    reduction: Word,
) -> Result<TensorMeta> {
    shape::require_ndim(target, "the target", ..2, "0 or 1")?;
    let ndim = target.ndim() + 1;
    if x.ndim() != ndim || y.ndim() != ndim {
        return Err(Error::shape(format!("for {target} the inputs must have {ndim} dimensions, found {x} and {y}")));
    }
    let mut both = elementwise(&x.into(), &y.into())?;
    both.shape.pop();
    let shape = shape::broadcast(&both.shape, &target.shape)?;
    reduced(TensorMeta { shape, dtype: float_of(both.dtype) }, &reduction)
}

pub(super) fn triplet_margin_loss(
    anchor: &TensorMeta,
    positive: &TensorMeta,
    negative: &TensorMeta,
    margin: f64,
    _: f64,
    _: f64,
    reduction: Word,
) -> Result<TensorMeta> {
    if anchor.ndim() != positive.ndim() || anchor.ndim() != negative.ndim() {
        return Err(Error::shape(format!(
            "all operands must have as many dimensions, found {anchor}, {positive} and {negative}"
        )));
    }
    if margin.is_nan() || margin <= 0.0 {
        return Err(Error::argument(format!("`margin` must be above 0, found {margin}")));
    }
    let mut near = elementwise(&anchor.into(), &positive.into())?;
    let mut far = elementwise(&anchor.into(), &negative.into())?;
    near.shape.pop();
    far.shape.pop();
    let loss = elementwise(&(&near).into(), &(&far).into())?;
    let dtype = promoted(&[(near.dtype, anchor.ndim()), (far.dtype, anchor.ndim())]);
    reduced(TensorMeta { shape: loss.shape, dtype: float_of(dtype) }, &reduction)
}
