//! A decoder as Hugging Face's Llama, with grouped heads and rotary positions; and a step of it, with room for what came before.

use std::cell::RefCell;

use engine_fx::{Forward, Result, Work, is_eager, planned, tensor};
use fx::nn;
use fx::ops::{AttentionOptions, CatOptions, FlattenOptions};
use fx::prelude::*;
use fx::trace::{InputForms, trace_by};
use protocol::Input;

const HIDDEN: usize = 768;
const HEADS: usize = 12;
const KV_HEADS: usize = 4;
const HEAD_DIM: usize = HIDDEN / HEADS;
const LAYERS: usize = 12;
/// The most tokens of a text.
const ROOM: usize = 2048;

/// Keys and values of each layer.
type Past<T> = Vec<(T, T)>;

/// `1 / 10000^(i / HEAD_DIM)` for even `i`: not in the file, so no buffer.
fn inv_freq() -> Tensor {
    let of = |i| 1.0 / 10000f32.powf(i as f32 / HEAD_DIM as f32);
    Tensor::from_vec([HEAD_DIM / 2], (0..HEAD_DIM).step_by(2).map(of).collect::<Vec<f32>>())
}

#[traceable]
fn rotary(positions: &Tensor) -> (Tensor, Tensor) {
    let freqs = positions.to(DType::F32).unsqueeze(-1) * Tensor::constant(&inv_freq());
    let emb = Tensor::cat_with([&freqs, &freqs], CatOptions::new().dim(-1));
    (emb.cos(), emb.sin())
}

#[traceable]
fn rotate_half(x: &Tensor) -> Tensor {
    let half = HEAD_DIM as i64 / 2;
    let x1 = x.index((fx::Arg::Ellipsis, ..half));
    let x2 = x.index((fx::Arg::Ellipsis, half..));
    Tensor::cat_with([-x2, x1], CatOptions::new().dim(-1))
}

#[traceable]
fn rotate(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Tensor {
    x * cos + rotate_half(x) * sin
}

/// Where tokens are, and which others they see.
#[traceable]
#[derive(Clone)]
struct At {
    positions: Tensor,
    cos: Tensor,
    sin: Tensor,
    mask: Tensor,
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

    fn heads(&self, x: &Tensor, cos: &Tensor, sin: &Tensor) -> (Tensor, Tensor, Tensor) {
        let [n, l, _] = x.sizes();
        let heads = |y: Tensor| y.view((&n, &l, -1, HEAD_DIM)).transpose(1, 2);
        let q = rotate(heads(self.q_proj.forward(x)), cos, sin);
        let k = rotate(heads(self.k_proj.forward(x)), cos, sin);
        (q, k, heads(self.v_proj.forward(x)))
    }

    fn joined(&self, y: &Tensor) -> Tensor {
        self.o_proj.forward(y.transpose(1, 2).flatten_with(FlattenOptions::new().start_dim(2)))
    }

    pub(crate) fn forward(&self, x: &Tensor, cos: &Tensor, sin: &Tensor) -> Tensor {
        let (q, k, v) = self.heads(x, cos, sin);
        let causal = AttentionOptions::new().is_causal(true).enable_gqa(true);
        self.joined(q.scaled_dot_product_attention_with(k, v, None, causal))
    }

    /// After tokens whose keys and values are kept: those with the new ones come back.
    fn step(&self, x: &Tensor, at: &At<Tensor>, past: (Tensor, Tensor)) -> (Tensor, (Tensor, Tensor)) {
        let (q, k, v) = self.heads(x, &at.cos, &at.sin);
        let keys = past.0.index_copy(&at.positions, k, 2);
        let values = past.1.index_copy(&at.positions, v, 2);
        let grouped = AttentionOptions::new().enable_gqa(true);
        let y = q.scaled_dot_product_attention_with(&keys, &values, &at.mask, grouped);
        (self.joined(y), (keys, values))
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

    fn step(&self, x: &Tensor, at: &At<Tensor>, past: (Tensor, Tensor)) -> (Tensor, (Tensor, Tensor)) {
        let (y, past) = self.self_attn.step(self.input_layernorm.forward(x), at, past);
        let x = x + y;
        (&x + self.mlp.forward(self.post_attention_layernorm.forward(&x)), past)
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
        let (cos, sin) = rotary(Tensor::arange(ids.size(1)));
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
            layers: (0..LAYERS).map(|_| Layer::new()).collect(),
            norm: nn::RMSNorm::new(HIDDEN).eps(1e-6),
        };
        Self { lm: LlamaForCausalLM { model, lm_head: nn::Linear::new(HIDDEN, 32000).bias(false) } }
    }

    pub(crate) fn forward(&self, ids: &Tensor) -> Tensor {
        self.lm.forward(ids)
    }
}

/// The same for tokens after others.
#[traceable]
struct Step {
    lm: LlamaForCausalLM,
}

#[traceable]
impl Step {
    fn forward(&self, ids: &Tensor, positions: &Tensor, past: Past<Tensor>) -> (Tensor, Past<Tensor>) {
        let mut x = self.lm.model.embed_tokens.forward(ids);
        let (cos, sin) = rotary(positions);
        let mask = Tensor::arange(past[0].0.size(2)).le(positions.unsqueeze(1));
        let at = At { positions: positions.clone(), cos, sin, mask };
        let mut all = Vec::new();
        for (layer, past) in self.lm.model.layers.iter().zip(past) {
            let (y, kept) = layer.step(&x, &at, past);
            x = y;
            all.push(kept);
        }
        (self.lm.lm_head.forward(self.lm.model.norm.forward(x)), all)
    }
}

/// The token of a work after those before it, again and again.
pub(crate) fn step(work: &Work, token: &Tensor) -> Result<Forward> {
    let model = Step { lm: Llama::new().lm };
    model.load_safetensors(work.weights())?;
    model.eval();
    // Eager code copies what it writes to, which others concatenate: it has room for the tokens that there are. A plan writes in place.
    let eager = is_eager(work)?;
    let room = |past: &Input| {
        let past = tensor(past);
        let more = if eager { 1 } else { ROOM - past.shape()[2] };
        let empty = Tensor::zeros([1, KV_HEADS, more, HEAD_DIM]);
        Tensor::cat_with([&past, &empty], CatOptions::new().dim(2))
    };
    let past: Past<Tensor> = work.more.chunks(2).map(|pair| (room(&pair[0]), room(&pair[1]))).collect();
    let position = Tensor::from([work.more[0].shape[2] as i64]);
    let kept = RefCell::new(past.clone());
    if eager {
        return Ok(Box::new(move |token| {
            let (logits, past) = model.forward(token, &position, kept.take());
            kept.replace(past);
            Ok(logits)
        }));
    }
    let traced = trace_by(InputForms::new().list("past", LAYERS), &model, ())?;
    let traced = planned(traced, work, (token, &position, past))?;
    Ok(Box::new(move |token| {
        let (logits, past) = traced.forward_as::<(Tensor, Past<Tensor>)>((token, &position, kept.take()))?;
        kept.replace(past);
        Ok(logits)
    }))
}
