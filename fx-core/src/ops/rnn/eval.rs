//! Recurrent layers on tensors: the inputs of all steps are multiplied at once, the state step by step.

use std::borrow::Cow;

use fx_kernels::recurrent::{self, Cell, State};

use crate::error::Result;
use crate::ops::linalg::affine;
use crate::ops::wide::{Number, in_floats, wide};
use crate::tensor::{Tensor, view};

/// The layers' sizes and options.
struct Network {
    cell: Cell,
    num_layers: usize,
    bidirectional: bool,
    batch_first: bool,
    bias: bool,
}

impl Network {
    /// The outputs and the last states, of `x` and the first states.
    fn run(&self, x: &Tensor, states: &[&Tensor], weights: &[&Tensor]) -> Vec<Tensor> {
        let dtype = x.dtype();
        let convert = |x: &Tensor| x.to_dtype(wide(dtype));
        // Steps first, with a batch.
        let mut x = convert(x);
        let unbatched = x.ndim() == 2;
        let order = self.batch_first && !unbatched;
        x = if unbatched { view::unsqueeze(&x, 1) } else { x };
        x = if order { view::transpose(&x, 0, 1) } else { x };
        let states: Vec<Tensor> = states.iter().map(|state| convert(state)).collect();
        let weights: Vec<Tensor> = weights.iter().map(|weight| convert(weight)).collect();
        let mut results = in_floats!(dtype, T => self.layers::<T>(x, &states, &weights));
        if unbatched {
            results[0] = view::squeeze(&results[0], 1);
        } else if order {
            results[0] = view::transpose(&results[0], 0, 1);
        }
        results.into_iter().map(|result| result.to_dtype(dtype)).collect()
    }

    fn layers<T: Recurrent>(&self, mut x: Tensor, states: &[Tensor], weights: &[Tensor]) -> Vec<Tensor> {
        let directions = 1 + usize::from(self.bidirectional);
        let per_layer = if self.bias { 4 } else { 2 };
        let (steps, batch, hidden) = (x.shape()[0], x.shape()[1], weights[1].shape()[1]);
        let first: Vec<Vec<T>> = states.iter().map(Tensor::to_vec::<T>).collect();
        let mut last: Vec<Vec<T>> = vec![Vec::new(); states.len()];
        for layer in 0..self.num_layers {
            let mut out = vec![T::default(); steps * batch * directions * hidden];
            for direction in 0..directions {
                let index = layer * directions + direction;
                let part = index * batch * hidden..(index + 1) * batch * hidden;
                let mut state: Vec<Vec<T>> = first.iter().map(|state| state[part.clone()].to_vec()).collect();
                let weights = &weights[index * per_layer..][..per_layer];
                self.direction(&x, weights, &mut state, direction, directions, &mut out);
                last.iter_mut().zip(state).for_each(|(last, state)| last.extend(state));
            }
            x = Tensor::from_vec([steps, batch, directions * hidden], out);
        }
        let mut results = vec![x];
        results.extend(states.iter().zip(last).map(|(like, state)| Tensor::from_vec(like.shape(), state)));
        results
    }

    /// One layer in one direction; writes its part of the layer's output.
    fn direction<T: Recurrent>(
        &self,
        x: &Tensor,
        weights: &[Tensor],
        state: &mut [Vec<T>],
        direction: usize,
        directions: usize,
        out: &mut [T],
    ) {
        let (steps, batch, inputs) = (x.shape()[0], x.shape()[1], x.shape()[2]);
        let (rows, hidden) = (weights[1].shape()[0], weights[1].shape()[1]);
        let rows_of_x = view::reshape(x, &[steps * batch, inputs]);
        let (mut from_input, mut from_state) =
            (vec![T::default(); steps * batch * rows], vec![T::default(); batch * rows]);
        affine(&mut from_input, &rows_of_x, &weights[0], weights.get(2));
        for step in 0..steps {
            let step = if direction == 0 { step } else { steps - 1 - step };
            let h = Tensor::from_vec([batch, hidden], state[0].clone());
            affine(&mut from_state, &h, &weights[1], weights.get(3));
            T::update(self.cell, state, &mut from_state, &from_input[step * batch * rows..][..batch * rows], hidden);
            for (b, state) in state[0].chunks_exact(hidden.max(1)).enumerate() {
                let to = ((step * batch + b) * directions + direction) * hidden;
                out[to..to + hidden].copy_from_slice(state);
            }
        }
    }
}

