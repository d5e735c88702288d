//! Residual networks: He et al., "Deep Residual Learning for Image Recognition" (2016).
//!
//! Names and details are torchvision's: a bottleneck strides in its 3x3 convolution ("version 1.5").

use fx::Layer;
use fx::Tensor;
use fx::ops::FlattenOptions;
use fx_macros::traceable;

use super::conv_init::he_fan_out;
use crate::{AdaptiveAvgPool2d, BatchNorm2d, Conv2d, Linear, MaxPool2d, ReLU};

/// A residual block.
pub trait Block: Layer + Clone {
    /// How many times as many channels it gives as it computes with.
    const EXPANSION: usize;

    /// A block from `inplanes` channels to `planes * EXPANSION`.
    fn new(inplanes: usize, planes: usize, stride: usize) -> Self;
}

/// What brings the input of a block to the shape of its output: a strided 1x1 convolution, normalised.
type Downsample = Option<(Conv2d, BatchNorm2d)>;

fn downsample(inplanes: usize, outplanes: usize, stride: usize) -> Downsample {
    let needed = stride != 1 || inplanes != outplanes;
    needed.then(|| (conv(inplanes, outplanes, 1, stride), BatchNorm2d::new(outplanes)))
}

fn conv(inplanes: usize, planes: usize, kernel_size: usize, stride: usize) -> Conv2d {
    let conv = Conv2d::new(inplanes, planes, kernel_size).stride(stride).padding(kernel_size / 2).bias(false);
    he_fan_out(conv)
}

/// Two 3x3 convolutions.
#[traceable]
#[derive(Clone, Debug)]
pub struct BasicBlock {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    relu: ReLU,
    conv2: Conv2d,
    bn2: BatchNorm2d,
    downsample: Downsample,
}

#[traceable]
impl BasicBlock {
    /// `x`: `[N, inplanes, H, W]`; gives `[N, planes, H / stride, W / stride]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let out = self.relu.forward(self.bn1.forward(self.conv1.forward(x)));
        let out = self.bn2.forward(self.conv2.forward(out));
        let identity = match &self.downsample {
            Some((conv, bn)) => bn.forward(conv.forward(x)),
            None => x.clone(),
        };
        self.relu.forward(out + identity)
    }
}

impl Block for BasicBlock {
    const EXPANSION: usize = 1;

    fn new(inplanes: usize, planes: usize, stride: usize) -> Self {
        Self {
            conv1: conv(inplanes, planes, 3, stride),
            bn1: BatchNorm2d::new(planes),
            relu: ReLU::new(),
            conv2: conv(planes, planes, 3, 1),
            bn2: BatchNorm2d::new(planes),
            downsample: downsample(inplanes, planes, stride),
        }
    }
}

/// A 3x3 convolution between two 1x1 convolutions that narrow and widen.
#[traceable]
#[derive(Clone, Debug)]
pub struct Bottleneck {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    conv2: Conv2d,
    bn2: BatchNorm2d,
    conv3: Conv2d,
    bn3: BatchNorm2d,
    relu: ReLU,
    downsample: Downsample,
}

#[traceable]
impl Bottleneck {
    /// `x`: `[N, inplanes, H, W]`; gives `[N, 4 * planes, H / stride, W / stride]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let out = self.relu.forward(self.bn1.forward(self.conv1.forward(x)));
        let out = self.relu.forward(self.bn2.forward(self.conv2.forward(out)));
        let out = self.bn3.forward(self.conv3.forward(out));
        let identity = match &self.downsample {
            Some((conv, bn)) => bn.forward(conv.forward(x)),
            None => x.clone(),
        };
        self.relu.forward(out + identity)
    }
}

impl Block for Bottleneck {
    const EXPANSION: usize = 4;

    fn new(inplanes: usize, planes: usize, stride: usize) -> Self {
        let outplanes = planes * Self::EXPANSION;
        Self {
            conv1: conv(inplanes, planes, 1, 1),
            bn1: BatchNorm2d::new(planes),
            conv2: conv(planes, planes, 3, stride),
            bn2: BatchNorm2d::new(planes),
            conv3: conv(planes, outplanes, 1, 1),
            bn3: BatchNorm2d::new(outplanes),
            relu: ReLU::new(),
            downsample: downsample(inplanes, outplanes, stride),
        }
    }
}

/// A residual network of one kind of block.
#[traceable]
#[derive(Clone, Debug)]
pub struct ResNet<B: Block> {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    relu: ReLU,
    maxpool: MaxPool2d,
    layer1: Vec<B>,
    layer2: Vec<B>,
    layer3: Vec<B>,
    layer4: Vec<B>,
    avgpool: AdaptiveAvgPool2d,
    fc: Linear,
}

#[traceable]
impl<B: Block> ResNet<B> {
    /// A network with this many blocks in each of its four stages, for images of 3 channels.
    pub fn new(layers: [usize; 4], num_classes: usize) -> Self {
        let mut inplanes = 64;
        let mut stage = |planes: usize, blocks: usize, stride: usize| -> Vec<B> {
            let strides = (0..blocks).map(|i| if i == 0 { stride } else { 1 });
            let block = |stride| B::new(std::mem::replace(&mut inplanes, planes * B::EXPANSION), planes, stride);
            strides.map(block).collect()
        };
        Self {
            conv1: he_fan_out(Conv2d::new(3, 64, 7).stride(2).padding(3).bias(false)),
            bn1: BatchNorm2d::new(64),
            relu: ReLU::new(),
            maxpool: MaxPool2d::new(3).stride(2).padding(1),
            layer1: stage(64, layers[0], 1),
            layer2: stage(128, layers[1], 2),
            layer3: stage(256, layers[2], 2),
            layer4: stage(512, layers[3], 2),
            avgpool: AdaptiveAvgPool2d::new(1),
            fc: Linear::new(512 * B::EXPANSION, num_classes),
        }
    }

    /// `x`: `[N, 3, H, W]`; gives logits, `[N, num_classes]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.relu.forward(self.bn1.forward(self.conv1.forward(x)));
        let mut x = self.maxpool.forward(x);
        for block in [&self.layer1, &self.layer2, &self.layer3, &self.layer4].into_iter().flatten() {
            x = block.forward_layer(x);
        }
        let x = self.avgpool.forward(x);
        self.fc.forward(x.flatten_with(FlattenOptions::new().start_dim(1)))
    }
}

/// ResNet-18.
pub fn resnet18(num_classes: usize) -> ResNet<BasicBlock> {
    ResNet::new([2, 2, 2, 2], num_classes)
}

/// ResNet-34.
pub fn resnet34(num_classes: usize) -> ResNet<BasicBlock> {
    ResNet::new([3, 4, 6, 3], num_classes)
}

/// ResNet-50.
pub fn resnet50(num_classes: usize) -> ResNet<Bottleneck> {
    ResNet::new([3, 4, 6, 3], num_classes)
}

/// ResNet-101.
pub fn resnet101(num_classes: usize) -> ResNet<Bottleneck> {
    ResNet::new([3, 4, 23, 3], num_classes)
}
