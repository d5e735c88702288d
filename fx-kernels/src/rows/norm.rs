//! Layer norm and RMS norm.

use super::{Input, Pointers, for_vectors, tasks};
use crate::math::Single;
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::{Kernel, Level, Vector, dispatch, first, load, store};
use crate::threads::for_each_piece;

/// What a normalisation does after it: a factor and a summand for each element or channel, and what is added to the
/// variance so that its root is not 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Affine<'a> {
    /// The factors; none are 1.
    pub weight: Option<&'a [f32]>,
    /// The summands; none are 0.
    pub bias: Option<&'a [f32]>,
    /// What is added to the variance.
    pub eps: f32,
}

impl Affine<'_> {
    /// What a channel of this mean and with one over this deviation is multiplied with, and what is added to it.
    pub(super) fn of_channel(&self, channel: usize, mean: f64, scale: f64) -> (f32, f32) {
        let scale = scale * self.weight.map_or(1.0, |weight| f64::from(weight[channel]));
        (scale as f32, (self.bias.map_or(0.0, |bias| f64::from(bias[channel])) - mean * scale) as f32)
    }

    pub(super) fn check(&self, len: usize) {
        for x in [self.weight, self.bias].into_iter().flatten() {
            assert_eq!(x.len(), len, "there is a weight and a bias for each of {len}");
        }
    }
}

/// Writes rows of `len` elements with mean 0 and variance 1, times the weight, plus the bias (Ba et al., 2016).
///
/// # Panics
/// If an operand has another length than `out`, `len` does not divide it, or there are not `len` weights and biases.
pub fn layer_norm(out: &mut [f32], x: Input<'_>, len: usize, affine: Affine<'_>) {
    rows(Level::detect(), out, x, len, affine, true);
}

/// Writes rows of `len` elements with mean square 1, times the weight, plus the bias (Zhang and Sennrich, 2019).
///
/// # Panics
/// As [`layer_norm`].
pub fn rms_norm(out: &mut [f32], x: Input<'_>, len: usize, affine: Affine<'_>) {
    rows(Level::detect(), out, x, len, affine, false);
}

/// As [`layer_norm`], or as [`rms_norm`] without `centred`, of a result that is words of rounded numbers.
///
/// # Panics
/// As there, or if `len` numbers are no whole words, or the processor [does not write](Rounded::is_written) such.
pub fn norm_to_words(out: &mut [f32], x: &[f32], len: usize, affine: Affine<'_>, centred: bool, rounded: Rounded) {
    words(Level::detect(), out, x, len, affine, centred, rounded);
}

/// See [`norm_to_words`].
pub(super) fn words(
    level: Level,
    out: &mut [f32],
    x: &[f32],
    len: usize,
    affine: Affine<'_>,
    centred: bool,
    rounded: Rounded,
) {
    /// The numbers that are rounded together, in the first-level cache.
    const NUMBERS: usize = 4 * 1024;
    let numbers = rounded.numbers();
    assert_eq!(x.len(), out.len() * numbers, "the operand has as many numbers as the words of the result");
    if x.is_empty() {
        return;
    }
    assert!(x.len().is_multiple_of(len), "rows of {len} elements do not divide {}", x.len());
    assert!(len.is_multiple_of(numbers), "{len} numbers are no whole words");
    affine.check(len);
    let each = (NUMBERS / len).max(1);
    for_each_piece(out, each * (len / numbers), 6 * x.len(), |piece, out| {
        let x = &x[piece * each * len..][..out.len() * numbers];
        let rows = x.len() / len;
        scratch(x.len(), |normal| {
            let at = Input::of(x).pointers(normal);
            dispatch(level, Rows { at, len, row: 0, stop: rows, affine, centred });
            // SAFETY: the piece has room for as many words as there are numbers for.
            unsafe { rounded.write(level, (out.as_mut_ptr(), len / numbers), (normal.as_ptr(), len), [rows, len]) };
        });
    });
}

