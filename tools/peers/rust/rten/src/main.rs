//! rten, on the ONNX file, with weights packed when it is loaded. The driver sets `RTEN_NUM_THREADS`.

use protocol::{Elements, Engine, Input, Result, Work};
use rten::{Model, ModelOptions, Value};
use rten_tensor::Tensor;

struct Rten {
    model: Model,
    /// By name.
    inputs: Vec<(String, Value)>,
}

fn value(input: &Input) -> Result<Value> {
    let shape = &input.shape;
    Ok(match &input.elements {
        Elements::Floats(x) => Value::from_shape(shape, x.clone())?,
        Elements::Tokens(x) => Value::from_shape(shape, x.iter().map(|&id| id as i32).collect())?,
    })
}

impl Engine for Rten {
    type Output = Value;

    fn load(work: &Work) -> Result<Self> {
        let mut inputs = vec![("x".to_owned(), value(&work.input)?)];
        for (place, input) in work.more.iter().enumerate() {
            inputs.push((format!("x{}", place + 1), value(input)?));
        }
        let model = ModelOptions::with_all_ops().prepack_weights(true).load_file(work.onnx_without_selu())?;
        Ok(Self { model, inputs })
    }

    fn run(&mut self) -> Result<Value> {
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for (name, value) in &self.inputs {
            inputs.push((self.model.node_id(name)?, value.into()));
        }
        Ok(self.model.run(inputs, self.model.output_ids(), None)?.remove(0))
    }

    fn values(output: Value) -> Result<Vec<f32>> {
        let output: Tensor<f32> = output.try_into()?;
        Ok(output.into_data())
    }
}

fn main() {
    protocol::serve::<Rten>();
}
