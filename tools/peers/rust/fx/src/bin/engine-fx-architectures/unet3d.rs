//! A U-Net for volumes as nnU-Net's: Isensee et al. (2021).

use fx::nn::{self, Sequential};
use fx::ops::CatOptions;
use fx::prelude::*;

type Conv = Sequential<(nn::Conv3d, nn::InstanceNorm3d, nn::LeakyReLU)>;

fn conv(i: usize, o: usize) -> Conv {
    let norm = nn::InstanceNorm3d::new(o).affine(true);
    Sequential::new((nn::Conv3d::new(i, o, 3).padding(1), norm, nn::LeakyReLU::new()))
}

#[traceable]
#[derive(Clone)]
struct Level {
    conv1: Conv,
    conv2: Conv,
}

#[traceable]
impl Level {
    fn new(i: usize, o: usize) -> Self {
        Self { conv1: conv(i, o), conv2: conv(o, o) }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        self.conv2.forward(self.conv1.forward(x.clone()))
    }
}

#[traceable]
#[derive(Clone)]
pub(crate) struct UNet3d {
    inc: Level,
    down: Vec<Level>,
    up: Vec<nn::ConvTranspose3d>,
    fuse: Vec<Level>,
    out: nn::Conv3d,
}

#[traceable]
impl UNet3d {
    pub(crate) fn new(width: usize) -> Self {
        let w = |level: usize| width << level;
        Self {
            inc: Level::new(1, width),
            down: (0..3).map(|i| Level::new(w(i), w(i + 1))).collect(),
            up: (0..3).rev().map(|i| nn::ConvTranspose3d::new(w(i + 1), w(i), 2).stride(2)).collect(),
            fuse: (0..3).rev().map(|i| Level::new(w(i + 1), w(i))).collect(),
            out: nn::Conv3d::new(width, 3, 1),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = self.inc.forward(x);
        let mut skips = vec![];
        for down in &self.down {
            let below = down.forward(x.max_pool3d(2));
            skips.push(x);
            x = below;
        }
        for ((up, fuse), skip) in self.up.iter().zip(&self.fuse).zip(skips.iter().rev()) {
            let joined = Tensor::cat_with([skip.clone(), up.forward(x)], CatOptions::new().dim(1));
            x = fuse.forward(joined);
        }
        self.out.forward(x)
    }
}
