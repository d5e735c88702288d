//! The generator of HiFi-GAN, its second version: Kong et al. (2020).

use fx::nn;
use fx::ops::LeakyReluOptions;
use fx::prelude::*;

#[traceable]
fn leak(x: &Tensor) -> Tensor {
    x.leaky_relu_with(LeakyReluOptions::new().negative_slope(0.1))
}

#[traceable]
#[derive(Clone)]
struct Dilated {
    convs1: Vec<nn::Conv1d>,
    convs2: Vec<nn::Conv1d>,
}

#[traceable]
impl Dilated {
    fn new(c: usize, kernel: usize) -> Self {
        let conv = |d| nn::Conv1d::new(c, c, kernel).padding(d * (kernel - 1) / 2).dilation(d);
        Self { convs1: [1, 3, 5].into_iter().map(conv).collect(), convs2: [1, 1, 1].into_iter().map(conv).collect() }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = x.clone();
        for (conv1, conv2) in self.convs1.iter().zip(&self.convs2) {
            x = &x + conv2.forward(leak(conv1.forward(leak(&x))));
        }
        x
    }
}

#[traceable]
#[derive(Clone)]
pub(crate) struct HifiGan {
    conv_pre: nn::Conv1d,
    ups: Vec<nn::ConvTranspose1d>,
    resblocks: Vec<Dilated>,
    conv_post: nn::Conv1d,
}

#[traceable]
impl HifiGan {
    pub(crate) fn new(width: usize) -> Self {
        let up = |(i, (rate, kernel)): (usize, (usize, usize))| {
            let padding = (kernel - rate) / 2;
            nn::ConvTranspose1d::new(width >> i, width >> (i + 1), kernel).stride(rate).padding(padding)
        };
        let rates = [(8, 16), (8, 16), (2, 4), (2, 4)];
        let resblocks = (0..4).flat_map(|i| [3, 7, 11].map(|kernel| Dilated::new(width >> (i + 1), kernel))).collect();
        Self {
            conv_pre: nn::Conv1d::new(80, width, 7).padding(3),
            ups: rates.into_iter().enumerate().map(up).collect(),
            resblocks,
            conv_post: nn::Conv1d::new(width >> 4, 1, 7).padding(3),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = self.conv_pre.forward(x);
        for (up, blocks) in self.ups.iter().zip(self.resblocks.chunks(3)) {
            x = up.forward(leak(x));
            x = (blocks[0].forward(&x) + blocks[1].forward(&x) + blocks[2].forward(&x)) / 3.0;
        }
        self.conv_post.forward(x.leaky_relu()).tanh()
    }
}
