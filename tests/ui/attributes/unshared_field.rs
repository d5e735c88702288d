//! Fields that only one thread can use, with their uses.

use fx::prelude::*;

use std::cell::RefCell;
use std::rc::Rc;

#[traceable]
#[derive(Clone, Debug)]
struct Model {
    layer: Rc<fx::nn::Linear>,
    calls: RefCell<usize>,
}

#[traceable]
impl Model {
    fn new() -> Self {
        Self { layer: Rc::new(fx::nn::Linear::new(3, 3)), calls: RefCell::new(0) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        *self.calls.borrow_mut() += 1;
        self.layer.forward(x)
    }
}

fn main() {
    let model = Model::new();
    println!("{}", model.calls.borrow());
    let _ = fx::trace(&model);
}
