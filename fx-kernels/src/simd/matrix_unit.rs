//! Registers that hold matrices of words, and the products of these: AMX, which Intel's processors have.

use std::marker::PhantomData;

use super::{Pairs, Splits};

#[cfg(test)]
mod model;

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
use super::x86::amx;
/// What there is of AMX elsewhere.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
mod amx {
    pub(super) fn is_granted() -> bool {
        false
    }

    pub(super) unsafe fn configure(_rows: usize, _depth: usize) {}

    pub(super) unsafe fn release() {}

    pub(super) unsafe fn multiply(_rows: [usize; 2], _squares: &super::Squares<'_>, _between: super::Between<'_>) {}

    pub(super) unsafe fn multiply_meanwhile<M: super::Meanwhile>(
        _rows: [usize; 2],
        _squares: &super::Squares<'_>,
        _meanwhile: &mut M,
        _each: usize,
    ) {
    }

    pub(super) unsafe fn multiply_pieces<S>(
        _rows: [usize; 2],
        _pieces: super::SplitSquares<'_, S>,
        _between: super::Between<'_>,
    ) {
    }
}

/// The most rows of a register, and the words in a row.
pub(crate) const SIDE: usize = 16;

/// How far apart rows of so many words are copied: as whole registers have words, and such that no two rows of a register displace each
/// other in the first-level cache, where a line's place is one of 64.
pub(crate) fn row_distance(words: usize) -> usize {
    let whole = words.next_multiple_of(SIDE);
    if whole.is_multiple_of(8 * SIDE) { whole + SIDE } else { whole }
}

/// Whether four or more rows of a register that are so far apart displace each other there.
pub(crate) fn rows_collide(distance: usize) -> bool {
    distance.is_multiple_of(16 * SIDE)
}

/// What multiplies matrices in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatrixUnit {
    /// AMX, with whole numbers of eight bits and bf16.
    Amx,
    /// Plain Rust that does the same: for tests.
    #[cfg(test)]
    Model,
}

/// The registers of this thread, until they are given back: those of the left operand and of the sums have so many rows, and the former so
/// many words in each.
pub(crate) struct Registers {
    unit: MatrixUnit,
    rows: usize,
    depth: usize,
    _stays: PhantomData<*mut ()>,
}

/// What is multiplied at a time: up to two registers of rows with up to two of columns.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(all(target_arch = "x86_64", target_os = "linux", not(miri))),
    allow(dead_code, reason = "there is no unit")
)]
pub(crate) struct Squares<'a> {
    /// Whether words are four bytes, those on the left without a sign. Otherwise they are two bf16.
    pub(crate) whole: bool,
    /// The first row of each register of rows; the second may be null.
    pub(crate) left: [*const f32; 2],
    /// The distance of the rows.
    pub(crate) distance: usize,
    /// Whether they, and what they are multiplied with, are read again soon, so that the first-level cache should keep them.
    pub(crate) again: [bool; 2],
    /// Where the runs of a row are, from its beginning on.
    pub(crate) runs: &'a [usize],
    /// The words of a run. After them come zeros, up to a multiple of the words of a register.
    pub(crate) len: usize,
    /// What the rows are multiplied with: for each of their words a row of one or two registers.
    pub(crate) panel: *const f32,
    /// Whether they are two.
    pub(crate) wide: bool,
    /// From where lines are brought into the second-level cache, so many for each row of registers.
    pub(crate) next: *const f32,
    pub(crate) lines: usize,
    /// Where the sums are written, in rows as long as the panel's: whole numbers of 32 bits, or f32.
    pub(crate) sums: *mut f32,
}

/// What is multiplied of numbers that are [split](super::pieces): registers of rows with those of columns, again and again, in all of which
/// a row has the same runs.
#[cfg_attr(
    not(all(target_arch = "x86_64", target_os = "linux", not(miri))),
    allow(dead_code, reason = "there is no unit")
)]
pub(crate) struct SplitSquares<'a, S> {
    /// What is multiplied: all of two registers of rows or all of one, and all of two of columns or all of one.
    pub(crate) all: &'a [Place],
    pub(crate) tall: bool,
    pub(crate) wide: bool,
    /// The first piece of the columns.
    pub(crate) panel: *const f32,
    /// The distance of the rows.
    pub(crate) distance: usize,
    /// Where the runs of a row are, from its beginning on, and the words of each: after them come zeros, up to a multiple of the words of a
    /// register.
    pub(crate) runs: &'a [usize],
    pub(crate) len: usize,
    /// From one piece of the words that a register of rows holds to the next one; after the last one's comes the next register's first.
    pub(crate) plane: usize,
    /// From one piece of what rows are multiplied with to the next one.
    pub(crate) piece: usize,
    /// Whether sums are added to those that are there.
    pub(crate) keeps: bool,
    /// What is split meanwhile, and how many vectors of it after each of the [products](super::PRODUCTS) of registers.
    pub(crate) soon: &'a mut S,
    pub(crate) each: usize,
}

