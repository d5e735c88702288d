//! What the processor can do at most, to compare with.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::memory::zeroed;
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::for_each;

/// The floating-point operations a second of so many threads, at best: f32 products and sums in registers only. Measured in a
/// few milliseconds.
pub fn peak_flops(threads: usize) -> f64 {
    const STEPS: usize = 20_000;
    best_rate(40, || {
        let done = AtomicUsize::new(0);
        for_each(threads, usize::MAX, |_| {
            done.fetch_add(dispatch(Level::detect(), Rounds(black_box(STEPS))), Ordering::Relaxed);
        });
        done.into_inner()
    })
}

/// The bytes a second that so many threads read, at best, from memory that is in no cache. Measured in some 0.1 s, with 128 MiB.
pub fn peak_bandwidth(threads: usize) -> f64 {
    /// More than most caches hold.
    const NUMBERS: usize = 32 << 20;
    let mut memory = zeroed(NUMBERS);
    // Pages that were never written are all the same zeros.
    memory.fill(1.0);
    let part = NUMBERS.div_ceil(threads.max(1));
    best_rate(5, || {
        for_each(threads, usize::MAX, |index| {
            let part = &memory[(index * part).min(NUMBERS)..((index + 1) * part).min(NUMBERS)];
            black_box(dispatch(Level::detect(), Read(part)));
        });
        size_of_val(memory.as_slice())
    })
}

/// The highest rate of some rounds, each of which says how much it did: others use the machine too.
fn best_rate(rounds: usize, round: impl Fn() -> usize) -> f64 {
    let rates = (0..rounds).map(|_| {
        let start = Instant::now();
        let done = round();
        done as f64 / start.elapsed().as_secs_f64()
    });
    rates.fold(0.0, f64::max)
}

/// Multiplies and adds in registers only, in so many rounds, and returns how many operations that took.
struct Rounds(usize);

impl Kernel for Rounds {
    type Elem = f32;
    type Output = usize;

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) -> usize {
        /// Sums that do not wait for each other: more than a processor has in flight.
        const SUMS: usize = 14;
        let factor = V::splat(0.5);
        let mut sums = [V::zero(); SUMS];
        for _ in 0..self.0 {
            sums.iter_mut().for_each(|sum| *sum = sum.mul_add(factor, factor));
        }
        black_box(sums.into_iter().fold(V::zero(), |total, sum| total + sum).sum());
        2 * SUMS * V::LANES * self.0
    }
}

/// Reads numbers at the speed of memory, and returns their sum.
struct Read<'a>(&'a [f32]);

impl Kernel for Read<'_> {
    type Elem = f32;
    type Output = f32;

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) -> f32 {
        /// Sums that do not wait for each other.
        const SUMS: usize = 8;
        let mut sums = [V::zero(); SUMS];
        let mut parts = self.0.chunks_exact(SUMS * V::LANES);
        for part in &mut parts {
            for (sum, from) in sums.iter_mut().zip(part.chunks_exact(V::LANES)) {
                *sum = *sum + V::load(from);
            }
        }
        let whole = sums.into_iter().fold(V::zero(), |total, sum| total + sum).sum();
        parts.remainder().iter().fold(whole, |total, x| total + x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_read() {
        for level in Level::available() {
            for len in [0, 1, 127, 128, 1000] {
                let numbers: Vec<f32> = (0..len).map(|i| i as f32).collect();
                assert_eq!(dispatch(level, Read(&numbers)), (len * (len.max(1) - 1) / 2) as f32);
            }
        }
    }
}
