//! Where the numbers of a weight come from as they are packed.

use std::fmt;
use std::ops::Range;

use crate::memory::scratch;
use crate::threads::for_each_piece;

/// The numbers of a weight in PyTorch's layout: a row for each output.
#[derive(Clone, Copy)]
pub enum Weight<'a> {
    /// The rows, one after the other.
    Numbers(&'a [f32]),
    /// What writes the numbers of some rows. It is called for a few rows at a time, by several threads, so that a weight
    /// that is read from a file is never in memory as a whole.
    Rows(&'a (dyn Fn(Range<usize>, &mut [f32]) + Sync)),
}

impl Weight<'_> {
    /// Some rows of so many numbers each.
    ///
    /// # Panics
    /// If there are fewer rows in memory.
    pub(crate) fn with_rows<R>(&self, rows: Range<usize>, len: usize, f: impl FnOnce(&[f32]) -> R) -> R {
        match self {
            Self::Numbers(numbers) => f(&numbers[rows.start * len..rows.end * len]),
            Self::Rows(read) => scratch(rows.len() * len, |numbers| {
                read(rows, numbers);
                f(numbers)
            }),
        }
    }

    /// So many rows of so many numbers, if they are not in memory.
    pub(crate) fn made(&self, rows: usize, len: usize) -> Option<Vec<f32>> {
        /// The parts that make a fair share for each of a few threads likely.
        const PARTS: usize = 16;
        let Self::Rows(read) = self else { return None };
        let mut numbers = vec![0.0; rows * len];
        let (some, work) = (rows.div_ceil(PARTS).max(1), 16 * numbers.len());
        for_each_piece(&mut numbers, some * len.max(1), work, |index, numbers| {
            read(index * some..rows.min((index + 1) * some), numbers);
        });
        Some(numbers)
    }

    /// Checks that there are so many rows of so many numbers, as far as that is known.
    ///
    /// # Panics
    /// If there are not.
    pub(crate) fn check(&self, rows: usize, len: usize) {
        if let Self::Numbers(numbers) = self {
            assert_eq!(numbers.len(), rows * len, "the weight has {rows} rows of {len} numbers");
        }
    }

    /// Parts of some rows of so many numbers each that take little memory at a time.
    pub(crate) fn few(&self, rows: Range<usize>, len: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        /// The numbers of a part, and its fewest rows: as many fill half a line of a panel.
        const NUMBERS: usize = 128 * 1024;
        const FEWEST: usize = 8;
        let most = match self {
            Self::Numbers(_) => rows.len(),
            Self::Rows(_) => (NUMBERS / len.max(1) + 1).next_multiple_of(FEWEST),
        };
        rows.clone().step_by(most.max(1)).map(move |first| first..rows.end.min(first + most))
    }

    /// Whether all numbers of so many rows are such.
    pub(crate) fn all(&self, rows: usize, len: usize, is_such: impl Fn(f32) -> bool) -> bool {
        self.few(0..rows, len).all(|rows| self.with_rows(rows, len, |numbers| numbers.iter().all(|x| is_such(*x))))
    }
}

impl fmt::Debug for Weight<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers(numbers) => write!(f, "Numbers({})", numbers.len()),
            Self::Rows(_) => f.write_str("Rows"),
        }
    }
}

/// The weights of an output, or of all channels that are on their own, all channels of a tap after those of the tap before; in PyTorch's
/// layout all taps of a channel follow each other.
pub(crate) fn by_tap(numbers: &[f32], channels: usize) -> impl Iterator<Item = f32> {
    let taps = numbers.len() / channels.max(1);
    (0..numbers.len()).map(move |i| numbers[i % channels * taps + i / channels])
}
