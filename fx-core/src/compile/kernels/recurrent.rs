//! Recurrent layers over whole sequences: the products of all steps' inputs at once, then step by step.

use std::sync::Arc;

use fx_kernels::dense::{Epilogue, PackedLinear};
use fx_kernels::recurrent::{Cell, Direction, PackedCell, Steps, run_layer};
use smallvec::{SmallVec, smallvec};

use super::{Kernel, Known, Lowered, Operands, Site, Wanted, kept, saved};
use crate::arg::Arg;
use crate::compile::layout::Layout;
use crate::ops::functions as ops;
use crate::ops::kind;
use crate::tensor::{DType, Dims, Tensor};

struct Recurrent {
    cell: Cell,
    /// For each layer its directions, one after the other.
    parts: Vec<Part>,
    directions: usize,
    steps: usize,
    batch: usize,
    batch_first: bool,
    /// The first states, unless they are operands.
    states: SmallVec<[Option<Tensor>; 2]>,
}

/// A layer in one direction.
struct Part {
    from_input: Arc<PackedLinear>,
    from_state: Arc<PackedCell>,
    /// Added to what comes from the input.
    bias: Option<Tensor>,
    /// Added to what comes from the state, where that is kept apart.
    state_bias: Option<Tensor>,
}

pub(super) fn recurrent(site: &Site<'_>) -> Option<Lowered> {
    let cell = match site.function {
        function if function == ops::lstm => Cell::Lstm,
        function if function == ops::gru => Cell::Gru,
        _ if site.attribute::<kind::string>("nonlinearity", "tanh".into())? == "relu" => Cell::Relu,
        _ => Cell::Tanh,
    };
    let (input, register) = site.value(0)?;
    let batch_first = site.attribute::<kind::flag>("batch_first", false)? && input.shape.len() == 3;
    let (steps, batch) = match *input.shape {
        [steps, _] => (steps, 1),
        [batch, steps, _] if batch_first => (steps, batch),
        [steps, batch, _] => (steps, batch),
        _ => return None,
    };
    let mut operands: SmallVec<[Wanted; 4]> = smallvec![Wanted::new(register, steps_first(input, batch_first))];
    let mut states = SmallVec::new();
    for index in 1..site.results.len() {
        if let Some((layout, register)) = site.value(index) {
            operands.push(Wanted::new(register, Layout::row_major(DType::F32, &layout.shape)));
            states.push(None);
        } else {
            states.push(Some(site.constant(index)?));
        }
    }
    let (Arg::List(weights) | Arg::Tuple(weights)) = site.arg(site.results.len()) else { return None };
    let per_part = if site.attribute::<kind::flag>("bias", true)? { 4 } else { 2 };
    let parts = weights.chunks(per_part).map(|weights| Part::new(site, cell, weights)).collect::<Option<Vec<_>>>()?;
    let directions = 1 + usize::from(site.attribute::<kind::flag>("bidirectional", false)?);
    let kernel = Recurrent { cell, parts, directions, steps, batch, batch_first, states };
    let results: SmallVec<[Layout; 1]> = site.results.into();
    let len = results.iter().map(Layout::numel).sum::<usize>() + directions * kernel.gates() + 2 * kernel.between();
    Some(Lowered { parts: results, ..Lowered::new(kernel, operands, Layout::row_major(DType::F32, &[len])) })
}

/// Sequences with the rows of a step side by side.
fn steps_first(input: &Layout, batch_first: bool) -> Layout {
    let rows = Layout::row_major(DType::F32, &input.shape);
    let [batch, steps, width] = *input.shape else { return rows };
    if !batch_first {
        return rows;
    }
    debug_assert_eq!(batch * steps * width, input.numel());
    Layout { strides: Dims::from_slice(&[width, batch * width, 1]), ..rows }
}

impl Part {
    /// From `weight_ih`, `weight_hh`, `bias_ih` and `bias_hh`.
    fn new(site: &Site<'_>, cell: Cell, weights: &[Arg<Known>]) -> Option<Self> {
        let [input, state, biases @ ..] = weights else { return None };
        let bias = |arg: &Arg<Known>| arg.as_value().and_then(Known::single);
        let biases = biases.iter().map(bias).collect::<Option<Vec<_>>>()?;
        let (bias, state_bias) = match biases.as_slice() {
            [] => (None, None),
            [bias, state_bias] if cell.keeps_apart() => (Some(bias.clone()), Some(state_bias.clone())),
            [bias, state_bias] => (Some(bias + state_bias), None),
            _ => return None,
        };
        let from_input = site.packs.linear(weight(input)?, true)?;
        let from_state = site.packs.cell(cell, weight(state)?)?;
        Some(Self { from_input, from_state, bias, state_bias })
    }
}

