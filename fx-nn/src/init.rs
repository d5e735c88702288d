//! Initialisation of parameters, as `torch.nn.init`.

use fx::ops::methods::*;
use fx::tensor::random::{Generator, with_default};
use fx::{DType, Parameter, Tensor};

/// A parameter with elements uniform in `[-bound, bound)`.
pub fn uniform(size: &[usize], bound: f64) -> Parameter {
    random(size, move |generator, size| generator.uniform_tensor(size, -bound, bound))
}

/// A parameter with normal elements of the given standard deviation.
pub fn normal(size: &[usize], std: f64) -> Parameter {
    random(size, move |generator, size| generator.normal_tensor(size, 0.0, std))
}

/// A parameter from a generator of its own, which is made when it is first read: most are loaded before.
fn random(size: &[usize], make: impl Fn(&mut Generator, &[usize]) -> Tensor + Send + Sync + 'static) -> Parameter {
    let (generator, shape) = (with_default(Generator::fork), size.to_vec());
    Parameter::lazy(size, DType::F32, move || make(&mut generator.clone(), &shape))
}

/// A parameter of ones.
pub fn ones(size: &[usize]) -> Parameter {
    Parameter::new(Tensor::ones(size))
}

/// A parameter of zeros.
pub fn zeros(size: &[usize]) -> Parameter {
    Parameter::new(Tensor::zeros(size))
}

/// The bound of PyTorch's default for linear layers and convolutions: one over the root of the fan-in (He et al.,
/// 2015, with `a` the root of 5).
pub fn fan_in_bound(fan_in: usize) -> f64 {
    if fan_in == 0 { 0.0 } else { 1.0 / (fan_in as f64).sqrt() }
}
