//! SegFormer B0 as Hugging Face writes it: Xie et al. (2021).

use fx::nn;
use fx::ops::{CatOptions, FlattenOptions, InterpolateOptions};
use fx::prelude::*;

const EMBEDDING: usize = 256;

/// `[N, C, H, W]` to `[N, H W, C]`.
#[traceable]
fn as_tokens(x: &Tensor) -> Tensor {
    x.flatten_with(FlattenOptions::new().start_dim(2)).transpose(1, 2)
}

/// `[N, H W, C]` to `[N, C, H, W]`.
#[traceable]
fn as_image(x: &Tensor, height: &SymInt<Tensor>, width: &SymInt<Tensor>) -> Tensor {
    let [n, _, c] = x.sizes();
    x.transpose(1, 2).reshape((n, c, height, width))
}

#[traceable]
#[derive(Clone)]
struct PatchEmbeddings {
    proj: nn::Conv2d,
    layer_norm: nn::LayerNorm,
}

#[traceable]
#[derive(Clone)]
struct SequenceReduction {
    sequence_reduction: nn::Conv2d,
    layer_norm: nn::LayerNorm,
}

#[traceable]
#[derive(Clone)]
struct Attention {
    heads: usize,
    q_proj: nn::Linear,
    k_proj: nn::Linear,
    v_proj: nn::Linear,
    o_proj: nn::Linear,
    sequence_reduction: Option<SequenceReduction>,
}

#[traceable]
impl Attention {
    fn new(d: usize, heads: usize, reduction: usize) -> Self {
        let linear = || nn::Linear::new(d, d);
        let sequence_reduction = (reduction > 1).then(|| SequenceReduction {
            sequence_reduction: nn::Conv2d::new(d, d, reduction).stride(reduction),
            layer_norm: nn::LayerNorm::new(d),
        });
        Self { heads, q_proj: linear(), k_proj: linear(), v_proj: linear(), o_proj: linear(), sequence_reduction }
    }

    pub(crate) fn forward(&self, x: &Tensor, height: &SymInt<Tensor>, width: &SymInt<Tensor>) -> Tensor {
        let heads = |y: Tensor| y.unflatten(-1, [self.heads as i64, -1]).transpose(1, 2);
        let seen = match &self.sequence_reduction {
            Some(by) => by.layer_norm.forward(as_tokens(by.sequence_reduction.forward(as_image(x, height, width)))),
            None => x.clone(),
        };
        let (k, v) = (heads(self.k_proj.forward(&seen)), heads(self.v_proj.forward(&seen)));
        let y = heads(self.q_proj.forward(x)).scaled_dot_product_attention(k, v, None);
        self.o_proj.forward(y.transpose(1, 2).flatten_with(FlattenOptions::new().start_dim(2)))
    }
}

#[traceable]
#[derive(Clone)]
struct DepthWiseConv {
    dwconv: nn::Conv2d,
}

#[traceable]
#[derive(Clone)]
struct MixMlp {
    fc1: nn::Linear,
    dwconv: DepthWiseConv,
    fc2: nn::Linear,
}

#[traceable]
impl MixMlp {
    pub(crate) fn forward(&self, x: &Tensor, height: &SymInt<Tensor>, width: &SymInt<Tensor>) -> Tensor {
        let x = as_image(self.fc1.forward(x), height, width);
        self.fc2.forward(as_tokens(self.dwconv.dwconv.forward(x)).gelu())
    }
}

#[traceable]
#[derive(Clone)]
struct Layer {
    layernorm_before: nn::LayerNorm,
    attention: Attention,
    layernorm_after: nn::LayerNorm,
    mlp: MixMlp,
}

#[traceable]
impl Layer {
    fn new(d: usize, heads: usize, reduction: usize) -> Self {
        let dwconv = nn::Conv2d::new(4 * d, 4 * d, 3).padding(1).groups(4 * d);
        let (fc1, fc2) = (nn::Linear::new(d, 4 * d), nn::Linear::new(4 * d, d));
        Self {
            layernorm_before: nn::LayerNorm::new(d),
            attention: Attention::new(d, heads, reduction),
            layernorm_after: nn::LayerNorm::new(d),
            mlp: MixMlp { fc1, dwconv: DepthWiseConv { dwconv }, fc2 },
        }
    }

