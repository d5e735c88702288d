//! Products with weights that are packed once: linear layers and convolutions.
//!
//! Images have their channels last. The left operand is read where it lies, the right one is packed in panels, and
//! what follows a product in a network (bias, residual, activation) is done before its tile leaves the registers or
//! the cache.

mod algorithm;
mod block;
mod chain;
mod compact;
mod conv;
mod depthwise;
mod epilogue;
mod few;
mod format;
mod grouped;
mod images;
mod left;
mod linear;
mod matrix_unit;
mod padded;
mod panels;
mod pool;
mod product;
mod quantized;
mod shape;
mod strassen;
#[cfg(test)]
mod tests;
mod tile;
mod transposed;
mod two_pixels;
mod volumes;
mod weight;
mod winograd;
mod words;

pub use algorithm::Algorithm;
pub use chain::{Link, leaves_cache, run_chain};
pub use compact::CompactLinear;
pub use conv::PackedConv;
pub use epilogue::{Epilogue, Residual};
pub use format::Format;
pub use images::{Images, Layout};
pub use linear::PackedLinear;
pub(crate) use matrix_unit::Unpacked;
pub use pool::{Divisor, Pool, PoolShape, VolumePool};
pub use quantized::{Activations, Bytes, QuantizedConv, QuantizedLinear, QuantizedVolumeConv};
pub use shape::ConvShape;
pub use transposed::{TransposedConv, TransposedShape};
pub use volumes::{TransposedVolumeConv, TransposedVolumeShape, VolumeConv, VolumeShape};
pub use weight::Weight;
pub use words::Words;
