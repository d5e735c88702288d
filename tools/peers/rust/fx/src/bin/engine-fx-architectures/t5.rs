//! The encoder of T5 small as Hugging Face writes it: Raffel et al. (2020).

use fx::nn;
use fx::ops::{AttentionOptions, FlattenOptions};
use fx::prelude::*;

const WIDTH: usize = 512;
const HEADS: usize = 8;
const HEAD_DIM: usize = WIDTH / HEADS;
const BUCKETS: i64 = 32;
const MAX_DISTANCE: f64 = 128.0;

fn linear(i: usize, o: usize) -> nn::Linear {
    nn::Linear::new(i, o).bias(false)
}

/// The buckets of how far keys are from queries: half of them for keys before, and of each half the first for single distances.
#[traceable]
fn buckets(length: &SymInt<Tensor>) -> Tensor {
    let (half, exact) = (BUCKETS / 2, BUCKETS / 4);
    let at = Tensor::arange(length);
    let distance = at.unsqueeze(0) - at.unsqueeze(1);
    let after = distance.gt(0).to(DType::I64) * half;
    let distance = distance.abs();
    let far =
        (distance.to(DType::F32) / exact as f64).log() / (MAX_DISTANCE / exact as f64).ln() * (half - exact) as f64;
    let far = (far.to(DType::I64) + exact).clamp(None, half - 1);
    after + distance.where_(distance.lt(exact), far)
}

#[traceable]
#[derive(Clone)]
#[allow(non_snake_case)]
struct SelfAttention {
    q: nn::Linear,
    k: nn::Linear,
    v: nn::Linear,
    o: nn::Linear,
    relative_attention_bias: Option<nn::Embedding>,
}

#[traceable]
impl SelfAttention {
    fn new(is_first: bool) -> Self {
        let project = || linear(WIDTH, WIDTH);
        let relative_attention_bias = is_first.then(|| nn::Embedding::new(BUCKETS as usize, HEADS));
        Self { q: project(), k: project(), v: project(), o: project(), relative_attention_bias }
    }

    pub(crate) fn forward(&self, x: &Tensor, bias: &Tensor) -> Tensor {
        let heads = |y: Tensor| y.unflatten(-1, [-1, HEAD_DIM as i64]).transpose(1, 2);
        let (q, k, v) = (heads(self.q.forward(x)), heads(self.k.forward(x)), heads(self.v.forward(x)));
        let y = q.scaled_dot_product_attention_with(k, v, bias, AttentionOptions::new().scale(1.0));
        self.o.forward(y.transpose(1, 2).flatten_with(FlattenOptions::new().start_dim(2)))
    }
}

#[traceable]
#[derive(Clone)]
#[allow(non_snake_case)]
struct AttentionLayer {
    SelfAttention: SelfAttention,
    layer_norm: nn::RMSNorm,
}

#[traceable]
#[derive(Clone)]
struct DenseReluDense {
    wi: nn::Linear,
    wo: nn::Linear,
}

#[traceable]
impl DenseReluDense {
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        self.wo.forward(self.wi.forward(x).relu())
    }
}

#[traceable]
#[derive(Clone)]
#[allow(non_snake_case)]
struct FeedForwardLayer {
    DenseReluDense: DenseReluDense,
    layer_norm: nn::RMSNorm,
}

#[traceable]
#[derive(Clone)]
struct Block {
    layer: (AttentionLayer, FeedForwardLayer),
}

#[traceable]
impl Block {
    fn new(is_first: bool) -> Self {
        let layer_norm = || nn::RMSNorm::new(WIDTH).eps(1e-6);
        let dense = DenseReluDense { wi: linear(WIDTH, 2048), wo: linear(2048, WIDTH) };
        let attention = AttentionLayer { SelfAttention: SelfAttention::new(is_first), layer_norm: layer_norm() };
        Self { layer: (attention, FeedForwardLayer { DenseReluDense: dense, layer_norm: layer_norm() }) }
    }

    pub(crate) fn forward(&self, x: &Tensor, bias: &Tensor) -> Tensor {
        let (attention, feed_forward) = &self.layer;
        let x = x + attention.SelfAttention.forward(attention.layer_norm.forward(x), bias);
        &x + feed_forward.DenseReluDense.forward(feed_forward.layer_norm.forward(&x))
    }
}

#[traceable]
#[derive(Clone)]
struct Encoder {
    block: Vec<Block>,
    final_layer_norm: nn::RMSNorm,
}

#[traceable]
#[derive(Clone)]
struct Model {
    shared: nn::Embedding,
    encoder: Encoder,
}

#[traceable]
#[derive(Clone)]
pub(crate) struct T5 {
    model: Model,
}

#[traceable]
impl T5 {
    pub(crate) fn new() -> Self {
        let block = (0..6).map(|i| Block::new(i == 0)).collect();
        let encoder = Encoder { block, final_layer_norm: nn::RMSNorm::new(WIDTH).eps(1e-6) };
        Self { model: Model { shared: nn::Embedding::new(32128, WIDTH), encoder } }
    }

    pub(crate) fn forward(&self, ids: &Tensor) -> Tensor {
        let mut x = self.model.shared.forward(ids);
        let first = &self.model.encoder.block[0].layer.0.SelfAttention;
        let Some(bias) = &first.relative_attention_bias else { unreachable!("the first block has it") };
        let bias = bias.forward(buckets(&ids.size(1))).permute([2, 0, 1]).unsqueeze(0);
        for block in &self.model.encoder.block {
            x = block.forward(x, &bias);
        }
        self.model.encoder.final_layer_norm.forward(x)
    }
}
