//! PyTorch's `HistogramObserver`: a histogram of all data, and the range with the least squared error of quantization.
//!
//! Arithmetic is in f32 where PyTorch's tensors are and in f64 where its Python numbers are, so that ranges are the same.
//! Only the errors of ranges are added up in f64.

use super::observer::{higher, lower};

/// Into how many parts a bin is taken apart when the range of the histogram grows.
const UPSAMPLE_RATE: usize = 16;

/// How many elements are in each bin of a range.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    bins: usize,
    /// How many integers there are.
    steps: usize,
    counts: Vec<f32>,
    /// The range, None if nothing was seen.
    range: Option<(f32, f32)>,
}

impl Histogram {
    pub(super) fn new(bins: usize, steps: usize) -> Self {
        Self { bins: bins.max(1), steps, counts: Vec::new(), range: None }
    }

    /// Adds elements; infinite ones are left out.
    pub(super) fn observe(&mut self, elements: &[f32]) {
        let finite: Vec<f32> = elements.iter().copied().filter(|x| !x.is_infinite()).collect();
        let Some(&first) = finite.first() else { return };
        let seen = finite.iter().fold((first, first), |(least, most), &x| (lower(least, x), higher(most, x)));
        let Some(old) = self.range else {
            (self.counts, self.range) = (count(&finite, seen, self.bins), Some(seen));
            return;
        };
        let new = (lower(old.0, seen.0), higher(old.1, seen.1));
        let mut counts = count(&finite, new, self.bins);
        let before = self.counts_within(old, new);
        counts.iter_mut().zip(before).for_each(|(count, before)| *count += before);
        (self.counts, self.range) = (counts, Some(new));
    }

    /// The counts of a range as those of a wider one.
    fn counts_within(&self, old: (f32, f32), new: (f32, f32)) -> Vec<f32> {
        if old == new {
            return self.counts.clone();
        }
        if old.0 == old.1 {
            let all: f32 = self.counts.iter().sum();
            return count(&[old.0], new, self.bins).into_iter().map(|x| x * all).collect();
        }
        let fine = self.bins * UPSAMPLE_RATE;
        let half = 0.5 * ((old.1 - old.0) / fine as f32);
        let bounds: Vec<f32> = (0..=self.bins).map(|i| spaced(new, self.bins, i)).collect();
        let mut counts = vec![0.0; self.bins];
        for i in 0..fine {
            let middle = spaced(old, fine, i) + half;
            let above = bounds.partition_point(|bound| *bound <= middle);
            let bin = above.saturating_sub(1).min(self.bins - 1);
            counts[bin] += self.counts[i / UPSAMPLE_RATE] / UPSAMPLE_RATE as f32;
        }
        counts
    }

    /// The range with the least error: PyTorch's `_non_linear_param_search`. From the whole range on, bins are left out at
    /// the end where fewer elements are lost a bin, until the error grows.
    pub(super) fn best_range(&self) -> Option<(f32, f32)> {
        let (least, most) = self.range?;
        if least.is_nan() || most.is_nan() {
            return self.range;
        }
        let total: f64 = self.counts.iter().map(|x| f64::from(*x)).sum::<f64>() as f32 as f64;
        let sums: Vec<f32> = self.counts.iter().scan(0.0, |sum, x| Some(accumulated(sum, *x))).collect();
        const STEP: f64 = 1e-5;
        let (mut alpha, mut beta) = (0.0, 1.0);
        let (mut start, mut end) = (0, self.bins - 1);
        let mut best = f64::INFINITY;
        while alpha < beta {
            let (next_alpha, next_beta) = (alpha + STEP, beta - STEP);
            let (low, high) = ((next_alpha * total) as f32, (next_beta * total) as f32);
            let left = (start..end).find(|i| sums[*i] >= low).unwrap_or(end);
            let right = (start + 1..=end).rev().find(|i| sums[*i] <= high).unwrap_or(start);
            let (mut next_start, mut next_end) = (start, end);
            if left - start > end - right {
                (next_start, alpha) = (left, next_alpha);
            } else {
                (next_end, beta) = (right, next_beta);
            }
            if (next_start, next_end) == (start, end) {
                continue;
            }
            let error = self.error(next_start, next_end, (least, most));
            if error > best {
                break;
            }
            (best, start, end) = (error, next_start, next_end);
        }
        let width = (most - least) / self.bins as f32;
        Some((least + width * start as f32, least + width * (end + 1) as f32))
    }

    /// The squared error if the bins from `start` to `end` are kept: PyTorch's `_compute_quantization_error`. Elements are
    /// taken as spread evenly over their bin.
    fn error(&self, start: usize, end: usize, (least, most): (f32, f32)) -> f64 {
        let width = (f64::from(most) - f64::from(least)) / self.bins as f64;
        let step = width * (end as f64 - start as f64 + 1.0) / self.steps as f64;
        if step == 0.0 {
            return 0.0;
        }
        let (width, half, step) = (width as f32, (step / 2.0) as f32, step as f32);
        let last = (self.steps - 1) as f32;
        let nearest = |x: f32| floor_divide(x, step).clamp(0.0, last);
        let within = cubes(-half, half);
        let errors = self.counts.iter().enumerate().map(|(bin, count)| {
            let begin = (bin as f32 - start as f32) * width;
            let until = begin + width;
            let (first, final_) = (nearest(begin), nearest(until));
            let density = count / width;
            let mut error = density * cubes(begin - (first + 0.5) * step, half);
            error += (final_ - first - 1.0) * (density * within);
            error += density * cubes(-half, until - (final_ * step + half));
            f64::from(error)
        });
        errors.sum()
    }
}

/// The integral of the square from one number to another.
fn cubes(begin: f32, end: f32) -> f32 {
    (end * end * end - begin * begin * begin) / 3.0
}

/// PyTorch's `div(rounding_mode="floor")` by a positive number.
fn floor_divide(a: f32, b: f32) -> f32 {
    let rest = a % b;
    let quotient = (a - rest) / b - if rest < 0.0 { 1.0 } else { 0.0 };
    let floor = quotient.floor();
    if quotient - floor > 0.5 { floor + 1.0 } else { floor }
}

/// Adds a number to a sum in f64, and gives the sum in f32: PyTorch's `cumsum`.
fn accumulated(sum: &mut f64, x: f32) -> f32 {
    *sum += f64::from(x);
    *sum as f32
}

/// PyTorch's `histc`: how many elements are in each bin of a range.
fn count(elements: &[f32], (least, most): (f32, f32), bins: usize) -> Vec<f32> {
    let (least, most) = if least == most { (least - 1.0, most + 1.0) } else { (least, most) };
    let mut counts = vec![0_usize; bins];
    for x in elements {
        let bin = (x - least) * bins as f32 / (most - least);
        counts[(bin as usize).min(bins - 1)] += 1;
    }
    counts.into_iter().map(|count| count as f32).collect()
}

/// The bounds of so many equal parts of a range, from both ends: PyTorch's `linspace`.
fn spaced((least, most): (f32, f32), parts: usize, i: usize) -> f32 {
    let step = (most - least) / parts as f32;
    if i < parts.div_ceil(2) { least + step * i as f32 } else { most - step * (parts - i) as f32 }
}
