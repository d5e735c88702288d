//! The U-Net of a latent diffusion model, whose pixels attend to a text: Rombach et al. (2022).

use engine_fx::{Forward, Result, Work, is_eager, planned, tensor};
use fx::nn;
use fx::ops::{CatOptions, FlattenOptions, InterpolateOptions};
use fx::prelude::*;

fn conv(i: usize, o: usize) -> nn::Conv2d {
    nn::Conv2d::new(i, o, 3).padding(1)
}

/// Two convolutions of what a time says, and a way around them.
#[traceable]
#[derive(Clone)]
struct Timed {
    norm1: nn::GroupNorm,
    conv1: nn::Conv2d,
    time: nn::Linear,
    norm2: nn::GroupNorm,
    conv2: nn::Conv2d,
    shortcut: Option<nn::Conv2d>,
}

#[traceable]
impl Timed {
    fn new(i: usize, o: usize, time: usize) -> Self {
        Self {
            norm1: nn::GroupNorm::new(32, i),
            conv1: conv(i, o),
            time: nn::Linear::new(time, o),
            norm2: nn::GroupNorm::new(32, o),
            conv2: conv(o, o),
            shortcut: (i != o).then(|| nn::Conv2d::new(i, o, 1)),
        }
    }

    fn forward(&self, x: &Tensor, time: &Tensor) -> Tensor {
        let time = self.time.forward(time.silu()).unsqueeze(-1).unsqueeze(-1);
        let y = self.conv1.forward(self.norm1.forward(x).silu()) + time;
        let y = self.conv2.forward(self.norm2.forward(y).silu());
        match &self.shortcut {
            Some(shortcut) => shortcut.forward(x) + y,
            None => x + y,
        }
    }
}

#[traceable]
#[derive(Clone)]
struct Attend {
    to_q: nn::Linear,
    to_k: nn::Linear,
    to_v: nn::Linear,
    to_out: nn::Linear,
}

#[traceable]
impl Attend {
    fn new(c: usize, context: usize) -> Self {
        let linear = |i| nn::Linear::new(i, c).bias(false);
        Self { to_q: linear(c), to_k: linear(context), to_v: linear(context), to_out: nn::Linear::new(c, c) }
    }

    fn forward(&self, x: &Tensor, context: &Tensor) -> Tensor {
        let heads = |y: Tensor| y.unflatten(-1, [8, -1]).transpose(1, 2);
        let (k, v) = (heads(self.to_k.forward(context)), heads(self.to_v.forward(context)));
        let y = heads(self.to_q.forward(x)).scaled_dot_product_attention(k, v, None);
        self.to_out.forward(y.transpose(1, 2).flatten_with(FlattenOptions::new().start_dim(2)))
    }
}

/// A transformer's layer for pixels, which also attend to a text.
#[traceable]
#[derive(Clone)]
struct Spatial {
    norm: nn::GroupNorm,
    proj_in: nn::Conv2d,
    proj_out: nn::Conv2d,
    norm1: nn::LayerNorm,
    attn1: Attend,
    norm2: nn::LayerNorm,
    attn2: Attend,
    norm3: nn::LayerNorm,
    gate: nn::Linear,
    out: nn::Linear,
}

#[traceable]
impl Spatial {
    fn new(c: usize, context: usize) -> Self {
        let (norm, pixels) = (|| nn::LayerNorm::new(c), || nn::Conv2d::new(c, c, 1));
        Self {
            norm: nn::GroupNorm::new(32, c).eps(1e-6),
            proj_in: pixels(),
            proj_out: pixels(),
            norm1: norm(),
            attn1: Attend::new(c, c),
            norm2: norm(),
            attn2: Attend::new(c, context),
            norm3: norm(),
            gate: nn::Linear::new(c, 8 * c),
            out: nn::Linear::new(4 * c, c),
        }
    }

    fn forward(&self, x: &Tensor, context: &Tensor) -> Tensor {
        let [n, c, height, width] = x.sizes();
        let y = self.proj_in.forward(self.norm.forward(x));
        let y = y.flatten_with(FlattenOptions::new().start_dim(2)).transpose(1, 2);
        let z = self.norm1.forward(&y);
        let y = y + self.attn1.forward(&z, &z);
        let y = y.clone() + self.attn2.forward(self.norm2.forward(y), context);
        let [z, gate] = self.gate.forward(self.norm3.forward(&y)).chunk(-1);
        let y = y + self.out.forward(z * gate.gelu());
        x + self.proj_out.forward(y.transpose(1, 2).reshape([n, c, height, width]))
    }
}

