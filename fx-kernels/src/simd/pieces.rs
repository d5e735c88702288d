//! Numbers as sums of three bf16, each of which has eight of an f32's bits.
//!
//! A matrix unit multiplies bf16 at sixteen times the rate at which vectors multiply f32, and adds up f32. Of two numbers that are such
//! sums there are nine products; those that count, together a number's 24 bits, are six. The other three are smaller than half of the
//! last bit's worth, which is a product's rounding error in f32.

use super::{PairKernel, Pairs, SIDE, dispatch_pairs};

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

/// Rows of numbers that are split, each number with the one below: vector by vector along two rows, then along the next two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Below {
    numbers: *const f32,
    words: *mut f32,
    /// From the words of one piece to those of the next.
    distance: usize,
    /// The vectors of a row, those of two rows that are done, and all that there are to do.
    width: usize,
    column: usize,
    left: usize,
}

impl Below {
    /// Nothing to split.
    pub(crate) const NOTHING: Self =
        Self { numbers: std::ptr::null(), words: std::ptr::null_mut(), distance: 0, width: 0, column: 0, left: 0 };

    /// Rows of `width` numbers that follow each other, whose words follow each other: those of the next piece begin `distance` after
    /// those of one.
    ///
    /// # Panics
    /// If the rows are no pairs of vectors of 16, or there are too few places.
    pub(crate) fn new(words: &mut [f32], distance: usize, numbers: &[f32], width: usize) -> Self {
        assert!(numbers.len().is_multiple_of(2 * width) && width.is_multiple_of(SIDE), "rows come in twos");
        assert!((PIECES - 1) * distance + numbers.len() / 2 <= words.len(), "there are too few places");
        let (width, left) = (width / SIDE, numbers.len() / (2 * SIDE));
        Self { numbers: numbers.as_ptr(), words: words.as_mut_ptr(), distance, width, column: 0, left }
    }

    /// How many vectors there are to split.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Splits so many of the vectors that are left.
    ///
    /// # Safety
    /// The numbers and the places must still be there, and nobody else use the latter.
    #[inline(always)]
    pub(crate) unsafe fn some<V: Pairs>(&mut self, count: usize) {
        let high_half = V::splat(f32::from_bits(0xffff_0000));
        for _ in 0..count.min(self.left) {
            // SAFETY: there are as many numbers, and as many places (seen as it was made).
            unsafe {
                let (mut low, mut high) = (V::load_at(self.numbers), V::load_at(self.numbers.add(self.width * SIDE)));
                for piece in 0..PIECES {
                    let words = V::joined(low, high);
                    words.store_at(self.words.add(piece * self.distance));
                    low = low - words.bits_up(16);
                    high = high - words.and(high_half);
                }
                (self.numbers, self.words) = (self.numbers.add(SIDE), self.words.add(SIDE));
            }
            (self.column, self.left) = (self.column + 1, self.left - 1);
            if self.column == self.width {
                // The row below is done too.
                self.numbers = self.numbers.wrapping_add(self.width * SIDE);
                self.column = 0;
            }
        }
    }

    /// Splits all that is left.
    ///
    /// # Safety
    /// As for [`some`](Self::some).
    ///
    /// # Panics
    /// If the processor has no instruction for it.
    pub(crate) unsafe fn all(self) {
        struct All(Below);
        impl PairKernel for All {
            #[inline(always)]
            fn run<V: Pairs>(mut self) {
                // SAFETY: the promise of who calls `all`.
                unsafe { self.0.some::<V>(self.0.left) };
            }
        }
        if self.left > 0 {
            dispatch_pairs(All(self));
        }
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
