//! Numbers as sums of three bf16, each of which has eight of an f32's bits.
//!
//! A matrix unit multiplies bf16 at sixteen times the rate at which vectors multiply f32, and adds up f32. Of two numbers that are such
//! sums there are nine products; those that count, together a number's 24 bits, are six. The other three are smaller than half of the
//! last bit's worth, which is a product's rounding error in f32.

use std::ptr::{null, null_mut};

use super::{Meanwhile, PairKernel, Pairs, SIDE, dispatch_pairs};
use crate::memory::prefetch_far;

/// The bf16 that a number is the sum of.
pub(crate) const PIECES: usize = 3;

/// Which of them are multiplied: one of the left number and one of the right one. Next to each other, two products have one in common.
pub(crate) const PRODUCTS: [[usize; 2]; 6] = [[0, 2], [0, 0], [2, 0], [1, 0], [1, 1], [0, 1]];

/// Splits the first `width` numbers of rows that are `stride` apart, so many `each` time, in planes: first one for each piece of the first
/// numbers of all rows, then those of the next. They begin `plane` words apart, and have 16 words for a row; after the numbers' come zeros.
///
/// # Panics
/// If the processor has no instruction for it, or there are too few numbers or places.
pub(crate) fn split_rows(
    words: &mut [f32],
    plane: usize,
    each: usize,
    numbers: &[f32],
    stride: usize,
    [rows, width]: [usize; 2],
) {
    assert!((1..=2 * SIDE).contains(&each), "{each} numbers do not fit a plane's row");
    assert!(rows == 0 || (rows - 1) * stride + width <= numbers.len(), "there are too few numbers");
    let planes = PIECES * width.div_ceil(each);
    assert!(rows * planes == 0 || (planes - 1) * plane + rows * SIDE <= words.len(), "there are too few places");
    let (words, numbers) = (words.as_mut_ptr(), numbers.as_ptr());
    dispatch_pairs(Rows { words, plane, each, numbers, stride, size: [rows, width] });
}

/// Rows of numbers that are split, each number with the one below, while others are multiplied: some [vectors](Meanwhile::some) of them at a
/// time.
pub(crate) trait Splits: Meanwhile {
    /// Nothing to split.
    const NOTHING: Self;

    /// How many vectors there are to split.
    fn left(&self) -> usize;

    /// Splits all that is left.
    ///
    /// # Safety
    /// As for [`some`](Meanwhile::some).
    ///
    /// # Panics
    /// If the processor has no instruction for it.
    unsafe fn all(self) {
        struct All<S>(S);
        impl<S: Splits> PairKernel for All<S> {
            #[inline(always)]
            fn run<V: Pairs>(mut self) {
                // SAFETY: the promise of who calls `all`.
                unsafe { self.0.some::<V>(self.0.left()) };
            }
        }
        if self.left() > 0 {
            dispatch_pairs(All(self));
        }
    }
}

/// Places for the words of rows that are split: row after row, and those of the next piece so far after those of one.
#[derive(Clone, Copy, Debug)]
struct Places {
    words: *mut f32,
    distance: usize,
    /// The vectors of a row.
    width: usize,
}

impl Places {
    const NONE: Self = Self { words: null_mut(), distance: 0, width: 0 };

    /// Places for so many rows.
    ///
    /// # Panics
    /// If rows are no vectors of 16, or there are too few places.
    fn new(words: &mut [f32], distance: usize, rows: usize, width: usize) -> Self {
        assert!(rows.is_multiple_of(2) && width.is_multiple_of(SIDE), "rows come in twos");
        assert!((PIECES - 1) * distance + rows / 2 * width <= words.len(), "there are too few places");
        Self { words: words.as_mut_ptr(), distance, width: width / SIDE }
    }

    /// Splits a vector of a row, and that of the row below.
    ///
    /// # Safety
    /// So far from the next words there must be a place.
    #[inline(always)]
    unsafe fn write<V: Pairs>(&self, vector: usize, mut low: V, mut high: V) {
        let high_half = V::splat(f32::from_bits(0xffff_0000));
        for piece in 0..PIECES {
            let words = V::joined(low, high);
            // SAFETY: the caller's promise.
            unsafe { words.store_at(self.words.wrapping_add(piece * self.distance + vector * SIDE)) };
            low = low - words.bits_up(16);
            high = high - words.and(high_half);
        }
    }
}

/// Rows whose numbers lie side by side: vector by vector along two rows, then along the next two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Below {
    numbers: *const f32,
    /// From a row to the one below.
    stride: usize,
    /// How far from the numbers those are which are asked for.
    ahead: usize,
    places: Places,
    /// The vectors of two rows that are done, and all that there are to do.
    column: usize,
    left: usize,
}

impl Below {
    /// Rows of `width` numbers that are `stride` apart, whose words follow each other: those of the next piece begin `distance` after those of
    /// one. Meanwhile numbers that are so far `ahead` are asked for, if any are to be.
    ///
    /// # Panics
    /// If the rows are no pairs of vectors of 16, or there are too few numbers or places.
    pub(crate) fn new(
        words: &mut [f32],
        distance: usize,
        (numbers, stride): (&[f32], usize),
        [rows, width]: [usize; 2],
        ahead: usize,
    ) -> Self {
        assert!(rows == 0 || (rows - 1) * stride + width <= numbers.len(), "there are too few numbers");
        let places = Places::new(words, distance, rows, width);
        Self { numbers: numbers.as_ptr(), stride, ahead, places, column: 0, left: rows / 2 * places.width }
    }
}

