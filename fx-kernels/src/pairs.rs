//! Rows of numbers as words of two bf16 each.

use crate::simd::{PairKernel, Pairs, dispatch_pairs};

/// Rounds the first `width` numbers of rows, each with its neighbour; after an odd one comes 0. There are as many rows as
/// there are places for, each `distance` words long.
///
/// # Panics
/// If the processor has no instruction for it, or there are too few numbers.
pub(crate) fn round_to_pairs(words: &mut [f32], distance: usize, numbers: &[f32], stride: usize, width: usize) {
    dispatch_pairs(Round { words, distance, numbers, stride, width });
}

/// Rounds the first `width` numbers of `count` rows, each with the one below; below an odd row are zeros. The words of two rows
/// follow on those of the two before.
///
/// # Panics
/// As [`round_to_pairs`], or if there is too little room.
pub(crate) fn round_below(words: &mut [f32], numbers: &[f32], stride: usize, [count, width]: [usize; 2]) {
    dispatch_pairs(Below { words, numbers, stride, count, width });
}

struct Round<'a> {
    words: &'a mut [f32],
    distance: usize,
    numbers: &'a [f32],
    stride: usize,
    width: usize,
}

impl PairKernel for Round<'_> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        let (lanes, width) = (V::LANES, self.width);
        let whole = width / (2 * lanes);
        for (row, to) in self.words.chunks_exact_mut(self.distance).enumerate() {
            let from = &self.numbers[row * self.stride..][..width];
            let (to, last) = to[..width.div_ceil(2)].split_at_mut(whole * lanes);
            let (from, rest) = from.split_at(2 * whole * lanes);
            for (to, from) in to.chunks_exact_mut(lanes).zip(from.chunks_exact(2 * lanes)) {
                V::pairs(V::load(from), V::load(&from[lanes..])).store(to);
            }
            if !last.is_empty() {
                let (low, high) = rest.split_at(rest.len().min(lanes));
                V::pairs(V::load_part(low), V::load_part(high)).store_part(last);
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
