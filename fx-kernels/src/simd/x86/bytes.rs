//! How AVX2, AVX-VNNI and AVX-512 VNNI multiply words of bytes.

use std::arch::asm;
use std::arch::x86_64::{self as x86, __m256i, __m512i};

use super::{F32x8, F32x16};
use crate::simd::Vector;
use crate::simd::bytes::Bytes;

impl F32x16 {
    #[inline(always)]
    fn bits(self) -> __m512i {
        // SAFETY: who has a vector has the instructions.
        unsafe { x86::_mm512_castps_si512(self.0) }
    }
    #[inline(always)]
    fn of(bits: __m512i) -> Self {
        // SAFETY: as above.
        Self(unsafe { x86::_mm512_castsi512_ps(bits) })
    }
}

impl F32x8 {
    #[inline(always)]
    fn bits(self) -> __m256i {
        // SAFETY: who has a vector has the instructions.
        unsafe { x86::_mm256_castps_si256(self.0) }
    }
    #[inline(always)]
    fn of(bits: __m256i) -> Self {
        // SAFETY: as above.
        Self(unsafe { x86::_mm256_castsi256_ps(bits) })
    }

    #[inline(always)]
    fn rounded(self, added: i32) -> __m256i {
        // SAFETY: as above.
        unsafe { x86::_mm256_add_epi32(x86::_mm256_cvtps_epi32(self.0), x86::_mm256_set1_epi32(added)) }
    }

    #[inline(always)]
    fn whole(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { x86::_mm256_cvtepi32_ps(self.bits()) })
    }

    /// See [`Bytes::put`].
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn put<const VECTORS: usize>(numbers: [Self; VECTORS], added: i32, to: *mut u8) {
        // Parts of 128 bits are packed each on their own.
        const ORDER: [u32; 8] = [0, 4, 1, 5, 0, 4, 1, 5];
        let (first, last) = (numbers[0].rounded(added), numbers[VECTORS - 1].rounded(added));
        // SAFETY: as above, and the caller's promise.
        unsafe {
            let pairs = x86::_mm256_packs_epi32(first, last);
            let order = x86::_mm256_loadu_si256(ORDER.as_ptr().cast());
            let bytes = x86::_mm256_permutevar8x32_epi32(x86::_mm256_packus_epi16(pairs, pairs), order);
            let bytes = x86::_mm256_castsi256_si128(bytes);
            match VECTORS {
                1 => x86::_mm_storel_epi64(to.cast(), bytes),
                _ => x86::_mm_storeu_si128(to.cast(), bytes),
            }
        }
    }

    #[inline(always)]
    fn larger_bytes(self, other: Self) -> Self {
        // SAFETY: as above.
        Self::of(unsafe { x86::_mm256_max_epu8(self.bits(), other.bits()) })
    }
}

/// Four products at a time: AVX-512 VNNI.
pub(in crate::simd) struct Dots;

impl Bytes for Dots {
    type Vector = F32x16;

    #[inline(always)]
    fn words([a, b, c, d]: [F32x16; 4], added: i32) -> F32x16 {
        // Parts of 128 bits are packed each on their own.
        const ORDER: [u32; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];
        // SAFETY: who has a vector has the instructions.
        unsafe {
            let added = x86::_mm512_set1_epi32(added);
            let [a, b] = [x86::_mm512_cvtps_epi32(a.0), x86::_mm512_cvtps_epi32(b.0)];
            let [c, d] = [x86::_mm512_cvtps_epi32(c.0), x86::_mm512_cvtps_epi32(d.0)];
            let low = x86::_mm512_packs_epi32(x86::_mm512_add_epi32(a, added), x86::_mm512_add_epi32(b, added));
            let high = x86::_mm512_packs_epi32(x86::_mm512_add_epi32(c, added), x86::_mm512_add_epi32(d, added));
            let order = x86::_mm512_loadu_si512(ORDER.as_ptr().cast());
            F32x16::of(x86::_mm512_permutexvar_epi32(order, x86::_mm512_packus_epi16(low, high)))
        }
    }
    #[inline(always)]
    unsafe fn put<const VECTORS: usize>(numbers: [F32x16; VECTORS], added: i32, count: usize, to: *mut u8) {
        const ORDER: [u32; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 0, 4, 8, 12, 1, 5, 9, 13];
        // SAFETY: as above, and the caller's promise.
        unsafe {
            let added = x86::_mm512_set1_epi32(added);
            let [first, last] = [numbers[0], numbers[VECTORS - 1]]
                .map(|numbers| x86::_mm512_add_epi32(x86::_mm512_cvtps_epi32(numbers.0), added));
            let pairs = x86::_mm512_packs_epi32(first, last);
            let order = x86::_mm512_loadu_si512(ORDER.as_ptr().cast());
            let bytes = x86::_mm512_permutexvar_epi32(order, x86::_mm512_packus_epi16(pairs, pairs));
            F32x16::of(bytes).store_first(to.cast(), count.min(VECTORS * F32x16::LANES) / 4);
        }
    }
    #[inline(always)]
    fn dot(left: F32x16, right: F32x16, sum: F32x16) -> F32x16 {
        // SAFETY: `dispatch_bytes` has seen that the processor has the instruction.
        F32x16::of(unsafe { x86::_mm512_dpbusd_epi32(sum.bits(), left.bits(), right.bits()) })
    }
    #[inline(always)]
    fn numbers(whole: F32x16) -> F32x16 {
        // SAFETY: as above.
        F32x16(unsafe { x86::_mm512_cvtepi32_ps(whole.bits()) })
    }
    #[inline(always)]
    fn larger(one: F32x16, other: F32x16) -> F32x16 {
        // SAFETY: as above.
        F32x16::of(unsafe { x86::_mm512_max_epu8(one.bits(), other.bits()) })
    }
}

