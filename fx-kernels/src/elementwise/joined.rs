//! Rows of several operands side by side.

use crate::simd::{Kernel, Level, Vector, dispatch, load};

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

    /// Writes some elements of neighbouring rows from an element on to rows that begin `distance` apart, as `then` makes them of a vector at a place and
    /// how much of it counts.
    ///
    /// # Safety
    /// They must be there, and the rows writable. Of pairs they are whole words.
    #[inline(always)]
    unsafe fn write<V: Vector<Elem = f32>>(
        &self,
        (to, distance): (*mut f32, usize),
        first: usize,
        [rows, len]: [usize; 2],
        then: impl Fn(V, usize, usize) -> V,
    ) {
        let (numbers, halves) = (self.x.as_ptr(), self.x.as_ptr().cast::<u16>());
        let whole = len - len % V::LANES;
        for index in 0..rows {
            let (to, first) = (to.wrapping_add(index * distance), first + index * self.row);
            let mut place = 0;
            // SAFETY: the caller's promise.
            unsafe {
                while place < whole {
                    let from = first + place;
                    let x = if self.pairs { V::load_bf16(halves.add(from)) } else { V::load_at(numbers.add(from)) };
                    then(x, place, V::LANES).store_at(to.add(place));
                    place += V::LANES;
                }
                if whole < len {
                    let (from, rest) = (first + whole, len - whole);
                    let x = match self.pairs {
                        true => V::load_bf16_first(halves.add(from), rest),
                        false => V::load_first(numbers.add(from), rest),
                    };
                    then(x, whole, rest).store_first(to.add(whole), rest);
                }
            }
        }
    }
}

/// What is made of the numbers of rows: each column times a number and another added, and nothing less than 0 if so.
#[derive(Clone, Copy)]
pub(super) struct Scale<'a> {
    /// What columns are multiplied by, and what is added.
    pub(super) by: [&'a [f32]; 2],
    /// Whether what is less than 0 becomes 0.
    pub(super) relu: bool,
}

/// The elements of a row of all parts.
pub(super) fn row(parts: &[Part<'_>]) -> usize {
    parts.iter().map(|part| part.row).sum()
}

/// Writes so many elements of such rows to `to`, from the `start`-th on: whole words of pairs; or what is made of them.
///
/// # Safety
/// They must be there, as what columns are scaled by, and `to` writable for as many.
pub(super) unsafe fn join(
    level: Level,
    to: *mut f32,
    parts: &[Part<'_>],
    [start, len]: [usize; 2],
    scale: Option<Scale<'_>>,
) {
    dispatch(level, Join { to, parts, start, len, scale });
}

/// All parts at once: each has few vectors of a row.
struct Join<'a> {
    to: *mut f32,
    parts: &'a [Part<'a>],
    start: usize,
    len: usize,
    scale: Option<Scale<'a>>,
}

impl Kernel for Join<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Some(Scale { by: [scale, shift], relu }) = self.scale else {
            return self.each::<V>(|x, _, _| x);
        };
        let scaled = |x: V, column: usize, count: usize| {
            // SAFETY: there are as many as a row has columns.
            unsafe {
                let scale = load::<V>(scale.as_ptr().add(column), count);
                x.mul_add(scale, load(shift.as_ptr().add(column), count))
            }
        };
        match relu {
            true => self.each::<V>(|x, column, count| V::zero().max(scaled(x, column, count))),
            false => self.each::<V>(scaled),
        }
    }
}

impl Join<'_> {
    /// Writes what is made of each vector, of which the first elements count, from a column on.
    #[inline(always)]
    fn each<V: Vector<Elem = f32>>(&self, make: impl Fn(V, usize, usize) -> V) {
        let Self { to, parts, start, len, .. } = *self;
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
                    let (to, column) = ((to.wrapping_add(done + written), all), begin + from);
                    let then = |x: V, place: usize, count: usize| make(x, column + place, count);
                    // SAFETY: who joins parts has so many elements, and places for them.
                    unsafe { part.write::<V>(to, index * part.row + from, [rows, until - from], then) };
                    written += until - from;
                }
                begin += part.row;
            }
            (index, first, done) = (index + rows, 0, done + (rows - 1) * all + written);
        }
    }
}
