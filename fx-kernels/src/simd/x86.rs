//! The vectors of SSE2, AVX2 and AVX-512.
//!
//! A module for each holds the instructions under common names; those that take one operand or two are imported, the
//! others written out.

#[cfg(all(target_os = "linux", not(miri)))]
pub(super) mod amx;
pub(super) mod bytes;
mod sse2;

pub(super) use double4::F64x4;
pub(super) use double8::F64x8;
pub(super) use single8::F32x8;
pub(super) use single16::F32x16;
pub(super) use sse2::{F32x4, F64x2};

/// What the two vectors of 512 bits share: masks are bits, and both parts of a vector are reached by them.
macro_rules! avx512 {
    ($T:ty, $Raw:ty, $Mask:ty, $compare:ident, $blend:ident, $maskload:ident, $maskstore:ident, $fma:ident,
        $round:ident, $scale:ident, $exponent:ident, $cast:ident, $back:ident, $up:ident, $down:ident) => {
        use std::arch::x86_64 as x86;

        #[inline(always)]
        unsafe fn bits_up(x: $Raw, by: u32) -> $Raw {
            // SAFETY: who has a vector has the instructions.
            unsafe { x86::$back(x86::$up(x86::$cast(x), x86::_mm_cvtsi32_si128(by as i32))) }
        }
        #[inline(always)]
        unsafe fn bits_down(x: $Raw, by: u32) -> $Raw {
            // SAFETY: as above.
            unsafe { x86::$back(x86::$down(x86::$cast(x), x86::_mm_cvtsi32_si128(by as i32))) }
        }

        #[inline(always)]
        unsafe fn first(count: usize) -> $Mask {
            ((1_u32 << count) - 1) as $Mask
        }
        #[inline(always)]
        unsafe fn load_first(from: *const $T, count: usize) -> $Raw {
            // SAFETY: the caller's promise; lanes outside the mask are not touched.
            unsafe { x86::$maskload(first(count), from) }
        }
        #[inline(always)]
        unsafe fn store_first(to: *mut $T, count: usize, x: $Raw) {
            // SAFETY: as above.
            unsafe { x86::$maskstore(to, first(count), x) }
        }
        #[inline(always)]
        unsafe fn mul_add(a: $Raw, b: $Raw, c: $Raw) -> $Raw {
            // SAFETY: who has a vector has the instructions.
            unsafe { x86::$fma(a, b, c) }
        }
        #[inline(always)]
        unsafe fn select(mask: $Mask, yes: $Raw, no: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { x86::$blend(mask, no, yes) }
        }
        #[inline(always)]
        unsafe fn round(x: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { x86::$round::<{ x86::_MM_FROUND_TO_NEAREST_INT | x86::_MM_FROUND_NO_EXC }>(x) }
        }
        #[inline(always)]
        unsafe fn floor(x: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { x86::$round::<{ x86::_MM_FROUND_TO_NEG_INF | x86::_MM_FROUND_NO_EXC }>(x) }
        }
        #[inline(always)]
        unsafe fn exponent(x: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { x86::$exponent(x) }
        }
        #[inline(always)]
        unsafe fn scale(x: $Raw, n: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { x86::$scale(x, n) }
        }
        use scale as scale_normal;
        #[inline(always)]
        unsafe fn lt(x: $Raw, y: $Raw) -> $Mask {
            // SAFETY: as above.
            unsafe { x86::$compare::<{ x86::_CMP_LT_OQ }>(x, y) }
        }
        #[inline(always)]
        unsafe fn le(x: $Raw, y: $Raw) -> $Mask {
            // SAFETY: as above.
            unsafe { x86::$compare::<{ x86::_CMP_LE_OQ }>(x, y) }
        }
        #[inline(always)]
        unsafe fn eq(x: $Raw, y: $Raw) -> $Mask {
            // SAFETY: as above.
            unsafe { x86::$compare::<{ x86::_CMP_EQ_OQ }>(x, y) }
        }
    };
}

