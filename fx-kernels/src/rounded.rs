//! Rows of numbers as words of several rounded ones.

use crate::pairs::round_pairs;
use crate::quantization::{Quantization, round_rows};
use crate::simd::{Level, has_bytes, has_pairs};

/// What numbers are rounded to where several neighbours are kept in a word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rounded {
    /// bf16, two to a word.
    Pairs,
    /// Whole numbers as bytes, four to a word: they count from the least of their range on.
    Bytes(Quantization),
}

impl Rounded {
    /// How many numbers are in a word.
    pub fn numbers(self) -> usize {
        match self {
            Self::Pairs => 2,
            Self::Bytes(_) => 4,
        }
    }

    /// How many words so many numbers are, if they are rounded, or how many numbers.
    pub(crate) fn len(rounded: Option<Self>, numbers: usize) -> usize {
        rounded.map_or(numbers, |rounded| numbers / rounded.numbers())
    }

    /// Whether this processor writes numbers so.
    pub fn is_written(self) -> bool {
        self.is_fast(Level::detect())
    }

    /// Whether numbers are written so with the vectors of a level.
    pub(crate) fn is_fast(self, level: Level) -> bool {
        match self {
            Self::Pairs => has_pairs(level),
            Self::Bytes(_) => has_bytes(level),
        }
    }

    /// Writes so many rows of so many numbers. Both begin at a place, and their rows are as far apart as is said.
    ///
    /// # Safety
    /// The numbers must be readable and the words writable.
    ///
    /// # Panics
    /// If the level's vectors [do not](Self::is_fast) write such.
    pub(crate) unsafe fn write(self, level: Level, to: (*mut f32, usize), from: (*const f32, usize), size: [usize; 2]) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Pairs => round_pairs(to, from, size),
                Self::Bytes(quantization) => round_rows((level, 4), quantization, to, from, size),
            }
        }
    }
}
