//! Recurrent layers.

use fx::functional;
use fx::module::{Entry, Visit, Visitor};
use fx::ops::{GruOptions, LstmOptions, RnnOptions, ZerosOptions};
use fx::prelude::*;
use fx_macros::traceable;

use crate::init;
use crate::settings::{Source, beside};

/// The weights of all layers and directions, in PyTorch's order and under its names: `weight_ih_l0`,
/// `weight_hh_l0_reverse`.
#[derive(Clone, Debug)]
struct Weights(Vec<(String, Parameter)>);

impl Visit for Weights {
    // The weights are parameters of the module itself: their paths have its path, not that of this field.
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        for (name, parameter) in &self.0 {
            visitor.state(&beside(path, name), Entry::Parameter(parameter));
        }
    }
}

/// The hyper-parameters of a recurrent layer.
#[derive(Clone, Debug)]
struct Settings {
    input_size: usize,
    hidden_size: usize,
    /// The rows of a weight for each element of the hidden state.
    gates: usize,
    num_layers: usize,
    bias: bool,
    batch_first: bool,
    bidirectional: bool,
}

impl Settings {
    fn new(input_size: usize, hidden_size: usize, gates: usize) -> Self {
        let (num_layers, bias, batch_first, bidirectional) = (1, true, false, false);
        Self { input_size, hidden_size, gates, num_layers, bias, batch_first, bidirectional }
    }

    fn directions(&self) -> usize {
        1 + usize::from(self.bidirectional)
    }

    fn weights(&self) -> Weights {
        let rows = self.gates * self.hidden_size;
        let bound = init::fan_in_bound(self.hidden_size);
        let mut weights = Vec::new();
        for layer in 0..self.num_layers {
            let width = if layer == 0 { self.input_size } else { self.hidden_size * self.directions() };
            for suffix in ["", "_reverse"].into_iter().take(self.directions()) {
                let mut add = |name: &str, size: &[usize]| {
                    weights.push((format!("{name}_l{layer}{suffix}"), init::uniform(size, bound)));
                };
                add("weight_ih", &[rows, width]);
                add("weight_hh", &[rows, self.hidden_size]);
                if self.bias {
                    add("bias_ih", &[rows]);
                    add("bias_hh", &[rows]);
                }
            }
        }
        Weights(weights)
    }

    fn repr(&self) -> String {
        let mut text = format!("{}, {}", self.input_size, self.hidden_size);
        if self.num_layers != 1 {
            text += &format!(", num_layers={}", self.num_layers);
        }
        if !self.bias {
            text += ", bias=False";
        }
        if self.batch_first {
            text += ", batch_first=True";
        }
        if self.bidirectional {
            text += ", bidirectional=True";
        }
        text
    }

    fn source(&self, name: &str) -> Source {
        Source::new(name, format_args!("{}, {}", self.input_size, self.hidden_size))
            .option("num_layers", self.num_layers, 1)
            .option("bias", self.bias, true)
            .option("batch_first", self.batch_first, false)
            .option("bidirectional", self.bidirectional, false)
    }
}

/// What all recurrent layers have beside their `forward`.
macro_rules! common {
    ($Layer:ident) => {
        impl $Layer {
            /// Sets the number of layers, each on the output of the one before, with new weights.
            #[must_use]
            pub fn num_layers(self, num_layers: usize) -> Self {
                self.with(|settings| settings.num_layers = num_layers)
            }

            /// Sets whether there are biases, with new weights.
            #[must_use]
            pub fn bias(self, bias: bool) -> Self {
                self.with(|settings| settings.bias = bias)
            }

            /// Sets whether input and output are `[N, L, *]` rather than `[L, N, *]`.
            #[must_use]
            pub fn batch_first(mut self, batch_first: bool) -> Self {
                self.settings.batch_first = batch_first;
                self
            }

            /// Sets whether the sequence is read backwards as well, with new weights.
            #[must_use]
            pub fn bidirectional(self, bidirectional: bool) -> Self {
                self.with(|settings| settings.bidirectional = bidirectional)
            }

            fn with(mut self, set: impl FnOnce(&mut Settings)) -> Self {
                set(&mut self.settings);
                self.weights = self.settings.weights();
                self
            }

            /// The parameter of this name: `weight_ih_l0`.
            pub fn parameter(&self, name: &str) -> Option<&Parameter> {
                self.weights.0.iter().find(|(have, _)| have == name).map(|(_, parameter)| parameter)
            }

            fn values<V: Value>(&self) -> Vec<V> {
                self.weights.0.iter().map(|(_, parameter)| parameter.value()).collect()
            }

            /// A hidden state of zeros for an input with a batch.
            #[track_caller]
            fn zero_state<V: Value>(&self, input: &V) -> V {
                let Settings { num_layers, hidden_size, batch_first, .. } = self.settings;
                let batch = input.size(if batch_first { 0 } else { 1 });
                let dtype = self.weights.0.first().map_or(DType::F32, |(_, weight)| weight.dtype());
                let size = (num_layers * self.settings.directions(), batch, hidden_size);
                V::zeros_with(size, ZerosOptions::new().dtype(dtype))
            }
        }
    };
}

