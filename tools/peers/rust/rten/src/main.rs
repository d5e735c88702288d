//! rten, on the ONNX file, with weights packed when it is loaded. The driver sets `RTEN_NUM_THREADS`.

use protocol::{Elements, Engine, Result, Work};
use rten::{Model, ModelOptions, Value};
use rten_tensor::Tensor;

struct Rten {
    model: Model,
    input: Value,
}

impl Engine for Rten {
    type Output = Value;

    fn load(work: &Work) -> Result<Self> {
        let shape = &work.input.shape;
        let input = match &work.input.elements {
            Elements::Floats(x) => Value::from_shape(shape, x.clone())?,
            Elements::Tokens(x) => Value::from_shape(shape, x.iter().map(|&id| id as i32).collect())?,
        };
        let model = ModelOptions::with_all_ops().prepack_weights(true).load_file(work.onnx_without_selu())?;
        Ok(Self { model, input })
    }

    fn run(&mut self) -> Result<Value> {
        Ok(self.model.run_one((&self.input).into(), None)?)
    }

    fn values(output: Value) -> Result<Vec<f32>> {
        let output: Tensor<f32> = output.try_into()?;
        Ok(output.into_data())
    }
}

fn main() {
    protocol::serve::<Rten>();
}
