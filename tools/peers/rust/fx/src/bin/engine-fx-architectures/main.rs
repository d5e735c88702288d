//! Models that are not in `fx::nn`, as a user would write them, after the sources that `models.py` names.

mod convnext;
mod decoder;
mod densenet;
mod efficientnet;
mod llama;
mod swin;
mod transposed;
mod unet;
mod whisper;
mod yolo;

use engine_fx::{Forward, Fx, Models, Result, Work, ready};
use fx::prelude::*;

struct Architectures;

impl Models for Architectures {
    fn load(work: &Work, input: &Tensor) -> Result<Forward> {
        Ok(match &*work.model {
            "efficientnet_b0" => ready!(efficientnet::efficientnet_b0(), work, input),
            "densenet121" => ready!(densenet::densenet121(), work, input),
            "unet" => ready!(unet::UNet::new(32), work, input),
            "generator" => ready!(transposed::Generator::new(64), work, input),
            "heatmaps" => ready!(transposed::Heatmaps::new(), work, input),
            "yolo" => ready!(yolo::Yolo::new(), work, input),
            "convnext_tiny" => ready!(convnext::convnext_tiny(), work, input),
            "swin_t" => ready!(swin::swin_t(), work, input),
            "whisper" => ready!(whisper::Whisper::new(), work, input),
            "llama_step" => llama::step(work, input)?,
            "llama" => ready!(llama::Llama::new(), work, input),
            "decoder" => ready!(decoder::Decoder::new(64), work, input),
            other => return Err(format!("no model `{other}`").into()),
        })
    }
}

fn main() {
    protocol::serve::<Fx<Architectures>>();
}
