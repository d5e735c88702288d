//! Recurrent layers over whole sequences, as one op each: `torch._VF.lstm`, `gru`, `rnn_tanh` and `rnn_relu`.
//!
//! The weights are a flat list in the order of `nn.LSTM`'s parameters: for each layer and direction `weight_ih`,
//! `weight_hh` and, with `bias`, `bias_ih` and `bias_hh`.

mod eval;
mod infer;

use std::borrow::Cow;

use super::Tolerance;
use super::kind::{self, Encode};
use super::table::{ops, out};
use crate::value::Call;

ops! {
    /// Recurrent layers over whole sequences.
    pub trait Recurrent;

    /// Long short-term memory: the outputs of the last layer, and every layer's last hidden and cell states.
    method lstm [lstm_with: LstmOptions] (input: one, h0: one, c0: one, weights: many;; num_layers: int = 1,
        bidirectional: flag = false, batch_first: flag = false, bias: flag = true) -> triple
        = eval::lstm, infer::lstm, infer::lstm_flops, tolerance Tolerance::SUMMATION;
    /// Gated recurrent units: the outputs of the last layer, and every layer's last hidden state.
    method gru [gru_with: GruOptions] (input: one, h0: one, weights: many;; num_layers: int = 1,
        bidirectional: flag = false, batch_first: flag = false, bias: flag = true) -> pair
        = eval::gru, infer::gru, infer::flops, tolerance Tolerance::SUMMATION;
    /// Plain recurrent layers: the outputs of the last layer, and every layer's last hidden state.
    method rnn [rnn_with: RnnOptions] (input: one, h0: one, weights: many;;
        nonlinearity: string = Cow::Borrowed("tanh"), num_layers: int = 1, bidirectional: flag = false,
        batch_first: flag = false, bias: flag = true) -> pair
        = eval::rnn, infer::rnn, infer::flops, tolerance Tolerance::SUMMATION;
}
