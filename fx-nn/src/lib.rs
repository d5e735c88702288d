//! Neural network modules, with PyTorch's names, arguments, defaults and initialisation.
//!
//! They are written with `#[traceable(leaf)]`, as a user's own leaf modules are: this crate uses only the public
//! interface. Parameters are named and shaped as PyTorch's, so weights load as they are. What PyTorch gives a module
//! as keyword arguments are methods after `new`, with the same names:
//!
//! ```
//! use fx_nn as nn;
//! let conv = nn::Conv2d::new(3, 64, 7).stride(2).padding(3).bias(false);
//! ```
//!
//! PyTorch's `ModuleList` and `ModuleDict` are `Vec<T>` and `IndexMap<String, T>`: as fields of a module their
//! elements are found under the same names.

// The expansion of `#[traceable]` names the facade.
extern crate fx_core as fx;

mod activation;
mod attention;
mod batch_norm;
mod conv;
mod conv_transpose;
mod distance;
mod dropout;
mod embedding;
mod fold;
pub mod init;
mod linear;
mod loss;
pub mod models;
mod norm;
mod padding;
mod pool;
mod recurrent;
mod recurrent_cell;
mod sequential;
mod settings;
mod shape;
mod transformer;

pub use activation::*;
pub use attention::MultiheadAttention;
pub use batch_norm::{BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d};
pub use conv::{Conv1d, Conv2d, Conv3d};
pub use conv_transpose::{ConvTranspose1d, ConvTranspose2d, ConvTranspose3d};
pub use distance::{CosineSimilarity, PairwiseDistance};
pub use dropout::*;
pub use embedding::{Embedding, EmbeddingBag};
pub use fold::{Fold, Unfold};
pub use linear::{Bilinear, Identity, Linear};
pub use loss::*;
pub use norm::{GroupNorm, LayerNorm, LocalResponseNorm, RMSNorm};
pub use padding::*;
pub use pool::*;
pub use recurrent::{GRU, LSTM, RNN};
pub use recurrent_cell::{GRUCell, LSTMCell, RNNCell};
pub use sequential::{AnyLayer, Layers, Sequential};
pub use shape::{ChannelShuffle, Flatten, PixelShuffle, PixelUnshuffle, Unflatten, Upsample};
pub use transformer::{TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer};
