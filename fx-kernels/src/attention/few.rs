//! A few queries that read the same keys and values, which are read once for all, row after row.

use super::Mask;
use super::block::Block;
use super::words::power;
use crate::math::Single;
use crate::memory::{LINE, Lent};
use crate::simd::first as first_lanes;
use crate::tiles::tiles;

/// The most queries at a time.
pub(super) const FEW: usize = 4;

impl Block<'_> {
    /// All queries, some at a time.
    ///
    /// # Safety
    /// The operands must hold the rows that the sizes ask for.
    #[inline(always)]
    pub(super) unsafe fn few<V: Single>(&self) {
        for (first, count) in tiles(self.rows.len(), FEW) {
            let first = self.rows.start + first;
            // SAFETY: the caller's promise.
            unsafe {
                match count {
                    1 => self.together::<V, 1>(first),
                    2 => self.together::<V, 2>(first),
                    3 => self.together::<V, 3>(first),
                    _ => self.together::<V, FEW>(first),
                }
            }
        }
    }

    /// `N` queries from one on.
    ///
    /// # Safety
    /// The operands must hold the rows that the sizes ask for.
    #[inline(always)]
    unsafe fn together<V: Single, const N: usize>(&self, first: usize) {
        let keys = self.last_key(first + N - 1);
        let (wide, square) = (keys.next_multiple_of(LINE), V::LANES * V::LANES);
        let mut memory = Lent::new((N + 1) * (wide + square));
        let (scores, rest) = memory.numbers_mut().split_at_mut(N * wide);
        let (mask, squares) = rest.split_at_mut(wide);
        // SAFETY: the caller's promise; there is room for whole vectors of scores, and for all squares.
        unsafe { self.products::<V, N>(first, (scores.as_mut_ptr(), wide), squares.as_mut_ptr(), keys) };
        let mut factors = [V::zero(); N];
        for (index, factor) in factors.iter_mut().enumerate() {
            let scores = &mut scores[index * wide..][..wide];
            let own = self.last_key(first + index);
            let sum = self.powers::<V>(scores, mask, first + index, own);
            scores[own..keys].fill(0.0);
            *factor = V::splat(if sum == 0.0 { self.scores.empty } else { 1.0 / sum });
        }
        // As many sums as there are registers for.
        // SAFETY: the caller's promise; the powers of all keys are there.
        unsafe {
            if N < 4 || V::LANES >= 16 {
                self.results::<V, N, 4>(first, (scores.as_ptr(), wide), factors, keys);
            } else {
                self.results::<V, N, 2>(first, (scores.as_ptr(), wide), factors, keys);
            }
        }
    }

    /// The values times the powers, `VECTORS` vectors of each result at a time.
    ///
    /// # Safety
    /// The operands must hold the rows, and there must be the powers of so many keys.
    #[inline(always)]
    unsafe fn results<V: Single, const N: usize, const VECTORS: usize>(
        &self,
        row: usize,
        (powers, wide): (*const f32, usize),
        factors: [V; N],
        keys: usize,
    ) {
        let values = self.sizes.values;
        for first in (0..values).step_by(VECTORS * V::LANES) {
            let mut counts = [0; VECTORS];
            for (v, count) in counts.iter_mut().enumerate() {
                *count = values.saturating_sub(first + v * V::LANES).min(V::LANES);
            }
            let mut sums = [[V::zero(); VECTORS]; N];
            for key in 0..keys {
                let from = self.v.0.wrapping_add(key * self.v.1 + first);
                let mut value = [V::zero(); VECTORS];
                for v in 0..VECTORS {
                    // SAFETY: the caller's promise; so many numbers are left of the value.
                    value[v] = unsafe { V::load_first(from.wrapping_add(v * V::LANES), counts[v]) };
                }
                for (n, sums) in sums.iter_mut().enumerate() {
                    // SAFETY: the caller's promise.
                    let power = V::splat(unsafe { *powers.wrapping_add(n * wide + key) });
                    for (sum, value) in sums.iter_mut().zip(value) {
                        *sum = power.mul_add(value, *sum);
                    }
                }
            }
            for n in 0..N {
                let out = self.out.0.wrapping_add((row + n) * self.out.1 + first);
                for v in 0..VECTORS {
                    // SAFETY: so many numbers are left of the result, which nobody else writes.
                    unsafe { (sums[n][v] * factors[n]).store_first(out.wrapping_add(v * V::LANES), counts[v]) };
                }
            }
        }
    }

    /// The products of the queries with some keys: a vector of parts of each, transposed, so that they are added up for as
    /// many keys as there are lanes at a time.
    ///
    /// # Safety
    /// The operands must hold the rows, and there must be room for scores of whole vectors and for a square for each query and one
    /// more.
    #[inline(always)]
    unsafe fn products<V: Single, const N: usize>(
        &self,
        row: usize,
        (scores, wide): (*mut f32, usize),
        squares: *mut f32,
        keys: usize,
    ) {
        let (lanes, square) = (V::LANES, V::LANES * V::LANES);
        let transposed = squares.wrapping_add(N * square);
        let key = |index: usize| self.k.0.wrapping_add(index * self.k.1);
        for first in (0..keys).step_by(lanes) {
            // A pair of keys reads the queries once.
            for lane in (0..lanes).step_by(2) {
                let left = keys.saturating_sub(first + lane);
                let mut parts = [[V::zero(); N]; 2];
                // SAFETY: the caller's promise.
                unsafe {
                    match left {
                        0 => {}
                        1 => [parts[0]] = self.parts(row, [key(first + lane)]),
                        _ => parts = self.parts(row, [key(first + lane), key(first + lane + 1)]),
                    }
                    for (beside, parts) in parts.iter().enumerate() {
                        for (n, parts) in parts.iter().enumerate() {
                            parts.store_at(squares.wrapping_add(n * square + (lane + beside) * lanes));
                        }
                    }
                }
            }
            for n in 0..N {
                let mut sum = V::zero();
                // SAFETY: the caller's promise.
                unsafe {
                    V::transpose(squares.wrapping_add(n * square), lanes, transposed, lanes);
                    for part in 0..lanes {
                        sum = sum + V::load_at(transposed.wrapping_add(part * lanes));
                    }
                    sum.store_at(scores.wrapping_add(n * wide + first));
                }
            }
        }
    }

    /// Some keys times each query, of which the lanes are still to be added up.
    ///
    /// # Safety
    /// The operands must hold the rows, and the keys be there.
    #[inline(always)]
    unsafe fn parts<V: Single, const N: usize, const K: usize>(
        &self,
        row: usize,
        keys: [*const f32; K],
    ) -> [[V; N]; K] {
        let (width, lanes) = (self.sizes.width, V::LANES);
        let mut sums = [[V::zero(); N]; K];
        for i in (0..width).step_by(lanes) {
            let count = lanes.min(width - i);
            let mut k = [V::zero(); K];
            for (k, key) in k.iter_mut().zip(keys) {
                // SAFETY: `count` numbers are left.
                *k = unsafe { V::load_first(key.wrapping_add(i), count) };
            }
            for n in 0..N {
                let query = self.q.0.wrapping_add((row + n) * self.q.1 + i);
                // SAFETY: as above.
                let q = unsafe { V::load_first(query, count) };
                for (sums, k) in sums.iter_mut().zip(k) {
                    sums[n] = q.mul_add(k, sums[n]);
                }
            }
        }
        sums
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
