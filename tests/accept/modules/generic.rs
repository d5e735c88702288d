//! A generic module.

use fx::Layer;
use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model<M: Layer + Clone> {
    pub inner: M,
}

#[traceable]
impl<M: Layer + Clone> Model<M> {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        self.inner.forward_layer(x.clone()) + x
    }
}
