//! What the processor can do at most, for benchmarks to compare with.

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
