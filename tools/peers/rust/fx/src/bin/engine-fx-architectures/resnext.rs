//! ResNeXt-50 of 32 groups as torchvision writes it: Xie et al. (2017).

use fx::nn::{self, Sequential};
use fx::ops::FlattenOptions;
use fx::prelude::*;

fn pixels(i: usize, o: usize, stride: usize) -> nn::Conv2d {
    nn::Conv2d::new(i, o, 1).stride(stride).bias(false)
}

/// How the convolution in the middle of a block goes.
#[derive(Clone, Copy)]
pub(crate) struct Middle {
    pub(crate) groups: usize,
    pub(crate) stride: usize,
    pub(crate) dilation: usize,
}

#[traceable]
#[derive(Clone)]
pub(crate) struct Bottleneck {
    conv1: nn::Conv2d,
    bn1: nn::BatchNorm2d,
    conv2: nn::Conv2d,
    bn2: nn::BatchNorm2d,
    conv3: nn::Conv2d,
    bn3: nn::BatchNorm2d,
    downsample: Option<Sequential<(nn::Conv2d, nn::BatchNorm2d)>>,
}

#[traceable]
impl Bottleneck {
    /// A block from `i` to `o` channels, which computes with `width`.
    pub(crate) fn new(i: usize, width: usize, o: usize, middle: Middle) -> Self {
        let Middle { groups, stride, dilation } = middle;
        let conv2 = nn::Conv2d::new(width, width, 3).stride(stride).padding(dilation).dilation(dilation);
        let downsample = (i != o).then(|| Sequential::new((pixels(i, o, stride), nn::BatchNorm2d::new(o))));
        Self {
            conv1: pixels(i, width, 1),
            bn1: nn::BatchNorm2d::new(width),
            conv2: conv2.groups(groups).bias(false),
            bn2: nn::BatchNorm2d::new(width),
            conv3: pixels(width, o, 1),
            bn3: nn::BatchNorm2d::new(o),
            downsample,
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.bn1.forward(self.conv1.forward(x)).relu();
        let y = self.bn2.forward(self.conv2.forward(y)).relu();
        let y = self.bn3.forward(self.conv3.forward(y));
        match &self.downsample {
            Some(downsample) => (y + downsample.forward(x.clone())).relu(),
            None => (y + x).relu(),
        }
    }
}

pub(crate) type Stage = Sequential<Vec<Bottleneck>>;

#[traceable]
pub(crate) struct ResNeXt {
    conv1: nn::Conv2d,
    bn1: nn::BatchNorm2d,
    maxpool: nn::MaxPool2d,
    layer1: Stage,
    layer2: Stage,
    layer3: Stage,
    layer4: Stage,
    avgpool: nn::AdaptiveAvgPool2d,
    fc: nn::Linear,
}

#[traceable]
impl ResNeXt {
    pub(crate) fn new() -> Self {
        let stage = |i, o, blocks, stride| {
            let middle = |stride| Middle { groups: 32, stride, dilation: 1 };
            let block =
                |n| Bottleneck::new(if n == 0 { i } else { o }, o / 2, o, middle(if n == 0 { stride } else { 1 }));
            Sequential::new((0..blocks).map(block).collect())
        };
        Self {
            conv1: nn::Conv2d::new(3, 64, 7).stride(2).padding(3).bias(false),
            bn1: nn::BatchNorm2d::new(64),
            maxpool: nn::MaxPool2d::new(3).stride(2).padding(1),
            layer1: stage(64, 256, 3, 1),
            layer2: stage(256, 512, 4, 2),
            layer3: stage(512, 1024, 6, 2),
            layer4: stage(1024, 2048, 3, 2),
            avgpool: nn::AdaptiveAvgPool2d::new(1),
            fc: nn::Linear::new(2048, 1000),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.maxpool.forward(self.bn1.forward(self.conv1.forward(x)).relu());
        let x = self.layer2.forward(self.layer1.forward(x));
        let x = self.avgpool.forward(self.layer4.forward(self.layer3.forward(x)));
        self.fc.forward(x.flatten_with(FlattenOptions::new().start_dim(1)))
    }
}
