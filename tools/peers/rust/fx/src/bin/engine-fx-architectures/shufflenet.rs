//! ShuffleNetV2 as torchvision writes it, of normal width: Ma et al. (2018).

use fx::nn::{self, AnyLayer, Sequential};
use fx::ops::CatOptions;
use fx::prelude::*;

type Layers = Sequential<Vec<AnyLayer>>;

#[traceable]
fn channel_shuffle(x: &Tensor, groups: i64) -> Tensor {
    let [n, c, height, width] = x.sizes();
    let x = x.view((&n, groups, &c / groups, &height, &width));
    x.transpose(1, 2).contiguous().view((n, c, height, width))
}

fn depthwise(layers: &mut Layers, channels: usize, stride: usize) {
    layers.push(nn::Conv2d::new(channels, channels, 3).stride(stride).padding(1).groups(channels).bias(false));
    layers.push(nn::BatchNorm2d::new(channels));
}

fn pointwise(layers: &mut Layers, i: usize, o: usize) {
    layers.push(nn::Conv2d::new(i, o, 1).bias(false));
    layers.push(nn::BatchNorm2d::new(o));
    layers.push(nn::ReLU::new());
}

#[traceable]
#[derive(Clone)]
struct InvertedResidual {
    stride: usize,
    branch1: Layers,
    branch2: Layers,
}

#[traceable]
impl InvertedResidual {
    fn new(i: usize, o: usize, stride: usize) -> Self {
        let half = o / 2;
        let (mut branch1, mut branch2) = (Sequential::new(vec![]), Sequential::new(vec![]));
        if stride > 1 {
            depthwise(&mut branch1, i, stride);
            pointwise(&mut branch1, i, half);
        }
        pointwise(&mut branch2, if stride > 1 { i } else { half }, half);
        depthwise(&mut branch2, half, stride);
        pointwise(&mut branch2, half, half);
        Self { stride, branch1, branch2 }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let both = if self.stride == 1 {
            let [x1, x2] = x.chunk::<2>(1);
            [x1, self.branch2.forward(x2)]
        } else {
            [self.branch1.forward(x), self.branch2.forward(x)]
        };
        channel_shuffle(Tensor::cat_with(both, CatOptions::new().dim(1)), 2)
    }
}

#[traceable]
pub(crate) struct ShuffleNetV2 {
    conv1: Layers,
    maxpool: nn::MaxPool2d,
    stage2: Sequential<Vec<InvertedResidual>>,
    stage3: Sequential<Vec<InvertedResidual>>,
    stage4: Sequential<Vec<InvertedResidual>>,
    conv5: Layers,
    fc: nn::Linear,
}

#[traceable]
impl ShuffleNetV2 {
    pub(crate) fn new() -> Self {
        let mut conv1 = Sequential::new(vec![]);
        conv1.push(nn::Conv2d::new(3, 24, 3).stride(2).padding(1).bias(false));
        conv1.push(nn::BatchNorm2d::new(24));
        conv1.push(nn::ReLU::new());
        let mut conv5 = Sequential::new(vec![]);
        pointwise(&mut conv5, 464, 1024);
        let stage = |i: usize, o: usize, blocks: usize| {
            let block = |n| if n == 0 { InvertedResidual::new(i, o, 2) } else { InvertedResidual::new(o, o, 1) };
            Sequential::new((0..blocks).map(block).collect())
        };
        Self {
            conv1,
            maxpool: nn::MaxPool2d::new(3).stride(2).padding(1),
            stage2: stage(24, 116, 4),
            stage3: stage(116, 232, 8),
            stage4: stage(232, 464, 4),
            conv5,
            fc: nn::Linear::new(1024, 1000),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.maxpool.forward(self.conv1.forward(x));
        let x = self.stage4.forward(self.stage3.forward(self.stage2.forward(x)));
        self.fc.forward(self.conv5.forward(x).mean_dim([2, 3]))
    }
}
