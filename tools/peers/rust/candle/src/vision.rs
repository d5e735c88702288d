//! Networks of convolutions; a convolution takes up the batch norm after it when it is loaded. candle's own ResNet-50, which
//! does not do that, takes longer.

use candle_core::{D, Result, Tensor};
use candle_nn::{Activation, Conv2d, Conv2dConfig, VarBuilder, batch_norm, conv2d, linear, seq};

use crate::Model;

/// A convolution and the batch norm after it; one whose weights have one input channel is depthwise.
fn conv_norm(weights: &VarBuilder<'_>, conv: &str, norm: &str, stride: usize) -> Result<Conv2d> {
    let weight = weights.pp(conv).get_unchecked("weight")?;
    let (channels, inputs, size, _) = weight.dims4()?;
    let groups = if inputs == 1 { channels } else { 1 };
    let config = Conv2dConfig { stride, padding: size / 2, groups, ..Default::default() };
    let conv = Conv2d::new(weight, None, config).absorb_bn(&batch_norm(channels, 1e-5, weights.pp(norm))?)?;
    // Statistics are variables, and what is worked out with variables is kept for gradients.
    Ok(Conv2d::new(conv.weight().detach(), conv.bias().map(Tensor::detach), config))
}

/// The means of channels.
fn pooled(x: &Tensor) -> Result<Tensor> {
    x.flatten_from(2)?.mean(D::Minus1)
}

/// A bottleneck: three convolutions and a way around them.
fn bottleneck(weights: &VarBuilder<'_>, stride: usize, first: bool) -> Result<Model> {
    let convs = seq()
        .add(conv_norm(weights, "conv1", "bn1", 1)?)
        .add(Activation::Relu)
        .add(conv_norm(weights, "conv2", "bn2", stride)?)
        .add(Activation::Relu)
        .add(conv_norm(weights, "conv3", "bn3", 1)?);
    let mut around = seq();
    if first {
        around = around.add(conv_norm(weights, "downsample.0", "downsample.1", stride)?);
    }
    Ok(Box::new(move |x| (x.apply(&convs)? + x.apply(&around)?)?.relu()))
}

pub fn resnet50(weights: &VarBuilder<'_>) -> Result<Model> {
    let stem = conv_norm(weights, "conv1", "bn1", 2)?;
    let mut blocks = seq();
    for (layer, count) in [3, 4, 6, 3].into_iter().enumerate() {
        for i in 0..count {
            let stride = if i == 0 && layer > 0 { 2 } else { 1 };
            blocks = blocks.add(bottleneck(&weights.pp(format!("layer{}.{i}", layer + 1)), stride, i == 0)?);
        }
    }
    let head = linear(2048, 1000, weights.pp("fc"))?;
    Ok(Box::new(move |x| {
        let x = x.apply(&stem)?.relu()?;
        let x = x.pad_with_same(D::Minus1, 1, 1)?.pad_with_same(D::Minus2, 1, 1)?.max_pool2d_with_stride(3, 2)?;
        pooled(&x.apply(&blocks)?)?.apply(&head)
    }))
}

/// An inverted residual: more channels except in the first, a depthwise convolution, fewer channels.
fn inverted(weights: &VarBuilder<'_>, expand: bool, stride: usize, residual: bool) -> Result<Model> {
    let conv = |conv, norm, stride| conv_norm(weights, conv, norm, stride);
    let convs = if expand {
        seq()
            .add(conv("0.0", "0.1", 1)?)
            .add(Activation::Relu6)
            .add(conv("1.0", "1.1", stride)?)
            .add(Activation::Relu6)
            .add(conv("2", "3", 1)?)
    } else {
        seq().add(conv("0.0", "0.1", stride)?).add(Activation::Relu6).add(conv("1", "2", 1)?)
    };
    Ok(Box::new(move |x: &Tensor| if residual { x + x.apply(&convs)? } else { x.apply(&convs) }))
}

pub fn mobilenet_v2(weights: &VarBuilder<'_>) -> Result<Model> {
    let features = &weights.pp("features");
    let mut layers = seq().add(conv_norm(features, "0.0", "0.1", 2)?).add(Activation::Relu6);
    let mut index = 0;
    for (count, stride) in [(1, 1), (2, 2), (3, 2), (4, 2), (3, 1), (3, 2), (1, 1)] {
        for i in 0..count {
            index += 1;
            let stride = if i == 0 { stride } else { 1 };
            layers = layers.add(inverted(&features.pp(format!("{index}.conv")), index > 1, stride, i > 0)?);
        }
    }
    layers = layers.add(conv_norm(features, "18.0", "18.1", 1)?).add(Activation::Relu6);
    let head = linear(1280, 1000, weights.pp("classifier.1"))?;
    Ok(Box::new(move |x| pooled(&x.apply(&layers)?)?.apply(&head)))
}

pub fn digits(weights: &VarBuilder<'_>) -> Result<Model> {
    let padded = Conv2dConfig { padding: 1, ..Default::default() };
    let mut layers = seq().add(conv2d(1, 16, 3, padded, weights.pp("stem"))?).add(Activation::Relu);
    for i in 0..2 {
        let weights = &weights.pp(format!("blocks.{i}"));
        let first = conv_norm(weights, "conv1", "bn1", 1)?;
        let second = conv_norm(weights, "conv2", "bn2", 1)?;
        layers = layers.add_fn(move |x| (x.apply(&first)?.relu()?.apply(&second)? + x)?.relu());
    }
    let head = linear(256, 10, weights.pp("head"))?;
    Ok(Box::new(move |x| x.apply(&layers)?.max_pool2d(2)?.flatten_from(1)?.apply(&head)))
}
