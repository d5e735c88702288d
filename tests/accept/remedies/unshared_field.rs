//! The layer is shared.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fx::nn;
use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub layer: Arc<nn::Linear>,
    pub calls: Arc<AtomicUsize>,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.layer.forward(x)
    }
}
