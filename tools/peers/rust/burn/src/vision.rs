//! Networks of convolutions; batch norms are folded into the convolutions before them when they are loaded.

use burn_tensor::Tensor;
use burn_tensor::activation::{relu, relu6};
use burn_tensor::module::{conv2d, max_pool2d};
use burn_tensor::ops::{ConvOptions, MaxPoolOptions};
use protocol::Result;

use crate::{Model, Weights};

struct Conv {
    weight: Tensor<4>,
    bias: Tensor<1>,
    stride: usize,
}

impl Conv {
    /// A convolution and the batch norm after it.
    fn norm(weights: &Weights<'_>, conv: &str, norm: &str, stride: usize) -> Result<Self> {
        let part = |name: &str| weights.get::<1>(&format!("{norm}.{name}"));
        let weight = weights.get::<4>(&format!("{conv}.weight"))?;
        let scale = part("weight")? / (part("running_var")? + 1e-5).sqrt();
        let bias = part("bias")? - part("running_mean")? * scale.clone();
        let channels = weight.dims()[0];
        Ok(Self { weight: weight * scale.reshape([channels, 1, 1, 1]), bias, stride })
    }

    /// Pads by half a window; one channel of weights is a depthwise convolution, or has one channel of input.
    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let [_, inputs, size, _] = self.weight.dims();
        let groups = x.dims()[1] / inputs;
        let options = ConvOptions::new([self.stride; 2], [size / 2; 2], [1, 1], groups);
        conv2d(x, self.weight.clone(), Some(self.bias.clone()), options)
    }
}

/// The means of channels.
fn pooled(x: Tensor<4>) -> Tensor<2> {
    x.flatten::<3>(2, 3).mean_dim(2).squeeze_dim(2)
}

/// A bottleneck: three convolutions and a way around them.
struct Bottleneck {
    convs: [Conv; 3],
    around: Option<Conv>,
}

impl Bottleneck {
    fn new(weights: &Weights<'_>, path: &str, stride: usize, first: bool) -> Result<Self> {
        let conv = |i: usize, stride| Conv::norm(weights, &format!("{path}.conv{i}"), &format!("{path}.bn{i}"), stride);
        let around = || Conv::norm(weights, &format!("{path}.downsample.0"), &format!("{path}.downsample.1"), stride);
        Ok(Self { convs: [conv(1, 1)?, conv(2, stride)?, conv(3, 1)?], around: first.then(around).transpose()? })
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let [first, second, third] = &self.convs;
        let y = third.forward(relu(second.forward(relu(first.forward(x.clone())))));
        let around = match &self.around {
            Some(conv) => conv.forward(x),
            None => x,
        };
        relu(y + around)
    }
}

pub fn resnet50(weights: &Weights<'_>) -> Result<Model<Tensor<4>, 2>> {
    let stem = Conv::norm(weights, "conv1", "bn1", 2)?;
    let mut blocks = Vec::new();
    for (layer, count) in [3, 4, 6, 3].into_iter().enumerate() {
        for i in 0..count {
            let stride = if i == 0 && layer > 0 { 2 } else { 1 };
            blocks.push(Bottleneck::new(weights, &format!("layer{}.{i}", layer + 1), stride, i == 0)?);
        }
    }
    let head = weights.linear("fc.weight", "fc.bias")?;
    let pool = MaxPoolOptions::new([3, 3]).with_stride([2, 2]).with_padding([1, 1]);
    Ok(Box::new(move |x| {
        let x = max_pool2d(relu(stem.forward(x)), pool.clone());
        head.forward(pooled(blocks.iter().fold(x, |x, block| block.forward(x))))
    }))
}

/// An inverted residual: all its convolutions but the last have ReLU6 after them.
struct Inverted {
    convs: Vec<Conv>,
    last: Conv,
    residual: bool,
}

impl Inverted {
    fn new(weights: &Weights<'_>, index: usize, stride: usize, residual: bool) -> Result<Self> {
        let conv = |conv: &str, norm: &str, stride| {
            let path = format!("features.{index}.conv");
            Conv::norm(weights, &format!("{path}.{conv}"), &format!("{path}.{norm}"), stride)
        };
        let (convs, last) = match index {
            1 => (vec![conv("0.0", "0.1", stride)?], conv("1", "2", 1)?),
            _ => (vec![conv("0.0", "0.1", 1)?, conv("1.0", "1.1", stride)?], conv("2", "3", 1)?),
        };
        Ok(Self { convs, last, residual })
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let y = self.last.forward(self.convs.iter().fold(x.clone(), |x, conv| relu6(conv.forward(x))));
        if self.residual { x + y } else { y }
    }
}

pub fn mobilenet_v2(weights: &Weights<'_>) -> Result<Model<Tensor<4>, 2>> {
    let stem = Conv::norm(weights, "features.0.0", "features.0.1", 2)?;
    let mut blocks = Vec::new();
    for (count, stride) in [(1, 1), (2, 2), (3, 2), (4, 2), (3, 1), (3, 2), (1, 1)] {
        for i in 0..count {
            let stride = if i == 0 { stride } else { 1 };
            blocks.push(Inverted::new(weights, blocks.len() + 1, stride, i > 0)?);
        }
    }
    let last = Conv::norm(weights, "features.18.0", "features.18.1", 1)?;
    let head = weights.linear("classifier.1.weight", "classifier.1.bias")?;
    Ok(Box::new(move |x| {
        let x = blocks.iter().fold(relu6(stem.forward(x)), |x, block| block.forward(x));
        head.forward(pooled(relu6(last.forward(x))))
    }))
}

pub fn digits(weights: &Weights<'_>) -> Result<Model<Tensor<4>, 2>> {
    let stem = Conv { weight: weights.get("stem.weight")?, bias: weights.get("stem.bias")?, stride: 1 };
    let mut blocks = Vec::new();
    for i in 0..2 {
        let conv = |j: usize| Conv::norm(weights, &format!("blocks.{i}.conv{j}"), &format!("blocks.{i}.bn{j}"), 1);
        blocks.push([conv(1)?, conv(2)?]);
    }
    let head = weights.linear("head.weight", "head.bias")?;
    Ok(Box::new(move |x| {
        let x = blocks
            .iter()
            .fold(relu(stem.forward(x)), |x, [first, second]| relu(second.forward(relu(first.forward(x.clone()))) + x));
        head.forward(max_pool2d(x, MaxPoolOptions::new([2, 2])).flatten(1, 3))
    }))
}
