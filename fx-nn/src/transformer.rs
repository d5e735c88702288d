//! The encoder of the transformer (Vaswani et al., 2017).

use fx::functional;
use fx::prelude::*;
use fx_macros::traceable;

use crate::attention::MultiheadAttention;
use crate::dropout::Dropout;
use crate::linear::Linear;
use crate::norm::LayerNorm;
use crate::settings::Source;

/// The hyper-parameters of a layer.
#[derive(Clone, Debug)]
struct Settings {
    d_model: usize,
    nhead: usize,
    dim_feedforward: usize,
    dropout: f64,
    activation: &'static str,
    layer_norm_eps: f64,
    batch_first: bool,
    norm_first: bool,
    bias: bool,
}

/// Self-attention and a feed-forward network, as `torch.nn.TransformerEncoderLayer`.
///
/// Inputs have a batch.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct TransformerEncoderLayer {
    /// Attention of the sequence to itself
    pub self_attn: MultiheadAttention,
    /// `d_model` to `dim_feedforward`
    pub linear1: Linear,
    /// Between the linear layers
    pub dropout: Dropout,
    /// `dim_feedforward` to `d_model`
    pub linear2: Linear,
    /// Before or after attention
    pub norm1: LayerNorm,
    /// Before or after the feed-forward network
    pub norm2: LayerNorm,
    /// After attention
    pub dropout1: Dropout,
    /// After the feed-forward network
    pub dropout2: Dropout,
    settings: Settings,
}

#[traceable]
impl TransformerEncoderLayer {
    /// `nhead` heads of `d_model` elements together, with PyTorch's defaults: 2048 hidden elements, dropout 0.1, ReLU,
    /// normalisation after each part, sequence first.
    #[track_caller]
    pub fn new(d_model: usize, nhead: usize) -> Self {
        Self::build(Settings {
            d_model,
            nhead,
            dim_feedforward: 2048,
            dropout: 0.1,
            activation: "relu",
            layer_norm_eps: 1e-5,
            batch_first: false,
            norm_first: false,
            bias: true,
        })
    }

    #[track_caller]
    fn build(settings: Settings) -> Self {
        let Settings { d_model, nhead, dim_feedforward, dropout, layer_norm_eps, batch_first, bias, .. } = settings;
        let attention = MultiheadAttention::new(d_model, nhead).dropout(dropout).bias(bias).batch_first(batch_first);
        let norm = || LayerNorm::new(d_model).eps(layer_norm_eps).bias(bias);
        Self {
            self_attn: attention,
            linear1: Linear::new(d_model, dim_feedforward).bias(bias),
            dropout: Dropout::new(dropout),
            linear2: Linear::new(dim_feedforward, d_model).bias(bias),
            norm1: norm(),
            norm2: norm(),
            dropout1: Dropout::new(dropout),
            dropout2: Dropout::new(dropout),
            settings,
        }
    }

    fn with(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        set(&mut self.settings);
        Self::build(self.settings)
    }

    /// Sets the size of the hidden layer, with new parameters.
    #[must_use]
    pub fn dim_feedforward(self, dim_feedforward: usize) -> Self {
        self.with(|settings| settings.dim_feedforward = dim_feedforward)
    }

    /// Sets the probability of dropout, with new parameters.
    #[must_use]
    pub fn dropout(self, dropout: f64) -> Self {
        self.with(|settings| settings.dropout = dropout)
    }

    /// Sets the activation: `"relu"` or `"gelu"`.
    ///
    /// # Panics
    /// If it is another one.
    #[must_use]
    #[track_caller]
    pub fn activation(mut self, activation: &'static str) -> Self {
        assert!(matches!(activation, "relu" | "gelu"), "the activation is \"relu\" or \"gelu\", not {activation:?}");
        self.settings.activation = activation;
        self
    }

    /// Sets what is added to variances, with new parameters.
    #[must_use]
    pub fn layer_norm_eps(self, layer_norm_eps: f64) -> Self {
        self.with(|settings| settings.layer_norm_eps = layer_norm_eps)
    }

    /// Sets whether input and output are `[N, L, d_model]` rather than `[L, N, d_model]`, with new parameters.
    #[must_use]
    pub fn batch_first(self, batch_first: bool) -> Self {
        self.with(|settings| settings.batch_first = batch_first)
    }

