//! Lines of memory that are asked for before they are used.

use super::processor::amd_family;

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

/// Whether what few rows are multiplied with is to be asked for in the second-level cache. Measured: with AMD's family 19h (Zen 4) 4 rows
/// take 0.75 of the time then, with 1Ah (Zen 5) such lines are not kept in the third-level cache.
pub(crate) fn fills_second() -> bool {
    amd_family() == 0x19
}

/// How far ahead every line is to be asked for that is read in order, once, from the last-level cache, in numbers; 0 where
/// the processor is faster if left to itself. Measured: AMD's family 1Ah (Zen 5) takes 0.85 of the time then, 19h (Zen 4) longer.
pub(crate) fn ahead_in_cache() -> usize {
    if amd_family() >= 0x1a { 2048 } else { 0 }
}

/// Whether the processor is faster if it is left to itself where a single row is multiplied with AVX2. Measured: AMD's families 17h to
/// 19h (Zen to Zen 3) take 0.9 of the time then.
pub(crate) fn foresees_rows() -> bool {
    (0x17..=0x19).contains(&amd_family())
}
