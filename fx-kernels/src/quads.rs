//! Numbers as whole ones of a range, and rows of them as words of four bytes each.

use crate::simd::{Kernel, Level, QuadKernel, Quads, Vector, dispatch, dispatch_quads};

/// How numbers are written as whole ones: `round(x / scale) + zero_point`, from `min` to `max`.
///
/// ```
/// use fx_kernels::Quantization;
///
/// let eight_bits = Quantization { scale: 0.5, zero_point: 3, min: 0, max: 255 };
/// let mut x = [0.6, -9.0, 1e9];
/// eight_bits.apply(&mut x);
/// assert_eq!(x, [0.5, -1.5, 126.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantization {
    /// The distance of neighbours.
    pub scale: f32,
    /// What stands for 0.
    pub zero_point: i32,
    /// The least.
    pub min: i32,
    /// The largest: at most 255 above the least.
    pub max: i32,
}

impl Quantization {
    /// Rounds numbers to those that can be written. NaN is written as 0, or what is nearest to it.
    pub fn apply(&self, x: &mut [f32]) {
        dispatch(Level::detect(), Apply(*self, x));
    }

    /// What stands for 0, counted from the least.
    pub(crate) fn zero(&self) -> i32 {
        self.zero_point - self.min
    }

    /// Four bytes that stand for 0 each.
    pub(crate) fn zeros(&self) -> f32 {
        f32::from_bits(u32::from_ne_bytes([self.zero() as u8; 4]))
    }

    /// Whole numbers of the range, counted from the least.
    #[inline(always)]
    fn round<V: Vector<Elem = f32>>(&self, x: V) -> V {
        let least = V::splat(self.min as f32);
        let whole = (x * V::splat(1.0 / self.scale)).round() + V::splat(self.zero_point as f32);
        let whole = V::select(whole.eq(whole), whole, V::zero());
        whole.max(least).min(V::splat(self.max as f32)) - least
    }
}

/// See [`Quantization::apply`].
struct Apply<'a>(Quantization, &'a mut [f32]);

impl Kernel for Apply<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        for x in self.1.chunks_mut(V::LANES) {
            let whole = self.0.round(V::load_part(x));
            ((whole - V::splat(self.0.zero() as f32)) * V::splat(self.0.scale)).store_part(x);
        }
    }
}

/// Writes the first `width` numbers of rows as words of four bytes without a sign, four neighbours each; after the last come
/// zeros. There are as many rows as there are places for, each `distance` words long.
///
/// # Panics
/// If the processor has no instruction for it, or there are too few numbers.
pub(crate) fn round_to_quads(
    quantization: Quantization,
    words: &mut [f32],
    distance: usize,
    numbers: &[f32],
    stride: usize,
    width: usize,
) {
    dispatch_quads(Round { quantization, words, distance, numbers, stride, width });
}

struct Round<'a> {
    quantization: Quantization,
    words: &'a mut [f32],
    distance: usize,
    numbers: &'a [f32],
    stride: usize,
    width: usize,
}

impl QuadKernel for Round<'_> {
    #[inline(always)]
    fn run<V: Quads>(self) {
        let (lanes, width) = (V::LANES, self.width);
        let round = |x: V| self.quantization.round(x);
        for (row, to) in self.words.chunks_exact_mut(self.distance).enumerate() {
            let from = &self.numbers[row * self.stride..][..width];
            for (to, from) in to[..width.div_ceil(4)].chunks_mut(lanes).zip(from.chunks(4 * lanes)) {
                let mut whole = [V::zero(); 4];
                for (place, whole) in whole.iter_mut().enumerate() {
                    let first = (place * lanes).min(from.len());
                    *whole = round(V::load_part(&from[first..]));
                }
                V::quads(whole).store_part(to);
            }
        }
    }
}
