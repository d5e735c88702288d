//! The Swin transformer as torchvision writes it, for images of one size: Liu et al. (2021).

use fx::nn;
use fx::prelude::*;

use crate::convnext::Permute;

const WINDOW: i64 = 7;

/// The windows' masks: -100 between tokens that only the shift has brought together. `[windows, 49, 49]`
fn shift_mask(size: i64, shift: i64) -> Tensor {
    let region = |at: i64| {
        if at < size - WINDOW {
            0
        } else if at < size - shift {
            1
        } else {
            2
        }
    };
    let per_side = size / WINDOW;
    let mut elements = Vec::new();
    for wh in 0..per_side {
        for ww in 0..per_side {
            let ids: Vec<i64> = (0..WINDOW * WINDOW)
                .map(|i| region(wh * WINDOW + i / WINDOW) * 3 + region(ww * WINDOW + i % WINDOW))
                .collect();
            for a in &ids {
                elements.extend(ids.iter().map(|b| if a == b { 0.0_f32 } else { -100.0 }));
            }
        }
    }
    let area = (WINDOW * WINDOW) as usize;
    Tensor::from_vec([(per_side * per_side) as usize, area, area], elements)
}

#[traceable]
#[derive(Clone)]
struct ShiftedWindowAttention {
    qkv: nn::Linear,
    proj: nn::Linear,
    relative_position_bias_table: Parameter,
    relative_position_index: Buffer,
    num_heads: i64,
    dim: i64,
    shift: i64,
    size: i64,
}

#[traceable]
impl ShiftedWindowAttention {
    fn new(dim: usize, num_heads: usize, shift: i64, size: i64) -> Self {
        let span = 2 * WINDOW - 1;
        let area = WINDOW * WINDOW;
        let mut index = Vec::new();
        for a in 0..area {
            for b in 0..area {
                let dh = a / WINDOW - b / WINDOW + WINDOW - 1;
                let dw = a % WINDOW - b % WINDOW + WINDOW - 1;
                index.push(dh * span + dw);
            }
        }
        let shift = if size <= WINDOW { 0 } else { shift };
        Self {
            qkv: nn::Linear::new(dim, 3 * dim),
            proj: nn::Linear::new(dim, dim),
            relative_position_bias_table: Parameter::new(Tensor::zeros([(span * span) as usize, num_heads])),
            relative_position_index: Buffer::new(Tensor::from_vec([(area * area) as usize], index)),
            num_heads: num_heads as i64,
            dim: dim as i64,
            shift,
            size,
        }
    }

    /// `input`: `[N, H, W, C]`; gives the same shape.
    pub(crate) fn forward(&self, input: &Tensor) -> Tensor {
        let (area, side, c, heads) = (WINDOW * WINDOW, self.size / WINDOW, self.dim, self.num_heads);
        let windows = side * side;
        let n = input.size(0);

        let bias =
            self.relative_position_bias_table.value::<Tensor>().index(self.relative_position_index.value::<Tensor>());
        let bias = bias.view([area, area, -1]).permute([2, 0, 1]).contiguous().unsqueeze(0);

        let mut x = input.clone();
        if self.shift > 0 {
            x = x.roll_with([-self.shift, -self.shift], fx::ops::RollOptions::new().dims([1, 2]));
        }
        let x = x.view((&n, side, WINDOW, side, WINDOW, c));
        let x = x.permute([0, 1, 3, 2, 4, 5]).reshape((&n * windows, area, c));

        let qkv = self.qkv.forward(x).reshape((&n * windows, area, 3, heads, c / heads)).permute([2, 0, 3, 1, 4]);
        let [q, k, v] = qkv.unbind(0);
        let q = q * ((c / heads) as f64).powf(-0.5);
        let mut attn = q.matmul(k.transpose(-2, -1)) + bias;
        if self.shift > 0 {
            let mask = Tensor::constant(&shift_mask(self.size, self.shift));
            let parts = attn.view((&n, windows, heads, area, area)) + mask.unsqueeze(1).unsqueeze(0);
            attn = parts.view([-1, heads, area, area]);
        }
        let x = attn.softmax(-1).matmul(v);
        let x = x.transpose(1, 2).reshape((&n * windows, area, c));
        let x = self.proj.forward(x);

        let x = x.view((&n, side, side, WINDOW, WINDOW, c));
        let mut x = x.permute([0, 1, 3, 2, 4, 5]).reshape((&n, self.size, self.size, c));
        if self.shift > 0 {
            x = x.roll_with([self.shift, self.shift], fx::ops::RollOptions::new().dims([1, 2]));
        }
        x
    }
}

