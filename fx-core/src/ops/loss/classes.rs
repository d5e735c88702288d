//! Losses over classes: `nll_loss` and `cross_entropy`, with weights, ignored targets and smoothed labels.

use super::eval::Word;
use super::infer::{class_dim, promoted};
use crate::error::{Error, Result};
use crate::ops::activation::eval_log_softmax;
use crate::ops::shape::float_of;
use crate::tensor::{DType, Dims, Tensor, cast, dispatch, numel};

/// Logarithms of probabilities: `batch` times `classes` times `inner` of them, in row-major order.
struct Logs {
    x: Tensor,
    batch: usize,
    classes: usize,
    inner: usize,
    dtype: DType,
    /// The shape without the classes.
    shape: Dims,
}

impl Logs {
    fn new(x: &Tensor) -> Self {
        let dim = class_dim(x.ndim());
        let mut shape = Dims::from_slice(x.shape());
        let classes = shape.remove(dim);
        Self {
            x: x.contiguous(),
            batch: numel(&shape[..dim]),
            classes,
            inner: numel(&shape[dim..]),
            dtype: x.dtype(),
            shape,
        }
    }

    /// The place of a class at a position among the targets.
    fn place(&self, position: usize, class: usize) -> usize {
        (position / self.inner * self.classes + class) * self.inner + position % self.inner
    }

    /// The number at a place.
    fn at(&self, place: usize) -> f64 {
        dispatch!(self.x.dtype(), T => cast(self.x.strided::<T>()[place]))
    }

    fn positions(&self) -> std::ops::Range<usize> {
        0..self.batch * self.inner
    }

    /// The losses, or their sum, divided by `count` for a mean.
    fn reduced(&self, losses: Vec<f64>, count: f64, reduction: &str, dtype: DType) -> Tensor {
        let loss = match reduction {
            "none" => Tensor::from_vec(&self.shape, losses),
            "sum" => Tensor::scalar(losses.iter().sum::<f64>()),
            _ => Tensor::scalar(losses.iter().sum::<f64>() / count),
        };
        loss.to_dtype(dtype)
    }

    /// The loss of targets that are classes.
    fn of_classes(
        &self,
        target: &Tensor,
        weight: Option<&Tensor>,
        ignore_index: i64,
        reduction: &str,
        smoothing: f64,
    ) -> Result<Tensor> {
        let weight = weight.map(Tensor::to_vec_as::<f64>);
        let all = if smoothing > 0.0 { self.x.to_vec_as::<f64>() } else { Vec::new() };
        let weight_of = |class: usize| weight.as_ref().map_or(1.0, |weight| weight[class]);
        let mut count = 0.0;
        let mut losses = Vec::with_capacity(self.batch * self.inner);
        for (position, class) in self.positions().zip(target.to_vec_as::<i64>()) {
            if class == ignore_index {
                losses.push(0.0);
                continue;
            }
            let Some(class) = usize::try_from(class).ok().filter(|class| *class < self.classes) else {
                return Err(Error::argument(format!("target {class} lies outside the {} classes", self.classes))
                    .help(format!("targets of {ignore_index} (`ignore_index`) do not count")));
            };
            let mut loss = -weight_of(class) * self.at(self.place(position, class));
            if smoothing > 0.0 {
                let smooth: f64 =
                    (0..self.classes).map(|other| -weight_of(other) * all[self.place(position, other)]).sum();
                loss = (1.0 - smoothing) * loss + smoothing / self.classes as f64 * smooth;
            }
            count += weight_of(class);
            losses.push(loss);
        }
        Ok(self.reduced(losses, count, reduction, self.dtype))
    }

    /// The loss of targets that are probabilities.
    fn of_probabilities(&self, target: &Tensor, weight: Option<&Tensor>, reduction: &str, smoothing: f64) -> Tensor {
        let (logs, probabilities) = (self.x.to_vec_as::<f64>(), target.to_vec_as::<f64>());
        let weights = weight.map(Tensor::to_vec_as::<f64>);
        let smoothing = smoothing.max(0.0);
        let even = smoothing / self.classes as f64;
        let loss = |position| {
            let parts = (0..self.classes).map(|class| {
                let place = self.place(position, class);
                let weight = weights.as_ref().map_or(1.0, |weights| weights[class]);
                weight * logs[place] * (probabilities[place] * (1.0 - smoothing) + even)
            });
            -parts.sum::<f64>()
        };
        let losses: Vec<f64> = self.positions().map(loss).collect();
        let count = losses.len() as f64;
        let mut parts = vec![(self.dtype, 1), (target.dtype(), 1)];
        parts.extend(weight.map(|weight| (weight.dtype(), 1)));
        self.reduced(losses, count, reduction, promoted(&parts))
    }
}

pub(super) fn nll_loss(
    x: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    ignore_index: i64,
    reduction: Word,
) -> Result<Tensor> {
    Logs::new(x).of_classes(target, weight, ignore_index, &reduction, 0.0)
}

pub(super) fn cross_entropy(
    x: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    ignore_index: i64,
    reduction: Word,
    label_smoothing: f64,
) -> Result<Tensor> {
    let logs = Logs::new(&eval_log_softmax(&x.to_dtype(float_of(x.dtype())), class_dim(x.ndim()) as i64)?);
    if x.shape() == target.shape() {
        return Ok(logs.of_probabilities(target, weight, &reduction, label_smoothing));
    }
    logs.of_classes(target, weight, ignore_index, &reduction, label_smoothing)
}
