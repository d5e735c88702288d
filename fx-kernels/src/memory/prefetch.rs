//! Lines of memory that are asked for before they are used.

use super::processor::{Maker, maker};

/// Asks for a line to be brought into the first-level cache.
#[inline(always)]
pub(crate) fn prefetch(place: *const f32) {
    ask::<false>(place);
}

/// Asks for a line to be brought into the second-level cache: for what is used so much later that it would take the place of what
/// the first-level cache is for, and because more such lines can be on their way.
#[inline(always)]
pub(crate) fn prefetch_far(place: *const f32) {
    ask::<true>(place);
}

/// Asks for a line, in the first-level cache or in the second.
#[inline(always)]
fn ask<const SECOND: bool>(place: *const f32) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        // SAFETY: every address may be asked for, and every processor of the architecture has the instruction.
        unsafe {
            match SECOND {
                true => _mm_prefetch::<_MM_HINT_T1>(place.cast()),
                false => _mm_prefetch::<_MM_HINT_T0>(place.cast()),
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// The rows of a tile that waits for memory, not for products.
pub(crate) const FEW_ROWS: usize = 8;

/// Whether what some tiles of so many rows are multiplied with is to be asked for in the second-level cache. Measured: Intel's processors
/// take 0.93 of the time for many rows then, whose weights come from memory, for more lines can be on their way to that cache; of AMD's,
/// family 19h (Zen 4) takes 0.75 for 4 rows, and with 1Ah (Zen 5) such lines are not kept in the third-level cache.
pub(crate) fn fills_second(rows: usize, tiles: usize) -> bool {
    /// As many tiles of few rows do not make up for the wait before the first one.
    const FEW_TILES: usize = 3;
    match maker() {
        Maker::Intel => true,
        Maker::Amd(0x19) => rows <= FEW_ROWS && tiles <= FEW_TILES,
        _ => false,
    }
}

/// How far ahead every line is to be asked for that is read in order, once, from the last-level cache, in numbers; 0 where
/// the processor is faster if left to itself. Measured: AMD's family 1Ah (Zen 5) takes 0.85 of the time then, 19h (Zen 4) longer.
pub(crate) fn ahead_in_cache() -> usize {
    if matches!(maker(), Maker::Amd(0x1a..)) { 2048 } else { 0 }
}

/// Whether the processor is faster if it is left to itself where a single row is multiplied with AVX2. Measured: AMD's families 17h to
/// 19h (Zen to Zen 3) take 0.9 of the time then.
pub(crate) fn foresees_rows() -> bool {
    matches!(maker(), Maker::Amd(0x17..=0x19))
}