/// Registers of numbers that are split, as in [`Squares`].
#[derive(Clone, Copy)]
#[cfg_attr(
    not(all(target_arch = "x86_64", target_os = "linux", not(miri))),
    allow(dead_code, reason = "there is no unit")
)]
pub(crate) struct Place {
    pub(crate) left: [*const f32; 2],
    pub(crate) sums: *mut f32,
}

/// What else is done while matrices are multiplied: vectors need not wait for the unit, nor it for them.
#[cfg_attr(
    not(all(target_arch = "x86_64", target_os = "linux", not(miri))),
    allow(dead_code, reason = "there is no unit")
)]
pub(crate) struct Between<'a> {
    /// After how many rows of registers it is called, again and again.
    pub(crate) steps: usize,
    pub(crate) call: &'a mut dyn FnMut(),
}

/// The same where calls would take as long as what they do: it becomes part of the loop over rows of registers.
#[cfg_attr(
    not(all(target_arch = "x86_64", target_os = "linux", not(miri))),
    allow(dead_code, reason = "there is no unit")
)]
pub(crate) trait Meanwhile: Copy {
    /// Does so much more of it, or what is left. Every implementation is `#[inline(always)]`.
    ///
    /// # Safety
    /// What it reads and writes must be there.
    unsafe fn some<V: Pairs>(&mut self, count: usize);
}

impl MatrixUnit {
    /// The unit that this process may use, if there is one.
    pub(crate) fn detect() -> Option<Self> {
        #[cfg(test)]
        if let Some(unit) = model::chosen() {
            return unit;
        }
        amx::is_granted().then_some(Self::Amx)
    }

    /// Runs something, on this thread, as if there was such a unit or none.
    #[cfg(test)]
    pub(crate) fn with<R>(unit: Option<Self>, f: impl FnOnce() -> R) -> R {
        model::with(unit, f)
    }

    /// The levels to test with the unit in use: beside the model of one that which it goes with, for the others do the same without it.
    #[cfg(test)]
    pub(crate) fn levels() -> impl Iterator<Item = super::Level> {
        let is_model = Self::detect() == Some(Self::Model);
        super::Level::available().filter(move |level| !is_model || *level == super::Level::Avx512)
    }

    /// Makes the thread's registers ready, with so many rows of so many words, 1 to [`SIDE`] each.
    pub(crate) fn registers(self, rows: usize, depth: usize) -> Registers {
        let is_side = |side: usize| (1..=SIDE).contains(&side);
        assert!(is_side(rows) && is_side(depth), "a register does not have {rows} rows of {depth} words");
        match self {
            // SAFETY: there is no such unit unless the process may use it.
            Self::Amx => unsafe { amx::configure(rows, depth) },
            #[cfg(test)]
            Self::Model => {}
        }
        Registers { unit: self, rows, depth, _stays: PhantomData }
    }
}

impl Registers {
    /// Multiplies matrices.
    ///
    /// # Safety
    /// There must be as many rows as registers have, with all runs and the zeros after each; as many rows of the panel as the runs have
    /// words, and so many more that they are a multiple of a register's counted from the last run's first; and the sums must have a place.
    pub(crate) unsafe fn multiply(&self, squares: &Squares<'_>, between: Between<'_>) {
        match self.unit {
            // SAFETY: the registers are ready, and the rest is the caller's promise.
            MatrixUnit::Amx => unsafe { amx::multiply([self.rows, self.depth], squares, between) },
            #[cfg(test)]
            // SAFETY: the caller's promise.
            MatrixUnit::Model => unsafe { model::multiply([self.rows, self.depth], squares, between) },
        }
    }

    /// As [`multiply`](Self::multiply), of bf16 with two registers of rows, and something done meanwhile, so much of it after each row of
    /// registers.
    ///
    /// # Safety
    /// As there, and what is done must be possible.
    pub(crate) unsafe fn multiply_meanwhile<M: Meanwhile>(
        &self,
        squares: &Squares<'_>,
        meanwhile: &mut M,
        each: usize,
    ) {
        match self.unit {
            // SAFETY: the registers are ready, and the rest is the caller's promise.
            MatrixUnit::Amx => unsafe { amx::multiply_meanwhile([self.rows, self.depth], squares, meanwhile, each) },
            #[cfg(test)]
            // SAFETY: the caller's promise.
            MatrixUnit::Model => unsafe {
                model::multiply_meanwhile([self.rows, self.depth], squares, meanwhile, each)
            },
        }
    }

    /// As [`multiply`](Self::multiply), of numbers in pieces.
    ///
    /// # Safety
    /// As there, for all pieces, and what is split meanwhile must be there.
    pub(crate) unsafe fn multiply_pieces<'a, S: Splits>(&self, pieces: SplitSquares<'a, S>, between: Between<'a>) {
        match self.unit {
            // SAFETY: the registers are ready, and the rest is the caller's promise.
            MatrixUnit::Amx => unsafe { amx::multiply_pieces([self.rows, self.depth], pieces, between) },
            #[cfg(test)]
            // SAFETY: the caller's promise.
            MatrixUnit::Model => unsafe { model::multiply_pieces([self.rows, self.depth], pieces, between) },
        }
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        if self.unit == MatrixUnit::Amx {
            // SAFETY: the registers were made ready.
            unsafe { amx::release() };
        }
    }
}