#[traceable]
#[derive(Clone)]
struct SwinTransformerBlock {
    norm1: nn::LayerNorm,
    attn: ShiftedWindowAttention,
    norm2: nn::LayerNorm,
    mlp: nn::Sequential<(nn::Linear, nn::GELU, nn::Dropout, nn::Linear, nn::Dropout)>,
}

#[traceable]
impl SwinTransformerBlock {
    fn new(dim: usize, num_heads: usize, shift: i64, size: i64) -> Self {
        Self {
            norm1: nn::LayerNorm::new(dim),
            attn: ShiftedWindowAttention::new(dim, num_heads, shift, size),
            norm2: nn::LayerNorm::new(dim),
            mlp: nn::Sequential::new((
                nn::Linear::new(dim, 4 * dim),
                nn::GELU::new(),
                nn::Dropout::new(0.0),
                nn::Linear::new(4 * dim, dim),
                nn::Dropout::new(0.0),
            )),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = x + self.attn.forward(self.norm1.forward(x));
        &x + self.mlp.forward(self.norm2.forward(&x))
    }
}

/// `start::2`
fn every_second<V>(start: i64) -> fx::Arg<V> {
    fx::Arg::Slice(Box::new([fx::Arg::Int(start), fx::Arg::None, fx::Arg::Int(2)]))
}

#[traceable]
#[derive(Clone)]
struct PatchMerging {
    reduction: nn::Linear,
    norm: nn::LayerNorm,
}

#[traceable]
impl PatchMerging {
    fn new(dim: usize) -> Self {
        Self { reduction: nn::Linear::new(4 * dim, 2 * dim).bias(false), norm: nn::LayerNorm::new(4 * dim) }
    }

    /// `x`: `[.., H, W, C]`, H and W even; gives `[.., H/2, W/2, 2*C]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x0 = x.index((.., every_second(0), every_second(0)));
        let x1 = x.index((.., every_second(1), every_second(0)));
        let x2 = x.index((.., every_second(0), every_second(1)));
        let x3 = x.index((.., every_second(1), every_second(1)));
        let x = Tensor::cat_with([x0, x1, x2, x3], fx::ops::CatOptions::new().dim(-1));
        self.reduction.forward(self.norm.forward(x))
    }
}

#[traceable]
pub(crate) struct SwinTransformer {
    features: nn::Sequential<Vec<nn::AnyLayer>>,
    norm: nn::LayerNorm,
    permute: Permute,
    avgpool: nn::AdaptiveAvgPool2d,
    flatten: nn::Flatten,
    head: nn::Linear,
}

#[traceable]
impl SwinTransformer {
    fn new(image: i64, dim: usize, depths: &[usize], heads: &[usize]) -> Self {
        let mut features = nn::Sequential::new(Vec::<nn::AnyLayer>::new());
        features.push(nn::Sequential::new((
            nn::Conv2d::new(3, dim, 4).stride(4),
            Permute::new([0, 2, 3, 1]),
            nn::LayerNorm::new(dim),
        )));
        let (mut dim, mut size) = (dim, image / 4);
        for (i, (&depth, &heads)) in depths.iter().zip(heads).enumerate() {
            let block = |i| SwinTransformerBlock::new(dim, heads, if i % 2 == 0 { 0 } else { WINDOW / 2 }, size);
            features.push(nn::Sequential::new((0..depth).map(block).collect::<Vec<_>>()));
            if i + 1 < depths.len() {
                features.push(PatchMerging::new(dim));
                dim *= 2;
                size /= 2;
            }
        }
        Self {
            features,
            norm: nn::LayerNorm::new(dim),
            permute: Permute::new([0, 3, 1, 2]),
            avgpool: nn::AdaptiveAvgPool2d::new(1),
            flatten: nn::Flatten::new(),
            head: nn::Linear::new(dim, 1000),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.norm.forward(self.features.forward(x));
        let x = self.avgpool.forward(self.permute.forward(x));
        self.head.forward(self.flatten.forward(x))
    }
}

pub(crate) fn swin_t() -> SwinTransformer {
    SwinTransformer::new(224, 96, &[2, 2, 6, 2], &[3, 6, 12, 24])
}
