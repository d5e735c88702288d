//! Rows of numbers as words of two bf16 each.

use crate::simd::{Kernel, Level, PairKernel, Pairs, Vector, dispatch, dispatch_pairs};

/// Rounds the first `width` numbers of rows, each with its neighbour; after an odd one comes 0. There are as many rows as
/// there are places for, each `distance` words long.
///
/// # Panics
/// If the processor has no instruction for it, or there are too few numbers.
pub(crate) fn round_to_pairs(words: &mut [f32], distance: usize, numbers: &[f32], stride: usize, width: usize) {
    let rows = words.len() / distance;
    assert!(width.div_ceil(2) <= distance, "{width} numbers do not fit {distance} words");
    assert!(rows == 0 || (rows - 1) * stride + width <= numbers.len(), "there are too few numbers");
    // SAFETY: there are as many numbers, and as many places (just seen).
    unsafe { round_pairs((words.as_mut_ptr(), distance), (numbers.as_ptr(), stride), [rows, width]) };
}

/// As [`round_to_pairs`], of so many rows of so many numbers.
///
/// # Safety
/// The numbers must be readable and the words writable: at each place so many rows, as far apart as is said.
///
/// # Panics
/// If the processor has no instruction for it.
pub(crate) unsafe fn round_pairs(to: (*mut f32, usize), from: (*const f32, usize), [rows, width]: [usize; 2]) {
    dispatch_pairs(Round { to, from, rows, width });
}

/// Rounds the first `width` numbers of `count` rows, each with the one below; below an odd row are zeros. The words of two rows
/// follow on those of the two before.
///
/// # Panics
/// As [`round_to_pairs`], or if there is too little room.
pub(crate) fn round_below(words: &mut [f32], numbers: &[f32], stride: usize, [count, width]: [usize; 2]) {
    dispatch_pairs(Below { words, numbers, stride, count, width });
}

/// Writes the numbers of so many rows of words, twice as many as there are words in each.
///
/// # Safety
/// As for [`round_pairs`], which does the opposite.
pub(crate) unsafe fn widen_pairs(level: Level, to: (*mut f32, usize), from: (*const f32, usize), size: [usize; 2]) {
    dispatch(level, Widen { to, from, size });
}

struct Widen {
    to: (*mut f32, usize),
    from: (*const f32, usize),
    size: [usize; 2],
}

impl Kernel for Widen {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Self { to, from, size: [rows, width] } = self;
        for row in 0..rows {
            let (from, to) = (from.0.wrapping_add(row * from.1), to.0.wrapping_add(row * to.1));
            let (from, whole) = (from.cast::<u16>(), width - width % V::LANES);
            // SAFETY: who makes one gives places for so many words and numbers.
            unsafe {
                let mut first = 0;
                while first < whole {
                    V::load_bf16(from.add(first)).store_at(to.add(first));
                    first += V::LANES;
                }
                if whole < width {
                    let rest = width - whole;
                    V::load_bf16_first(from.add(whole), rest).store_first(to.add(whole), rest);
                }
            }
        }
    }
}

struct Round {
    to: (*mut f32, usize),
    from: (*const f32, usize),
    rows: usize,
    width: usize,
}

impl PairKernel for Round {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        let Self { to, from, rows, width } = self;
        let whole = width - width % (2 * V::LANES);
        for row in 0..rows {
            let (from, to) = (from.0.wrapping_add(row * from.1), to.0.wrapping_add(row * to.1));
            // SAFETY: who makes one gives places for so many numbers and words.
            unsafe {
                let mut first = 0;
                while first < whole {
                    let from = from.add(first);
                    V::pairs(V::load_at(from), V::load_at(from.add(V::LANES))).store_at(to.add(first / 2));
                    first += 2 * V::LANES;
                }
                if whole < width {
                    let (from, rest) = (from.add(whole), width - whole);
                    let low = rest.min(V::LANES);
                    let numbers = V::pairs(V::load_first(from, low), V::load_first(from.add(low), rest - low));
                    numbers.store_first(to.add(whole / 2), rest.div_ceil(2));
                }
            }
        }
    }
}

struct Below<'a> {
    words: &'a mut [f32],
    numbers: &'a [f32],
    stride: usize,
    count: usize,
    width: usize,
}

impl PairKernel for Below<'_> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        let (lanes, width) = (V::LANES, self.width);
        if width == 0 {
            return;
        }
        for (index, to) in self.words[..self.count.div_ceil(2) * width].chunks_exact_mut(width).enumerate() {
            let (first, second) = (2 * index, 2 * index + 1);
            let low = &self.numbers[first * self.stride..][..width];
            let high = if second < self.count { &self.numbers[second * self.stride..][..width] } else { &[] };
            for (place, to) in to.chunks_mut(lanes).enumerate() {
                let high = if high.is_empty() { high } else { &high[place * lanes..] };
                V::joined(V::load_part(&low[place * lanes..]), V::load_part(high)).store_part(to);
            }
        }
    }
}