/// What vectors share whose masks are vectors themselves, of 256 bits and of 128.
macro_rules! words {
    ($T:ty, $Raw:ty, $andnot:ident, $or:ident, $cast:ident, $back:ident, $up:ident, $down:ident, $up_by:ident,
        $down_by:ident, $mantissa:literal, $bias:literal) => {
        use std::arch::x86_64 as x86;

        #[inline(always)]
        unsafe fn bits_up(x: $Raw, by: u32) -> $Raw {
            // SAFETY: who has a vector has the instructions.
            unsafe { x86::$back(x86::$up_by(x86::$cast(x), x86::_mm_cvtsi32_si128(by as i32))) }
        }
        #[inline(always)]
        unsafe fn bits_down(x: $Raw, by: u32) -> $Raw {
            // SAFETY: as above.
            unsafe { x86::$back(x86::$down_by(x86::$cast(x), x86::_mm_cvtsi32_si128(by as i32))) }
        }
        #[inline(always)]
        unsafe fn abs(x: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { x86::$andnot(splat(-0.0), x) }
        }
        crate::simd::plain::exponents!($T, $Raw, x86, $or, $cast, $back, $up, $down, $mantissa, $bias);
    };
}
use words;

/// What the two vectors of 256 bits share: of a mask's numbers the signs count.
macro_rules! avx2 {
    ($T:ty, $Raw:ty, $lanes:literal, $Int:ty, $compare:ident, $blend:ident, $maskload:ident, $maskstore:ident,
        $round:ident) => {
        /// A mask of the first `count` lanes: a window on as many ones as zeros.
        #[inline(always)]
        unsafe fn first(count: usize) -> x86::__m256i {
            const ONES: [$Int; 2 * $lanes] = {
                let mut ones = [0; 2 * $lanes];
                let mut i = 0;
                while i < $lanes {
                    ones[i] = -1;
                    i += 1;
                }
                ones
            };
            // SAFETY: the caller promises that `count` is at most the number of lanes.
            unsafe { x86::_mm256_loadu_si256(ONES.as_ptr().add($lanes - count).cast()) }
        }
        #[inline(always)]
        unsafe fn load_first(from: *const $T, count: usize) -> $Raw {
            // SAFETY: the caller's promise; lanes outside the mask are not touched.
            unsafe { x86::$maskload(from, first(count)) }
        }
        #[inline(always)]
        unsafe fn store_first(to: *mut $T, count: usize, x: $Raw) {
            // SAFETY: as above.
            unsafe { x86::$maskstore(to, first(count), x) }
        }
        #[inline(always)]
        unsafe fn select(mask: $Raw, yes: $Raw, no: $Raw) -> $Raw {
            // SAFETY: who has a vector has the instructions.
            unsafe { x86::$blend(no, yes, mask) }
        }
        #[inline(always)]
        unsafe fn round(x: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { x86::$round::<{ x86::_MM_FROUND_TO_NEAREST_INT | x86::_MM_FROUND_NO_EXC }>(x) }
        }
        #[inline(always)]
        unsafe fn floor(x: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { x86::$round::<{ x86::_MM_FROUND_TO_NEG_INF | x86::_MM_FROUND_NO_EXC }>(x) }
        }
        #[inline(always)]
        unsafe fn lt(x: $Raw, y: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { x86::$compare::<{ x86::_CMP_LT_OQ }>(x, y) }
        }
        #[inline(always)]
        unsafe fn le(x: $Raw, y: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { x86::$compare::<{ x86::_CMP_LE_OQ }>(x, y) }
        }
        #[inline(always)]
        unsafe fn eq(x: $Raw, y: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { x86::$compare::<{ x86::_CMP_EQ_OQ }>(x, y) }
        }
    };
}

mod single16 {
    use std::arch::x86_64::{
        __m512, __mmask16, _mm512_abs_ps as abs, _mm512_add_ps as add, _mm512_and_ps as and, _mm512_div_ps as div,
        _mm512_loadu_ps as load, _mm512_max_ps as max, _mm512_min_ps as min, _mm512_mul_ps as mul, _mm512_or_ps as or,
        _mm512_set1_ps as splat, _mm512_sqrt_ps as sqrt, _mm512_storeu_ps as store, _mm512_sub_ps as sub,
    };
    avx512!(
        f32,
        __m512,
        __mmask16,
        _mm512_cmp_ps_mask,
        _mm512_mask_blend_ps,
        _mm512_maskz_loadu_ps,
        _mm512_mask_storeu_ps,
        _mm512_fmadd_ps,
        _mm512_roundscale_ps,
        _mm512_scalef_ps,
        _mm512_getexp_ps,
        _mm512_castps_si512,
        _mm512_castsi512_ps,
        _mm512_sll_epi32,
        _mm512_srl_epi32
    );

