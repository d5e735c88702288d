//! Elementwise ops on slices: one at a time, or a [`Chain`] of them that reads and writes memory once.
//!
//! A chain runs tile by tile: what its steps hand to each other stays in the first-level cache. Operands broadcast by
//! an [`Operand`] that says which element goes where; one that is not as long as a tile is spread out into a tile.

mod chain;
mod double;
mod integers;
mod joined;
mod op;
mod power;
mod scaled;
mod spread;
#[cfg(test)]
mod tests;
mod tile;

pub use chain::{Chain, Op, Place, Step};
pub use double::unary_f64;
pub use integers::{larger, smaller};
pub use joined::Part;
pub use op::{Binary, Ternary, Unary, UnknownOp};
pub use power::power;

use crate::simd::Level;
use crate::threads::{Shared, for_each};
pub(crate) use chain::{run_one, run_rows};

/// The most elements of a tile.
const TILE: usize = 1024;
/// The most operands of a chain.
const INPUTS: usize = 8;
/// The most intermediate results that are alive at once.
const REGISTERS: usize = 4;

/// Where the elements of an operand come from; the elements of the result are counted from 0, in their order.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// What the output holds before it is written.
    Output,
    /// Element `i` is `x[i % x.len()]`: an operand of the result's shape, or one that repeats for outer dimensions,
    /// such as a row for all rows.
    Cycle(&'a [f32]),
    /// Element `i` is `x[i / run % x.len()]`: an operand that repeats for inner dimensions, such as one element for
    /// each channel.
    Repeat(&'a [f32], usize),
    /// Rows of so many elements, each so many times in a row, from the first one again after the last: element `i` is
    /// `x[(i / (row * times) * row + i % row) % x.len()]`, an operand that repeats for a dimension between others.
    Again(&'a [f32], usize, usize),
    /// Rows of so many elements, one after the other in the result, which begin so far apart in `x`: a part of something
    /// along a dimension.
    Rows(&'a [f32], usize, usize),
    /// Rows of several operands side by side: what a concatenation would write.
    Joined(&'a [Part<'a>]),
    /// The numbers of words of two bf16 each, as many as the result has elements.
    Pairs(&'a [f32]),
    /// The same number everywhere.
    Number(f32),
}

/// Writes `op` of every element of `x`.
///
/// # Panics
/// If `x` does not fit the output: see [`Chain::run`].
pub fn unary(op: Unary, out: &mut [f32], x: Operand<'_>) {
    run_one(Level::detect(), Op::Unary(op), out, &[x]);
}

/// Writes `op` of the elements of `x` and `y` in the same place.
///
/// # Panics
/// If an operand does not fit the output: see [`Chain::run`].
pub fn binary(op: Binary, out: &mut [f32], x: Operand<'_>, y: Operand<'_>) {
    run_one(Level::detect(), Op::Binary(op), out, &[x, y]);
}

/// Writes `op` of the elements of `x`, `y` and `z` in the same place.
///
/// # Panics
/// If an operand does not fit the output: see [`Chain::run`].
pub fn ternary(op: Ternary, out: &mut [f32], x: Operand<'_>, y: Operand<'_>, z: Operand<'_>) {
    run_one(Level::detect(), Op::Ternary(op), out, &[x, y, z]);
}
