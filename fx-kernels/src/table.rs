//! Rows of a table at given places: embeddings, and sums of bags of them.
//!
//! The rows of a large table are in no cache, and where the next one is nobody can foresee: they are asked for ahead of their turn.

use std::ops::Range;

use crate::memory::{LINE, prefetch};
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::for_each_piece;

/// The bytes of rows that are on their way at a time. Measured: with a third of them, rows of 256 bytes take a twentieth to a third longer.
const AHEAD: usize = 6144;
/// The numbers that a task writes at least.
const TASK: usize = 16 * 1024;

/// Copies rows of a table of rows of `width` elements: `out` has one for each place.
///
/// ```
/// let mut out = [0; 4];
/// fx_kernels::table::gather(&mut out, &[1, 2, 3, 4, 5, 6], 2, &[2, 0]);
/// assert_eq!(out, [5, 6, 1, 2]);
/// ```
///
/// # Panics
/// If `out` has another length, or a row is not in the table.
pub fn gather<T: Copy + Send + Sync>(out: &mut [T], table: &[T], width: usize, rows: &[usize]) {
    assert_eq!(out.len(), rows.len() * width, "there is a row of {width} elements for each place");
    if width == 0 {
        return;
    }
    let each = (TASK / width).max(1);
    let work = out.len();
    for_each_piece(out, each * width, work, |task, out| {
        let ahead = Ahead { table, width, rows };
        for (index, out) in (task * each..).zip(out.chunks_exact_mut(width)) {
            ahead.ask(index);
            out.copy_from_slice(&table[rows[index] * width..][..width]);
        }
    });
}

/// Bags of rows of a table, which are added up.
#[derive(Clone, Copy, Debug)]
pub struct Bags<'a> {
    /// The rows of the table, one after the other.
    pub table: &'a [f32],
    /// The numbers of a row.
    pub width: usize,
    /// The rows of all bags.
    pub rows: &'a [usize],
    /// Where each bag begins and ends among them.
    pub bags: &'a [Range<usize>],
    /// What each of these rows is multiplied by.
    pub factors: Option<&'a [f32]>,
    /// Whether sums are divided by how many rows a bag has; one without rows is 0.
    pub is_mean: bool,
}

impl Bags<'_> {
    /// Writes the sum of each bag.
    ///
    /// ```
    /// use fx_kernels::table::Bags;
    ///
    /// let (table, bags) = ([1.0, 2.0, 3.0, 4.0], [0..2, 2..2, 2..3]);
    /// let bags = Bags { table: &table, width: 1, rows: &[0, 3, 2], bags: &bags, factors: None, is_mean: false };
    /// let mut out = [0.0; 3];
    /// bags.sum(&mut out);
    /// assert_eq!(out, [5.0, 0.0, 3.0]);
    /// ```
    ///
    /// # Panics
    /// If `out` has no row for each bag, or a row is not in the table or a factor missing.
    pub fn sum(&self, out: &mut [f32]) {
        self.sum_at(Level::detect(), out);
    }

    /// As [`sum`](Self::sum), with instructions of the given level.
    fn sum_at(&self, level: Level, out: &mut [f32]) {
        assert_eq!(out.len(), self.bags.len() * self.width, "there is a row of {} numbers for each bag", self.width);
        if self.width == 0 {
            return;
        }
        let each = (TASK / self.width).max(1);
        let work = 2 * self.rows.len() * self.width;
        for_each_piece(out, each * self.width, work, |task, out| {
            let bags = &self.bags[task * each..][..out.len() / self.width];
            dispatch(level, Sum { all: self, bags, out });
        });
    }
}

/// Rows that will be read.
struct Ahead<'a, T> {
    table: &'a [T],
    width: usize,
    rows: &'a [usize],
}

impl<T> Ahead<'_, T> {
    /// Asks for the row that is read some rows after this one.
    #[inline(always)]
    fn ask(&self, index: usize) {
        let bytes = self.width * size_of::<T>();
        // The processor foresees what follows in a long row.
        if bytes > AHEAD {
            return;
        }
        if let Some(row) = self.rows.get(index + AHEAD / bytes.max(1)) {
            let place = self.table.as_ptr().wrapping_add(row * self.width).cast::<f32>();
            (0..bytes).step_by(size_of::<f32>() * LINE).for_each(|byte| prefetch(place.wrapping_byte_add(byte)));
        }
    }
}

/// The sums of some bags.
struct Sum<'a> {
    all: &'a Bags<'a>,
    bags: &'a [Range<usize>],
    out: &'a mut [f32],
}

impl Kernel for Sum<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let &Bags { table, width, rows, factors, is_mean, .. } = self.all;
        let ahead = Ahead { table, width, rows };
        for (bag, out) in self.bags.iter().zip(self.out.chunks_exact_mut(width)) {
            let count = V::splat(if is_mean { bag.len().max(1) as f32 } else { 1.0 });
            out.fill(0.0);
            for index in bag.clone() {
                ahead.ask(index);
                let row = &table[rows[index] * width..][..width];
                let factor = V::splat(factors.map_or(1.0, |factors| factors[index]));
                for (out, row) in out.chunks_mut(V::LANES).zip(row.chunks(V::LANES)) {
                    (V::load_part(out) + V::load_part(row) * factor).store_part(out);
                }
            }
            if is_mean {
                out.chunks_mut(V::LANES).for_each(|out| (V::load_part(out) / count).store_part(out));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_levels_agree_with_the_definition() {
        for width in [1, 3, 16, 37, 64, 600] {
            let table: Vec<f32> = (0..100 * width).map(|i| (i * 37 % 101) as f32 / 8.0 - 6.0).collect();
            let rows: Vec<usize> = (0..150).map(|i| i * i * 7 % 100).collect();
            let factors: Vec<f32> = (0..150).map(|i| (i % 5) as f32 - 2.0).collect();
            let bags = [0..1, 1..1, 1..40, 40..149, 149..150, 150..150];
            for (factors, is_mean) in [(None, false), (None, true), (Some(&factors[..]), false)] {
                let all = Bags { table: &table, width, rows: &rows, bags: &bags, factors, is_mean };
                for level in Level::available() {
                    let mut out = vec![f32::NAN; bags.len() * width];
                    all.sum_at(level, &mut out);
                    for (index, got) in out.iter().enumerate() {
                        let (bag, column) = (&bags[index / width], index % width);
                        let number = |i: usize| table[rows[i] * width + column] * factors.map_or(1.0, |f| f[i]);
                        let sum: f32 = bag.clone().map(number).sum();
                        let want = if is_mean { sum / bag.len().max(1) as f32 } else { sum };
                        assert!((got - want).abs() < 1e-3, "{level:?} {width} at {index}: {got}, not {want}");
                    }
                }
            }
            let mut out = vec![f32::NAN; rows.len() * width];
            gather(&mut out, &table, width, &rows);
            let mut want = rows.iter().flat_map(|row| &table[row * width..][..width]);
            assert!(out.iter().eq(&mut want), "{width}");
        }
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn a_row_that_is_not_there() {
        gather(&mut [0.0; 2], &[1.0; 6], 2, &[3]);
    }
}
