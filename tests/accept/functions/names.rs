//! Names that an expansion uses itself.

use fx::prelude::*;

#[traceable]
pub fn lifetimes<'fx>(xs: &'fx [Tensor], name: &'fx str) -> Vec<&'fx Tensor> {
    xs.iter().take(name.len()).collect()
}

#[traceable]
pub fn types<TracedTensor: Clone, V>(xs: &[Tensor], value: &TracedTensor, other: V) -> (Tensor, TracedTensor, V) {
    (xs[0].clone(), value.clone(), other)
}

#[traceable]
#[derive(Clone)]
pub struct Model<TracedTensor: Clone + Send + Sync + 'static> {
    pub value: TracedTensor,
    pub scale: f64,
}

#[traceable]
impl<TracedTensor: Clone + Send + Sync + 'static> Model<TracedTensor> {
    pub fn forward(&self, args: &Tensor, plain: Tensor, visitor: bool) -> Tensor {
        if visitor { args * self.scale } else { plain }
    }
}
