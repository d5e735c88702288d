//! burn on its flex back end, with models written in its functions. The driver sets `RAYON_NUM_THREADS`.

mod transformer;
mod vision;

use burn_tensor::activation::{relu, selu, sigmoid};
use burn_tensor::module::linear;
use burn_tensor::{Device, Tensor, TensorData};
use protocol::{Elements, Engine, Result, Work};
use safetensors::SafeTensors;

/// What a model of inputs `T` does with one.
type Model<T, const D: usize> = Box<dyn Fn(T) -> Tensor<D>>;

/// The weights by name.
struct Weights<'a>(SafeTensors<'a>);

impl Weights<'_> {
    fn get<const D: usize>(&self, name: &str) -> Result<Tensor<D>> {
        let tensor = self.0.tensor(name)?;
        let elements: Vec<f32> = tensor.data().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        Ok(Tensor::from_data(TensorData::new(elements, tensor.shape()), &Device::flex()))
    }

    /// A weight `[outputs, inputs]`, which burn has transposed, and its bias.
    fn linear(&self, weight: &str, bias: &str) -> Result<Linear> {
        let weight = self.get::<2>(weight)?.transpose().into_data();
        Ok(Linear { weight: Tensor::from_data(weight, &Device::flex()), bias: self.get(bias)? })
    }
}

struct Linear {
    weight: Tensor<2>,
    bias: Tensor<1>,
}

impl Linear {
    fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        linear(x, self.weight.clone(), Some(self.bias.clone()))
    }
}

/// DeepRecommender: each layer is a weight, a bias and SELU.
fn recommender(weights: &Weights<'_>) -> Result<Model<Tensor<2>, 2>> {
    let mut layers = Vec::new();
    for part in ["encode", "decode"] {
        for i in 0..3 {
            layers.push(weights.linear(&format!("{part}_w.{i}"), &format!("{part}_b.{i}"))?);
        }
    }
    Ok(Box::new(move |x| layers.iter().fold(x, |x, layer| selu(layer.forward(x)))))
}

/// Two layers; what the inputs of all steps give is one product.
fn lstm(weights: &Weights<'_>) -> Result<Model<Tensor<3>, 3>> {
    let part =
        |name: &str, i: usize| weights.linear(&format!("lstm.weight_{name}_l{i}"), &format!("lstm.bias_{name}_l{i}"));
    let layers = [(part("ih", 0)?, part("hh", 0)?), (part("ih", 1)?, part("hh", 1)?)];
    Ok(Box::new(move |x: Tensor<3>| {
        layers.iter().fold(x, |x, (input, hidden)| {
            let [_, batch, width] = x.dims();
            let mut h = Tensor::<2>::zeros([batch, width], &x.device());
            let mut c = h.clone();
            let steps = input.forward(x).iter_dim(0).map(|step| {
                let gates = (step.squeeze_dim(0) + hidden.forward(h.clone())).chunk(4, 1);
                let [i, f, g, o] = gates.try_into().expect("four gates");
                c = sigmoid(f) * c.clone() + sigmoid(i) * Tensor::tanh(g);
                h = sigmoid(o) * c.clone().tanh();
                h.clone()
            });
            Tensor::stack(steps.collect(), 0)
        })
    }))
}

fn mlp(weights: &Weights<'_>) -> Result<Model<Tensor<2>, 2>> {
    let layer = |i: usize| weights.linear(&format!("layers.{i}.weight"), &format!("layers.{i}.bias"));
    let (first, second) = (layer(0)?, layer(1)?);
    Ok(Box::new(move |x| second.forward(relu(first.forward(x)))))
}

/// A model with its input.
struct Burn(Box<dyn Fn() -> TensorData>);

impl Burn {
    fn new<T: Clone + 'static, const D: usize>(input: T, model: Model<T, D>) -> Self {
        Self(Box::new(move || model(input.clone()).into_data()))
    }
}

impl Engine for Burn {
    type Output = TensorData;

    fn load(work: &Work) -> Result<Self> {
        let shape = &*work.input.shape;
        let input = match &work.input.elements {
            Elements::Floats(x) => TensorData::new(x.clone(), shape),
            Elements::Tokens(x) => TensorData::new(x.clone(), shape),
        };
        let bytes = std::fs::read(work.weights())?;
        let weights = &Weights(SafeTensors::deserialize(&bytes)?);
        let device = &Device::flex();
        Ok(match &*work.model {
            "resnet50" => Self::new(Tensor::from_data(input, device), vision::resnet50(weights)?),
            "mobilenet_v2" => Self::new(Tensor::from_data(input, device), vision::mobilenet_v2(weights)?),
            "digits" => Self::new(Tensor::from_data(input, device), vision::digits(weights)?),
            "vit_b_16" => Self::new(Tensor::from_data(input, device), transformer::vit(weights)?),
            "gpt2" => Self::new(Tensor::from_data(input, device), transformer::gpt2(weights)?),
            "bert" => Self::new(Tensor::from_data(input, device), transformer::bert(weights, 12)?),
            "minilm" => Self::new(Tensor::from_data(input, device), transformer::bert(weights, 6)?),
            "recommender" => Self::new(Tensor::from_data(input, device), recommender(weights)?),
            "lstm" => Self::new(Tensor::from_data(input, device), lstm(weights)?),
            "mlp" => Self::new(Tensor::from_data(input, device), mlp(weights)?),
            other => return Err(format!("no {other} is written for burn here").into()),
        })
    }

    fn run(&mut self) -> Result<TensorData> {
        Ok((self.0)())
    }

    fn values(output: TensorData) -> Result<Vec<f32>> {
        output.try_into_vec().map_err(|error| format!("{error:?}").into())
    }
}

fn main() {
    protocol::serve::<Burn>();
}
