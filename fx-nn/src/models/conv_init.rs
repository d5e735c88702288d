//! Initialisation of convolutions as torchvision's models do it.

use fx::Parameter;

use crate::{Conv2d, init};

/// Normal weights that keep the variance of gradients through a ReLU (He et al., 2015, with the fan-out), and a zero
/// bias.
pub(super) fn he_fan_out(mut conv: Conv2d) -> Conv2d {
    let shape = conv.weight.shape();
    let fan_out = shape[0] * shape[2..].iter().product::<usize>();
    conv.weight = init::normal(&shape, (2.0 / fan_out as f64).sqrt());
    conv.bias = conv.bias.map(|bias: Parameter| init::zeros(&bias.shape()));
    conv
}