    pub(crate) fn forward(&self, x: &Tensor, height: &SymInt<Tensor>, width: &SymInt<Tensor>) -> Tensor {
        let x = self.attention.forward(self.layernorm_before.forward(x), height, width) + x;
        self.mlp.forward(self.layernorm_after.forward(&x), height, width) + x
    }
}

#[traceable]
#[derive(Clone)]
struct Stage {
    patch_embeddings: PatchEmbeddings,
    blocks: Vec<Layer>,
    layer_norm: nn::LayerNorm,
}

#[traceable]
impl Stage {
    fn new(i: usize, d: usize, patch: usize, stride: usize, heads: usize, reduction: usize) -> Self {
        let proj = nn::Conv2d::new(i, d, patch).stride(stride).padding(patch / 2);
        Self {
            patch_embeddings: PatchEmbeddings { proj, layer_norm: nn::LayerNorm::new(d) },
            blocks: (0..2).map(|_| Layer::new(d, heads, reduction)).collect(),
            layer_norm: nn::LayerNorm::new(d),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.patch_embeddings.proj.forward(x);
        let (height, width) = (x.size(2), x.size(3));
        let mut x = self.patch_embeddings.layer_norm.forward(as_tokens(x));
        for block in &self.blocks {
            x = block.forward(x, &height, &width);
        }
        as_image(self.layer_norm.forward(x), &height, &width).contiguous()
    }
}

#[traceable]
#[derive(Clone)]
struct Encoder {
    stages: Vec<Stage>,
}

#[traceable]
#[derive(Clone)]
struct Projection {
    proj: nn::Linear,
}

#[traceable]
#[derive(Clone)]
struct DecodeHead {
    linear_projections: Vec<Projection>,
    linear_fuse: nn::Conv2d,
    batch_norm: nn::BatchNorm2d,
    classifier: nn::Conv2d,
}

#[traceable]
impl DecodeHead {
    pub(crate) fn forward(&self, stages: &[Tensor]) -> Tensor {
        let (top, left) = (stages[0].size(2), stages[0].size(3));
        let mut all = vec![];
        for (x, linear) in stages.iter().zip(&self.linear_projections) {
            let (height, width) = (x.size(2), x.size(3));
            let x = as_image(linear.proj.forward(as_tokens(x)), &height, &width);
            all.push(
                x.interpolate_with(InterpolateOptions::new().size((&top, &left)).mode("bilinear").align_corners(false)),
            );
        }
        all.reverse();
        let x = self.linear_fuse.forward(Tensor::cat_with(all, CatOptions::new().dim(1)));
        self.classifier.forward(self.batch_norm.forward(x).relu())
    }
}

#[traceable]
#[derive(Clone)]
struct Model {
    segformer: Encoder,
    decode_head: DecodeHead,
}

#[traceable]
#[derive(Clone)]
pub(crate) struct Segformer {
    model: Model,
}

#[traceable]
impl Segformer {
    pub(crate) fn new() -> Self {
        let widths = [32, 64, 160, 256];
        let stages = vec![
            Stage::new(3, widths[0], 7, 4, 1, 8),
            Stage::new(widths[0], widths[1], 3, 2, 2, 4),
            Stage::new(widths[1], widths[2], 3, 2, 5, 2),
            Stage::new(widths[2], widths[3], 3, 2, 8, 1),
        ];
        let decode_head = DecodeHead {
            linear_projections: widths.iter().map(|d| Projection { proj: nn::Linear::new(*d, EMBEDDING) }).collect(),
            linear_fuse: nn::Conv2d::new(4 * EMBEDDING, EMBEDDING, 1).bias(false),
            batch_norm: nn::BatchNorm2d::new(EMBEDDING),
            classifier: nn::Conv2d::new(EMBEDDING, 150, 1),
        };
        Self { model: Model { segformer: Encoder { stages }, decode_head } }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = x.clone();
        let mut all = vec![];
        for stage in &self.model.segformer.stages {
            x = stage.forward(x);
            all.push(x.clone());
        }
        self.model.decode_head.forward(&all)
    }
}
