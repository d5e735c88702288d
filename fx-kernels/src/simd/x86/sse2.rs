//! The vectors that every 64-bit x86 processor has: SSE2, without fused products, masked loads or rounding.

pub(in crate::simd) use double2::F64x2;
pub(in crate::simd) use single4::F32x4;

/// What both vectors share.
macro_rules! sse2 {
    ($T:ty, $lanes:literal, $Raw:ty, $andnot:ident, $mantissa:literal) => {
        crate::simd::plain::firsts!($T, $lanes, $Raw);
        #[inline(always)]
        unsafe fn mul_add(a: $Raw, b: $Raw, c: $Raw) -> $Raw {
            // SAFETY: the instructions are part of the architecture.
            unsafe { add(mul(a, b), c) }
        }
        #[inline(always)]
        unsafe fn select(mask: $Raw, yes: $Raw, no: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { or(and(mask, yes), x86::$andnot(mask, no)) }
        }
        /// A number whose units are its last bits has no fraction, and those beyond have none anyway.
        #[inline(always)]
        unsafe fn round(x: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe {
                let magic = splat((1_u64 << $mantissa) as $T);
                let rounded = sub(add(abs(x), magic), magic);
                select(lt(abs(x), magic), or(rounded, and(x, splat(-0.0))), x)
            }
        }
        #[inline(always)]
        unsafe fn floor(x: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe {
                let rounded = round(x);
                sub(rounded, and(lt(x, rounded), splat(1.0)))
            }
        }
    };
}

mod single4 {
    use std::arch::x86_64::{
        __m128, _mm_add_ps as add, _mm_and_ps as and, _mm_cmpeq_ps as eq, _mm_cmple_ps as le, _mm_cmplt_ps as lt,
        _mm_div_ps as div, _mm_loadu_ps as load, _mm_max_ps as max, _mm_min_ps as min, _mm_mul_ps as mul,
        _mm_or_ps as or, _mm_set1_ps as splat, _mm_sqrt_ps as sqrt, _mm_storeu_ps as store, _mm_sub_ps as sub,
    };
    sse2!(f32, 4, __m128, _mm_andnot_ps, 23);
    crate::simd::x86::words!(
        f32,
        __m128,
        _mm_andnot_ps,
        _mm_or_si128,
        _mm_castps_si128,
        _mm_castsi128_ps,
        _mm_slli_epi32,
        _mm_srli_epi32,
        _mm_sll_epi32,
        _mm_srl_epi32,
        23,
        127
    );

    /// # Safety
    /// As [`Vector::transpose`](crate::simd::Vector::transpose).
    #[inline(always)]
    unsafe fn transpose(from: *const f32, from_stride: usize, to: *mut f32, to_stride: usize) {
        // SAFETY: the caller's promise, and the instructions are part of the architecture.
        unsafe {
            let mut x = [x86::_mm_setzero_ps(); 4];
            for (i, x) in x.iter_mut().enumerate() {
                *x = load(from.add(i * from_stride));
            }
            let [mut a, mut b, mut c, mut d] = x;
            x86::_MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
            for (i, x) in [a, b, c, d].into_iter().enumerate() {
                store(to.add(i * to_stride), x);
            }
        }
    }
    crate::simd::plain::narrow!(f32, 4, __m128);
    crate::simd::plain::swapped!(f32, 4, __m128);
    crate::simd::vector!(F32x4, f32, 4, 4, __m128, __m128, with_any);
}

mod double2 {
    use std::arch::x86_64::{
        __m128d, _mm_add_pd as add, _mm_and_pd as and, _mm_cmpeq_pd as eq, _mm_cmple_pd as le, _mm_cmplt_pd as lt,
        _mm_div_pd as div, _mm_loadu_pd as load, _mm_max_pd as max, _mm_min_pd as min, _mm_mul_pd as mul,
        _mm_or_pd as or, _mm_set1_pd as splat, _mm_sqrt_pd as sqrt, _mm_storeu_pd as store, _mm_sub_pd as sub,
    };
    sse2!(f64, 2, __m128d, _mm_andnot_pd, 52);
    crate::simd::x86::words!(
        f64,
        __m128d,
        _mm_andnot_pd,
        _mm_or_si128,
        _mm_castpd_si128,
        _mm_castsi128_pd,
        _mm_slli_epi64,
        _mm_srli_epi64,
        _mm_sll_epi64,
        _mm_srl_epi64,
        52,
        1023
    );
    crate::simd::plain::transpose!(f64, 2);
    crate::simd::plain::narrow!(f64, 2, __m128d);
    crate::simd::plain::swapped!(f64, 2, __m128d);
    crate::simd::vector!(F64x2, f64, 2, 4, __m128d, __m128d, with_any);
}
