//! Single steps of recurrent layers.

use fx::functional;
use fx::ops::{GruOptions, LstmOptions, RnnOptions};
use fx::prelude::*;
use fx_macros::traceable;

use crate::init;
use crate::settings::Source;

/// What all cells have beside their `forward`, with this many gates: rows of a weight for each element of the state.
macro_rules! common {
    ($Cell:ident, $gates:literal $(, $setting:ident: $value:expr)?) => {
        impl $Cell {
            /// A cell with biases, and PyTorch's settings.
            pub fn new(input_size: usize, hidden_size: usize) -> Self {
                let bound = init::fan_in_bound(hidden_size);
                let weight = |width| init::uniform(&[$gates * hidden_size, width], bound);
                let (weight_ih, weight_hh) = (weight(input_size), weight(hidden_size));
                let (bias_ih, bias_hh) = (None, None);
                Self { weight_ih, weight_hh, bias_ih, bias_hh, input_size, hidden_size $(, $setting: $value)? }.bias(true)
            }

            /// Sets whether there are biases.
            #[must_use]
            pub fn bias(mut self, bias: bool) -> Self {
                let make = || init::uniform(&[$gates * self.hidden_size], init::fan_in_bound(self.hidden_size));
                self.bias_ih = bias.then(|| self.bias_ih.take().unwrap_or_else(make));
                self.bias_hh = bias.then(|| self.bias_hh.take().unwrap_or_else(make));
                self
            }

            /// Weights, and biases if there are any.
            fn values<V: Value>(&self) -> Vec<V> {
                let biases = [&self.bias_ih, &self.bias_hh].into_iter().flatten();
                [&self.weight_ih, &self.weight_hh].into_iter().chain(biases).map(Parameter::value).collect()
            }

            /// A state of zeros, with a batch if the input has one.
            #[track_caller]
            fn zero_state<V: Value>(&self, input: &V) -> V {
                // A proxy does not know how many dimensions it has: only the last one is changed.
                input.narrow(-1, 0_i64, 0_i64).pad([0, self.hidden_size])
            }

            fn repr(&self) -> String {
                let bias = if self.bias_ih.is_some() { "" } else { ", bias=False" };
                format!("{}, {}{bias}", self.input_size, self.hidden_size)
            }

            fn source(&self) -> Source {
                Source::new(stringify!($Cell), format_args!("{}, {}", self.input_size, self.hidden_size)).option(
                    "bias",
                    self.bias_ih.is_some(),
                    true,
                )
            }
        }
    };
}

/// A step of long short-term memory, as `torch.nn.LSTMCell` (Hochreiter and Schmidhuber, 1997).
///
/// The rows of the weights are those of the input, forget, cell and output gates. All parameters are uniform within one
/// over the root of `hidden_size`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct LSTMCell {
    /// `[4 * hidden_size, input_size]`
    pub weight_ih: Parameter,
    /// `[4 * hidden_size, hidden_size]`
    pub weight_hh: Parameter,
    /// `[4 * hidden_size]`
    pub bias_ih: Option<Parameter>,
    /// `[4 * hidden_size]`
    pub bias_hh: Option<Parameter>,
    input_size: usize,
    hidden_size: usize,
}

common!(LSTMCell, 4);

#[traceable]
impl LSTMCell {
    /// `input`: `[N, input_size]`; `hx`: the states `(h, c)`, each `[N, hidden_size]`, zeros if absent. Gives the next
    /// `(h, c)`. All may be without `N`.
    pub fn forward(&self, input: &Tensor, hx: Option<(Tensor, Tensor)>) -> (Tensor, Tensor) {
        let (h, c) = match hx {
            Some(hx) => hx,
            None => {
                let zeros = self.zero_state(input);
                (zeros.clone(), zeros)
            }
        };
        let options = LstmOptions::new().bias(self.bias_ih.is_some());
        let (input, h, c) = (input.unsqueeze(0), h.unsqueeze(0), c.unsqueeze(0));
        let (_, h, c) = functional::lstm_with(input, h, c, self.values::<Tensor>(), options);
        (h.select(0, 0), c.select(0, 0))
    }

    fn extra_repr(&self) -> String {
        self.repr()
    }

    fn constructor(&self) -> String {
        self.source().text()
    }
}

/// A step of gated recurrent units, as `torch.nn.GRUCell` (Cho et al., 2014).
///
/// The rows of the weights are those of the reset, update and new gates. All parameters are uniform within one over the
/// root of `hidden_size`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct GRUCell {
    /// `[3 * hidden_size, input_size]`
    pub weight_ih: Parameter,
    /// `[3 * hidden_size, hidden_size]`
    pub weight_hh: Parameter,
    /// `[3 * hidden_size]`
    pub bias_ih: Option<Parameter>,
    /// `[3 * hidden_size]`
    pub bias_hh: Option<Parameter>,
    input_size: usize,
    hidden_size: usize,
}

common!(GRUCell, 3);

#[traceable]
impl GRUCell {
    /// `input`: `[N, input_size]`; `hx`: the state `[N, hidden_size]`, zeros if absent. Gives the next state. All may be
    /// without `N`.
    pub fn forward(&self, input: &Tensor, hx: Option<&Tensor>) -> Tensor {
        let h = hx.cloned().unwrap_or_else(|| self.zero_state(input)).unsqueeze(0);
        let options = GruOptions::new().bias(self.bias_ih.is_some());
        let (_, h) = functional::gru_with(input.unsqueeze(0), h, self.values::<Tensor>(), options);
        h.select(0, 0)
    }

    fn extra_repr(&self) -> String {
        self.repr()
    }

    fn constructor(&self) -> String {
        self.source().text()
    }
}

/// A step of the plain recurrent network, as `torch.nn.RNNCell` (Elman, 1990).
///
/// All parameters are uniform within one over the root of `hidden_size`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct RNNCell {
    /// `[hidden_size, input_size]`
    pub weight_ih: Parameter,
    /// `[hidden_size, hidden_size]`
    pub weight_hh: Parameter,
    /// `[hidden_size]`
    pub bias_ih: Option<Parameter>,
    /// `[hidden_size]`
    pub bias_hh: Option<Parameter>,
    input_size: usize,
    hidden_size: usize,
    nonlinearity: &'static str,
}

common!(RNNCell, 1, nonlinearity: "tanh");

#[traceable]
impl RNNCell {
    /// Sets the nonlinearity: `"tanh"`, as it is at first, or `"relu"`.
    #[must_use]
    pub fn nonlinearity(mut self, nonlinearity: &'static str) -> Self {
        self.nonlinearity = nonlinearity;
        self
    }

    /// `input`: `[N, input_size]`; `hx`: the state `[N, hidden_size]`, zeros if absent. Gives the next state. All may be
    /// without `N`.
    pub fn forward(&self, input: &Tensor, hx: Option<&Tensor>) -> Tensor {
        let h = hx.cloned().unwrap_or_else(|| self.zero_state(input)).unsqueeze(0);
        let options = RnnOptions::new().nonlinearity(self.nonlinearity).bias(self.bias_ih.is_some());
        let (_, h) = functional::rnn_with(input.unsqueeze(0), h, self.values::<Tensor>(), options);
        h.select(0, 0)
    }

    fn extra_repr(&self) -> String {
        let mut text = self.repr();
        if self.nonlinearity != "tanh" {
            text += &format!(", nonlinearity={}", self.nonlinearity);
        }
        text
    }

    fn constructor(&self) -> String {
        self.source().option("nonlinearity", self.nonlinearity, "tanh").text()
    }
}
