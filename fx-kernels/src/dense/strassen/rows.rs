//! A block of rows, in halves, and sums of these.

use super::{LOWER, PRODUCTS};
use crate::memory::kept;
use crate::simd::{Kernel, Level, Vector, dispatch};

/// The sums of quarters, of which there are four; the quarters themselves come after them, where they are copied.
const SUMS: usize = 4;
/// The numbers after those of a pair of rows: its scales. They also keep rows from displacing each other in the cache.
const AFTER: usize = 16;

/// Rows that are multiplied: what the parts of each pair of them are.
///
/// The first two parts are the halves of the upper row, the third is the second half of the lower row, and the others are sums.
pub(super) struct Rows<'a> {
    /// The rows, and their distance.
    data: &'a [f32],
    stride: usize,
    /// How many there are; the lower half may have one less.
    count: usize,
    /// Half of their length.
    half: usize,
    /// Whether the quarters are copied, as those of rows that would displace each other in the cache.
    copied: bool,
    /// What [`Sums`] wrote for each pair.
    numbers: &'a [f32],
}

impl<'a> Rows<'a> {
    /// Lends so many rows, of twice the length `half`, with the sums that the thread kept if its last rows had the same key,
    /// and copies of quarters if they are to be `copied`.
    pub(super) fn with(
        level: Level,
        key: (u64, usize),
        (data, stride): (&'a [f32], usize),
        count: usize,
        half: usize,
        copied: bool,
        f: impl FnOnce(&Rows<'_>),
    ) {
        let (pairs, distance) = (count.div_ceil(2), Self::distance(half, copied));
        let write = |numbers: &mut [f32]| {
            dispatch(level, Sums { data, stride, count, half, distance, numbers });
        };
        kept(key, pairs * distance, write, |numbers| f(&Rows { data, stride, count, half, copied, numbers }));
    }

    /// How many numbers [`Sums`] writes for a pair of rows.
    fn distance(half: usize, copied: bool) -> usize {
        (if copied { PRODUCTS } else { SUMS }) * half + AFTER
    }

    /// Half of the rows' length.
    pub(super) fn half(&self) -> usize {
        self.half
    }

    /// The pairs of rows.
    pub(super) fn pairs(&self) -> usize {
        self.count.div_ceil(2)
    }

    /// How many pairs have a part.
    pub(super) fn count(&self, part: usize) -> usize {
        if part == LOWER { self.count / 2 } else { self.pairs() }
    }

    /// Where a part of the first pair is, and the distance of the next pair's.
    pub(super) fn part(&self, part: usize) -> (*const f32, usize) {
        const QUARTERS: usize = PRODUCTS - SUMS;
        match part {
            0..QUARTERS if !self.copied => {
                let row = if part == LOWER { self.pairs() } else { 0 };
                let column = if part == 0 { 0 } else { self.half };
                (self.data.as_ptr().wrapping_add(row * self.stride + column), self.stride)
            }
            _ => {
                let place = if part < QUARTERS { part + SUMS } else { part - QUARTERS };
                (self.numbers.as_ptr().wrapping_add(place * self.half), Self::distance(self.half, self.copied))
            }
        }
    }

    /// What a pair's sums of products are multiplied with, for the upper and the lower row, and what makes a product of the
    /// upper row one of the sums' size.
    #[inline(always)]
    pub(super) fn scales<V: Vector<Elem = f32>>(&self, pair: usize) -> [V; 3] {
        let scales = &self.numbers[(pair + 1) * Self::distance(self.half, self.copied) - AFTER..];
        [V::splat(scales[0]), V::splat(scales[1]), V::splat(scales[2])]
    }
}

/// Writes the sums of each pair of rows, the quarters if there is room for them, and the scales.
struct Sums<'a> {
    data: &'a [f32],
    stride: usize,
    count: usize,
    half: usize,
    /// The numbers for each pair.
    distance: usize,
    numbers: &'a mut [f32],
}

impl Sums<'_> {
    /// The rows of a pair; the lower one may be empty.
    #[inline(always)]
    fn rows(&self, pair: usize) -> [&[f32]; 2] {
        let pairs = self.count.div_ceil(2);
        let row = |row: usize| if row < self.count { &self.data[row * self.stride..][..2 * self.half] } else { &[] };
        [row(pair), row(pairs + pair)]
    }

