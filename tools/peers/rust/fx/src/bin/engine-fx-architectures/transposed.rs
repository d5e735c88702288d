//! Models of transposed convolutions: the generator of DCGAN (Radford et al., 2015), and what follows the backbone of Simple
//! Baselines for human poses (Xiao et al., 2018).

use fx::nn;
use fx::prelude::*;

type Up = nn::Sequential<(nn::ConvTranspose2d, nn::BatchNorm2d, nn::ReLU)>;

fn up(i: usize, o: usize, stride: usize, padding: usize) -> Up {
    let conv = nn::ConvTranspose2d::new(i, o, 4).stride(stride).padding(padding).bias(false);
    nn::Sequential::new((conv, nn::BatchNorm2d::new(o), nn::ReLU::new()))
}

#[traceable]
#[derive(Clone)]
pub(crate) struct Generator {
    layers: nn::Sequential<(Up, Up, Up, Up, nn::ConvTranspose2d)>,
}

#[traceable]
impl Generator {
    pub(crate) fn new(width: usize) -> Self {
        let layers = nn::Sequential::new((
            up(100, 8 * width, 1, 0),
            up(8 * width, 4 * width, 2, 1),
            up(4 * width, 2 * width, 2, 1),
            up(2 * width, width, 2, 1),
            nn::ConvTranspose2d::new(width, 3, 4).stride(2).padding(1).bias(false),
        ));
        Self { layers }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        self.layers.forward(x).tanh()
    }
}

#[traceable]
#[derive(Clone)]
pub(crate) struct Heatmaps {
    layers: nn::Sequential<(Up, Up, Up, nn::Conv2d)>,
}

#[traceable]
impl Heatmaps {
    pub(crate) fn new() -> Self {
        let up = |i| up(i, 256, 2, 1);
        Self { layers: nn::Sequential::new((up(2048), up(256), up(256), nn::Conv2d::new(256, 17, 1))) }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        self.layers.forward(x)
    }
}
