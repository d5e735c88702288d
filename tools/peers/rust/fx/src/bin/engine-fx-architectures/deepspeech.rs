//! Deep Speech 2: Amodei et al. (2016).

use fx::nn::{self, Sequential};
use fx::ops::FlattenOptions;
use fx::prelude::*;

type Conv = Sequential<(nn::Conv2d, nn::BatchNorm2d, nn::Hardtanh)>;

#[traceable]
pub(crate) struct DeepSpeech {
    conv1: Conv,
    conv2: Conv,
    gru: nn::GRU,
    out: nn::Linear,
}

#[traceable]
impl DeepSpeech {
    pub(crate) fn new(width: usize) -> Self {
        let conv = |i, kernel: [usize; 2], stride: [usize; 2]| {
            let conv = nn::Conv2d::new(i, 32, kernel).stride(stride).padding(kernel.map(|k| k / 2)).bias(false);
            Sequential::new((conv, nn::BatchNorm2d::new(32), nn::Hardtanh::new().min_val(0.0).max_val(20.0)))
        };
        Self {
            conv1: conv(1, [41, 11], [2, 2]),
            conv2: conv(32, [21, 11], [2, 1]),
            gru: nn::GRU::new(32 * 41, width).num_layers(3).bidirectional(true),
            out: nn::Linear::new(2 * width, 29),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.conv2.forward(self.conv1.forward(x));
        let x = x.flatten_with(FlattenOptions::new().start_dim(1).end_dim(2)).permute([2, 0, 1]);
        self.out.forward(self.gru.forward(x, None).0)
    }
}
