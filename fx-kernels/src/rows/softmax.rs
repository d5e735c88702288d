//! The softmax and its logarithm.

use super::{Input, Pointers, for_vectors, tasks};
use crate::math::{self, Single};
use crate::memory::scratch;
use crate::simd::{BESIDE, Beside, Kernel, Lanes, Level, Vector, dispatch, first, load, store};
use crate::threads::for_each;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Softmax {
    /// `exp(x)` over its sum.
    Plain,
    /// The logarithm of that.
    Log,
}

/// Writes the softmax of `x` along the middle of `[outer, len, inner]`.
///
/// # Panics
/// If `x` has another length than `out`, or `len * inner` does not divide it.
pub fn softmax(kind: Softmax, out: &mut [f32], x: Input<'_>, len: usize, inner: usize) {
    softmax_at(Level::detect(), kind, out, x, len, inner);
}

/// As [`softmax`], with instructions of the given level.
pub(super) fn softmax_at(level: Level, kind: Softmax, out: &mut [f32], mut x: Input<'_>, len: usize, inner: usize) {
    let total = out.len();
    if total == 0 {
        return;
    }
    assert!(total.is_multiple_of(len * inner), "rows of {len} by {inner} elements do not divide {total}");
    let at = x.pointers(out);
    if inner == 1 {
        tasks(total / len, len, 16 * total, |row, stop| dispatch(level, Rows { kind, at, len, row, stop }));
        return;
    }
    // Tasks are wide, if there are enough of them: threads that write close to each other wait for each other.
    let wide = (total / len / TASKS).next_multiple_of(STRIP).clamp(STRIP, WIDEST);
    let blocks = inner.div_ceil(wide);
    for_each(total / (len * inner) * blocks, 16 * total, |task| {
        let column = task % blocks * wide;
        let count = wide.min(inner - column);
        let at = at.at(task / blocks * len * inner + column);
        // A single vector of each row at a time, where strips would leave the cache.
        let kept = len * if len > LONGEST { LANES } else { STRIP };
        scratch(kept, |kept| dispatch(level, Columns { kind, at, len, inner, count, kept }));
    });
}

/// The columns that are worked on at a time: a few vectors of each row, which lie side by side.
const STRIP: usize = 64;
/// The rows of a strip that stays in the second-level cache.
const LONGEST: usize = 1024;
/// The lanes of the longest vector.
const LANES: usize = 16;
/// The most columns of a task.
const WIDEST: usize = 1024;
/// The tasks that make a fair share for each of a few threads likely.
const TASKS: usize = 16;

/// Contiguous rows.
struct Rows {
    kind: Softmax,
    at: Pointers,
    len: usize,
    row: usize,
    stop: usize,
}

impl Kernel for Rows {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        for row in self.row..self.stop {
            // SAFETY: the operands hold `len` elements a row, and no other task writes these rows.
            unsafe { softmax_row::<V>(self.kind, self.at.at(row * self.len), self.len) };
        }
    }
}

/// # Safety
/// The operands must hold `len` elements, which nobody else writes.
#[inline(always)]
unsafe fn softmax_row<V: Single>(kind: Softmax, at: Pointers, len: usize) {
    let lowest = V::splat(f32::NEG_INFINITY);
    let mut highest = [lowest; 4];
    // A sum of operands is kept in the output, to be read again.
    let again = if at.residual.is_some() { at.out.cast_const() } else { at.x };
    // SAFETY: the caller's promise: all vectors lie within `len`.
    unsafe {
        for_vectors!(V, len, |i, count, part| {
            let x = at.read::<V>(i, count);
            if at.residual.is_some() {
                store(x, at.out.wrapping_add(i), count);
            }
            highest[part] = highest[part].max(if count < V::LANES { first(x, count, lowest) } else { x });
        });
        let highest = highest[0].max(highest[1]).max(highest[2].max(highest[3]));
        let highest = V::splat(highest.reduce(|a, b| if a > b { a } else { b }));
        let mut sums = Beside::<V>::zero();
        let several = len - len % (BESIDE * V::LANES);
        for start in (0..several).step_by(BESIDE * V::LANES) {
            let places = Beside::<V>::from(start);
            let powers = math::exp_below_one(Beside::load_each(again, places) - Beside([highest; BESIDE]));
            if kind == Softmax::Plain {
                powers.store_each(at.out, places);
            }
            sums = sums + powers;
        }
        let mut sum = sums.join(|x, y| x + y);
        for start in (several..len).step_by(V::LANES) {
            let count = (len - start).min(V::LANES);
            let x = load::<V>(again.wrapping_add(start), count);
            let power = math::exp_below_one(first(x, count, lowest) - highest);
            if kind == Softmax::Plain {
                store(power, at.out.wrapping_add(start), count);
            }
            sum = sum + power;
        }
        let sum = sum.sum();
        let (scale, log) = (V::splat(1.0 / sum), V::splat(sum.ln()));
        for_vectors!(V, len, |i, count, _part| {
            let to = at.out.wrapping_add(i);
            let y = match kind {
                Softmax::Plain => load::<V>(to, count) * scale,
                Softmax::Log => load::<V>(again.wrapping_add(i), count) - highest - log,
            };
            store(y, to, count);
        });
    }
}

