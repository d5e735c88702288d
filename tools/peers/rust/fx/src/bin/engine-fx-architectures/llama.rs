//! A decoder as Hugging Face's Llama, with grouped heads and rotary positions.

use fx::nn;
use fx::prelude::*;

const HIDDEN: usize = 768;
const HEADS: usize = 12;
const KV_HEADS: usize = 4;
const HEAD_DIM: usize = HIDDEN / HEADS;

/// `1 / 10000^(i / HEAD_DIM)` for even `i`: not in the file, so no buffer.
fn inv_freq() -> Tensor {
    let of = |i| 1.0 / 10000f32.powf(i as f32 / HEAD_DIM as f32);
    Tensor::from_vec([HEAD_DIM / 2], (0..HEAD_DIM).step_by(2).map(of).collect::<Vec<f32>>())
}

#[traceable]
fn rotary(ids: &Tensor) -> (Tensor, Tensor) {
    let positions = Tensor::arange(ids.size(1)).to(DType::F32);
    let freqs = positions.unsqueeze(-1) * Tensor::constant(&inv_freq());
    let emb = Tensor::cat_with([&freqs, &freqs], fx::ops::CatOptions::new().dim(-1));
    (emb.cos(), emb.sin())
}

#[traceable]
fn rotate_half(x: &Tensor) -> Tensor {
    let half = HEAD_DIM as i64 / 2;
    let x1 = x.index((fx::Arg::Ellipsis, ..half));
    let x2 = x.index((fx::Arg::Ellipsis, half..));
    Tensor::cat_with([-x2, x1], fx::ops::CatOptions::new().dim(-1))
}

#[traceable]
fn rotate(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Tensor {
    x * cos + rotate_half(x) * sin
}

#[traceable]
#[derive(Clone)]
struct Attention {
    q_proj: nn::Linear,
    k_proj: nn::Linear,
    v_proj: nn::Linear,
    o_proj: nn::Linear,
}

#[traceable]
impl Attention {
    pub(crate) fn new() -> Self {
        let linear = |i, o| nn::Linear::new(i, o).bias(false);
        Self {
            q_proj: linear(HIDDEN, HEADS * HEAD_DIM),
            k_proj: linear(HIDDEN, KV_HEADS * HEAD_DIM),
            v_proj: linear(HIDDEN, KV_HEADS * HEAD_DIM),
            o_proj: linear(HEADS * HEAD_DIM, HIDDEN),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor, cos: &Tensor, sin: &Tensor) -> Tensor {
        let [n, l, _] = x.sizes();
        let heads = |y: Tensor| y.view((&n, &l, -1, HEAD_DIM)).transpose(1, 2);
        let q = rotate(heads(self.q_proj.forward(x)), cos, sin);
        let k = rotate(heads(self.k_proj.forward(x)), cos, sin);
        let v = heads(self.v_proj.forward(x));
        let y = q.scaled_dot_product_attention_with(
            k,
            v,
            None,
            fx::ops::AttentionOptions::new().is_causal(true).enable_gqa(true),
        );
        self.o_proj.forward(y.transpose(1, 2).reshape((&n, &l, -1)))
    }
}

#[traceable]
#[derive(Clone)]
struct Mlp {
    gate_proj: nn::Linear,
    up_proj: nn::Linear,
    down_proj: nn::Linear,
}

#[traceable]
impl Mlp {
    pub(crate) fn new() -> Self {
        let linear = |i, o| nn::Linear::new(i, o).bias(false);
        Self { gate_proj: linear(HIDDEN, 2048), up_proj: linear(HIDDEN, 2048), down_proj: linear(2048, HIDDEN) }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        self.down_proj.forward(self.gate_proj.forward(x).silu() * self.up_proj.forward(x))
    }
}

#[traceable]
#[derive(Clone)]
struct Layer {
    self_attn: Attention,
    mlp: Mlp,
    input_layernorm: nn::RMSNorm,
    post_attention_layernorm: nn::RMSNorm,
}

#[traceable]
impl Layer {
    pub(crate) fn new() -> Self {
        let norm = || nn::RMSNorm::new(HIDDEN).eps(1e-6);
        Self { self_attn: Attention::new(), mlp: Mlp::new(), input_layernorm: norm(), post_attention_layernorm: norm() }
    }

    pub(crate) fn forward(&self, x: &Tensor, cos: &Tensor, sin: &Tensor) -> Tensor {
        let x = x + self.self_attn.forward(self.input_layernorm.forward(x), cos, sin);
        &x + self.mlp.forward(self.post_attention_layernorm.forward(&x))
    }
}

#[traceable]
#[derive(Clone)]
struct Model {
    embed_tokens: nn::Embedding,
    layers: Vec<Layer>,
    norm: nn::RMSNorm,
}

#[traceable]
impl Model {
    pub(crate) fn forward(&self, ids: &Tensor) -> Tensor {
        let mut x = self.embed_tokens.forward(ids);
        let (cos, sin) = rotary(ids);
        for layer in &self.layers {
            x = layer.forward(x, &cos, &sin);
        }
        self.norm.forward(x)
    }
}

#[traceable]
#[derive(Clone)]
struct LlamaForCausalLM {
    model: Model,
    lm_head: nn::Linear,
}

#[traceable]
impl LlamaForCausalLM {
    pub(crate) fn forward(&self, ids: &Tensor) -> Tensor {
        self.lm_head.forward(self.model.forward(ids))
    }
}

#[traceable]
#[derive(Clone)]
pub(crate) struct Llama {
    lm: LlamaForCausalLM,
}

#[traceable]
impl Llama {
    pub(crate) fn new() -> Self {
        let model = Model {
            embed_tokens: nn::Embedding::new(32000, HIDDEN),
            layers: (0..12).map(|_| Layer::new()).collect(),
            norm: nn::RMSNorm::new(HIDDEN).eps(1e-6),
        };
        Self { lm: LlamaForCausalLM { model, lm_head: nn::Linear::new(HIDDEN, 32000).bias(false) } }
    }

    pub(crate) fn forward(&self, ids: &Tensor) -> Tensor {
        self.lm.forward(ids)
    }
}
