//! VGG: Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition" (2015).
//!
//! Names and details are torchvision's.

use fx::Tensor;
use fx::ops::FlattenOptions;
use fx_macros::traceable;

use super::conv_init::he_fan_out;
use crate::{AdaptiveAvgPool2d, AnyLayer, BatchNorm2d, Conv2d, Dropout, Linear, MaxPool2d, ReLU, Sequential, init};

/// The hyper-parameters of a [`Vgg`].
#[derive(Clone, Debug, PartialEq)]
pub struct VggConfig {
    /// The numbers of channels of the convolutions of each stage; a pooling ends a stage.
    pub stages: Vec<Vec<usize>>,
    /// Whether convolutions are normalised.
    pub batch_norm: bool,
    /// The width of the two hidden layers of the classifier.
    pub hidden: usize,
    /// The number of logits.
    pub num_classes: usize,
    /// The probability of dropout in the classifier.
    pub dropout: f64,
}

impl VggConfig {
    fn with_depths(depths: [usize; 5]) -> Self {
        let stages = [64, 128, 256, 512, 512].into_iter().zip(depths).map(|(width, depth)| vec![width; depth]);
        Self { stages: stages.collect(), batch_norm: false, hidden: 4096, num_classes: 1000, dropout: 0.5 }
    }

    /// VGG-11, configuration A.
    pub fn vgg11() -> Self {
        Self::with_depths([1, 1, 2, 2, 2])
    }

    /// VGG-13, configuration B.
    pub fn vgg13() -> Self {
        Self::with_depths([2, 2, 2, 2, 2])
    }

    /// VGG-16, configuration D.
    pub fn vgg16() -> Self {
        Self::with_depths([2, 2, 3, 3, 3])
    }

    /// VGG-19, configuration E.
    pub fn vgg19() -> Self {
        Self::with_depths([2, 2, 4, 4, 4])
    }

    /// Sets whether convolutions are normalised.
    #[must_use]
    pub fn batch_norm(mut self, batch_norm: bool) -> Self {
        self.batch_norm = batch_norm;
        self
    }
}

type Classifier = Sequential<(Linear, ReLU, Dropout, Linear, ReLU, Dropout, Linear)>;

/// A VGG network.
#[traceable]
#[derive(Clone, Debug)]
pub struct Vgg {
    features: Sequential<Vec<AnyLayer>>,
    avgpool: AdaptiveAvgPool2d,
    classifier: Classifier,
}

#[traceable]
impl Vgg {
    /// A network for images of 3 channels.
    pub fn new(config: &VggConfig) -> Self {
        let mut features = Sequential::new(Vec::new());
        let mut inputs = 3;
        for stage in &config.stages {
            for &outputs in stage {
                features.push(he_fan_out(Conv2d::new(inputs, outputs, 3).padding(1)));
                if config.batch_norm {
                    features.push(BatchNorm2d::new(outputs));
                }
                features.push(ReLU::new());
                inputs = outputs;
            }
            features.push(MaxPool2d::new(2).stride(2));
        }
        let (hidden, dropout) = (config.hidden, config.dropout);
        let classifier = Sequential::new((
            linear(inputs * 7 * 7, hidden),
            ReLU::new(),
            Dropout::new(dropout),
            linear(hidden, hidden),
            ReLU::new(),
            Dropout::new(dropout),
            linear(hidden, config.num_classes),
        ));
        Self { features, avgpool: AdaptiveAvgPool2d::new(7), classifier }
    }

    /// `x`: `[N, 3, H, W]`; gives logits, `[N, num_classes]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.avgpool.forward(self.features.forward(x));
        self.classifier.forward(x.flatten_with(FlattenOptions::new().start_dim(1)))
    }
}

fn linear(inputs: usize, outputs: usize) -> Linear {
    let mut linear = Linear::new(inputs, outputs);
    linear.weight = init::normal(&[outputs, inputs], 0.01);
    linear.bias = Some(init::zeros(&[outputs]));
    linear
}
