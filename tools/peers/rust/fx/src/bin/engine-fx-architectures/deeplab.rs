//! DeepLabV3 on a ResNet-50 as torchvision writes it: Chen et al. (2017).

use fx::nn::{self, Sequential};
use fx::ops::{CatOptions, InterpolateOptions};
use fx::prelude::*;

use crate::resnext::{Bottleneck, Middle, Stage};

type Normed = Sequential<(nn::Conv2d, nn::BatchNorm2d, nn::ReLU)>;

fn normed(conv: nn::Conv2d, channels: usize) -> Normed {
    Sequential::new((conv.bias(false), nn::BatchNorm2d::new(channels), nn::ReLU::new()))
}

fn dilated(i: usize, o: usize, dilation: usize) -> Normed {
    normed(nn::Conv2d::new(i, o, 3).padding(dilation).dilation(dilation), o)
}

#[traceable]
#[derive(Clone)]
struct Backbone {
    conv1: nn::Conv2d,
    bn1: nn::BatchNorm2d,
    maxpool: nn::MaxPool2d,
    layer1: Stage,
    layer2: Stage,
    layer3: Stage,
    layer4: Stage,
}

#[traceable]
impl Backbone {
    /// The last two stages have the field of view that strides gave them, by dilation.
    fn new() -> Self {
        let stage = |i: usize, o: usize, blocks: usize, first: (usize, usize), dilation: usize| {
            let block = |n| {
                let (stride, dilation) = if n == 0 { first } else { (1, dilation) };
                Bottleneck::new(if n == 0 { i } else { o }, o / 4, o, Middle { groups: 1, stride, dilation })
            };
            Sequential::new((0..blocks).map(block).collect())
        };
        Self {
            conv1: nn::Conv2d::new(3, 64, 7).stride(2).padding(3).bias(false),
            bn1: nn::BatchNorm2d::new(64),
            maxpool: nn::MaxPool2d::new(3).stride(2).padding(1),
            layer1: stage(64, 256, 3, (1, 1), 1),
            layer2: stage(256, 512, 4, (2, 1), 1),
            layer3: stage(512, 1024, 6, (1, 1), 2),
            layer4: stage(1024, 2048, 3, (1, 2), 4),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.maxpool.forward(self.bn1.forward(self.conv1.forward(x)).relu());
        let x = self.layer2.forward(self.layer1.forward(x));
        self.layer4.forward(self.layer3.forward(x))
    }
}

/// What pixels are, by how far they see.
#[traceable]
#[derive(Clone)]
struct Pyramid {
    convs: (Normed, Normed, Normed, Normed, Sequential<(nn::AdaptiveAvgPool2d, nn::Conv2d, nn::BatchNorm2d, nn::ReLU)>),
    project: Normed,
}

#[traceable]
impl Pyramid {
    fn new(i: usize, o: usize) -> Self {
        let pixels = |i| nn::Conv2d::new(i, o, 1);
        let pooled = Sequential::new((
            nn::AdaptiveAvgPool2d::new(1),
            pixels(i).bias(false),
            nn::BatchNorm2d::new(o),
            nn::ReLU::new(),
        ));
        let [near, middle, far] = [12, 24, 36].map(|dilation| dilated(i, o, dilation));
        Self { convs: (normed(pixels(i), o), near, middle, far, pooled), project: normed(pixels(5 * o), o) }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let [_, _, height, width] = x.sizes();
        let (alone, near, middle, far, all) = &self.convs;
        let all = all.forward(x).interpolate_with(InterpolateOptions::new().size((height, width)).mode("bilinear"));
        let parts = [alone.forward(x), near.forward(x), middle.forward(x), far.forward(x), all];
        self.project.forward(Tensor::cat_with(parts, CatOptions::new().dim(1)))
    }
}

#[traceable]
#[derive(Clone)]
struct Segmentation {
    backbone: Backbone,
    classifier: Sequential<(Pyramid, nn::Conv2d, nn::BatchNorm2d, nn::ReLU, nn::Conv2d)>,
}

#[traceable]
pub(crate) struct DeepLab {
    model: Segmentation,
}

#[traceable]
impl DeepLab {
    pub(crate) fn new() -> Self {
        let classifier = Sequential::new((
            Pyramid::new(2048, 256),
            nn::Conv2d::new(256, 256, 3).padding(1).bias(false),
            nn::BatchNorm2d::new(256),
            nn::ReLU::new(),
            nn::Conv2d::new(256, 21, 1),
        ));
        Self { model: Segmentation { backbone: Backbone::new(), classifier } }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let [_, _, height, width] = x.sizes();
        let classes = self.model.classifier.forward(self.model.backbone.forward(x));
        classes.interpolate_with(InterpolateOptions::new().size((height, width)).mode("bilinear"))
    }
}