/// An f32 tensor that is known.
fn weight(arg: &Arg<Known>) -> Option<&Known> {
    arg.as_value().filter(|known| known.weight().is_some())
}

impl Recurrent {
    fn hidden(&self) -> usize {
        self.parts.first().map_or(0, |part| part.from_state.hidden())
    }

    /// The numbers that come from the inputs of one part.
    fn gates(&self) -> usize {
        self.steps * self.batch * self.cell.gates() * self.hidden()
    }

    /// The numbers that a layer hands to the next.
    fn between(&self) -> usize {
        if self.parts.len() == self.directions { 0 } else { self.result() }
    }

    /// The numbers of the last layer's result.
    fn result(&self) -> usize {
        self.steps * self.batch * self.directions * self.hidden()
    }
}

impl Kernel for Recurrent {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let (hidden, rows) = (self.hidden(), self.steps * self.batch);
        let state = self.parts.len() * self.batch * hidden;
        let (result, rest) = out.split_at_mut(self.result());
        let (h, rest) = rest.split_at_mut(state);
        let (c, rest) = rest.split_at_mut(if self.states.len() == 2 { state } else { 0 });
        let (gates, rest) = rest.split_at_mut(self.directions * self.gates());
        let (mut before, mut after) = rest.split_at_mut(self.between());
        let mut operands = operands.iter().copied().map(Option::unwrap_or_default);
        let input = operands.next().unwrap_or_default();
        for (state, first) in [&mut *h, &mut *c].into_iter().zip(&self.states) {
            let known = first.as_ref().and_then(Tensor::as_slice);
            state.copy_from_slice(&known.or_else(|| operands.next()).unwrap_or_default()[..state.len()]);
        }
        let width = self.directions * hidden;
        let layers = self.parts.chunks(self.directions);
        let count = layers.len();
        for (layer, parts) in layers.enumerate() {
            std::mem::swap(&mut before, &mut after);
            let is_last = layer + 1 == count;
            let input = if layer == 0 { input } else { &*before };
            for (part, gates) in parts.iter().zip(gates.chunks_exact_mut(self.gates())) {
                let bias = part.bias.as_ref().and_then(Tensor::as_slice);
                let (inputs, outputs) = (part.from_input.inputs(), part.from_input.outputs());
                let epilogue = Epilogue { bias, ..Epilogue::default() };
                part.from_input.run(gates, outputs, input, inputs, rows, &epilogue);
            }
            let (step_stride, batch_stride) = match is_last && self.batch_first {
                true => (width, self.steps * width),
                false => (self.batch * width, width),
            };
            let steps = Steps { steps: self.steps, batch: self.batch, step_stride, batch_stride };
            let state = self.batch * hidden;
            let of_layer = layer * self.directions * state..(layer + 1) * self.directions * state;
            let mut memories = c.get_mut(of_layer.clone()).unwrap_or_default().chunks_exact_mut(state);
            let states = h[of_layer].chunks_exact_mut(state);
            let parts = parts.iter().zip(gates.chunks_exact(self.gates())).zip(states).enumerate();
            let mut directions: SmallVec<[Direction<'_>; 2]> = parts
                .map(|(direction, ((part, from_input), h))| Direction {
                    cell: &part.from_state,
                    from_input,
                    bias: part.state_bias.as_ref().and_then(Tensor::as_slice),
                    h,
                    c: memories.next().unwrap_or_default(),
                    reverse: direction == 1,
                })
                .collect();
            run_layer(if is_last { result } else { after }, steps, &mut directions);
        }
    }

    fn describe(&self) -> String {
        let name = match self.cell {
            Cell::Lstm => "lstm",
            Cell::Gru => "gru",
            Cell::Tanh => "rnn tanh",
            Cell::Relu => "rnn relu",
        };
        let directions = if self.directions == 2 { " both ways" } else { "" };
        let kept = self.parts.first().map_or("", |part| kept(part.from_state.format()));
        format!("{name} of {} layers of {}{directions}{kept}", self.parts.len() / self.directions, self.hidden())
    }

    fn bytes_saved(&self) -> usize {
        let of = |part: &Part| {
            let (input, state) = (&part.from_input, &part.from_state);
            saved(input.format(), input.bytes()) + saved(state.format(), state.bytes())
        };
        self.parts.iter().map(of).sum()
    }
}