/// Four products at a time: AVX-VNNI, or AVX2 for numbers of the left operand up to 127, of which two products fit 16 bits together.
pub(in crate::simd) struct Quads<const VNNI: bool>;

impl<const VNNI: bool> Bytes for Quads<VNNI> {
    type Vector = F32x8;

    #[inline(always)]
    fn words([a, b, c, d]: [F32x8; 4], added: i32) -> F32x8 {
        // As above.
        const ORDER: [u32; 8] = [0, 4, 1, 5, 2, 6, 3, 7];
        // SAFETY: who has a vector has the instructions.
        unsafe {
            let low = x86::_mm256_packs_epi32(a.rounded(added), b.rounded(added));
            let high = x86::_mm256_packs_epi32(c.rounded(added), d.rounded(added));
            let order = x86::_mm256_loadu_si256(ORDER.as_ptr().cast());
            F32x8::of(x86::_mm256_permutevar8x32_epi32(x86::_mm256_packus_epi16(low, high), order))
        }
    }
    #[inline(always)]
    unsafe fn put<const VECTORS: usize>(numbers: [F32x8; VECTORS], added: i32, _count: usize, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { F32x8::put(numbers, added, to) };
    }
    #[inline(always)]
    fn dot(left: F32x8, right: F32x8, sum: F32x8) -> F32x8 {
        if VNNI {
            // SAFETY: as for AVX-512.
            return F32x8::of(unsafe { x86::_mm256_dpbusd_avx_epi32(sum.bits(), left.bits(), right.bits()) });
        }
        // SAFETY: who has a vector has the instructions.
        F32x8::of(unsafe {
            let pairs = x86::_mm256_maddubs_epi16(left.bits(), right.bits());
            add(sum.bits(), x86::_mm256_madd_epi16(pairs, x86::_mm256_set1_epi16(1)))
        })
    }
    #[inline(always)]
    fn numbers(whole: F32x8) -> F32x8 {
        whole.whole()
    }
    #[inline(always)]
    fn larger(one: F32x8, other: F32x8) -> F32x8 {
        one.larger_bytes(other)
    }
}

/// Sums of whole numbers. The compiler, which knows that these may be added up in any order, would add up the products of several steps
/// first: a tile's do not all have registers.
///
/// # Safety
/// The processor must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn add(mut sum: __m256i, products: __m256i) -> __m256i {
    // SAFETY: it reads and writes registers only.
    unsafe {
        asm!(
            "vpaddd {sum}, {sum}, {products}",
            sum = inout(ymm_reg) sum,
            products = in(ymm_reg) products,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sum
}

/// AVX2, for all bytes: two products do not fit 16 bits together. Bytes are widened to 16 bits, the left ones as they are rounded.
pub(in crate::simd) struct Wide;

impl Bytes for Wide {
    type Vector = F32x8;
    const NUMBERS: usize = 2;

    #[inline(always)]
    fn words([a, b, ..]: [F32x8; 4], added: i32) -> F32x8 {
        // SAFETY: as above.
        F32x8::of(unsafe {
            // Parts of 128 bits are packed each on their own.
            x86::_mm256_permute4x64_epi64::<0xd8>(x86::_mm256_packus_epi32(a.rounded(added), b.rounded(added)))
        })
    }
    #[inline(always)]
    unsafe fn put<const VECTORS: usize>(numbers: [F32x8; VECTORS], added: i32, _count: usize, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { F32x8::put(numbers, added, to) };
    }
    #[inline(always)]
    unsafe fn load_part(words: *const f32, part: usize) -> F32x8 {
        // SAFETY: the caller's promise, and as above.
        F32x8::of(unsafe { x86::_mm256_cvtepi8_epi16(x86::_mm_loadu_si128(words.cast::<x86::__m128i>().add(part))) })
    }
    #[inline(always)]
    fn dot(left: F32x8, right: F32x8, sum: F32x8) -> F32x8 {
        // SAFETY: as above.
        F32x8::of(unsafe { add(sum.bits(), x86::_mm256_madd_epi16(left.bits(), right.bits())) })
    }
    #[inline(always)]
    fn numbers(whole: F32x8) -> F32x8 {
        whole.whole()
    }
    #[inline(always)]
    fn larger(one: F32x8, other: F32x8) -> F32x8 {
        one.larger_bytes(other)
    }
}
