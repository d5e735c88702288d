//! A reader of lines of text: Shi et al. (2015).

use fx::nn::{self, AnyLayer, Sequential};
use fx::ops::SqueezeOptions;
use fx::prelude::*;

#[traceable]
pub(crate) struct Crnn {
    layers: Sequential<Vec<AnyLayer>>,
    lstm: nn::LSTM,
    out: nn::Linear,
}

#[traceable]
impl Crnn {
    pub(crate) fn new() -> Self {
        let conv = |i, o, kernel, padding| {
            let conv = nn::Conv2d::new(i, o, kernel).padding(padding);
            AnyLayer::new(Sequential::new((conv, nn::BatchNorm2d::new(o), nn::ReLU::new())))
        };
        let half = || AnyLayer::new(nn::MaxPool2d::new(2));
        let flat = || AnyLayer::new(nn::MaxPool2d::new(2).stride([2, 1]).padding([0, 1]));
        Self {
            layers: Sequential::new(vec![
                conv(1, 64, 3, 1),
                half(),
                conv(64, 128, 3, 1),
                half(),
                conv(128, 256, 3, 1),
                conv(256, 256, 3, 1),
                flat(),
                conv(256, 512, 3, 1),
                conv(512, 512, 3, 1),
                flat(),
                conv(512, 512, 2, 0),
            ]),
            lstm: nn::LSTM::new(512, 256).num_layers(2).bidirectional(true),
            out: nn::Linear::new(512, 37),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.layers.forward(x).squeeze_with(SqueezeOptions::new().dim([2])).permute([2, 0, 1]);
        self.out.forward(self.lstm.forward(x, None).0)
    }
}
