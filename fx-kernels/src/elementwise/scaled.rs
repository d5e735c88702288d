//! Chains that scale and shift the channels of rows, which may be joined, and no more than a ReLU after that: what a batch norm is.

use super::chain::Coded;
use super::joined::{self, Part, Scale};
use super::{Op, Operand, Place, Ternary, Unary};

/// What is scaled, and how: one pass over the rows computes it.
pub(super) struct Scaled<'a> {
    rows: Rows<'a>,
    pub(super) scale: Scale<'a>,
}

/// The rows that are scaled: joined, or not.
enum Rows<'a> {
    Joined(&'a [Part<'a>]),
    One([Part<'a>; 1]),
}

impl<'a> Scaled<'a> {
    /// The rows, side by side.
    pub(super) fn parts(&self) -> &[Part<'a>] {
        match &self.rows {
            Rows::Joined(parts) => parts,
            Rows::One(part) => part,
        }
    }

    /// The steps as such, if they are that of so many numbers or pairs, each of which is read once, and one pass takes less time: rows that are not
    /// joined are mostly shorter than a tile, which takes several together, and a step of numbers is one pass anyway.
    pub(super) fn of(steps: &[Coded], inputs: &[Operand<'a>], len: usize) -> Option<Self> {
        /// The numbers of a row that fill vectors well enough. Measured: of 3 one pass takes 1.9 times as long as two, of 24 1.1 times.
        const LONG: usize = 32;
        let (first, relu) = match steps {
            [first] => (first, false),
            [first, then] if then.step.op() == Op::Unary(Unary::Relu) && then.step.args() == [Place::Step(0)] => {
                (first, true)
            }
            _ => return None,
        };
        if first.step.op() != Op::Ternary(Ternary::MulAdd) {
            return None;
        }
        let &[Place::Input(x), Place::Input(scale), Place::Input(shift)] = first.step.args() else { return None };
        let (Operand::Cycle(scale), Operand::Cycle(shift)) = (inputs[scale], inputs[shift]) else { return None };
        let row = scale.len();
        let rows = match inputs[x] {
            Operand::Joined(parts) => Rows::Joined(parts),
            Operand::Pairs(x) if row >= LONG && row.is_multiple_of(2) => Rows::One([Part { x, row, pairs: true }]),
            Operand::Cycle(x) if row >= LONG && x.len() == len && relu => Rows::One([Part { x, row, pairs: false }]),
            _ => return None,
        };
        let scaled = Self { rows, scale: Scale { by: [scale, shift], relu } };
        (row > 1 && shift.len() == row && joined::row(scaled.parts()) == row).then_some(scaled)
    }
}
