//! Type parameters with bounds: a layer, and plain Rust.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model<M: fx::Layer + Clone, T: Clone + Send + Sync + 'static> {
    pub layer: M,
    pub label: T,
}

#[traceable]
impl<M: fx::Layer + Clone, T: Clone + Send + Sync + 'static> Model<M, T> {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        self.layer.forward_layer(x.clone())
    }
}
