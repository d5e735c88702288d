//! What was refused for its keyword is called, awaited, captured and added to: no error but its own.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Child {
    weight: Parameter,
}

async fn wait() {}

#[traceable]
impl Child {
    async fn forward(&self, x: &Tensor) -> Tensor {
        wait().await;
        x * &self.weight
    }

    unsafe fn scaled(&self, x: &Tensor) -> Tensor {
        x * 2.0
    }
}

#[traceable]
#[derive(Clone)]
struct Model {
    child: Child,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.child.forward(x) + 1.0;
        self.child.scaled(&y).relu()
    }
}

#[fx::wrap]
async fn wrapped(x: &Tensor) -> Tensor {
    x.relu()
}

#[traceable]
async fn halved(x: &Tensor) -> Tensor {
    x / 2.0
}

#[traceable]
fn f(x: &Tensor) -> Tensor {
    halved(x) + wrapped(x).relu()
}

async fn run(model: &Model, x: &Tensor) -> fx::Result<Tensor> {
    fx::trace(model)?;
    fx::trace(&model.child)?;
    let y = model.child.forward(x).await;
    Ok(y.relu() + model.child.forward(x).tanh() + unsafe { model.child.scaled(x) })
}

fn main() {}
