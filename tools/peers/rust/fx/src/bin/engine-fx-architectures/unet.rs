//! A U-Net: Ronneberger et al. (2015), with batch norms.

use fx::nn;
use fx::ops::CatOptions;
use fx::prelude::*;

type ConvBn = nn::Sequential<(nn::Conv2d, nn::BatchNorm2d, nn::ReLU)>;

fn conv_bn(i: usize, o: usize) -> ConvBn {
    nn::Sequential::new((nn::Conv2d::new(i, o, 3).padding(1).bias(false), nn::BatchNorm2d::new(o), nn::ReLU::new()))
}

#[traceable]
#[derive(Clone)]
struct Double {
    conv1: ConvBn,
    conv2: ConvBn,
}

#[traceable]
impl Double {
    fn new(i: usize, o: usize) -> Self {
        Self { conv1: conv_bn(i, o), conv2: conv_bn(o, o) }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        self.conv2.forward(self.conv1.forward(x))
    }
}

#[traceable]
#[derive(Clone)]
pub(crate) struct UNet {
    inc: Double,
    down: Vec<Double>,
    up: Vec<nn::ConvTranspose2d>,
    fuse: Vec<Double>,
    out: nn::Conv2d,
}

#[traceable]
impl UNet {
    pub(crate) fn new(width: usize) -> Self {
        let w: Vec<usize> = (0..5).map(|i| width << i).collect();
        Self {
            inc: Double::new(3, w[0]),
            down: (0..4).map(|i| Double::new(w[i], w[i + 1])).collect(),
            up: (0..4).rev().map(|i| nn::ConvTranspose2d::new(w[i + 1], w[i], 2).stride(2)).collect(),
            fuse: (0..4).rev().map(|i| Double::new(w[i + 1], w[i])).collect(),
            out: nn::Conv2d::new(w[0], 2, 1),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = self.inc.forward(x);
        let mut skips = Vec::new();
        for down in &self.down {
            skips.push(x.clone());
            x = down.forward(x.max_pool2d(2));
        }
        for (up, fuse) in self.up.iter().zip(&self.fuse) {
            let skip = skips.pop().unwrap();
            x = fuse.forward(Tensor::cat_with([skip, up.forward(x)], CatOptions::new().dim(1)));
        }
        self.out.forward(x)
    }
}