    /// # Safety
    /// As [`Vector::transpose`](crate::simd::Vector::transpose).
    #[inline(always)]
    unsafe fn transpose(from: *const f32, from_stride: usize, to: *mut f32, to_stride: usize) {
        // SAFETY: the caller's promise, and who has a vector has the instructions.
        unsafe {
            let mut x = [x86::_mm512_setzero_ps(); 16];
            for (i, x) in x.iter_mut().enumerate() {
                *x = load(from.add(i * from_stride));
            }
            // Squares of 4 by 4 within each quarter.
            for i in (0..16).step_by(4) {
                let [a, b, c, d] = [x[i], x[i + 1], x[i + 2], x[i + 3]];
                let (low, high) = (x86::_mm512_unpacklo_ps(a, b), x86::_mm512_unpackhi_ps(a, b));
                let (low2, high2) = (x86::_mm512_unpacklo_ps(c, d), x86::_mm512_unpackhi_ps(c, d));
                x[i] = x86::_mm512_shuffle_ps::<0x44>(low, low2);
                x[i + 1] = x86::_mm512_shuffle_ps::<0xee>(low, low2);
                x[i + 2] = x86::_mm512_shuffle_ps::<0x44>(high, high2);
                x[i + 3] = x86::_mm512_shuffle_ps::<0xee>(high, high2);
            }
            // The quarters.
            for i in 0..4 {
                let even = x86::_mm512_shuffle_f32x4::<0x88>(x[i], x[i + 4]);
                let odd = x86::_mm512_shuffle_f32x4::<0xdd>(x[i], x[i + 4]);
                let even2 = x86::_mm512_shuffle_f32x4::<0x88>(x[i + 8], x[i + 12]);
                let odd2 = x86::_mm512_shuffle_f32x4::<0xdd>(x[i + 8], x[i + 12]);
                store(to.add(i * to_stride), x86::_mm512_shuffle_f32x4::<0x88>(even, even2));
                store(to.add((i + 4) * to_stride), x86::_mm512_shuffle_f32x4::<0x88>(odd, odd2));
                store(to.add((i + 8) * to_stride), x86::_mm512_shuffle_f32x4::<0xdd>(even, even2));
                store(to.add((i + 12) * to_stride), x86::_mm512_shuffle_f32x4::<0xdd>(odd, odd2));
            }
        }
    }

    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> __m512 {
        // SAFETY: the caller's promise, and who has a vector has the instructions.
        unsafe {
            let words = x86::_mm512_cvtepu16_epi32(x86::_mm256_loadu_si256(from.cast()));
            x86::_mm512_castsi512_ps(x86::_mm512_slli_epi32::<16>(words))
        }
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> __m512 {
        // SAFETY: as above.
        unsafe { x86::_mm512_cvtph_ps(x86::_mm256_loadu_si256(from.cast())) }
    }
    #[inline(always)]
    unsafe fn store_f16(to: *mut u16, x: __m512) {
        // SAFETY: as above.
        unsafe { x86::_mm256_storeu_si256(to.cast(), x86::_mm512_cvtps_ph::<{ x86::_MM_FROUND_TO_NEAREST_INT }>(x)) }
    }
    #[inline(always)]
    unsafe fn load_u8(from: *const u8) -> __m512 {
        // SAFETY: as above.
        unsafe { x86::_mm512_cvtepi32_ps(x86::_mm512_cvtepu8_epi32(x86::_mm_loadu_si128(from.cast()))) }
    }
    #[inline(always)]
    unsafe fn swapped(x: __m512, by: usize) -> __m512 {
        // SAFETY: who has a vector has the instructions.
        unsafe {
            let lanes = x86::_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            x86::_mm512_permutexvar_ps(x86::_mm512_xor_si512(lanes, x86::_mm512_set1_epi32(by as i32)), x)
        }
    }
    crate::simd::vector!(F32x16, f32, 16, 12, __m512, __mmask16, with_avx512);

    impl crate::simd::Pairs for F32x16 {
        #[inline(always)]
        fn pairs(low: Self, high: Self) -> Self {
            // SAFETY: `dispatch_pairs` has seen that the processor has the instruction; both types are 512 bits.
            Self(unsafe { std::mem::transmute::<x86::__m512bh, __m512>(x86::_mm512_cvtne2ps_pbh(high.0, low.0)) })
        }
        #[inline(always)]
        fn joined(low: Self, high: Self) -> Self {
            const ORDER: [u16; 32] = {
                let mut order = [0; 32];
                let mut i = 0;
                while i < 16 {
                    (order[2 * i], order[2 * i + 1]) = (i as u16, 16 + i as u16);
                    i += 1;
                }
                order
            };
            // SAFETY: as above, and who has a vector has the others; both types are 512 bits.
            Self(unsafe {
                let order = x86::_mm512_loadu_si512(ORDER.as_ptr().cast());
                x86::_mm512_castsi512_ps(x86::_mm512_permutexvar_epi16(
                    order,
                    x86::_mm512_castps_si512(Self::pairs(low, high).0),
                ))
            })
        }
        #[inline(always)]
        fn apart(low: Self, high: Self) -> [Self; 2] {
            // SAFETY: who has a vector has the instructions.
            unsafe {
                let places = x86::_mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
                let next = x86::_mm512_add_epi32(places, x86::_mm512_set1_epi32(1));
                [places, next].map(|places| Self(x86::_mm512_permutex2var_ps(low.0, places, high.0)))
            }
        }
        #[inline(always)]
        fn together(first: Self, second: Self) -> [Self; 2] {
            // SAFETY: as above.
            unsafe {
                let places = x86::_mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
                let next = x86::_mm512_add_epi32(places, x86::_mm512_set1_epi32(8));
                [places, next].map(|places| Self(x86::_mm512_permutex2var_ps(first.0, places, second.0)))
            }
        }
        #[inline(always)]
        fn ordered(self) -> Self {
            // SAFETY: as above. Of numbers below 0 all bits turn round, of others the sign; what was NaN with a sign is the least then, and goes
            // below 0 with what is taken off, which leaves 0 of minus infinity.
            unsafe {
                let x = x86::_mm512_castps_si512(self.0);
                let signs = x86::_mm512_or_si512(x86::_mm512_srai_epi16::<15>(x), x86::_mm512_set1_epi16(i16::MIN));
                let x = x86::_mm512_sub_epi16(x86::_mm512_xor_si512(x, signs), x86::_mm512_set1_epi16(0x7f));
                Self(x86::_mm512_castsi512_ps(x))
            }
        }
        #[inline(always)]
        fn unordered(self) -> Self {
            // SAFETY: as above.
            unsafe {
                let x = x86::_mm512_add_epi16(x86::_mm512_castps_si512(self.0), x86::_mm512_set1_epi16(0x7f));
                let is_less = x86::_mm512_xor_si512(x86::_mm512_srai_epi16::<15>(x), x86::_mm512_set1_epi16(-1));
                let signs = x86::_mm512_or_si512(is_less, x86::_mm512_set1_epi16(i16::MIN));
                Self(x86::_mm512_castsi512_ps(x86::_mm512_xor_si512(x, signs)))
            }
        }
        #[inline(always)]
        fn later(self, other: Self) -> Self {
            // SAFETY: as above.
            unsafe {
                let [x, y] = [self.0, other.0].map(|x| x86::_mm512_castps_si512(x));
                Self(x86::_mm512_castsi512_ps(x86::_mm512_max_epu16(x, y)))
            }
        }
        #[inline(always)]
        fn exp2(self) -> Self {
            // SAFETY: who has a vector has the instructions. The fraction of an infinity is 0.
            unsafe {
                let fraction = x86::_mm512_reduce_ps::<{ x86::_MM_FROUND_TO_NEG_INF | x86::_MM_FROUND_NO_EXC }>(self.0);
                let mut power = splat(0.078_024_55);
                for coefficient in [0.226_067_18, 0.695_833_5, 0.999_925_23] {
                    power = mul_add(power, fraction, splat(coefficient));
                }
                // The exponent is rounded down too.
                Self(scale(power, self.0))
            }
        }
        #[inline(always)]
        fn reciprocal(self) -> Self {
            // SAFETY: who has a vector has the instruction.
            Self(unsafe { x86::_mm512_rcp14_ps(self.0) })
        }
        #[inline(always)]
        unsafe fn four_of_rows(from: *const f32, stride: usize) -> [Self; 4] {
            // SAFETY: the caller's promise, and who has a vector has the instructions.
            unsafe {
                // A quarter of a vector from each row: of row `i`, and of every fourth one after it.
                let quarters = |row: usize| {
                    let quarter = |row: usize| x86::_mm_loadu_ps(from.wrapping_add(row * stride));
                    let x = x86::_mm512_castps128_ps512(quarter(row));
                    let x = x86::_mm512_insertf32x4::<1>(x, quarter(row + 4));
                    let x = x86::_mm512_insertf32x4::<2>(x, quarter(row + 8));
                    x86::_mm512_insertf32x4::<3>(x, quarter(row + 12))
                };
                let [a, b, c, d] = [quarters(0), quarters(1), quarters(2), quarters(3)];
                let (low, high) = (x86::_mm512_unpacklo_ps(a, b), x86::_mm512_unpackhi_ps(a, b));
                let (low2, high2) = (x86::_mm512_unpacklo_ps(c, d), x86::_mm512_unpackhi_ps(c, d));
                [
                    Self(x86::_mm512_shuffle_ps::<0x44>(low, low2)),
                    Self(x86::_mm512_shuffle_ps::<0xee>(low, low2)),
                    Self(x86::_mm512_shuffle_ps::<0x44>(high, high2)),
                    Self(x86::_mm512_shuffle_ps::<0xee>(high, high2)),
                ]
            }
        }
        #[inline(always)]
        fn doubled(self, some: usize) -> Self {
            // SAFETY: who has a vector has the instructions.
            unsafe {
                let lanes = x86::_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
                let within = x86::_mm512_set1_epi32(some as i32 - 1);
                let before = x86::_mm512_andnot_si512(within, x86::_mm512_srli_epi32::<1>(lanes));
                let places = x86::_mm512_or_si512(before, x86::_mm512_and_si512(lanes, within));
                Self(x86::_mm512_permutexvar_ps(places, self.0))
            }
        }
        #[inline(always)]
        fn dot(self, other: Self, sum: Self) -> Self {
            // SAFETY: as above.
            unsafe {
                let [x, y] = [self.0, other.0].map(|x| std::mem::transmute::<__m512, x86::__m512bh>(x));
                Self(x86::_mm512_dpbf16_ps(sum.0, x, y))
            }
        }
        #[inline(always)]
        fn run_pairs<K: crate::simd::PairKernel>(kernel: K) {
            // SAFETY: as above.
            unsafe { kernel.with_avx512::<Self>() };
        }
    }
}

mod double8 {
    use std::arch::x86_64::{
        __m512d, __mmask8, _mm512_abs_pd as abs, _mm512_add_pd as add, _mm512_and_pd as and, _mm512_div_pd as div,
        _mm512_loadu_pd as load, _mm512_max_pd as max, _mm512_min_pd as min, _mm512_mul_pd as mul, _mm512_or_pd as or,
        _mm512_set1_pd as splat, _mm512_sqrt_pd as sqrt, _mm512_storeu_pd as store, _mm512_sub_pd as sub,
    };
    avx512!(
        f64,
        __m512d,
        __mmask8,
        _mm512_cmp_pd_mask,
        _mm512_mask_blend_pd,
        _mm512_maskz_loadu_pd,
        _mm512_mask_storeu_pd,
        _mm512_fmadd_pd,
        _mm512_roundscale_pd,
        _mm512_scalef_pd,
        _mm512_getexp_pd,
        _mm512_castpd_si512,
        _mm512_castsi512_pd,
        _mm512_sll_epi64,
        _mm512_srl_epi64
    );
    crate::simd::plain::transpose!(f64, 8);
    crate::simd::plain::narrow!(f64, 8, __m512d);
    crate::simd::plain::swapped!(f64, 8, __m512d);
    crate::simd::vector!(F64x8, f64, 8, 12, __m512d, __mmask8, with_avx512);
}

mod single8 {
    use std::arch::x86_64::{
        __m256, _mm256_add_ps as add, _mm256_and_ps as and, _mm256_div_ps as div, _mm256_fmadd_ps as mul_add,
        _mm256_loadu_ps as load, _mm256_max_ps as max, _mm256_min_ps as min, _mm256_mul_ps as mul, _mm256_or_ps as or,
        _mm256_set1_ps as splat, _mm256_sqrt_ps as sqrt, _mm256_storeu_ps as store, _mm256_sub_ps as sub,
    };
    avx2!(
        f32,
        __m256,
        8,
        i32,
        _mm256_cmp_ps,
        _mm256_blendv_ps,
        _mm256_maskload_ps,
        _mm256_maskstore_ps,
        _mm256_round_ps
    );
    words!(
        f32,
        __m256,
        _mm256_andnot_ps,
        _mm256_or_si256,
        _mm256_castps_si256,
        _mm256_castsi256_ps,
        _mm256_slli_epi32,
        _mm256_srli_epi32,
        _mm256_sll_epi32,
        _mm256_srl_epi32,
        23,
        127
    );