#[traceable]
struct Denoiser {
    w: usize,
    time1: nn::Linear,
    time2: nn::Linear,
    conv_in: nn::Conv2d,
    down: Vec<(Timed, Spatial)>,
    smaller: Vec<nn::Conv2d>,
    mid1: Timed,
    mid2: Spatial,
    mid3: Timed,
    up: Vec<(Timed, Spatial)>,
    larger: Vec<nn::Conv2d>,
    norm_out: nn::GroupNorm,
    conv_out: nn::Conv2d,
}

#[traceable]
impl Denoiser {
    fn new(w: usize, text: usize) -> Self {
        let (time, widths) = (4 * w, [w, 2 * w, 4 * w]);
        let pair = |i, o| (Timed::new(i, o, time), Spatial::new(o, text));
        let (mut down, mut up) = (vec![], vec![]);
        let (mut skips, mut i) = (vec![w], w);
        for (level, o) in widths.into_iter().enumerate() {
            for _ in 0..2 {
                down.push(pair(i, o));
                skips.push(o);
                i = o;
            }
            if level < 2 {
                skips.push(o);
            }
        }
        let ((mid1, mid2), mid3) = (pair(i, i), Timed::new(i, i, time));
        for o in widths.into_iter().rev() {
            for _ in 0..3 {
                up.push(pair(i + skips.pop().unwrap_or_default(), o));
                i = o;
            }
        }
        Self {
            w,
            time1: nn::Linear::new(w, time),
            time2: nn::Linear::new(time, time),
            conv_in: conv(4, w),
            down,
            smaller: widths[..2].iter().map(|&c| conv(c, c).stride(2)).collect(),
            mid1,
            mid2,
            mid3,
            up,
            larger: widths[1..].iter().rev().map(|&c| conv(c, c)).collect(),
            norm_out: nn::GroupNorm::new(32, w),
            conv_out: conv(w, 4),
        }
    }

    fn forward(&self, x: &Tensor, time: &Tensor, text: &Tensor) -> Tensor {
        let half = self.w / 2;
        let rates = (Tensor::arange(half as i64) * (-1e4_f64.ln() / half as f64)).exp();
        let angles = time.unsqueeze(-1) * rates;
        let time = Tensor::cat_with([angles.cos(), angles.sin()], CatOptions::new().dim(1));
        let time = self.time2.forward(self.time1.forward(time).silu());
        let mut x = self.conv_in.forward(x);
        let mut skips = vec![x.clone()];
        for (index, (residual, spatial)) in self.down.iter().enumerate() {
            x = spatial.forward(residual.forward(x, &time), text);
            skips.push(x.clone());
            if index % 2 == 1 && index < 4 {
                x = self.smaller[index / 2].forward(x);
                skips.push(x.clone());
            }
        }
        x = self.mid3.forward(self.mid2.forward(self.mid1.forward(x, &time), text), &time);
        for (index, (residual, spatial)) in self.up.iter().enumerate() {
            let skip = skips.pop().expect("a level up for each down");
            x = Tensor::cat_with([x, skip], CatOptions::new().dim(1));
            x = spatial.forward(residual.forward(x, &time), text);
            if index % 3 == 2 && index < 6 {
                let larger = x.interpolate_with(InterpolateOptions::new().scale_factor(2.0));
                x = self.larger[index / 3].forward(larger);
            }
        }
        self.conv_out.forward(self.norm_out.forward(x).silu())
    }
}

/// The latents of a work, again and again, of one time and one text.
pub(crate) fn latents(work: &Work, latents: &Tensor) -> Result<Forward> {
    let model = Denoiser::new(64, 256);
    model.load_safetensors(work.weights())?;
    model.eval();
    let (time, text) = (tensor(&work.more[0]), tensor(&work.more[1]));
    if is_eager(work)? {
        return Ok(Box::new(move |latents| Ok(model.forward(latents, &time, &text))));
    }
    let traced = planned(fx::trace(&model)?, work, (latents, &time, &text))?;
    Ok(Box::new(move |latents| traced.forward((latents, &time, &text))))
}
