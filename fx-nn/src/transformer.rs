//! The encoder and the decoder of the transformer (Vaswani et al., 2017).

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

impl Settings {
    /// PyTorch's defaults.
    fn new(d_model: usize, nhead: usize) -> Self {
        Self {
            d_model,
            nhead,
            dim_feedforward: 2048,
            dropout: 0.1,
            activation: "relu",
            layer_norm_eps: 1e-5,
            batch_first: false,
            norm_first: false,
            bias: true,
        }
    }

    #[track_caller]
    fn attention(&self) -> MultiheadAttention {
        let attention = MultiheadAttention::new(self.d_model, self.nhead).dropout(self.dropout);
        attention.bias(self.bias).batch_first(self.batch_first)
    }

    /// To the hidden elements and back.
    fn linears(&self) -> [Linear; 2] {
        let sizes = [(self.d_model, self.dim_feedforward), (self.dim_feedforward, self.d_model)];
        sizes.map(|(inputs, outputs)| Linear::new(inputs, outputs).bias(self.bias))
    }

    fn norm(&self) -> LayerNorm {
        LayerNorm::new(self.d_model).eps(self.layer_norm_eps).bias(self.bias)
    }

    fn dropout(&self) -> Dropout {
        Dropout::new(self.dropout)
    }

    /// The constructor of a layer with these.
    fn source(&self, name: &'static str) -> String {
        let Self { d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, .. } = *self;
        Source::new(name, format_args!("{d_model}, {nhead}"))
            .option("dim_feedforward", dim_feedforward, 2048)
            .option("dropout", dropout, 0.1)
            .option("activation", activation, "relu")
            .option("layer_norm_eps", layer_norm_eps, 1e-5)
            .option("batch_first", self.batch_first, false)
            .option("norm_first", self.norm_first, false)
            .option("bias", self.bias, true)
            .text()
    }
}

