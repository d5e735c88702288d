//! Well-known models, each as its authors published it.
//!
//! They are written with `#[traceable]`, as a user's models are, so a trace goes through them down to the leaf modules
//! of this crate. Parameters have the names and shapes of the PyTorch model that each file names, so its weights load
//! as they are. Constructors initialise at random as the originals do.

pub mod bert;
pub mod deep_recommender;
pub mod dlrm;
pub mod gpt2;
pub mod learning_to_paint;
pub mod mlp;
pub mod mobilenet_v2;
pub mod resnet;
pub mod vgg;
pub mod vit;

mod conv_init;

pub use bert::{Bert, BertConfig};
pub use deep_recommender::{DeepRecommender, DeepRecommenderConfig};
pub use dlrm::{Dlrm, DlrmConfig};
pub use gpt2::{Gpt2, Gpt2Config, Gpt2LmHead, Gpt2Step};
pub use learning_to_paint::PaintActor;
pub use mlp::Mlp;
pub use mobilenet_v2::{MobileNetV2, MobileNetV2Config};
pub use resnet::{ResNet, resnet18, resnet34, resnet50, resnet101};
pub use vgg::{Vgg, VggConfig};
pub use vit::{VisionTransformer, VisionTransformerConfig};
