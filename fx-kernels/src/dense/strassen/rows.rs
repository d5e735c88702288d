//! A block of rows, in halves, and sums of these.

use super::{LOWER, PRODUCTS};
use crate::memory::{kept, prefetch};
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
            let row = |row: usize| if row < count { &data[row * stride..][..2 * half] } else { &[] };
            for (pair, to) in numbers.chunks_exact_mut(distance).enumerate() {
                let rows = |pair: usize| [row(pair), row(pairs + pair)];
                dispatch(level, Sums { rows: rows(pair), next: rows((pair + 1).min(pairs - 1)), to });
            }
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

/// Writes the sums of a pair of rows, the quarters if there is room for them, and the scales. The lower row may be empty.
struct Sums<'a> {
    rows: [&'a [f32]; 2],
    /// The next pair, which is asked for meanwhile.
    next: [&'a [f32]; 2],
    to: &'a mut [f32],
}

impl Kernel for Sums<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let [above, below] = self.rows;
        let half = above.len() / 2;
        let (parts, after) = self.to.split_at_mut(self.to.len() - AFTER);
        let ([up, upper], [down, lower]) = (scale::<V>(above, self.next[0]), scale::<V>(below, self.next[1]));
        after[..3].copy_from_slice(&[upper, lower, up]);
        let [up, down] = [V::splat(up), V::splat(down)];
        let count = parts.len() / half;
        let whole = half / V::LANES * V::LANES;
        for i in (0..whole).step_by(V::LANES) {
            let lower = |i: usize| if below.is_empty() { V::zero() } else { V::load(&below[i..]) };
            let quarters = [V::load(&above[i..]), V::load(&above[half + i..]), lower(i), lower(half + i)];
            for (part, x) in sums(quarters, up, down).into_iter().take(count).enumerate() {
                x.store(&mut parts[part * half + i..]);
            }
        }
        let rest = half - whole;
        if rest > 0 {
            let at = |row: &[f32], i: usize| if row.is_empty() { V::zero() } else { V::load_part(&row[i..i + rest]) };
            let quarters = [at(above, whole), at(above, half + whole), at(below, whole), at(below, half + whole)];
            for (part, x) in sums(quarters, up, down).into_iter().take(count).enumerate() {
                x.store_part(&mut parts[part * half + whole..][..rest]);
            }
        }
    }
}

/// A power of 2 that makes the largest number of a row as large as 1, nearly, and its inverse, 0 for a row of zeros; asks for
/// another row.
#[inline(always)]
fn scale<V: Vector<Elem = f32>>(row: &[f32], next: &[f32]) -> [f32; 2] {
    /// The bits of an f32 before the exponent, and the exponents that it and its inverse may have.
    const FRACTION: u32 = 23;
    const EXPONENTS: [u32; 2] = [1, 253];
    let mut most = V::zero();
    for (index, numbers) in row.chunks(V::LANES).enumerate() {
        prefetch(next.as_ptr().wrapping_add(index * V::LANES));
        most = most.max(V::load_part(numbers).abs());
    }
    let most = most.reduce(f32::max);
    let exponent = (most.to_bits() >> FRACTION).clamp(EXPONENTS[0], EXPONENTS[1]);
    let power = |exponent: u32| f32::from_bits(exponent << FRACTION);
    [power(254 - exponent), if most == 0.0 { 0.0 } else { power(exponent) }]
}

/// The sums of quarters of an upper and a lower row, with these scales, and the quarters that are multiplied as they are.
#[inline(always)]
fn sums<V: Vector<Elem = f32>>([a, b, c, d]: [V; 4], up: V, down: V) -> [V; PRODUCTS] {
    let (upper, lower) = ((a * up, b * up), (c * down, d * down));
    let first = lower.0 + lower.1;
    let second = first - upper.0;
    [first, second, upper.0 - lower.0, upper.1 - second, a, b, d]
}
