//! Sums of squares, in f64.

use crate::conversion::wide;
use crate::simd::{Kernel, Level, Vector, dispatch};

/// The sum of the squares of how far numbers are from one, in f64 and in several parts.
///
/// ```
/// assert_eq!(fx_kernels::rows::squares(&[1.0, 2.0, 6.0], 3.0), 14.0);
/// assert_eq!(fx_kernels::rows::squares(&[3e30_f32, 4e30], 0.0).sqrt() as f32, 5e30);
/// ```
pub fn squares<T: Copy + Into<f64>>(row: &[T], from: f64) -> f64 {
    squares_at(Level::detect(), row, from)
}

/// As [`squares`], with instructions of the given level.
pub(super) fn squares_at<T: Copy + Into<f64>>(level: Level, row: &[T], from: f64) -> f64 {
    dispatch(level, Squares { row, from })
}

struct Squares<'a, T> {
    row: &'a [T],
    from: f64,
}

impl<T: Copy + Into<f64>> Kernel for Squares<'_, T> {
    type Elem = f64;
    type Output = f64;

    #[inline(always)]
    fn run<V: Vector<Elem = f64>>(self) -> f64 {
        const PARTS: usize = 4;
        let Self { row, from } = self;
        let (mut parts, middle) = ([V::zero(); PARTS], V::splat(from));
        let (whole, rest) = row.split_at(row.len() / (PARTS * V::LANES) * PARTS * V::LANES);
        for some in whole.chunks_exact(PARTS * V::LANES) {
            for part in 0..PARTS {
                let distance = wide::<V, T>(&some[part * V::LANES..][..V::LANES]) - middle;
                parts[part] = distance.mul_add(distance, parts[part]);
            }
        }
        let [a, b, c, d] = parts;
        let rest: f64 = rest.iter().map(|x| ((*x).into() - from).powi(2)).sum();
        ((a + b) + (c + d)).sum() + rest
    }
}
