//! The multi-layer perceptron.

use fx::Tensor;
use fx_macros::traceable;

use crate::Linear;

/// Fully connected layers with ReLU between them.
///
/// Parameters are `layers.0.weight`, `layers.0.bias`, `layers.1.weight` and so on.
#[traceable]
#[derive(Clone, Debug)]
pub struct Mlp {
    /// One layer for each pair of neighbouring widths.
    pub layers: Vec<Linear>,
}

#[traceable]
impl Mlp {
    /// A perceptron whose input, hidden and output layers have these widths.
    ///
    /// # Panics
    /// If there are fewer than two widths.
    #[track_caller]
    pub fn new(widths: &[usize]) -> Self {
        assert!(widths.len() >= 2, "a perceptron has an input and an output width");
        Self { layers: widths.windows(2).map(|pair| Linear::new(pair[0], pair[1])).collect() }
    }

    /// `x`: `[*, first width]`; gives `[*, last width]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = self.layers[0].forward(x);
        for layer in &self.layers[1..] {
            x = layer.forward(x.relu());
        }
        x
    }
}
