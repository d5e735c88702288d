//! The autoencoder for collaborative filtering of Kuchaiev and Ginsburg, "Training Deep AutoEncoders for Collaborative
//! Filtering" (2017).
//!
//! Names and initialisation are those of NVIDIA's DeepRecommender.

use fx::functional;
use fx::prelude::*;
use fx_macros::traceable;

use crate::{Dropout, init};

/// The hyper-parameters of a [`DeepRecommender`].
#[derive(Clone, Debug, PartialEq)]
pub struct DeepRecommenderConfig {
    /// The width of the input and of each layer of the encoder; the decoder has them in reverse.
    pub layer_sizes: Vec<usize>,
    /// Whether the decoder uses the transposed weights of the encoder.
    pub is_constrained: bool,
    /// The probability of dropout at the code.
    pub dropout: f64,
    /// Whether the last layer has an activation.
    pub last_layer_activations: bool,
}

impl Default for DeepRecommenderConfig {
    /// The paper's best model for the Netflix ratings: 17768-512-512-1024-512-512-17768.
    fn default() -> Self {
        Self {
            layer_sizes: vec![17768, 512, 512, 1024],
            is_constrained: false,
            dropout: 0.8,
            last_layer_activations: true,
        }
    }
}

/// An autoencoder of ratings with SELU activations (Klambauer et al., 2017).
#[traceable]
#[derive(Clone, Debug)]
pub struct DeepRecommender {
    drop: Dropout,
    /// `[layer_sizes[i + 1], layer_sizes[i]]`
    pub encode_w: Vec<Parameter>,
    /// `[layer_sizes[i + 1]]`
    pub encode_b: Vec<Parameter>,
    /// As `encode_w`, of the reversed sizes; empty if the weights are shared.
    pub decode_w: Vec<Parameter>,
    /// As `encode_b`, of the reversed sizes.
    pub decode_b: Vec<Parameter>,
    last_layer_activations: bool,
}

#[traceable]
impl DeepRecommender {
    /// An autoencoder with Glorot-uniform weights and zero biases.
    pub fn new(config: &DeepRecommenderConfig) -> Self {
        let sizes = &config.layer_sizes;
        let reversed: Vec<usize> = sizes.iter().rev().copied().collect();
        let weights = |sizes: &[usize]| sizes.windows(2).map(|pair| glorot(pair[1], pair[0])).collect();
        let biases = |sizes: &[usize]| sizes[1..].iter().map(|&size| init::zeros(&[size])).collect();
        Self {
            drop: Dropout::new(config.dropout),
            encode_w: weights(sizes),
            encode_b: biases(sizes),
            decode_w: if config.is_constrained { Vec::new() } else { weights(&reversed) },
            decode_b: biases(&reversed),
            last_layer_activations: config.last_layer_activations,
        }
    }

    /// The code of ratings: `x` is `[N, items]`; gives `[N, code]`.
    pub fn encode(&self, x: &Tensor) -> Tensor {
        let mut x = x.clone();
        for (weight, bias) in self.encode_w.iter().zip(&self.encode_b) {
            x = functional::linear(&x, weight, bias).selu();
        }
        self.drop.forward(x)
    }

    /// The ratings of a code: `z` is `[N, code]`; gives `[N, items]`.
    pub fn decode(&self, z: &Tensor) -> Tensor {
        let mut z = z.clone();
        let last = self.decode_b.len() - 1;
        for (i, bias) in self.decode_b.iter().enumerate() {
            z = match self.decode_w.get(i) {
                Some(weight) => functional::linear(&z, weight, bias),
                None => {
                    let weight: Tensor = self.encode_w[last - i].value();
                    functional::linear(&z, weight.transpose(0, 1), bias)
                }
            };
            if i < last || self.last_layer_activations {
                z = z.selu();
            }
        }
        z
    }

    /// `x`: `[N, items]`, zero where there is no rating; gives `[N, items]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        self.decode(self.encode(x))
    }
}

/// A weight that keeps the variance of activations and gradients (Glorot and Bengio, 2010).
fn glorot(outputs: usize, inputs: usize) -> Parameter {
    init::uniform(&[outputs, inputs], (6.0 / (outputs + inputs) as f64).sqrt())
}
