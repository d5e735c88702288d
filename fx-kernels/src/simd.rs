//! Which vector instructions the processor has.

use std::sync::OnceLock;

/// A set of vector instructions that kernels are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What the compiler makes of plain Rust.
    Generic,
    /// AVX2 with FMA: 16 registers of 256 bits.
    Avx2,
    /// AVX-512 F: 32 registers of 512 bits.
    Avx512,
}

impl Level {
    /// The best level of this processor.
    pub fn detect() -> Self {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(|| {
            #[cfg(target_arch = "x86_64")]
            {
                if is_x86_feature_detected!("avx512f") {
                    return Level::Avx512;
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    return Level::Avx2;
                }
            }
            Level::Generic
        })
    }

    /// All levels of this processor, for tests.
    pub fn available() -> impl Iterator<Item = Self> {
        [Level::Generic, Level::Avx2, Level::Avx512].into_iter().filter(|level| *level <= Self::detect())
    }
}
