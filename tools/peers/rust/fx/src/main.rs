//! The models of `fx::nn`, and small ones.

use engine_fx::{Forward, Fx, Models, Result, Work, ready};
use fx::nn;
use fx::nn::models::{
    Bert, BertConfig, DeepRecommender, DeepRecommenderConfig, Gpt2Config, Gpt2LmHead, Mlp, MobileNetV2,
    MobileNetV2Config, VisionTransformer, VisionTransformerConfig, resnet50,
};
use fx::ops::FlattenOptions;
use fx::prelude::*;

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

struct Known;

impl Models for Known {
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
            other => return Err(format!("no model `{other}`").into()),
        })
    }
}

fn main() {
    protocol::serve::<Fx<Known>>();
}
