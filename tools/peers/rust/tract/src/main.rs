//! tract, on the ONNX file, optimised for the shapes of the work; with several threads it multiplies in a pool of them.

use std::sync::Arc;

use protocol::{Elements, Engine, Result, Work};
use tract_linalg::multithread::{Executor, set_default_executor};
use tract_onnx::prelude::*;

struct Tract {
    model: Arc<TypedRunnableModel>,
    input: TValue,
}

impl Engine for Tract {
    type Output = TValue;

    fn load(work: &Work) -> Result<Self> {
        if work.threads > 1 {
            set_default_executor(Executor::multithread(work.threads));
        }
        let shape = &work.input.shape;
        let input = match &work.input.elements {
            Elements::Floats(x) => Tensor::from_shape(shape, x)?,
            Elements::Tokens(x) => Tensor::from_shape(shape, x)?,
        };
        let fact = InferenceFact::dt_shape(input.datum_type(), shape);
        let model = tract_onnx::onnx().model_for_path(work.onnx())?.with_input_fact(0, fact)?;
        Ok(Self { model: model.into_optimized()?.into_runnable()?, input: input.into_tvalue() })
    }

    fn run(&mut self) -> Result<TValue> {
        Ok(self.model.run(tvec![self.input.clone()])?.remove(0))
    }

    fn values(output: TValue) -> Result<Vec<f32>> {
        Ok(output.to_plain_array_view::<f32>()?.iter().copied().collect())
    }
}

fn main() {
    protocol::serve::<Tract>();
}