    /// Sets whether normalisation comes before each part rather than after it.
    #[must_use]
    pub fn norm_first(mut self, norm_first: bool) -> Self {
        self.settings.norm_first = norm_first;
        self
    }

    /// Sets whether there are biases, with new parameters.
    #[must_use]
    pub fn bias(self, bias: bool) -> Self {
        self.with(|settings| settings.bias = bias)
    }

    /// `src`: `[L, N, d_model]`, `src_mask`: `[L, L]`, `src_key_padding_mask`: `[N, L]`; gives the shape of `src`.
    pub fn forward(&self, src: &Tensor, src_mask: Option<&Tensor>, src_key_padding_mask: Option<&Tensor>) -> Tensor {
        if self.settings.norm_first {
            let x = src + self.attend(self.norm1.forward(src), src_mask, src_key_padding_mask);
            let fed = self.feed_forward(self.norm2.forward(&x));
            x + fed
        } else {
            let x = self.norm1.forward(src + self.attend(src, src_mask, src_key_padding_mask));
            let fed = self.feed_forward(&x);
            self.norm2.forward(x + fed)
        }
    }

    fn attend(&self, x: &Tensor, mask: Option<&Tensor>, key_padding_mask: Option<&Tensor>) -> Tensor {
        self.dropout1.forward(self.self_attn.forward(x, x, x, key_padding_mask, mask))
    }

    fn feed_forward(&self, x: &Tensor) -> Tensor {
        let hidden = self.linear1.forward(x);
        let hidden =
            if self.settings.activation == "gelu" { functional::gelu(hidden) } else { functional::relu(hidden) };
        self.dropout2.forward(self.linear2.forward(self.dropout.forward(hidden)))
    }

    /// Another layer with the same numbers.
    fn copy(&self) -> Self {
        let copy = Self::build(self.settings.clone());
        // The shapes are the same, so this cannot fail.
        let _ = copy.load_state_dict(&self.state_dict());
        copy
    }

    fn constructor(&self) -> String {
        let Settings { d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, .. } = self.settings;
        Source::new("TransformerEncoderLayer", format_args!("{d_model}, {nhead}"))
            .option("dim_feedforward", dim_feedforward, 2048)
            .option("dropout", dropout, 0.1)
            .option("activation", activation, "relu")
            .option("layer_norm_eps", layer_norm_eps, 1e-5)
            .option("batch_first", self.settings.batch_first, false)
            .option("norm_first", self.settings.norm_first, false)
            .option("bias", self.settings.bias, true)
            .text()
    }
}

/// Encoder layers one after the other, as `torch.nn.TransformerEncoder`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct TransformerEncoder {
    /// The layers
    pub layers: Vec<TransformerEncoderLayer>,
    /// After the last layer
    pub norm: Option<LayerNorm>,
}

#[traceable]
impl TransformerEncoder {
    /// `num_layers` layers, which start as copies of `encoder_layer`.
    pub fn new(encoder_layer: &TransformerEncoderLayer, num_layers: usize) -> Self {
        Self { layers: (0..num_layers).map(|_| encoder_layer.copy()).collect(), norm: None }
    }

    /// Adds a normalisation after the last layer.
    #[must_use]
    pub fn norm(mut self, norm: LayerNorm) -> Self {
        self.norm = Some(norm);
        self
    }

    /// `src`: `[L, N, d_model]`, `mask`: `[L, L]`, `src_key_padding_mask`: `[N, L]`; gives the shape of `src`.
    pub fn forward(&self, src: &Tensor, mask: Option<&Tensor>, src_key_padding_mask: Option<&Tensor>) -> Tensor {
        let encoded = self.layers.iter().fold(src.clone(), |x, layer| layer.forward(x, mask, src_key_padding_mask));
        match &self.norm {
            Some(norm) => norm.forward(encoded),
            None => encoded,
        }
    }

    fn constructor(&self) -> Option<String> {
        let layer = self.layers.first()?.constructor_source()?;
        let norm = match &self.norm {
            Some(norm) => format!(".norm({})", norm.constructor_source()?),
            None => String::new(),
        };
        Some(Source::new("TransformerEncoder", format_args!("&{layer}, {}", self.layers.len())).text() + &norm)
    }
}
