//! The encoder of Whisper tiny as Hugging Face writes it.

use fx::nn;
use fx::prelude::*;

const WIDTH: usize = 384;
const HEADS: usize = 6;
const HEAD_DIM: usize = WIDTH / HEADS;

#[traceable]
#[derive(Clone)]
struct Attention {
    k_proj: nn::Linear,
    v_proj: nn::Linear,
    q_proj: nn::Linear,
    out_proj: nn::Linear,
}

#[traceable]
impl Attention {
    pub(crate) fn new() -> Self {
        let linear = || nn::Linear::new(WIDTH, WIDTH);
        Self { k_proj: linear().bias(false), v_proj: linear(), q_proj: linear(), out_proj: linear() }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let [n, l, _] = x.sizes();
        let heads = |y: Tensor| y.view((&n, &l, -1, HEAD_DIM)).transpose(1, 2).contiguous();
        let q = heads(self.q_proj.forward(x) * (HEAD_DIM as f64).powf(-0.5));
        let k = heads(self.k_proj.forward(x));
        let v = heads(self.v_proj.forward(x));
        let y = q.scaled_dot_product_attention_with(k, v, None, fx::ops::AttentionOptions::new().scale(1.0));
        self.out_proj.forward(y.transpose(1, 2).reshape((&n, &l, -1)))
    }
}

#[traceable]
#[derive(Clone)]
struct Layer {
    self_attn: Attention,
    self_attn_layer_norm: nn::LayerNorm,
    fc1: nn::Linear,
    fc2: nn::Linear,
    final_layer_norm: nn::LayerNorm,
}

#[traceable]
impl Layer {
    pub(crate) fn new() -> Self {
        Self {
            self_attn: Attention::new(),
            self_attn_layer_norm: nn::LayerNorm::new(WIDTH),
            fc1: nn::Linear::new(WIDTH, 1536),
            fc2: nn::Linear::new(1536, WIDTH),
            final_layer_norm: nn::LayerNorm::new(WIDTH),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = x + self.self_attn.forward(self.self_attn_layer_norm.forward(x));
        let y = self.fc1.forward(self.final_layer_norm.forward(&x)).gelu();
        x + self.fc2.forward(y)
    }
}

#[traceable]
#[derive(Clone)]
struct Encoder {
    conv1: nn::Conv1d,
    conv2: nn::Conv1d,
    embed_positions: nn::Embedding,
    layers: Vec<Layer>,
    layer_norm: nn::LayerNorm,
}

#[traceable]
impl Encoder {
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.conv1.forward(x).gelu();
        let x = self.conv2.forward(x).gelu().permute([0, 2, 1]);
        let positions = self.embed_positions.forward(Tensor::arange(1500));
        let mut x = x + positions;
        for layer in &self.layers {
            x = layer.forward(x);
        }
        self.layer_norm.forward(x)
    }
}

#[traceable]
#[derive(Clone)]
pub(crate) struct Whisper {
    encoder: Encoder,
}

#[traceable]
impl Whisper {
    pub(crate) fn new() -> Self {
        let encoder = Encoder {
            conv1: nn::Conv1d::new(80, WIDTH, 3).padding(1),
            conv2: nn::Conv1d::new(WIDTH, WIDTH, 3).stride(2).padding(1),
            embed_positions: nn::Embedding::new(1500, WIDTH),
            layers: (0..4).map(|_| Layer::new()).collect(),
            layer_norm: nn::LayerNorm::new(WIDTH),
        };
        Self { encoder }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        self.encoder.forward(x)
    }
}
