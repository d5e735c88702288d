//! Modules behind `Box`, `Arc`, `Vec`, `Option`, arrays, tuples and maps.

use std::collections::BTreeMap;
use std::sync::Arc;

use fx::nn;
use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub boxed: Box<nn::Linear>,
    pub shared: Arc<nn::Linear>,
    pub list: Vec<Box<nn::Linear>>,
    pub maybe: Option<Arc<nn::Linear>>,
    pub array: [nn::Linear; 2],
    pub pair: (nn::Linear, nn::ReLU),
    pub named: BTreeMap<String, nn::Linear>,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let mut y = self.shared.forward(self.boxed.forward(x));
        for layer in self.list.iter().chain(std::iter::once(&self.boxed)) {
            y = layer.forward(y);
        }
        for layer in &self.array {
            y = layer.forward(y);
        }
        if let Some(maybe) = &self.maybe {
            y = maybe.forward(y);
        }
        for (name, layer) in &self.named {
            y = if name.starts_with("skip") { y } else { layer.forward(y) };
        }
        self.pair.1.forward(self.pair.0.forward(y))
    }
}
