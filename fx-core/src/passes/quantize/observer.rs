//! What is seen of a value: PyTorch's observers, in f32 as theirs.

use super::config::Observer;
use super::histogram::Histogram;
use crate::prelude::*;

/// An observer with what it has seen.
#[derive(Clone, Debug)]
pub(super) enum Observed {
    MinMax(Option<(f32, f32)>),
    MovingAverage(f32, Option<(f32, f32)>),
    Histogram(Histogram),
    Dynamic,
}

impl Observed {
    pub(super) fn new(observer: Observer, dtype: DType) -> Self {
        match observer {
            Observer::MinMax => Self::MinMax(None),
            Observer::MovingAverageMinMax(constant) => Self::MovingAverage(constant, None),
            Observer::Histogram(bins) => Self::Histogram(Histogram::new(bins, 1 << (8 * dtype.size()))),
            Observer::Dynamic => Self::Dynamic,
        }
    }

    /// Looks at a value; nothing is seen of one without elements.
    pub(super) fn observe(&mut self, x: &Tensor) {
        if x.numel() == 0 {
            return;
        }
        match self {
            Self::MinMax(seen) => {
                let (least, most) = extremes(x);
                *seen = Some(seen.map_or((least, most), |seen| (lower(seen.0, least), higher(seen.1, most))));
            }
            Self::MovingAverage(constant, seen) => {
                let new = extremes(x);
                let moved = |old: f32, new: f32| old + *constant * (new - old);
                *seen = Some(seen.map_or(new, |old| (moved(old.0, new.0), moved(old.1, new.1))));
            }
            Self::Histogram(histogram) => histogram.observe(&x.to_dtype(DType::F32).to_vec()),
            Self::Dynamic => {}
        }
    }

    /// The range of floats that is to be kept; NaN or infinite where that was seen.
    pub(super) fn range(&self) -> Option<(f32, f32)> {
        match self {
            Self::MinMax(seen) | Self::MovingAverage(_, seen) => *seen,
            Self::Histogram(histogram) => histogram.best_range(),
            Self::Dynamic => None,
        }
    }
}

fn extremes(x: &Tensor) -> (f32, f32) {
    (x.min().item().to_f64() as f32, x.max().item().to_f64() as f32)
}

/// The lower of two numbers; NaN if one is.
pub(super) fn lower(a: f32, b: f32) -> f32 {
    if a < b || a.is_nan() { a } else { b }
}

/// The higher of two numbers; NaN if one is.
pub(super) fn higher(a: f32, b: f32) -> f32 {
    if a > b || a.is_nan() { a } else { b }
}
