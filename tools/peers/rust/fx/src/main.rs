//! fx: the compiled plan, or with `FX_EAGER` set the model's `forward`.

mod models;

use fx::nn;
use fx::nn::models::{
    Bert, BertConfig, DeepRecommender, DeepRecommenderConfig, Gpt2Config, Gpt2LmHead, Mlp, MobileNetV2,
    MobileNetV2Config, VisionTransformer, VisionTransformerConfig, resnet50,
};
use fx::ops::FlattenOptions;
use fx::prelude::*;
use protocol::{Elements, Engine, Input, Result, Work};

/// BERT's last hidden state.
#[traceable]
#[derive(Clone)]
struct Hidden {
    bert: Bert,
}

#[traceable]
impl Hidden {
    fn forward(&self, ids: &Tensor) -> Tensor {
        self.bert.forward(ids, None, None).0
    }
}

/// Two layers, all hidden states of the last one.
#[traceable]
#[derive(Clone)]
struct Lstm {
    lstm: nn::LSTM,
}

#[traceable]
impl Lstm {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.lstm.forward(x, None).0
    }
}

/// Two convolutions and a way around them.
#[traceable]
#[derive(Clone)]
struct Block {
    conv1: nn::Conv2d,
    bn1: nn::BatchNorm2d,
    conv2: nn::Conv2d,
    bn2: nn::BatchNorm2d,
}

#[traceable]
impl Block {
    fn new(channels: usize) -> Self {
        let conv = || nn::Conv2d::new(channels, channels, 3).padding(1).bias(false);
        Self { conv1: conv(), bn1: nn::BatchNorm2d::new(channels), conv2: conv(), bn2: nn::BatchNorm2d::new(channels) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.bn1.forward(self.conv1.forward(x)).relu();
        (self.bn2.forward(self.conv2.forward(y)) + x).relu()
    }
}

/// The network of `examples/01_digits.rs`.
#[traceable]
#[derive(Clone)]
struct Digits {
    stem: nn::Conv2d,
    blocks: Vec<Block>,
    pool: nn::MaxPool2d,
    head: nn::Linear,
}

#[traceable]
impl Digits {
    fn new() -> Self {
        Self {
            stem: nn::Conv2d::new(1, 16, 3).padding(1),
            blocks: (0..2).map(|_| Block::new(16)).collect(),
            pool: nn::MaxPool2d::new(2),
            head: nn::Linear::new(16 * 4 * 4, 10),
        }
    }

    fn forward(&self, images: &Tensor) -> Tensor {
        let mut x = self.stem.forward(images).relu();
        for block in &self.blocks {
            x = block.forward(x);
        }
        self.head.forward(self.pool.forward(x).flatten_with(FlattenOptions::new().start_dim(1)))
    }
}

/// How a model is run.
type Forward = Box<dyn Fn(&Tensor) -> fx::Result<Tensor>>;

struct Fx {
    forward: Forward,
    input: Tensor,
}

/// Loads the weights, and traces and plans the model unless it is to run eagerly.
macro_rules! ready {
    ($model:expr, $work:expr, $input:expr) => {{
        let model = $model;
        model.load_safetensors($work.weights())?;
        model.eval();
        if std::env::var_os("FX_EAGER").is_some() {
            if $work.precision != "f32" {
                return Err("eager code computes in f32".into());
            }
            let forward: Forward = Box::new(move |x| Ok(model.forward(x)));
            forward
        } else {
            let mut traced = fx::trace(&model)?;
            traced.set_inference_precision(precision($work)?)?;
            traced.plan($input)?;
            Box::new(move |x| traced.forward(x))
        }
    }};
}

/// The type that plans keep weights in.
fn precision(work: &Work) -> Result<DType> {
    match &*work.precision {
        "f32" => Ok(DType::F32),
        "bf16" => Ok(DType::BF16),
        "f16" => Ok(DType::F16),
        other => Err(format!("no precision `{other}`").into()),
    }
}

fn load(work: &Work, input: &Tensor) -> Result<Forward> {
    let hidden = |config| Hidden { bert: Bert::new(&config) };
    Ok(match &*work.model {
        "resnet50" => ready!(resnet50(1000), work, input),
        "mobilenet_v2" => ready!(MobileNetV2::new(&MobileNetV2Config::default()), work, input),
        "vit_b_16" => ready!(VisionTransformer::new(&VisionTransformerConfig::vit_b_16()), work, input),
        "bert" => ready!(hidden(BertConfig::base()), work, input),
        "minilm" => ready!(hidden(BertConfig::mini_lm_l6()), work, input),
        "gpt2" => ready!(Gpt2LmHead::new(&Gpt2Config::default()), work, input),
        "recommender" => ready!(DeepRecommender::new(&DeepRecommenderConfig::default()), work, input),
        "lstm" => ready!(Lstm { lstm: nn::LSTM::new(512, 512).num_layers(2) }, work, input),
        "digits" => ready!(Digits::new(), work, input),
        "mlp" => ready!(Mlp::new(&[32, 32, 10]), work, input),
        "efficientnet_b0" => ready!(models::efficientnet::efficientnet_b0(), work, input),
        "densenet121" => ready!(models::densenet::densenet121(), work, input),
        "unet" => ready!(models::unet::UNet::new(32), work, input),
        "yolo" => ready!(models::yolo::Yolo::new(), work, input),
        "convnext_tiny" => ready!(models::convnext::convnext_tiny(), work, input),
        "swin_t" => ready!(models::swin::swin_t(), work, input),
        "whisper" => ready!(models::whisper::Whisper::new(), work, input),
        "llama" => ready!(models::llama::Llama::new(), work, input),
        other => return Err(format!("no model `{other}`").into()),
    })
}

impl Engine for Fx {
    const PRECISIONS: &[&str] = &["f32", "bf16", "f16"];

    type Output = Tensor;

    fn load(work: &Work) -> Result<Self> {
        fx::set_num_threads(work.threads);
        let Input { shape, elements } = &work.input;
        let input = match elements {
            Elements::Floats(x) => Tensor::from_vec(shape, x.clone()),
            Elements::Tokens(x) => Tensor::from_vec(shape, x.clone()),
        };
        Ok(Self { forward: load(work, &input)?, input })
    }

    fn run(&mut self) -> Result<Tensor> {
        Ok((self.forward)(&self.input)?)
    }

    fn values(output: Tensor) -> Result<Vec<f32>> {
        Ok(output.to_vec())
    }
}

fn main() {
    protocol::serve::<Fx>();
}
