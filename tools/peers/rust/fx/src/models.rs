//! Models that are not in `fx::nn`, as a user would write them, after the sources that `models.py` names.

pub(crate) mod convnext;
pub(crate) mod densenet;
pub(crate) mod efficientnet;
pub(crate) mod llama;
pub(crate) mod swin;
pub(crate) mod unet;
pub(crate) mod whisper;
pub(crate) mod yolo;
