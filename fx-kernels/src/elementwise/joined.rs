//! Rows of several operands side by side.

use crate::copy::copy_rows;
use crate::pairs::widen_pairs;
use crate::simd::Level;

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
        let Self { x, row, pairs } = *self;
        // SAFETY: the caller's promise.
        unsafe {
            match pairs {
                true => widen_pairs(level, to, (x[first / 2..].as_ptr(), row / 2), [rows, len]),
                false => copy_rows(level, to, (x[first..].as_ptr(), row), [rows, len]),
            }
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