/// Layer norm, or RMS norm without `centred`.
pub(super) fn rows(level: Level, out: &mut [f32], mut x: Input<'_>, len: usize, affine: Affine<'_>, centred: bool) {
    let total = out.len();
    if total == 0 {
        return;
    }
    assert!(total.is_multiple_of(len), "rows of {len} elements do not divide {total}");
    affine.check(len);
    let at = x.pointers(out);
    tasks(total / len, len, 6 * total, |row, stop| dispatch(level, Rows { at, len, row, stop, affine, centred }));
}

/// Some rows of a layer norm or RMS norm.
struct Rows<'a> {
    at: Pointers,
    len: usize,
    row: usize,
    stop: usize,
    affine: Affine<'a>,
    centred: bool,
}

impl Kernel for Rows<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        for row in self.row..self.stop {
            let at = self.at.at(row * self.len);
            // SAFETY: the operands hold `len` elements a row, and no other task writes these rows.
            unsafe {
                let (mean, scale) = moments::<V>(at, self.len, self.affine.eps, self.centred);
                self.write::<V>(at, V::splat(mean), V::splat(scale));
            }
        }
    }
}

impl Rows<'_> {
    /// # Safety
    /// As [`moments`], which must have been called.
    #[inline(always)]
    unsafe fn write<V: Single>(&self, at: Pointers, mean: V, scale: V) {
        let again = at.again();
        let weight = self.affine.weight.map(<[f32]>::as_ptr);
        let bias = self.affine.bias.map(<[f32]>::as_ptr);
        for_vectors!(V, self.len, |i, count, _part| {
            // SAFETY: the caller's promise; weight and bias are as long as a row.
            unsafe {
                let mut x = (load::<V>(again.wrapping_add(i), count) - mean) * scale;
                if let Some(weight) = weight {
                    x = x * load::<V>(weight.wrapping_add(i), count);
                }
                if let Some(bias) = bias {
                    x = x + load::<V>(bias.wrapping_add(i), count);
                }
                store(x, at.out.wrapping_add(i), count);
            }
        });
    }
}

impl Pointers {
    /// Where [`moments`] leaves what it has read: a sum of operands is kept in the output.
    #[inline(always)]
    pub(super) fn again(&self) -> *const f32 {
        if self.residual.is_some() { self.out.cast_const() } else { self.x }
    }
}

/// The mean of a row and one over its deviation; not `centred`, 0 and one over the root of the mean square.
///
/// # Safety
/// The operands must hold `len` elements, which nobody else writes.
#[inline(always)]
pub(super) unsafe fn moments<V: Single>(at: Pointers, len: usize, eps: f32, centred: bool) -> (f32, f32) {
    let total = |parts: [V; 4]| ((parts[0] + parts[1]) + (parts[2] + parts[3])).sum();
    let (mut sums, mut squares) = ([V::zero(); 4], [V::zero(); 4]);
    // SAFETY: the caller's promise: all vectors lie within `len`.
    unsafe {
        for_vectors!(V, len, |i, count, part| {
            let x = at.read::<V>(i, count);
            if at.residual.is_some() {
                store(x, at.out.wrapping_add(i), count);
            }
            sums[part] = sums[part] + x;
            squares[part] = x.mul_add(x, squares[part]);
        });
        if !centred {
            return (0.0, 1.0 / (total(squares) / len as f32 + eps).sqrt());
        }
        let mean = total(sums) / len as f32;
        // The squares of the differences, while the row is in the cache: the difference of squares would cancel.
        let (again, middle) = (at.again(), V::splat(mean));
        let mut squares = [V::zero(); 4];
        for_vectors!(V, len, |i, count, part| {
            let x = load::<V>(again.wrapping_add(i), count) - middle;
            let x = if count < V::LANES { first(x, count, V::zero()) } else { x };
            squares[part] = x.mul_add(x, squares[part]);
        });
        (mean, 1.0 / (total(squares) / len as f32 + eps).sqrt())
    }
}
