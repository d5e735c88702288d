//! What a recurrent cell does with its gates.

use super::Level;
use crate::math::{self, Single};
use crate::simd::{Kernel, Vector, dispatch};
use crate::threads::{Shared, for_each_piece};

/// A recurrent cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cell {
    /// Long short-term memory; the gates are input, forget, new and output (Hochreiter and Schmidhuber, 1997).
    Lstm,
    /// Gated recurrent unit; the gates are reset, update and new (Cho et al., 2014).
    Gru,
    /// The hyperbolic tangent.
    Tanh,
    /// `max(x, 0)`.
    Relu,
}

impl Cell {
    /// How many gates it has.
    pub fn gates(self) -> usize {
        match self {
            Cell::Lstm => 4,
            Cell::Gru => 3,
            Cell::Tanh | Cell::Relu => 1,
        }
    }

    /// Whether what comes from the state is used apart from what comes from the input.
    pub fn keeps_apart(self) -> bool {
        self == Cell::Gru
    }
}

/// The state of some sequences.
#[derive(Debug)]
pub struct State<'a> {
    /// `[batch, hidden]`: what the next step and the next layer see.
    pub h: &'a mut [f32],
    /// `[batch, hidden]`: the memory of an LSTM; empty for other cells.
    pub c: &'a mut [f32],
    /// The length of a sequence's state.
    pub hidden: usize,
}

/// Makes a step. `gates` is `[batch, gates * hidden]`, the sum of what comes from state and input; for a GRU it is what
/// comes from the state, and `input` what comes from the input.
///
/// # Panics
/// If the sizes do not fit.
pub fn update(cell: Cell, state: State<'_>, gates: &[f32], input: Option<&[f32]>) {
    update_at(Level::detect(), cell, state, gates, input);
}

/// As [`update`], with instructions of the given level.
pub(super) fn update_at(level: Level, cell: Cell, state: State<'_>, gates: &[f32], input: Option<&[f32]>) {
    let State { h, c, hidden } = state;
    if h.is_empty() {
        return;
    }
    assert!(h.len().is_multiple_of(hidden), "states of {hidden} numbers do not divide {}", h.len());
    assert_eq!(gates.len(), cell.gates() * h.len(), "there are {} gates", cell.gates());
    assert!(input.map_or(!cell.keeps_apart(), |input| input.len() == gates.len()), "the input has as many gates");
    assert!(cell != Cell::Lstm || c.len() == h.len(), "there is a memory for each number of the state");
    let (width, memories) = (cell.gates() * hidden, Shared(c.as_mut_ptr()));
    for_each_piece(h, hidden, OPERATIONS * gates.len(), |sequence, h| {
        let memory: &mut [f32] = match cell {
            // SAFETY: there is a memory for each sequence (seen above), which nobody else uses.
            Cell::Lstm => unsafe { std::slice::from_raw_parts_mut(memories.at(sequence * hidden), hidden) },
            _ => &mut [],
        };
        let own = sequence * width..(sequence + 1) * width;
        dispatch(level, Update { cell, h, memory, gates: &gates[own.clone()], input: &input.unwrap_or(gates)[own] });
    });
}

/// The operations on a gate, nearly.
const OPERATIONS: usize = 16;

/// A step of a sequence, whose sizes have been checked.
struct Update<'a> {
    cell: Cell,
    h: &'a mut [f32],
    memory: &'a mut [f32],
    gates: &'a [f32],
    input: &'a [f32],
}

impl Kernel for Update<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let hidden = self.h.len();
        let mut i = 0;
        while i < hidden {
            let stop = hidden.min(i + V::LANES);
            let gate = |x: &'_ [f32], k: usize| load::<V>(&x[k * hidden..][i..stop]);
            let part = &mut self.h[i..stop];
            let before = V::load_part(part);
            let after = match self.cell {
                Cell::Lstm => {
                    let memory = &mut self.memory[i..stop];
                    let (input, forget) = (math::sigmoid(gate(self.gates, 0)), math::sigmoid(gate(self.gates, 1)));
                    let new = math::tanh(gate(self.gates, 2));
                    let now = forget.mul_add(V::load_part(memory), input * new);
                    now.store_part(memory);
                    math::sigmoid(gate(self.gates, 3)) * math::tanh(now)
                }
                Cell::Gru => {
                    let reset = math::sigmoid(gate(self.gates, 0) + gate(self.input, 0));
                    let share = math::sigmoid(gate(self.gates, 1) + gate(self.input, 1));
                    let new = math::tanh(reset.mul_add(gate(self.gates, 2), gate(self.input, 2)));
                    share.mul_add(before - new, new)
                }
                Cell::Tanh => math::tanh(gate(self.gates, 0)),
                Cell::Relu => V::zero().max(gate(self.gates, 0)),
            };
            after.store_part(part);
            i += V::LANES;
        }
    }
}

#[inline(always)]
fn load<V: Single>(x: &[f32]) -> V {
    V::load_part(x)
}
