//! Steps of recurrent layers: the product with the state, and the gates fused into one pass over it.
//!
//! What comes from the inputs of all steps is one product before; here, a step multiplies the state with weights that
//! are packed once, which for one sequence runs at the speed of the cache that they fit, and updates the state.

mod gates;
#[cfg(test)]
mod tests;

use crate::dense::{Algorithm, Epilogue, Format, PackedLinear, Residual, Weight};
use crate::memory::{scratch, second_level};
use crate::simd::Level;
use crate::threads::{Shared, alone, for_each_piece, num_threads};
pub use gates::{Cell, State, update};

/// The weights of a layer's state in one direction, packed.
#[derive(Debug)]
pub struct PackedCell {
    cell: Cell,
    weight: PackedLinear,
    hidden: usize,
}

/// Where a layer's steps are in memory: `[steps, batch, ..]` with rows at any distances.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// The number of steps.
    pub steps: usize,
    /// The number of sequences.
    pub batch: usize,
    /// From one step of the results to the next.
    pub step_stride: usize,
    /// From one sequence's results to the next's.
    pub batch_stride: usize,
}

/// What one direction of a layer works on. Of each sequence `h`, and `c` of an LSTM, are the first state, and afterwards the last one.
#[derive(Debug)]
pub struct Direction<'a> {
    /// The weights of the state.
    pub cell: &'a PackedCell,
    /// `[steps, batch, gates * hidden]`, the products of the inputs with both biases added.
    pub from_input: &'a [f32],
    /// The state's bias, where the cell keeps the state's share apart (GRU); it is not in `from_input` then.
    pub bias: Option<&'a [f32]>,
    /// `[batch, hidden]`.
    pub h: &'a mut [f32],
    /// The same, or nothing.
    pub c: &'a mut [f32],
    /// Whether the last step comes first.
    pub reverse: bool,
}

/// The operations of a step below which handing parts of it to other threads takes longer than all of it.
const WORTH_SHARING: usize = 1_000_000;

impl PackedCell {
    /// Packs a weight in PyTorch's layout, for each gate `hidden` rows of `hidden` numbers, in a format.
    ///
    /// # Panics
    /// If the weight has another length.
    pub fn new(cell: Cell, weight: Weight<'_>, hidden: usize, format: Format) -> Self {
        let weight = PackedLinear::with(weight, cell.gates() * hidden, hidden, Algorithm::Direct, format);
        Self { cell, weight: weight.cached(), hidden }
    }

    /// The type in which the weights are kept.
    pub fn format(&self) -> Format {
        self.weight.format()
    }

    /// The length of a sequence's state.
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    /// The bytes of the packed weights.
    pub fn bytes(&self) -> usize {
        self.weight.bytes()
    }

    /// The operations of a step.
    fn work(&self, batch: usize) -> usize {
        2 * batch * self.cell.gates() * self.hidden * self.hidden
    }
}

/// Runs all steps of a layer in its directions, which are independent of each other. Each step's `h` is written to `out`, those of the
/// directions side by side.
///
/// # Panics
/// If an operand does not have the sizes that are said, or steps or sequences lie among each other.
pub fn run_layer(out: &mut [f32], steps: Steps, directions: &mut [Direction<'_>]) {
    let Steps { steps: count, batch, step_stride, batch_stride } = steps;
    let Some(hidden) = directions.first().map(|direction| direction.cell.hidden) else { return };
    let width = hidden * directions.len();
    let mut numbers = 0;
    for Direction { cell, from_input, h, c, .. } in &*directions {
        let gates = cell.cell.gates() * hidden;
        assert_eq!(cell.hidden, hidden, "all directions have states of one length");
        assert_eq!(from_input.len(), count * batch * gates, "there are {gates} numbers for each step");
        let is_state = |state: &[f32]| state.len() == batch * hidden;
        assert!(
            is_state(h) && (is_state(c) || cell.cell != Cell::Lstm),
            "there is a state of {hidden} for each sequence"
        );
        numbers += cell.work(batch);
    }
    if count * batch * hidden == 0 {
        return;
    }
    let are_apart = [step_stride, batch_stride].iter().all(|stride| stride.is_multiple_of(width));
    assert!(directions.len() == 1 || are_apart, "the directions of a step lie side by side");
    let last = (count - 1) * step_stride + (batch - 1) * batch_stride;
    assert!(last + width <= out.len(), "the result does not fit");
    let (is_small, threads) = (numbers / directions.len() < WORTH_SHARING, num_threads());
    // A thread for each direction never waits for another. Of large steps more threads do parts, as do those whose caches hold a direction's weights
    // together, and not each.
    let bytes = directions.iter().map(|direction| direction.cell.bytes()).max().unwrap_or(0);
    let is_held = |bytes: usize| bytes <= second_level();
    let side_by_side = is_small || threads <= directions.len() && (is_held(bytes) || !is_held(bytes / threads));
    let out = Shared(out.as_mut_ptr());
    for_each_piece(directions, 1, if side_by_side { count * numbers } else { 0 }, |index, direction| {
        let write = |step: usize, sequence: usize, h: &[f32]| {
            let to = out.at(step * step_stride + sequence * batch_stride + index * hidden);
            // SAFETY: the result holds all steps (just seen), and what other directions write lies beside.
            unsafe { std::slice::from_raw_parts_mut(to, hidden) }.copy_from_slice(h);
        };
        let mut all = || direction[0].run(count, batch, write);
        if is_small { alone(all) } else { all() }
    });
}

impl Direction<'_> {
    /// Runs all steps, and lends each sequence's state after each of them.
    fn run(&mut self, count: usize, batch: usize, write: impl Fn(usize, usize, &[f32])) {
        let Self { cell: PackedCell { cell, weight, hidden }, from_input, bias, h, c, reverse } = self;
        let (cell, hidden, width) = (*cell, *hidden, cell.gates() * *hidden);
        scratch(batch * width, |products| {
            for index in 0..count {
                let step = if *reverse { count - 1 - index } else { index };
                let from_input = &from_input[step * batch * width..(step + 1) * batch * width];
                let together = !cell.keeps_apart();
                let residual = together.then_some(Residual { data: from_input, stride: width });
                let epilogue = Epilogue { bias: *bias, residual, ..Epilogue::default() };
                weight.run_rows(products, h, batch, &epilogue, index % 2 == 1);
                let input = if together { None } else { Some(from_input) };
                update(cell, State { h, c, hidden }, products, input);
                h.chunks_exact(hidden).enumerate().for_each(|(sequence, h)| write(step, sequence, h));
            }
        });
    }
}
