//! The kernels of fx: where the time goes, and the only crate with `unsafe`.
//!
//! Every kernel has a safe interface on slices, checks its bounds once, and picks at run time the best version that
//! the processor has. A generic version is always built; the tests hold every other one against it.

pub mod attention;
pub mod copy;
pub mod dense;
pub mod elementwise;
pub mod gemm;
mod math;
pub mod memory;
mod pairs;
mod peak;
pub mod recurrent;
pub mod rows;
mod simd;
pub mod threads;
mod tiles;

pub use gemm::{Matrix, gemm};
pub use peak::{peak_bandwidth, peak_flops};
pub use simd::Level;
