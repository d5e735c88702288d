//! A field that only one thread can use.

use fx::prelude::*;

use std::cell::RefCell;
use std::rc::Rc;

#[traceable]
#[derive(Clone)]
struct Model {
    layer: Rc<fx::nn::Linear>,
    calls: RefCell<usize>,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        *self.calls.borrow_mut() += 1;
        self.layer.forward(x)
    }
}

fn main() {}
