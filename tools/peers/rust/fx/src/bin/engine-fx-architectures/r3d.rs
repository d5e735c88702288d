//! A residual network for videos as torchvision writes it: Tran et al. (2018).

use fx::nn::{self, Sequential};
use fx::ops::FlattenOptions;
use fx::prelude::*;

type ConvNorm = Sequential<(nn::Conv3d, nn::BatchNorm3d)>;
type ConvNormRelu = Sequential<(nn::Conv3d, nn::BatchNorm3d, nn::ReLU)>;

fn conv(i: usize, o: usize, stride: usize) -> nn::Conv3d {
    nn::Conv3d::new(i, o, 3).stride(stride).padding(1).bias(false)
}

#[traceable]
#[derive(Clone)]
struct BasicBlock {
    conv1: ConvNormRelu,
    conv2: ConvNorm,
    downsample: Option<ConvNorm>,
}

#[traceable]
impl BasicBlock {
    fn new(i: usize, o: usize, stride: usize) -> Self {
        let norm = || nn::BatchNorm3d::new(o);
        let narrow = || nn::Conv3d::new(i, o, 1).stride(stride).bias(false);
        Self {
            conv1: Sequential::new((conv(i, o, stride), norm(), nn::ReLU::new())),
            conv2: Sequential::new((conv(o, o, 1), norm())),
            downsample: (stride != 1).then(|| Sequential::new((narrow(), norm()))),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.conv2.forward(self.conv1.forward(x.clone()));
        match &self.downsample {
            Some(downsample) => (y + downsample.forward(x.clone())).relu(),
            None => (y + x).relu(),
        }
    }
}

#[traceable]
pub(crate) struct VideoResNet {
    stem: ConvNormRelu,
    layer1: Sequential<Vec<BasicBlock>>,
    layer2: Sequential<Vec<BasicBlock>>,
    layer3: Sequential<Vec<BasicBlock>>,
    layer4: Sequential<Vec<BasicBlock>>,
    avgpool: nn::AdaptiveAvgPool3d,
    fc: nn::Linear,
}

#[traceable]
impl VideoResNet {
    pub(crate) fn r3d_18() -> Self {
        let stem = nn::Conv3d::new(3, 64, [3, 7, 7]).stride([1, 2, 2]).padding([1, 3, 3]).bias(false);
        let stage = |i, o, stride| Sequential::new(vec![BasicBlock::new(i, o, stride), BasicBlock::new(o, o, 1)]);
        Self {
            stem: Sequential::new((stem, nn::BatchNorm3d::new(64), nn::ReLU::new())),
            layer1: stage(64, 64, 1),
            layer2: stage(64, 128, 2),
            layer3: stage(128, 256, 2),
            layer4: stage(256, 512, 2),
            avgpool: nn::AdaptiveAvgPool3d::new(1),
            fc: nn::Linear::new(512, 400),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.layer1.forward(self.stem.forward(x));
        let x = self.layer4.forward(self.layer3.forward(self.layer2.forward(x)));
        self.fc.forward(self.avgpool.forward(x).flatten_with(FlattenOptions::new().start_dim(1)))
    }
}
