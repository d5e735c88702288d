//! What was refused is called, captured and used as a layer: no error but its own.

use fx::prelude::*;

#[traceable]
const fn constant(x: &Tensor, twice: bool) -> Tensor {
    if twice { x + x } else { x.clone() }
}

#[fx::wrap]
fn changed(x: &mut Tensor) -> Tensor {
    x.relu()
}

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    fn forward(&mut self, x: &Tensor) -> Tensor {
        self.scale += 1.0;
        x * self.scale
    }

    #[fx::wrap]
    fn wrapped(&self, x: &Tensor) -> Tensor {
        x * self.scale
    }

    fn other(&self, x: &Tensor) -> Tensor {
        let mut y = x.clone();
        constant(x, true) + self.wrapped(x) + changed(&mut y)
    }
}

fn main() {
    let _ = fx::trace_fn!(constant, (true,));
    let model = Model { scale: 1.0 };
    let _ = fx::trace(&model);
    let _ = model.other(&Tensor::zeros([3]));
    let _ = fx::nn::Sequential::new((model, fx::nn::ReLU::new()));
}
