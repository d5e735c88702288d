//! ConvNeXt as torchvision writes it: Liu et al. (2022).

use fx::nn;
use fx::prelude::*;

/// Dimensions in another order, as `torchvision.ops.Permute`.
#[traceable]
#[derive(Clone)]
pub(crate) struct Permute {
    dims: [i64; 4],
}

#[traceable]
impl Permute {
    pub(crate) fn new(dims: [i64; 4]) -> Self {
        Self { dims }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        x.permute(self.dims)
    }
}

#[traceable]
#[derive(Clone)]
struct LayerNorm2d {
    weight: Parameter,
    bias: Parameter,
    eps: f64,
}

#[traceable]
impl LayerNorm2d {
    fn new(dim: usize) -> Self {
        Self { weight: Parameter::new(Tensor::ones([dim])), bias: Parameter::new(Tensor::zeros([dim])), eps: 1e-6 }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let options = fx::ops::LayerNormOptions::new().eps(self.eps);
        let x = x.permute([0, 2, 3, 1]);
        let x = x.layer_norm_with(&self.weight, &self.bias, self.weight.shape(), options);
        x.permute([0, 3, 1, 2])
    }
}

#[traceable]
#[derive(Clone)]
struct CNBlock {
    block: nn::Sequential<(nn::Conv2d, Permute, nn::LayerNorm, nn::Linear, nn::GELU, nn::Linear, Permute)>,
    layer_scale: Parameter,
}

#[traceable]
impl CNBlock {
    fn new(dim: usize) -> Self {
        Self {
            block: nn::Sequential::new((
                nn::Conv2d::new(dim, dim, 7).padding(3).groups(dim),
                Permute::new([0, 2, 3, 1]),
                nn::LayerNorm::new(dim).eps(1e-6),
                nn::Linear::new(dim, 4 * dim),
                nn::GELU::new(),
                nn::Linear::new(4 * dim, dim),
                Permute::new([0, 3, 1, 2]),
            )),
            layer_scale: Parameter::new(Tensor::ones([dim, 1, 1]) * 1e-6),
        }
    }

    pub(crate) fn forward(&self, input: &Tensor) -> Tensor {
        let result = &self.layer_scale * self.block.forward(input);
        result + input
    }
}

#[traceable]
pub(crate) struct ConvNeXt {
    features: nn::Sequential<Vec<nn::AnyLayer>>,
    avgpool: nn::AdaptiveAvgPool2d,
    classifier: nn::Sequential<(LayerNorm2d, nn::Flatten, nn::Linear)>,
}

#[traceable]
impl ConvNeXt {
    fn new(dims: &[usize], depths: &[usize]) -> Self {
        let mut features = nn::Sequential::new(Vec::<nn::AnyLayer>::new());
        features.push(nn::Sequential::new((nn::Conv2d::new(3, dims[0], 4).stride(4), LayerNorm2d::new(dims[0]))));
        for (i, (&dim, &depth)) in dims.iter().zip(depths).enumerate() {
            features.push(nn::Sequential::new((0..depth).map(|_| CNBlock::new(dim)).collect::<Vec<_>>()));
            if let Some(&next) = dims.get(i + 1) {
                let down = nn::Conv2d::new(dim, next, 2).stride(2);
                features.push(nn::Sequential::new((LayerNorm2d::new(dim), down)));
            }
        }
        let last = *dims.last().unwrap();
        Self {
            features,
            avgpool: nn::AdaptiveAvgPool2d::new(1),
            classifier: nn::Sequential::new((LayerNorm2d::new(last), nn::Flatten::new(), nn::Linear::new(last, 1000))),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.features.forward(x);
        let x = self.avgpool.forward(x);
        self.classifier.forward(x)
    }
}

pub(crate) fn convnext_tiny() -> ConvNeXt {
    ConvNeXt::new(&[96, 192, 384, 768], &[3, 3, 9, 3])
}
