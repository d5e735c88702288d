//! A query alone: keys and values are read once, row after row.

use super::block::Block;
use super::words::power;
use super::{Mask, Sizes};
use crate::math::Single;
use crate::memory::{LINE, Lent};
use crate::rows::first as first_lanes;

/// The vectors of a result that are summed up at a time.
const VECTORS: usize = 4;

impl Block<'_> {
    /// The first query and all keys.
    ///
    /// # Safety
    /// The operands must hold the rows that the sizes ask for.
    #[inline(always)]
    pub(super) unsafe fn one<V: Single>(self) {
        let (values, row) = (self.sizes.values, self.rows.start);
        let keys = self.last_key(row);
        let (wide, square) = (keys.next_multiple_of(LINE), V::LANES * V::LANES);
        let mut memory = Lent::new(2 * (wide + square));
        let (scores, rest) = memory.numbers_mut().split_at_mut(wide);
        let (mask, squares) = rest.split_at_mut(wide);
        // SAFETY: the caller's promise; there is room for whole vectors of scores, and two squares.
        unsafe { self.products::<V>(scores.as_mut_ptr(), squares.as_mut_ptr(), keys) };
        let sum = self.powers::<V>(scores, mask, row, keys);
        let factor = V::splat(if sum == 0.0 { self.scores.empty } else { 1.0 / sum });
        let out = self.out.wrapping_add(row * self.out_row);
        for first in (0..values).step_by(VECTORS * V::LANES) {
            let mut counts = [0; VECTORS];
            for (v, count) in counts.iter_mut().enumerate() {
                *count = values.saturating_sub(first + v * V::LANES).min(V::LANES);
            }
            let mut sums = [V::zero(); VECTORS];
            for (key, power) in scores[..keys].iter().enumerate() {
                let (power, value) = (V::splat(*power), self.v.0.wrapping_add(key * self.v.1 + first));
                for v in 0..VECTORS {
                    // SAFETY: the caller's promise; so many numbers are left of the value.
                    let value = unsafe { V::load_first(value.wrapping_add(v * V::LANES), counts[v]) };
                    sums[v] = power.mul_add(value, sums[v]);
                }
            }
            for v in 0..VECTORS {
                // SAFETY: so many numbers are left of the result, which nobody else writes.
                unsafe { (sums[v] * factor).store_first(out.wrapping_add(first + v * V::LANES), counts[v]) };
            }
        }
    }

    /// The products of the first query with some keys: a vector of parts of each, transposed, so that they are added up for as
    /// many keys as there are lanes at a time.
    ///
    /// # Safety
    /// The operands must hold the rows, and there must be room for scores of whole vectors and for two squares of them.
    #[inline(always)]
    unsafe fn products<V: Single>(&self, scores: *mut f32, squares: *mut f32, keys: usize) {
        let (Sizes { width, .. }, lanes) = (self.sizes, V::LANES);
        let (q, transposed) = (self.q.0.wrapping_add(self.rows.start * self.q.1), squares.wrapping_add(lanes * lanes));
        for first in (0..keys).step_by(lanes) {
            for lane in 0..lanes {
                let mut parts = V::zero();
                if first + lane < keys {
                    let k = self.k.0.wrapping_add((first + lane) * self.k.1);
                    for i in (0..width).step_by(lanes) {
                        let count = lanes.min(width - i);
                        // SAFETY: `count` numbers are left.
                        let (q, k) = unsafe {
                            (V::load_first(q.wrapping_add(i), count), V::load_first(k.wrapping_add(i), count))
                        };
                        parts = q.mul_add(k, parts);
                    }
                }
                // SAFETY: the caller's promise.
                unsafe { parts.store_at(squares.wrapping_add(lane * lanes)) };
            }
            let mut sum = V::zero();
            // SAFETY: the caller's promise.
            unsafe {
                V::transpose(squares, lanes, transposed, lanes);
                for part in 0..lanes {
                    sum = sum + V::load_at(transposed.wrapping_add(part * lanes));
                }
                sum.store_at(scores.wrapping_add(first));
            }
        }
    }

    /// Turns a query's scores into powers relative to the highest, whose sum it gives.
    #[inline(always)]
    fn powers<V: Single>(&self, scores: &mut [f32], mask: &mut [f32], row: usize, keys: usize) -> f32 {
        let (scale, lowest) = (V::splat(self.scores.scale), V::splat(f32::NEG_INFINITY));
        let masked = !matches!(self.scores.mask, Mask::None | Mask::Causal);
        if masked {
            self.added(row, 0, &mut mask[..keys]);
        }
        let mut highest = lowest;
        for first in (0..keys).step_by(V::LANES) {
            let (count, place) = ((keys - first).min(V::LANES), first..keys);
            let mut x = V::load_part(&scores[place.clone()]) * scale;
            if masked {
                x = self.masked(x, V::load_part(&mask[place]));
            }
            x = if count < V::LANES { first_lanes(x, count, lowest) } else { x };
            x.store(&mut scores[first..]);
            highest = highest.max(x);
        }
        let highest = highest.reduce(|a, b| if a > b { a } else { b });
        let base = V::splat(if highest == f32::NEG_INFINITY { 0.0 } else { highest });
        let mut sum = V::zero();
        for scores in scores[..keys.next_multiple_of(V::LANES)].chunks_exact_mut(V::LANES) {
            let x = power(V::load(scores) - base);
            x.store(scores);
            sum = sum + x;
        }
        sum.sum()
    }
}
