//! A rank that the module knows.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub spatial: usize,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let mut y = x.clone();
        for dim in 0..self.spatial {
            y = y.sum_keepdim(-1 - dim as i64);
        }
        if self.spatial == 2 { y.flatten() } else { y }
    }
}