/// Long short-term memory, as `torch.nn.LSTM` (Hochreiter and Schmidhuber, 1997).
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct LSTM {
    weights: Weights,
    settings: Settings,
}

common!(LSTM);

#[traceable]
impl LSTM {
    /// One layer, one direction, sequence first, with bias.
    pub fn new(input_size: usize, hidden_size: usize) -> Self {
        let settings = Settings::new(input_size, hidden_size, 4);
        Self { weights: settings.weights(), settings }
    }

    /// `input`: `[L, N, input_size]`; `hx`: the states `(h_0, c_0)`, each `[layers * directions, N, hidden_size]`,
    /// zeros if absent. Gives `(output, (h_n, c_n))` with the output `[L, N, directions * hidden_size]`.
    ///
    /// An input without a batch needs `hx`.
    pub fn forward(&self, input: &Tensor, hx: Option<(Tensor, Tensor)>) -> (Tensor, (Tensor, Tensor)) {
        let (h0, c0) = match hx {
            Some(hx) => hx,
            None => {
                let zeros = self.zero_state(input);
                (zeros.clone(), zeros)
            }
        };
        let Settings { num_layers, bidirectional, batch_first, bias, .. } = self.settings;
        let options = LstmOptions::new().num_layers(num_layers).bidirectional(bidirectional);
        let weights = self.values::<Tensor>();
        let (output, hn, cn) =
            functional::lstm_with(input, h0, c0, weights, options.batch_first(batch_first).bias(bias));
        (output, (hn, cn))
    }

    fn extra_repr(&self) -> String {
        self.settings.repr()
    }

    fn constructor(&self) -> String {
        self.settings.source("LSTM").text()
    }
}

/// Gated recurrent units, as `torch.nn.GRU` (Cho et al., 2014).
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct GRU {
    weights: Weights,
    settings: Settings,
}

common!(GRU);

#[traceable]
impl GRU {
    /// One layer, one direction, sequence first, with bias.
    pub fn new(input_size: usize, hidden_size: usize) -> Self {
        let settings = Settings::new(input_size, hidden_size, 3);
        Self { weights: settings.weights(), settings }
    }

    /// `input`: `[L, N, input_size]`; `hx`: the state `[layers * directions, N, hidden_size]`, zeros if absent.
    /// Gives `(output, h_n)` with the output `[L, N, directions * hidden_size]`.
    ///
    /// An input without a batch needs `hx`.
    pub fn forward(&self, input: &Tensor, hx: Option<&Tensor>) -> (Tensor, Tensor) {
        let h0 = hx.cloned().unwrap_or_else(|| self.zero_state(input));
        let Settings { num_layers, bidirectional, batch_first, bias, .. } = self.settings;
        let options = GruOptions::new().num_layers(num_layers).bidirectional(bidirectional);
        functional::gru_with(input, h0, self.values::<Tensor>(), options.batch_first(batch_first).bias(bias))
    }

    fn extra_repr(&self) -> String {
        self.settings.repr()
    }

    fn constructor(&self) -> String {
        self.settings.source("GRU").text()
    }
}

/// The plain recurrent network, as `torch.nn.RNN` (Elman, 1990).
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct RNN {
    weights: Weights,
    settings: Settings,
    nonlinearity: &'static str,
}

common!(RNN);

#[traceable]
impl RNN {
    /// One layer, one direction, sequence first, with bias and `tanh`.
    pub fn new(input_size: usize, hidden_size: usize) -> Self {
        let settings = Settings::new(input_size, hidden_size, 1);
        Self { weights: settings.weights(), settings, nonlinearity: "tanh" }
    }

    /// Sets the nonlinearity: `"tanh"` or `"relu"`.
    #[must_use]
    pub fn nonlinearity(mut self, nonlinearity: &'static str) -> Self {
        self.nonlinearity = nonlinearity;
        self
    }

    /// `input`: `[L, N, input_size]`; `hx`: the state `[layers * directions, N, hidden_size]`, zeros if absent.
    /// Gives `(output, h_n)` with the output `[L, N, directions * hidden_size]`.
    ///
    /// An input without a batch needs `hx`.
    pub fn forward(&self, input: &Tensor, hx: Option<&Tensor>) -> (Tensor, Tensor) {
        let h0 = hx.cloned().unwrap_or_else(|| self.zero_state(input));
        let Settings { num_layers, bidirectional, batch_first, bias, .. } = self.settings;
        let options = RnnOptions::new().nonlinearity(self.nonlinearity).num_layers(num_layers);
        let options = options.bidirectional(bidirectional).batch_first(batch_first).bias(bias);
        functional::rnn_with(input, h0, self.values::<Tensor>(), options)
    }

    fn extra_repr(&self) -> String {
        self.settings.repr()
    }

    fn constructor(&self) -> String {
        self.settings.source("RNN").option("nonlinearity", self.nonlinearity, "tanh").text()
    }
}