    /// # Safety
    /// As [`Vector::transpose`](crate::simd::Vector::transpose).
    #[inline(always)]
    unsafe fn transpose(from: *const f32, from_stride: usize, to: *mut f32, to_stride: usize) {
        // SAFETY: the caller's promise, and who has a vector has the instructions.
        unsafe {
            let mut x = [x86::_mm256_setzero_ps(); 8];
            for (i, x) in x.iter_mut().enumerate() {
                *x = load(from.add(i * from_stride));
            }
            // Squares of 4 by 4 within each half.
            for i in [0, 4] {
                let [a, b, c, d] = [x[i], x[i + 1], x[i + 2], x[i + 3]];
                let (low, high) = (x86::_mm256_unpacklo_ps(a, b), x86::_mm256_unpackhi_ps(a, b));
                let (low2, high2) = (x86::_mm256_unpacklo_ps(c, d), x86::_mm256_unpackhi_ps(c, d));
                x[i] = x86::_mm256_shuffle_ps::<0x44>(low, low2);
                x[i + 1] = x86::_mm256_shuffle_ps::<0xee>(low, low2);
                x[i + 2] = x86::_mm256_shuffle_ps::<0x44>(high, high2);
                x[i + 3] = x86::_mm256_shuffle_ps::<0xee>(high, high2);
            }
            // The halves.
            for i in 0..4 {
                store(to.add(i * to_stride), x86::_mm256_permute2f128_ps::<0x20>(x[i], x[i + 4]));
                store(to.add((i + 4) * to_stride), x86::_mm256_permute2f128_ps::<0x31>(x[i], x[i + 4]));
            }
        }
    }

    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> __m256 {
        // SAFETY: the caller's promise, and who has a vector has the instructions.
        unsafe {
            let words = x86::_mm256_cvtepu16_epi32(x86::_mm_loadu_si128(from.cast()));
            x86::_mm256_castsi256_ps(x86::_mm256_slli_epi32::<16>(words))
        }
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> __m256 {
        // SAFETY: as above.
        unsafe { x86::_mm256_cvtph_ps(x86::_mm_loadu_si128(from.cast())) }
    }
    #[inline(always)]
    unsafe fn store_f16(to: *mut u16, x: __m256) {
        // SAFETY: as above.
        unsafe { x86::_mm_storeu_si128(to.cast(), x86::_mm256_cvtps_ph::<{ x86::_MM_FROUND_TO_NEAREST_INT }>(x)) }
    }
    #[inline(always)]
    unsafe fn load_u8(from: *const u8) -> __m256 {
        // SAFETY: as above.
        unsafe { x86::_mm256_cvtepi32_ps(x86::_mm256_cvtepu8_epi32(x86::_mm_loadl_epi64(from.cast()))) }
    }
    #[inline(always)]
    unsafe fn swapped(x: __m256, by: usize) -> __m256 {
        // SAFETY: who has a vector has the instructions.
        unsafe {
            let lanes = x86::_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            x86::_mm256_permutevar8x32_ps(x, x86::_mm256_xor_si256(lanes, x86::_mm256_set1_epi32(by as i32)))
        }
    }
    crate::simd::vector!(F32x8, f32, 8, 6, __m256, __m256, with_avx2);
}

mod double4 {
    use std::arch::x86_64::{
        __m256d, _mm256_add_pd as add, _mm256_and_pd as and, _mm256_div_pd as div, _mm256_fmadd_pd as mul_add,
        _mm256_loadu_pd as load, _mm256_max_pd as max, _mm256_min_pd as min, _mm256_mul_pd as mul, _mm256_or_pd as or,
        _mm256_set1_pd as splat, _mm256_sqrt_pd as sqrt, _mm256_storeu_pd as store, _mm256_sub_pd as sub,
    };
    avx2!(
        f64,
        __m256d,
        4,
        i64,
        _mm256_cmp_pd,
        _mm256_blendv_pd,
        _mm256_maskload_pd,
        _mm256_maskstore_pd,
        _mm256_round_pd
    );
    words!(
        f64,
        __m256d,
        _mm256_andnot_pd,
        _mm256_or_si256,
        _mm256_castpd_si256,
        _mm256_castsi256_pd,
        _mm256_slli_epi64,
        _mm256_srli_epi64,
        _mm256_sll_epi64,
        _mm256_srl_epi64,
        52,
        1023
    );
    crate::simd::plain::transpose!(f64, 4);
    crate::simd::plain::narrow!(f64, 4, __m256d);
    crate::simd::plain::swapped!(f64, 4, __m256d);
    crate::simd::vector!(F64x4, f64, 4, 6, __m256d, __m256d, with_avx2);
}
