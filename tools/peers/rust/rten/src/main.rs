//! rten, on the ONNX file, with weights packed when it is loaded. The driver sets `RTEN_NUM_THREADS`.

use protocol::{Elements, Engine, Input, Result, Work};
use rten::{Model, ModelOptions, NodeId, Value};
use rten_tensor::Tensor;

struct Rten {
    model: Model,
    inputs: Vec<(NodeId, Value)>,
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
        let model = ModelOptions::with_all_ops().prepack_weights(true).load_file(work.onnx_without_selu())?;
        // The inputs of the file are in their order.
        let given = std::iter::once(&work.input).chain(&work.more);
        let inputs = model.input_ids().iter().zip(given).map(|(id, input)| Ok((*id, value(input)?)));
        let inputs = inputs.collect::<Result<_>>()?;
        Ok(Self { model, inputs })
    }

    fn run(&mut self) -> Result<Value> {
        let inputs = self.inputs.iter().map(|(id, value)| (*id, value.into())).collect();
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
