//! A module that may be absent.

use fx::nn;
use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub norm: Option<nn::LayerNorm>,
    pub project: Option<Box<nn::Linear>>,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let x = match &self.norm {
            Some(norm) => norm.forward(x),
            None => x.clone(),
        };
        let y = self.project.as_ref().map_or_else(|| x.clone(), |project| project.forward(&x));
        if self.norm.is_some() && self.project.is_none() { y + x } else { y }
    }
}
