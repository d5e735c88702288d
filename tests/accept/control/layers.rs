//! Loops over layers, by reference, by number, in reverse, nested.

use fx::nn;
use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub blocks: Vec<Vec<nn::Linear>>,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let mut y = x.clone();
        for (i, block) in self.blocks.iter().enumerate() {
            for layer in block.iter().rev() {
                y = layer.forward(y);
            }
            if i + 1 < self.blocks.len() {
                y = y.relu();
            }
        }
        for i in 0..self.blocks.len() {
            y = self.blocks[i][0].forward(&y);
        }
        y
    }
}