    #[inline(always)]
    fn scales<V: Vector<Elem = f32>>(&self, pair: usize) -> [(f32, f32); 2] {
        let [above, below] = self.rows(pair);
        [scale::<V>(above), scale::<V>(below)]
    }
}

impl Kernel for Sums<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(mut self) {
        let numbers = std::mem::take(&mut self.numbers);
        let (half, pairs) = (self.half, self.count.div_ceil(2));
        let whole = half / V::LANES * V::LANES;
        let rest = half - whole;
        let mut next = self.scales::<V>(0);
        for (pair, numbers) in numbers.chunks_exact_mut(self.distance).enumerate() {
            let ([above, below], [(up, upper), (down, lower)]) = (self.rows(pair), next);
            // Before the sums, which do not wait for it.
            next = self.scales::<V>((pair + 1).min(pairs - 1));
            let (parts, after) = numbers.split_at_mut(self.distance - AFTER);
            after[..3].copy_from_slice(&[upper, lower, up]);
            let [up, down] = [V::splat(up), V::splat(down)];
            let count = parts.len() / half;
            for i in (0..whole).step_by(V::LANES) {
                let lower = |i: usize| if below.is_empty() { V::zero() } else { V::load(&below[i..]) };
                let quarters = [V::load(&above[i..]), V::load(&above[half + i..]), lower(i), lower(half + i)];
                for (part, x) in sums(quarters, up, down).into_iter().take(count).enumerate() {
                    x.store(&mut parts[part * half + i..]);
                }
            }
            if rest > 0 {
                let at =
                    |row: &[f32], i: usize| if row.is_empty() { V::zero() } else { V::load_part(&row[i..i + rest]) };
                let quarters = [at(above, whole), at(above, half + whole), at(below, whole), at(below, half + whole)];
                for (part, x) in sums(quarters, up, down).into_iter().take(count).enumerate() {
                    x.store_part(&mut parts[part * half + whole..][..rest]);
                }
            }
        }
    }
}

/// A power of 2 that makes the largest number of a row as large as 1, nearly, and its inverse, 0 for a row of zeros.
#[inline(always)]
fn scale<V: Vector<Elem = f32>>(row: &[f32]) -> (f32, f32) {
    /// The bits of an f32 before the exponent, and the exponents that it and its inverse may have.
    const FRACTION: u32 = 23;
    const EXPONENTS: [u32; 2] = [1, 253];
    /// What is looked at side by side, so that one does not wait for the other.
    const SIDES: usize = 4;
    let mut most = [V::zero(); SIDES];
    let (all, rest) = row.split_at(row.len() / (SIDES * V::LANES) * (SIDES * V::LANES));
    for numbers in all.chunks_exact(SIDES * V::LANES) {
        for (side, most) in most.iter_mut().enumerate() {
            *most = most.max(V::load(&numbers[side * V::LANES..]).abs());
        }
    }
    for numbers in rest.chunks(V::LANES) {
        most[0] = most[0].max(V::load_part(numbers).abs());
    }
    let most = most[0].max(most[1]).max(most[2].max(most[3])).reduce(f32::max);
    let exponent = (most.to_bits() >> FRACTION).clamp(EXPONENTS[0], EXPONENTS[1]);
    let power = |exponent: u32| f32::from_bits(exponent << FRACTION);
    (power(254 - exponent), if most == 0.0 { 0.0 } else { power(exponent) })
}

/// The sums of quarters of an upper and a lower row, with these scales, and the quarters that are multiplied as they are.
#[inline(always)]
fn sums<V: Vector<Elem = f32>>([a, b, c, d]: [V; 4], up: V, down: V) -> [V; PRODUCTS] {
    let (upper, lower) = ((a * up, b * up), (c * down, d * down));
    let first = lower.0 + lower.1;
    let second = first - upper.0;
    [first, second, upper.0 - lower.0, upper.1 - second, a, b, d]
}