impl Meanwhile for Below {
    #[inline(always)]
    unsafe fn some<V: Pairs>(&mut self, count: usize) {
        for _ in 0..count.min(self.left) {
            // SAFETY: there are as many numbers, and as many places (seen as it was made).
            unsafe {
                let (low, high) = (V::load_at(self.numbers), V::load_at(self.numbers.add(self.stride)));
                if self.ahead != 0 {
                    prefetch_far(self.numbers.wrapping_add(self.ahead));
                    prefetch_far(self.numbers.wrapping_add(self.ahead + self.stride));
                }
                self.places.write(0, low, high);
                (self.numbers, self.places.words) = (self.numbers.add(SIDE), self.places.words.add(SIDE));
            }
            (self.column, self.left) = (self.column + 1, self.left - 1);
            if self.column == self.places.width {
                // The row below is done too.
                self.numbers = self.numbers.wrapping_add(2 * self.stride).wrapping_sub(self.places.width * SIDE);
                self.column = 0;
            }
        }
    }
}

impl Splits for Below {
    const NOTHING: Self = Self { numbers: null(), stride: 0, ahead: 0, places: Places::NONE, column: 0, left: 0 };

    fn left(&self) -> usize {
        self.left
    }
}

/// Rows whose columns have their numbers side by side: four rows of a vector of columns at a time, then of the next vector, then the rows
/// below. Where columns displace each other in the first-level cache, all numbers of a vector's lines come before the next vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Across {
    numbers: *const f32,
    /// From a column to the next.
    stride: usize,
    places: Places,
    /// The vector of columns, the fours of its rows that are done, how many there are of each vector before the rows below, and at most.
    column: usize,
    four: usize,
    fours: usize,
    most: usize,
    left: usize,
}

/// The distances of columns of which every second has the place of another in the first-level cache.
const COLLIDING: usize = 512;

impl Across {
    /// Rows whose `width` columns are `stride` apart, as [`Below::new`].
    ///
    /// # Panics
    /// As there, or if rows do not come in fours.
    pub(crate) fn new(
        words: &mut [f32],
        distance: usize,
        (numbers, stride): (&[f32], usize),
        [rows, width]: [usize; 2],
    ) -> Self {
        assert!(rows.is_multiple_of(4), "rows come in fours");
        assert!(width == 0 || (width - 1) * stride + rows <= numbers.len(), "there are too few numbers");
        let places = Places::new(words, distance, rows, width);
        // The fours in a line of the cache.
        let most = if stride.is_multiple_of(COLLIDING) { SIDE / 4 } else { 1 };
        let (left, fours) = (rows / 4 * places.width, most.min(rows / 4));
        Self { numbers: numbers.as_ptr(), stride, places, column: 0, four: 0, fours, most, left }
    }
}

impl Meanwhile for Across {
    #[inline(always)]
    unsafe fn some<V: Pairs>(&mut self, count: usize) {
        for _ in 0..count.min(self.left) {
            let Places { width, .. } = self.places;
            // SAFETY: there are as many numbers, and as many places (seen as it was made).
            unsafe {
                let numbers = self.numbers.wrapping_add(self.column * SIDE * self.stride + 4 * self.four);
                let [a, b, c, d] = V::four_of_rows(numbers, self.stride);
                let vector = 2 * self.four * width + self.column;
                self.places.write(vector, a, b);
                self.places.write(vector + width, c, d);
            }
            (self.four, self.left) = (self.four + 1, self.left - 1);
            if self.four == self.fours {
                (self.four, self.column) = (0, self.column + 1);
            }
            if self.column == width {
                (self.numbers, self.column) = (self.numbers.wrapping_add(4 * self.fours), 0);
                self.places.words = self.places.words.wrapping_add(2 * self.fours * width * SIDE);
                self.fours = self.most.min(self.left.div_ceil(width));
            }
        }
    }
}

impl Splits for Across {
    const NOTHING: Self =
        Self { numbers: null(), stride: 0, places: Places::NONE, column: 0, four: 0, fours: 0, most: 0, left: 0 };

    fn left(&self) -> usize {
        self.left
    }
}

/// The nearest numbers of 8 bits; NaN where a number is infinite or larger than 2<sup>111</sup>.
#[inline(always)]
fn rounded<V: Pairs>(x: V) -> V {
    let scaled = x * V::splat(65537.0);
    scaled - (scaled - x)
}

struct Rows {
    words: *mut f32,
    plane: usize,
    each: usize,
    numbers: *const f32,
    stride: usize,
    size: [usize; 2],
}

impl PairKernel for Rows {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        let Self { words, plane, each, numbers, stride, size: [rows, width] } = self;
        // Some rows at a time, so that what is written lies in few pages.
        for rows in (0..rows).step_by(SIDE).map(|row| row..rows.min(row + SIDE)) {
            for (block, first) in (0..width).step_by(each).enumerate() {
                let count = each.min(width - first);
                for row in rows.clone() {
                    let from = numbers.wrapping_add(row * stride + first);
                    let mut to = words.wrapping_add(block * PIECES * plane + row * SIDE);
                    // SAFETY: there are as many numbers, and as many places (seen by who makes one).
                    unsafe {
                        let (mut low, mut high) = if count == 2 * V::LANES {
                            (V::load_at(from), V::load_at(from.add(V::LANES)))
                        } else {
                            let first = count.min(V::LANES);
                            (V::load_first(from, first), V::load_first(from.add(first), count - first))
                        };
                        for _ in 1..PIECES {
                            let [a, b] = [rounded(low), rounded(high)];
                            V::pairs(a, b).store_at(to);
                            (low, high) = (low - a, high - b);
                            to = to.wrapping_add(plane);
                        }
                        V::pairs(low, high).store_at(to);
                    }
                }
            }
        }
    }
}
