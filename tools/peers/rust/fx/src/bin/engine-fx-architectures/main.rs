//! Models that are not in `fx::nn`, as a user would write them, after the sources that `models.py` names.

mod conformer;
mod convnext;
mod crnn;
mod decoder;
mod deeplab;
mod deepspeech;
mod denoiser;
mod densenet;
mod dlrm;
mod edsr;
mod efficientnet;
mod hifigan;
mod llama;
mod mixer;
mod mobilenet_v3;
mod pointnet;
mod r3d;
mod resnext;
mod segformer;
mod shufflenet;
mod swin;
mod t5;
mod transposed;
mod unet;
mod unet3d;
mod wav2vec2;
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
            "dlrm" => dlrm::impressions(work, input)?,
            "llama_step" => llama::step(work, input)?,
            "llama" => ready!(llama::Llama::new(), work, input),
            "decoder" => ready!(decoder::Decoder::new(64), work, input),
            "t5" => ready!(t5::T5::new(), work, input),
            "resnext50" => ready!(resnext::ResNeXt::new(), work, input),
            "mobilenet_v3" => ready!(mobilenet_v3::MobileNetV3::large(), work, input),
            "shufflenet_v2" => ready!(shufflenet::ShuffleNetV2::new(), work, input),
            "r3d_18" => ready!(r3d::VideoResNet::r3d_18(), work, input),
            "unet3d" => ready!(unet3d::UNet3d::new(16), work, input),
            "segformer" => ready!(segformer::Segformer::new(), work, input),
            "edsr" => ready!(edsr::Edsr::new(64, 16), work, input),
            "crnn" => ready!(crnn::Crnn::new(), work, input),
            "pointnet" => ready!(pointnet::PointNet::new(), work, input),
            "mixer" => ready!(mixer::Mixer::new(512, 8), work, input),
            "wav2vec2" => ready!(wav2vec2::Wav2Vec2::new(), work, input),
            "conformer" => ready!(conformer::Conformer::new(), work, input),
            "hifigan" => ready!(hifigan::HifiGan::new(128), work, input),
            "deeplab" => ready!(deeplab::DeepLab::new(), work, input),
            "deepspeech" => ready!(deepspeech::DeepSpeech::new(512), work, input),
            "denoiser" => denoiser::latents(work, input)?,
            other => return Err(format!("no model `{other}`").into()),
        })
    }
}

fn main() {
    protocol::serve::<Fx<Architectures>>();
}
