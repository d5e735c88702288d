//! Shapes, element types and work of recurrent layers.

use std::borrow::Cow;

use crate::arg::{Arg, Kwargs};
use crate::error::{Error, Result};
use crate::ops::shape::{require_equal, require_float, require_ndim};
use crate::value::{Dim, Meta, Shape, TensorMeta};

/// What all recurrent layers have in common.
struct Network<'a> {
    x: &'a TensorMeta,
    weights: &'a [&'a TensorMeta],
    /// Rows of a weight for each element of the state: the number of gates.
    gates: i64,
    num_layers: i64,
    bidirectional: bool,
    batch_first: bool,
    bias: bool,
}

impl Network<'_> {
    /// The shape of the outputs, if everything fits.
    fn check(&self, states: &[&TensorMeta]) -> Result<TensorMeta> {
        let x = self.x;
        require_float(x)?;
        require_ndim(x, "the input", 2..=3, "3 or, without a batch, 2")?;
        let directions = 1 + i64::from(self.bidirectional);
        let per_layer = if self.bias { 4 } else { 2 };
        let expected = self.num_layers.saturating_mul(directions * per_layer);
        if self.num_layers < 1 || self.weights.len() as i64 != expected {
            return Err(Error::argument(format!(
                "{} layers in {directions} directions take {expected} weights, found {}",
                self.num_layers,
                self.weights.len()
            )));
        }
        for other in self.weights.iter().chain(states) {
            if other.dtype != x.dtype {
                return Err(Error::dtype(format!("the operands must have one element type, found {x} and {other}")));
            }
        }
        require_ndim(self.weights[1], "a weight", 2..=2, "2")?;
        let hidden = self.weights[1].shape[1].clone();
        self.check_weights(&hidden, directions, per_layer as usize)?;
        let mut state = Shape::from_iter([Dim::Int(self.num_layers * directions)]);
        if x.ndim() == 3 {
            state.push(x.shape[usize::from(!self.batch_first)].clone());
        }
        state.push(hidden.clone());
        for have in states {
            let fits =
                have.ndim() == state.len() && have.shape.iter().zip(&state).all(|(have, want)| have.may_eq(want));
            if !fits {
                return Err(Error::shape(format!("a state must have the shape {state:?}, found {have}")));
            }
        }
        let mut shape = x.shape.clone();
        shape[x.ndim() - 1] = hidden * directions;
        Ok(TensorMeta { shape, dtype: x.dtype })
    }

    fn check_weights(&self, hidden: &Dim, directions: i64, per_layer: usize) -> Result<()> {
        let rows = hidden * self.gates;
        for (i, weights) in self.weights.chunks(per_layer).enumerate() {
            let layer = i as i64 / directions;
            let inputs = if layer == 0 { self.x.shape[self.x.ndim() - 1].clone() } else { hidden * directions };
            let shapes = [vec![&rows, &inputs], vec![&rows, hidden], vec![&rows], vec![&rows]];
            for (have, want) in weights.iter().zip(&shapes) {
                let what = || format!("a weight of layer {layer} must have the shape {want:?}, found {have}");
                if have.ndim() != want.len() {
                    return Err(Error::shape(what()));
                }
                for (have, want) in have.shape.iter().zip(want) {
                    require_equal(have, want, what)?;
                }
            }
        }
        Ok(())
    }
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn lstm(
    x: &TensorMeta,
    h0: &TensorMeta,
    c0: &TensorMeta,
    weights: Vec<&TensorMeta>,
    num_layers: i64,
    bidirectional: bool,
    batch_first: bool,
    bias: bool,
) -> Result<(TensorMeta, TensorMeta, TensorMeta)> {
    let network = Network { x, weights: &weights, gates: 4, num_layers, bidirectional, batch_first, bias };
    Ok((network.check(&[h0, c0])?, h0.clone(), c0.clone()))
}

pub(super) fn gru(
    x: &TensorMeta,
    h0: &TensorMeta,
    weights: Vec<&TensorMeta>,
    num_layers: i64,
    bidirectional: bool,
    batch_first: bool,
    bias: bool,
) -> Result<(TensorMeta, TensorMeta)> {
    let network = Network { x, weights: &weights, gates: 3, num_layers, bidirectional, batch_first, bias };
    Ok((network.check(&[h0])?, h0.clone()))
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn rnn(
    x: &TensorMeta,
    h0: &TensorMeta,
    weights: Vec<&TensorMeta>,
    nonlinearity: Cow<'static, str>,
    num_layers: i64,
    bidirectional: bool,
    batch_first: bool,
    bias: bool,
) -> Result<(TensorMeta, TensorMeta)> {
    if !matches!(&*nonlinearity, "tanh" | "relu") {
        return Err(Error::argument(format!("`nonlinearity` is \"tanh\" or \"relu\", not \"{nonlinearity}\"")));
    }
    let network = Network { x, weights: &weights, gates: 1, num_layers, bidirectional, batch_first, bias };
    Ok((network.check(&[h0])?, h0.clone()))
}

/// A multiply-add for each weight and each step of each sequence.
pub(super) fn flops(args: &[Arg<Meta>], _: &Kwargs<Meta>, _: &Arg<Meta>) -> Dim {
    work(args, 2)
}

/// As [`flops`], with the weights after two states.
pub(super) fn lstm_flops(args: &[Arg<Meta>], _: &Kwargs<Meta>, _: &Arg<Meta>) -> Dim {
    work(args, 3)
}

fn work(args: &[Arg<Meta>], weights: usize) -> Dim {
    let input = args.first().and_then(Arg::as_value).and_then(Meta::as_tensor);
    let (Some(input), Some(weights)) = (input, args.get(weights)) else { return Dim::Int(0) };
    let steps: Dim = input.shape[..input.ndim() - 1].iter().cloned().product();
    let mut elements = Dim::Int(0);
    weights.for_each(&mut |weight| {
        if let Meta::Tensor(weight) = weight
            && weight.ndim() == 2
        {
            elements = &elements + weight.numel();
        }
    });
    elements * steps * 2
}