/// A type that recurrent layers are computed in.
trait Recurrent: Number {
    /// A step of all sequences, each with `hidden` numbers of state: of what comes from the state, which it may overwrite, and what comes from
    /// the input.
    fn update(cell: Cell, state: &mut [Vec<Self>], from_state: &mut [Self], from_input: &[Self], hidden: usize);
}

impl Recurrent for f32 {
    fn update(cell: Cell, state: &mut [Vec<f32>], from_state: &mut [f32], from_input: &[f32], hidden: usize) {
        let [h, memory @ ..] = state else { return };
        let c = memory.first_mut().map_or(&mut [][..], |c| c);
        if !cell.keeps_apart() {
            from_state.iter_mut().zip(from_input).for_each(|(sum, x)| *sum += *x);
        }
        recurrent::update(cell, State { h, c, hidden }, from_state, cell.keeps_apart().then_some(from_input));
    }
}

impl Recurrent for f64 {
    fn update(cell: Cell, state: &mut [Vec<f64>], from_state: &mut [f64], from_input: &[f64], hidden: usize) {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let width = cell.gates() * hidden;
        for place in 0..state[0].len() {
            let (sequence, i) = (place / hidden, place % hidden);
            let [b, a] = [&*from_state, from_input].map(|x| &x[sequence * width..][..width]);
            let gate = |k: usize| a[k * hidden + i] + b[k * hidden + i];
            let h = state[0][place];
            state[0][place] = match cell {
                Cell::Lstm => {
                    let c = sigmoid(gate(1)) * state[1][place] + sigmoid(gate(0)) * gate(2).tanh();
                    state[1][place] = c;
                    sigmoid(gate(3)) * c.tanh()
                }
                Cell::Gru => {
                    let new = (a[2 * hidden + i] + sigmoid(gate(0)) * b[2 * hidden + i]).tanh();
                    (h - new) * sigmoid(gate(1)) + new
                }
                Cell::Tanh => gate(0).tanh(),
                Cell::Relu if gate(0) < 0.0 => 0.0,
                Cell::Relu => gate(0),
            };
        }
    }
}

/// Two results as a pair, three as a triple.
fn outputs<const N: usize>(results: Vec<Tensor>) -> [Tensor; N] {
    results.try_into().expect("invariant: one result, and one for each state")
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn lstm(
    x: &Tensor,
    h0: &Tensor,
    c0: &Tensor,
    weights: Vec<&Tensor>,
    num_layers: i64,
    bidirectional: bool,
    batch_first: bool,
    bias: bool,
) -> Result<(Tensor, Tensor, Tensor)> {
    let network = Network { cell: Cell::Lstm, num_layers: num_layers as usize, bidirectional, batch_first, bias };
    let [y, h, c] = outputs(network.run(x, &[h0, c0], &weights));
    Ok((y, h, c))
}

pub(super) fn gru(
    x: &Tensor,
    h0: &Tensor,
    weights: Vec<&Tensor>,
    num_layers: i64,
    bidirectional: bool,
    batch_first: bool,
    bias: bool,
) -> Result<(Tensor, Tensor)> {
    let network = Network { cell: Cell::Gru, num_layers: num_layers as usize, bidirectional, batch_first, bias };
    let [y, h] = outputs(network.run(x, &[h0], &weights));
    Ok((y, h))
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn rnn(
    x: &Tensor,
    h0: &Tensor,
    weights: Vec<&Tensor>,
    nonlinearity: Cow<'static, str>,
    num_layers: i64,
    bidirectional: bool,
    batch_first: bool,
    bias: bool,
) -> Result<(Tensor, Tensor)> {
    let cell = if nonlinearity == "relu" { Cell::Relu } else { Cell::Tanh };
    let network = Network { cell, num_layers: num_layers as usize, bidirectional, batch_first, bias };
    let [y, h] = outputs(network.run(x, &[h0], &weights));
    Ok((y, h))
}