/// What layers of both kinds can be told, and what they do.
macro_rules! layers {
    ($($Layer:ident, $after_feed_forward:ident;)+) => { $(
        impl $Layer {
            /// `nhead` heads of `d_model` elements together, with PyTorch's defaults: 2048 hidden elements, dropout 0.1, ReLU,
            /// normalisation after each part, sequence first.
            #[track_caller]
            pub fn new(d_model: usize, nhead: usize) -> Self {
                Self::build(Settings::new(d_model, nhead))
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
                let is_known = matches!(activation, "relu" | "gelu");
                assert!(is_known, "the activation is \"relu\" or \"gelu\", not {activation:?}");
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

            /// Another layer with the same numbers.
            fn copy(&self) -> Self {
                let copy = Self::build(self.settings.clone());
                // The shapes are the same, so this cannot fail.
                let _ = copy.load_state_dict(&self.state_dict());
                copy
            }
        }

        #[traceable]
        impl $Layer {
            fn attend(&self, x: &Tensor, mask: Option<&Tensor>, key_padding_mask: Option<&Tensor>) -> Tensor {
                self.dropout1.forward(self.self_attn.forward(x, x, x, key_padding_mask, mask))
            }

            fn feed_forward(&self, x: &Tensor) -> Tensor {
                let hidden = self.linear1.forward(x);
                let is_gelu = self.settings.activation == "gelu";
                let hidden = if is_gelu { functional::gelu(hidden) } else { functional::relu(hidden) };
                self.$after_feed_forward.forward(self.linear2.forward(self.dropout.forward(hidden)))
            }
        }
    )+ };
}
layers! {
    TransformerEncoderLayer, dropout2;
    TransformerDecoderLayer, dropout3;
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
    #[track_caller]
    fn build(settings: Settings) -> Self {
        let [linear1, linear2] = settings.linears();
        Self {
            self_attn: settings.attention(),
            linear1,
            dropout: settings.dropout(),
            linear2,
            norm1: settings.norm(),
            norm2: settings.norm(),
            dropout1: settings.dropout(),
            dropout2: settings.dropout(),
            settings,
        }
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

    fn constructor(&self) -> String {
        self.settings.source("TransformerEncoderLayer")
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
    /// `src`: `[L, N, d_model]`, `mask`: `[L, L]`, `src_key_padding_mask`: `[N, L]`; gives the shape of `src`.
    pub fn forward(&self, src: &Tensor, mask: Option<&Tensor>, src_key_padding_mask: Option<&Tensor>) -> Tensor {
        let encoded = self.layers.iter().fold(src.clone(), |x, layer| layer.forward(x, mask, src_key_padding_mask));
        match &self.norm {
            Some(norm) => norm.forward(encoded),
            None => encoded,
        }
    }
}

/// Self-attention, attention to what an encoder gave, and a feed-forward network, as `torch.nn.TransformerDecoderLayer`.
///
/// Inputs have a batch.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct TransformerDecoderLayer {
    /// Attention of the sequence to itself
    pub self_attn: MultiheadAttention,
    /// Attention of the sequence to the memory
    pub multihead_attn: MultiheadAttention,
    /// `d_model` to `dim_feedforward`
    pub linear1: Linear,
    /// Between the linear layers
    pub dropout: Dropout,
    /// `dim_feedforward` to `d_model`
    pub linear2: Linear,
    /// Before or after attention to itself
    pub norm1: LayerNorm,
    /// Before or after attention to the memory
    pub norm2: LayerNorm,
    /// Before or after the feed-forward network
    pub norm3: LayerNorm,
    /// After attention to itself
    pub dropout1: Dropout,
    /// After attention to the memory
    pub dropout2: Dropout,
    /// After the feed-forward network
    pub dropout3: Dropout,
    settings: Settings,
}

#[traceable]
impl TransformerDecoderLayer {
    #[track_caller]
    fn build(settings: Settings) -> Self {
        let [linear1, linear2] = settings.linears();
        Self {
            self_attn: settings.attention(),
            multihead_attn: settings.attention(),
            linear1,
            dropout: settings.dropout(),
            linear2,
            norm1: settings.norm(),
            norm2: settings.norm(),
            norm3: settings.norm(),
            dropout1: settings.dropout(),
            dropout2: settings.dropout(),
            dropout3: settings.dropout(),
            settings,
        }
    }

    /// `tgt`: `[L, N, d_model]`, `memory`: `[S, N, d_model]`, `tgt_mask`: `[L, L]`, `memory_mask`: `[L, S]`,
    /// `tgt_key_padding_mask`: `[N, L]`, `memory_key_padding_mask`: `[N, S]`; gives the shape of `tgt`.
    pub fn forward(
        &self,
        tgt: &Tensor,
        memory: &Tensor,
        tgt_mask: Option<&Tensor>,
        memory_mask: Option<&Tensor>,
        tgt_key_padding_mask: Option<&Tensor>,
        memory_key_padding_mask: Option<&Tensor>,
    ) -> Tensor {
        if self.settings.norm_first {
            let x = tgt + self.attend(self.norm1.forward(tgt), tgt_mask, tgt_key_padding_mask);
            let seen = self.look_up(self.norm2.forward(&x), memory, memory_mask, memory_key_padding_mask);
            let x = x + seen;
            let fed = self.feed_forward(self.norm3.forward(&x));
            x + fed
        } else {
            let x = self.norm1.forward(tgt + self.attend(tgt, tgt_mask, tgt_key_padding_mask));
            let seen = self.look_up(&x, memory, memory_mask, memory_key_padding_mask);
            let x = self.norm2.forward(x + seen);
            let fed = self.feed_forward(&x);
            self.norm3.forward(x + fed)
        }
    }

    fn look_up(&self, x: &Tensor, memory: &Tensor, mask: Option<&Tensor>, key_padding_mask: Option<&Tensor>) -> Tensor {
        self.dropout2.forward(self.multihead_attn.forward(x, memory, memory, key_padding_mask, mask))
    }

    fn constructor(&self) -> String {
        self.settings.source("TransformerDecoderLayer")
    }
}

/// Decoder layers one after the other, as `torch.nn.TransformerDecoder`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct TransformerDecoder {
    /// The layers
    pub layers: Vec<TransformerDecoderLayer>,
    /// After the last layer
    pub norm: Option<LayerNorm>,
}

#[traceable]
impl TransformerDecoder {
    /// What [`TransformerDecoderLayer::forward`] takes; gives the shape of `tgt`.
    pub fn forward(
        &self,
        tgt: &Tensor,
        memory: &Tensor,
        tgt_mask: Option<&Tensor>,
        memory_mask: Option<&Tensor>,
        tgt_key_padding_mask: Option<&Tensor>,
        memory_key_padding_mask: Option<&Tensor>,
    ) -> Tensor {
        let decoded = self.layers.iter().fold(tgt.clone(), |x, layer| {
            layer.forward(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        });
        match &self.norm {
            Some(norm) => norm.forward(decoded),
            None => decoded,
        }
    }
}

/// How stacks of layers are made, and what makes them.
macro_rules! stacks {
    ($($Stack:ident, $name:literal, $Layer:ident, $layer:ident;)+) => { $(
        #[traceable]
        impl $Stack {
            /// `num_layers` layers, which start as copies of one.
            pub fn new($layer: &$Layer, num_layers: usize) -> Self {
                Self { layers: (0..num_layers).map(|_| $layer.copy()).collect(), norm: None }
            }

            /// Adds a normalisation after the last layer.
            #[must_use]
            pub fn norm(mut self, norm: LayerNorm) -> Self {
                self.norm = Some(norm);
                self
            }

            fn constructor(&self) -> Option<String> {
                let layer = self.layers.first()?.constructor_source()?;
                let norm = match &self.norm {
                    Some(norm) => format!(".norm({})", norm.constructor_source()?),
                    None => String::new(),
                };
                Some(Source::new($name, format_args!("&{layer}, {}", self.layers.len())).text() + &norm)
            }
        }
    )+ };
}
stacks! {
    TransformerEncoder, "TransformerEncoder", TransformerEncoderLayer, encoder_layer;
    TransformerDecoder, "TransformerDecoder", TransformerDecoderLayer, decoder_layer;
}
