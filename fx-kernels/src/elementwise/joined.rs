//! Rows of several operands side by side.

use crate::pairs::widen_pairs;
use crate::simd::{Kernel, Level, Vector, dispatch};

/// Rows that stand beside those of others, without gaps.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The elements, or words of two bf16 each.
    pub x: &'a [f32],
    /// The elements of a row: an even number of pairs.
    pub row: usize,
    /// Whether they are pairs.
    pub pairs: bool,
}

impl Part<'_> {
    /// Whether there are so many rows, of whole words.
    pub(super) fn has(&self, rows: usize) -> bool {
        let words = if self.pairs { 2 } else { 1 };
        self.row.is_multiple_of(words) && self.x.len() >= rows * self.row / words
    }

    /// Writes some elements of neighbouring rows from an element on to rows that begin `distance` apart.
    ///
    /// # Safety
    /// They must be there, and the rows writable. Of pairs they are whole words.
    unsafe fn write(&self, level: Level, to: (*mut f32, usize), first: usize, [rows, len]: [usize; 2]) {
        match self.pairs {
            // SAFETY: the caller's promise.
            true => unsafe { widen_pairs(level, to, (self.x[first / 2..].as_ptr(), self.row / 2), [rows, len]) },
            false => dispatch(level, Rows { to, from: (self.x[first..].as_ptr(), self.row), rows, len }),
        }
    }
}

/// The elements of a row of all parts.
pub(super) fn row(parts: &[Part<'_>]) -> usize {
    parts.iter().map(|part| part.row).sum()
}

/// Writes so many elements of such rows to `to`, from the `start`-th on: whole words of pairs.
///
/// # Safety
/// They must be there, and `to` writable for as many.
pub(super) unsafe fn join(level: Level, to: *mut f32, parts: &[Part<'_>], start: usize, len: usize) {
    let all = row(parts);
    let (mut index, mut first, mut done) = (start / all, start % all, 0);
    while done < len {
        // Whole rows, or what is left of one.
        let rows = if first == 0 { ((len - done) / all).max(1) } else { 1 };
        let end = all.min(first + len - done);
        let (mut begin, mut written) = (0, 0);
        for part in parts {
            let [from, until] = [first, end].map(|place| place.clamp(begin, begin + part.row) - begin);
            if from < until {
                let to = (to.wrapping_add(done + written), all);
                // SAFETY: the caller's promise.
                unsafe { part.write(level, to, index * part.row + from, [rows, until - from]) };
                written += until - from;
            }
            begin += part.row;
        }
        (index, first, done) = (index + rows, 0, done + (rows - 1) * all + written);
    }
}

/// Copies rows of so many elements, which begin as far apart as is said.
struct Rows {
    to: (*mut f32, usize),
    from: (*const f32, usize),
    rows: usize,
    len: usize,
}

impl Kernel for Rows {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Self { to, from, rows, len } = self;
        for row in 0..rows {
            let (to, from) = (to.0.wrapping_add(row * to.1), from.0.wrapping_add(row * from.1));
            let mut done = 0;
            while done + V::LANES <= len {
                // SAFETY: who makes one has so many elements, and room for them.
                unsafe { V::load_at(from.add(done)).store_at(to.add(done)) };
                done += V::LANES;
            }
            if done < len {
                // SAFETY: as above.
                unsafe { V::load_first(from.add(done), len - done).store_first(to.add(done), len - done) };
            }
        }
    }
}
