//! candle: its own BERT, and models written in its layers. The driver sets `RAYON_NUM_THREADS`.

mod transformer;
mod vision;

use candle_core::{DType, Device, Tensor};
use candle_nn::rnn::{LSTMConfig, RNN};
use candle_nn::{Linear, VarBuilder};
use protocol::{Elements, Engine, Result, Work};

/// A model that is loaded.
type Model = Box<dyn Fn(&Tensor) -> candle_core::Result<Tensor>>;

/// DeepRecommender: each layer is a weight, a bias and SELU.
fn recommender(weights: &VarBuilder<'_>) -> Result<Model> {
    let mut layers = Vec::new();
    for part in ["encode", "decode"] {
        for i in 0..3 {
            let weight = weights.get_unchecked(&format!("{part}_w.{i}"))?;
            layers.push(Linear::new(weight, Some(weights.get_unchecked(&format!("{part}_b.{i}"))?)));
        }
    }
    let (alpha, gamma) = (1.673_263_2, 1.050_701);
    Ok(Box::new(move |x| {
        layers.iter().try_fold(x.clone(), |x, layer| candle_nn::ops::selu(&x.apply(layer)?, alpha, gamma))
    }))
}

/// Two layers, which take batches of sequences.
fn lstm(weights: &VarBuilder<'_>) -> Result<Model> {
    let layer =
        |layer_idx| candle_nn::lstm(512, 512, LSTMConfig { layer_idx, ..Default::default() }, weights.pp("lstm"));
    let layers = [layer(0)?, layer(1)?];
    Ok(Box::new(move |x| {
        let states = |x: Tensor, layer: &candle_nn::LSTM| layer.states_to_tensor(&layer.seq(&x)?);
        layers.iter().try_fold(x.transpose(0, 1)?, states)?.transpose(0, 1)
    }))
}

fn mlp(weights: &VarBuilder<'_>) -> Result<Model> {
    let first = candle_nn::linear(32, 32, weights.pp("layers.0"))?;
    let second = candle_nn::linear(32, 10, weights.pp("layers.1"))?;
    Ok(Box::new(move |x| x.apply(&first)?.relu()?.apply(&second)))
}

struct Candle {
    model: Model,
    input: Tensor,
}

impl Engine for Candle {
    type Output = Tensor;

    fn load(work: &Work) -> Result<Self> {
        let shape = &*work.input.shape;
        let input = match &work.input.elements {
            Elements::Floats(x) => Tensor::from_vec(x.clone(), shape, &Device::Cpu)?,
            Elements::Tokens(x) => Tensor::from_vec(x.clone(), shape, &Device::Cpu)?,
        };
        let bytes = std::fs::read(work.weights())?;
        let weights = &VarBuilder::from_buffered_safetensors(bytes, DType::F32, &Device::Cpu)?;
        let model = match &*work.model {
            "resnet50" => vision::resnet50(weights)?,
            "mobilenet_v2" => vision::mobilenet_v2(weights)?,
            "digits" => vision::digits(weights)?,
            "vit_b_16" => transformer::vit(weights)?,
            "gpt2" => transformer::gpt2(weights)?,
            "bert" => transformer::bert(weights, 768, 12)?,
            "minilm" => transformer::bert(weights, 384, 6)?,
            "recommender" => recommender(weights)?,
            "lstm" => lstm(weights)?,
            "mlp" => mlp(weights)?,
            other => return Err(format!("no {other} is written for candle here").into()),
        };
        Ok(Self { model, input })
    }

    fn run(&mut self) -> Result<Tensor> {
        Ok((self.model)(&self.input)?)
    }

    fn values(output: Tensor) -> Result<Vec<f32>> {
        Ok(output.flatten_all()?.to_vec1()?)
    }
}

fn main() {
    protocol::serve::<Candle>();
}