/// Rows that lie beside each other, `inner` elements apart.
struct Columns<'a> {
    kind: Softmax,
    at: Pointers,
    len: usize,
    inner: usize,
    /// How many there are.
    count: usize,
    /// Memory for a strip.
    kept: &'a mut [f32],
}

impl Kernel for Columns<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let mut this = self;
        let mut column = 0;
        while column < this.count {
            let left = this.count - column;
            // SAFETY: the operands hold `len` rows of these columns, and no other task writes them.
            unsafe {
                if left >= 4 * V::LANES && this.kept.len() >= 4 * V::LANES * this.len {
                    this.strip::<V, 4>(column, V::LANES);
                    column += 4 * V::LANES;
                } else {
                    this.strip::<V, 1>(column, left.min(V::LANES));
                    column += V::LANES;
                }
            }
        }
    }
}

impl Columns<'_> {
    /// The columns of a few vectors, or the first `count` of one. The operands are read once, and the output is written once:
    /// where rows are far apart, what was read is no longer in the cache when it is needed again.
    ///
    /// # Safety
    /// The operands must hold `len` rows of the columns, which nobody else writes.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    unsafe fn strip<V: Single, const VECTORS: usize>(&mut self, column: usize, count: usize) {
        let (at, kind) = (self.at.at(column), self.kind);
        let rows = || (0..self.len).map(|row| row * self.inner);
        let kept = &mut self.kept[..self.len * VECTORS * V::LANES];
        let mut highest = [V::splat(f32::NEG_INFINITY); VECTORS];
        for (place, kept) in rows().zip(kept.chunks_exact_mut(VECTORS * V::LANES)) {
            for v in 0..VECTORS {
                // SAFETY: the caller's promise.
                let x = unsafe { at.read::<V>(place + v * V::LANES, count) };
                x.store(&mut kept[v * V::LANES..]);
                highest[v] = highest[v].max(x);
            }
        }
        let mut sums = [V::zero(); VECTORS];
        for kept in kept.chunks_exact_mut(VECTORS * V::LANES) {
            for v in 0..VECTORS {
                let x = V::load(&kept[v * V::LANES..]) - highest[v];
                let power = math::exp_below_one(x);
                let next = if kind == Softmax::Plain { power } else { x };
                next.store(&mut kept[v * V::LANES..]);
                sums[v] = sums[v] + power;
            }
        }
        let mut scales = [V::zero(); VECTORS];
        for v in 0..VECTORS {
            scales[v] = if kind == Softmax::Plain { V::splat(1.0) / sums[v] } else { math::log(sums[v]) };
        }
        for (place, kept) in rows().zip(kept.chunks_exact(VECTORS * V::LANES)) {
            for v in 0..VECTORS {
                let x = V::load(&kept[v * V::LANES..]);
                let y = if kind == Softmax::Plain { x * scales[v] } else { x - scales[v] };
                // SAFETY: the caller's promise.
                unsafe { store(y, at.out.wrapping_add(place + v * V::LANES), count) };
            }
        }
    }
}
