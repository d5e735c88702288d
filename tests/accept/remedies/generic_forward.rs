//! The type is a parameter of the module.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model<T: Into<f64> + Copy + Send + Sync + 'static> {
    pub scale: T,
}

#[traceable]
impl<T: Into<f64> + Copy + Send + Sync + 'static> Model<T> {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        x * self.scale.into()
    }
}
