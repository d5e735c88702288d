//! Words of bytes, and the ways that processors multiply them.

#[cfg(target_arch = "x86_64")]
use super::x86::bytes::{Dots, Quads, Wide};
use super::{Level, Vector};

/// A way to multiply whole numbers of eight bits, in vectors whose lanes are words of them, or whole numbers of 32 bits.
///
/// Sums of products are whole and exact. A word of the left operand has four numbers as bytes, or two of 16 bits; what they are
/// multiplied with are bytes with a sign, four for each lane, in as many parts as four numbers of the left operand take words.
pub(crate) trait Bytes {
    /// The vectors.
    type Vector: Vector<Elem = f32>;
    /// How many numbers a word of the left operand has.
    const NUMBERS: usize = 4;

    /// The numbers of the first vectors, as many as a word has numbers, rounded and added to a whole one, in order; what is less than
    /// 0, or no number, as 0.
    fn words(numbers: [Self::Vector; 4], added: i32) -> Self::Vector;
    /// Writes the numbers of one vector or two, rounded and added to a whole one, as a byte each; what is less than 0, or no number, as
    /// 0.
    ///
    /// # Safety
    /// There must be room for a byte for each lane: with AVX-512 only for the first `count`, which are whole words.
    unsafe fn put<const VECTORS: usize>(numbers: [Self::Vector; VECTORS], added: i32, count: usize, to: *mut u8);
    /// Reads a part of the right operand.
    ///
    /// # Safety
    /// There must be a vector of words.
    #[inline(always)]
    unsafe fn load_part(words: *const f32, _part: usize) -> Self::Vector {
        // SAFETY: the caller's promise.
        unsafe { Self::Vector::load_at(words) }
    }
    /// The products of words with a part of the right operand, added to whole numbers.
    fn dot(left: Self::Vector, right: Self::Vector, sum: Self::Vector) -> Self::Vector;
    /// Whole numbers as f32.
    fn numbers(whole: Self::Vector) -> Self::Vector;
    /// The larger of each two bytes without a sign.
    fn larger(one: Self::Vector, other: Self::Vector) -> Self::Vector;
}

/// A computation with whole numbers of eight bits. Every implementation is `#[inline(always)]`.
pub(crate) trait ByteKernel {
    /// The least of x86's levels that there is a version for, as [`Kernel`](super::Kernel) has it.
    const LEAST: Level = Level::Avx2;

    /// The computation.
    fn run<B: Bytes>(self);
}

/// Whether the processor has fast products of bytes with the vectors of a level.
pub(crate) fn has_bytes(level: Level) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let has = match level {
            Level::Avx512 => is_x86_feature_detected!("avx512vnni"),
            level => level == Level::Avx2,
        };
        has && level.is_available()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = level;
        false
    }
}

/// Whether a level has products of words of four bytes without a sign, of so many bits each.
pub(crate) fn has_quads(level: Level, bits: u32) -> bool {
    #[cfg(target_arch = "x86_64")]
    let of_eight = level == Level::Avx512 || is_x86_feature_detected!("avxvnni");
    #[cfg(not(target_arch = "x86_64"))]
    let of_eight = false;
    has_bytes(level) && (bits < 8 || of_eight)
}

/// Of the most rows of a tile of two vectors, those whose sums have registers where words of four bytes are multiplied: AVX2 needs one for
/// what it adds up pairs with, and what the compiler keeps in memory in its place takes twice as long where it crosses a line of the cache.
pub(crate) fn rows_of_quads(level: Level, most: usize) -> usize {
    if level == Level::Avx2 && !has_quads(level, 8) { most - 1 } else { most }
}

/// Runs a kernel with whole numbers of eight bits, and the vectors of a level. Numbers of the left operand are widened, or words
/// of four have bits that the level [has products](has_quads) of.
///
/// # Panics
/// If the processor has no instructions for them.
pub(crate) fn dispatch_bytes<K: ByteKernel>(level: Level, widened: bool, kernel: K) {
    assert!(has_bytes(level), "the processor has no fast products of bytes");
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
        fn avx512<K: ByteKernel>(kernel: K) {
            kernel.run::<Dots>();
        }
        #[target_feature(enable = "avx2,fma,f16c,avxvnni")]
        fn avx_vnni<K: ByteKernel>(kernel: K) {
            kernel.run::<Quads<true>>();
        }
        #[target_feature(enable = "avx2,fma,f16c")]
        fn avx2<K: ByteKernel, B: Bytes>(kernel: K) {
            kernel.run::<B>();
        }
        // SAFETY: the processor has the instructions of the level (just seen), and those beside it are asked for.
        unsafe {
            match level {
                Level::Avx512 => avx512(kernel),
                level if const { !Level::Avx2.reaches(K::LEAST) } => {
                    unreachable!("there is no kernel for {level:?}")
                }
                _ if widened => avx2::<K, Wide>(kernel),
                _ if is_x86_feature_detected!("avxvnni") => avx_vnni(kernel),
                _ => avx2::<K, Quads<false>>(kernel),
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (widened, kernel);
    }
}
