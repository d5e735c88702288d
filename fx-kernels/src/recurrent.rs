//! Steps of recurrent layers: the product with the state, and the gates fused into one pass over it.
//!
//! What comes from the inputs of all steps is one product before; here, a step multiplies the state with weights that
//! are packed once, which for one sequence runs at the speed of the cache that they fit, and updates the state.

mod gates;
#[cfg(test)]
mod tests;

use crate::dense::{Algorithm, Epilogue, Format, PackedLinear, Residual, Weight};
use crate::memory::scratch;
use crate::simd::Level;
use crate::threads::alone;
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
    /// Whether the last step comes first.
    pub reverse: bool,
}

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

    /// Runs all steps. `from_input` is `[steps, batch, gates * hidden]`, the products of the inputs with both biases
    /// added; where the cell keeps the state's share apart (GRU), `bias` is the state's and not in it. `h`, and `c` of
    /// an LSTM, are `[batch, hidden]`: the first state, and afterwards the last one. Each step's `h` is written to `out`.
    ///
    /// # Panics
    /// If an operand does not have these sizes.
    pub fn run(
        &self,
        steps: Steps,
        out: &mut [f32],
        from_input: &[f32],
        bias: Option<&[f32]>,
        h: &mut [f32],
        c: &mut [f32],
    ) {
        let (hidden, width) = (self.hidden, self.cell.gates() * self.hidden);
        let Steps { batch, .. } = steps;
        assert_eq!(from_input.len(), steps.steps * batch * width, "there are {width} numbers for each step");
        /// The operations of a step below which handing parts of it to other threads takes longer than all of it.
        const WORTH_SHARING: usize = 1_000_000;
        let mut all = || {
            scratch(batch * width, |products| {
                for index in 0..steps.steps {
                    let step = if steps.reverse { steps.steps - 1 - index } else { index };
                    let from_input = &from_input[step * batch * width..(step + 1) * batch * width];
                    let together = !self.cell.keeps_apart();
                    let residual = together.then_some(Residual { data: from_input, stride: width });
                    let epilogue = Epilogue { bias, residual, ..Epilogue::default() };
                    self.weight.run_rows(products, h, batch, &epilogue, index % 2 == 1);
                    let input = if together { None } else { Some(from_input) };
                    update(self.cell, State { h, c, hidden }, products, input);
                    for (sequence, h) in h.chunks_exact(hidden).enumerate() {
                        let to = step * steps.step_stride + sequence * steps.batch_stride;
                        out[to..to + hidden].copy_from_slice(h);
                    }
                }
            });
        };
        if 2 * batch * width * hidden < WORTH_SHARING { alone(all) } else { all() }
    }
}
