//! Functions that stay as they are, called with what they take: any type, plain values.

use std::fmt::Debug;

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub width: usize,
}

#[traceable]
impl Model {
    #[traceable(skip)]
    pub fn described<T: Debug>(&self, x: T, flag: bool, scale: f64) -> usize {
        format!("{x:?} {flag} {scale}").len()
    }

    pub fn is_wide(&self, flag: bool, width: usize) -> bool {
        flag && width > self.width
    }

    pub fn forward(&self, x: &Tensor, times: i64) -> Tensor {
        let n = self.described(x, times > 2, 1.0) + Self::described(self, &(x + 1.0), true, times as f64);
        if self.is_wide(n > 3, n) { x.relu() } else { x.clone() }
    }
}
