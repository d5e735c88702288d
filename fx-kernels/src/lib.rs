//! The kernels of fx: where the time goes, and the only crate with `unsafe`.
//!
//! Every kernel has a safe interface on slices, checks its bounds once, and picks at run time the best version that
//! the processor has. A version for vectors of 128 bits runs on every 64-bit x86 and ARM processor, a generic one on all
//! others; the tests hold every version against the generic one.

pub mod attention;
pub mod conversion;
pub mod copy;
pub mod dense;
pub mod elementwise;
pub mod gemm;
mod math;
pub mod memory;
mod pairs;
mod peak;
mod quantization;
pub mod recurrent;
pub mod resize;
mod rounded;
pub mod rows;
pub mod sampling;
mod simd;
mod sort;
pub mod table;
pub mod threads;
mod tiles;

pub use gemm::{Matrix, gemm};
pub use peak::{peak_bandwidth, peak_flops};
pub use quantization::{Quantization, Steps, quantize};
pub use rounded::Rounded;
pub use simd::Level;
