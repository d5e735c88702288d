//! What the processor can do at most, to compare with.

use crate::simd::{Kernel, Level, Vector, dispatch};

/// Multiplies and adds in registers only, in `steps` rounds, and returns how many floating-point operations that took.
pub fn peak_flops(steps: usize) -> usize {
    /// Sums that do not wait for each other: more than a processor has in flight.
    const SUMS: usize = 14;
    struct Rounds(usize);
    impl Kernel for Rounds {
        type Elem = f32;
        type Output = usize;
        #[inline(always)]
        fn run<V: Vector<Elem = f32>>(self) -> usize {
            let factor = V::splat(0.5);
            let mut sums = [V::zero(); SUMS];
            for _ in 0..self.0 {
                sums.iter_mut().for_each(|sum| *sum = sum.mul_add(factor, factor));
            }
            std::hint::black_box(sums.into_iter().fold(V::zero(), |total, sum| total + sum).sum());
            2 * SUMS * V::LANES * self.0
        }
    }
    dispatch(Level::detect(), Rounds(steps))
}

/// Reads numbers at the speed of memory, and returns their sum.
pub fn read_all(numbers: &[f32]) -> f32 {
    /// Sums that do not wait for each other.
    const SUMS: usize = 8;
    struct Read<'a>(&'a [f32]);
    impl Kernel for Read<'_> {
        type Elem = f32;
        type Output = f32;
        #[inline(always)]
        fn run<V: Vector<Elem = f32>>(self) -> f32 {
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
    dispatch(Level::detect(), Read(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_read() {
        for len in [0, 1, 127, 128, 1000] {
            let numbers: Vec<f32> = (0..len).map(|i| i as f32).collect();
            assert_eq!(read_all(&numbers), (len * (len.max(1) - 1) / 2) as f32);
        }
        assert!(peak_flops(10) >= 10 * 2 * 14);
    }
}
