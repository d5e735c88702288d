//! DenseNet as torchvision writes it: Huang et al. (2017).

use fx::nn;
use fx::ops::{CatOptions, FlattenOptions};
use fx::prelude::*;
use indexmap::IndexMap;

#[traceable]
#[derive(Clone)]
struct DenseLayer {
    norm1: nn::BatchNorm2d,
    conv1: nn::Conv2d,
    norm2: nn::BatchNorm2d,
    conv2: nn::Conv2d,
}

#[traceable]
impl DenseLayer {
    fn new(inputs: usize, growth: usize, size: usize) -> Self {
        Self {
            norm1: nn::BatchNorm2d::new(inputs),
            conv1: nn::Conv2d::new(inputs, size * growth, 1).bias(false),
            norm2: nn::BatchNorm2d::new(size * growth),
            conv2: nn::Conv2d::new(size * growth, growth, 3).padding(1).bias(false),
        }
    }

    pub(crate) fn forward(&self, features: &[Tensor]) -> Tensor {
        let x = Tensor::cat_with(features, CatOptions::new().dim(1));
        let x = self.conv1.forward(self.norm1.forward(x).relu());
        self.conv2.forward(self.norm2.forward(x).relu())
    }
}

/// The layers of a block by name.
type DenseBlock = IndexMap<String, DenseLayer>;

fn dense_block(layers: usize, inputs: usize, growth: usize, size: usize) -> DenseBlock {
    (0..layers).map(|i| (format!("denselayer{}", i + 1), DenseLayer::new(inputs + i * growth, growth, size))).collect()
}

#[traceable]
fn block_forward(block: &DenseBlock, x: &Tensor) -> Tensor {
    let mut features = vec![x.clone()];
    for layer in block.values() {
        features.push(layer.forward(&features));
    }
    Tensor::cat_with(features, CatOptions::new().dim(1))
}

#[traceable]
#[derive(Clone)]
struct Transition {
    norm: nn::BatchNorm2d,
    conv: nn::Conv2d,
    pool: nn::AvgPool2d,
}

#[traceable]
impl Transition {
    fn new(i: usize, o: usize) -> Self {
        Self {
            norm: nn::BatchNorm2d::new(i),
            conv: nn::Conv2d::new(i, o, 1).bias(false),
            pool: nn::AvgPool2d::new(2).stride(2),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        self.pool.forward(self.conv.forward(self.norm.forward(x).relu()))
    }
}

#[traceable]
#[derive(Clone)]
struct Features {
    conv0: nn::Conv2d,
    norm0: nn::BatchNorm2d,
    pool0: nn::MaxPool2d,
    denseblock1: DenseBlock,
    transition1: Transition,
    denseblock2: DenseBlock,
    transition2: Transition,
    denseblock3: DenseBlock,
    transition3: Transition,
    denseblock4: DenseBlock,
    norm5: nn::BatchNorm2d,
}

#[traceable]
impl Features {
    fn new(growth: usize, blocks: [usize; 4], initial: usize, size: usize) -> Self {
        let mut width = [initial; 5];
        for i in 0..4 {
            width[i + 1] = (width[i] + blocks[i] * growth) / if i < 3 { 2 } else { 1 };
        }
        let block = |i: usize| dense_block(blocks[i], width[i], growth, size);
        let transition = |i: usize| Transition::new(width[i + 1] * 2, width[i + 1]);
        Self {
            conv0: nn::Conv2d::new(3, initial, 7).stride(2).padding(3).bias(false),
            norm0: nn::BatchNorm2d::new(initial),
            pool0: nn::MaxPool2d::new(3).stride(2).padding(1),
            denseblock1: block(0),
            transition1: transition(0),
            denseblock2: block(1),
            transition2: transition(1),
            denseblock3: block(2),
            transition3: transition(2),
            denseblock4: block(3),
            norm5: nn::BatchNorm2d::new(width[4]),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.pool0.forward(self.norm0.forward(self.conv0.forward(x)).relu());
        let x = self.transition1.forward(block_forward(&self.denseblock1, x));
        let x = self.transition2.forward(block_forward(&self.denseblock2, x));
        let x = self.transition3.forward(block_forward(&self.denseblock3, x));
        self.norm5.forward(block_forward(&self.denseblock4, x))
    }
}

#[traceable]
#[derive(Clone)]
pub(crate) struct DenseNet {
    features: Features,
    classifier: nn::Linear,
}

#[traceable]
impl DenseNet {
    fn new(growth: usize, blocks: [usize; 4], initial: usize, size: usize, classes: usize) -> Self {
        let width = (0..4).fold(initial, |w, i| (w + blocks[i] * growth) / if i < 3 { 2 } else { 1 });
        Self { features: Features::new(growth, blocks, initial, size), classifier: nn::Linear::new(width, classes) }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.features.forward(x).relu().adaptive_avg_pool2d(1);
        self.classifier.forward(x.flatten_with(FlattenOptions::new().start_dim(1)))
    }
}

pub(crate) fn densenet121() -> DenseNet {
    DenseNet::new(32, [6, 12, 24, 16], 64, 4, 1000)
}
