//! The vectors of 64-bit ARM.

pub(super) use double2::F64x2;
pub(super) use single4::F32x4;

/// What both vectors share.
macro_rules! neon {
    ($T:ty, $lanes:literal, $Raw:ty, $Mask:ty, $fma:ident, $blend:ident, $cast:ident, $back:ident, $shift:ident,
        $down:ident, $or:ident, $and:ident, $by:ident, $number:ident, $mantissa:literal, $bias:literal) => {
        use std::arch::aarch64 as arm;

        #[inline(always)]
        unsafe fn and(x: $Raw, y: $Raw) -> $Raw {
            // SAFETY: the instructions are part of the architecture.
            unsafe { arm::$back(arm::$and(arm::$cast(x), arm::$cast(y))) }
        }
        #[inline(always)]
        unsafe fn or(x: $Raw, y: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { arm::$back(arm::$or(arm::$cast(x), arm::$cast(y))) }
        }
        #[inline(always)]
        unsafe fn bits_up(x: $Raw, by: u32) -> $Raw {
            // SAFETY: as above.
            unsafe { arm::$back(arm::$by(arm::$cast(x), arm::$number((by as i32).into()))) }
        }
        #[inline(always)]
        unsafe fn bits_down(x: $Raw, by: u32) -> $Raw {
            // SAFETY: as above; a shift by less than nothing is one in the other direction.
            unsafe { arm::$back(arm::$by(arm::$cast(x), arm::$number((-(by as i32)).into()))) }
        }

        crate::simd::plain::firsts!($T, $lanes, $Raw);
        #[inline(always)]
        unsafe fn mul_add(a: $Raw, b: $Raw, c: $Raw) -> $Raw {
            // SAFETY: the instructions are part of the architecture.
            unsafe { arm::$fma(c, a, b) }
        }
        #[inline(always)]
        unsafe fn select(mask: $Mask, yes: $Raw, no: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { arm::$blend(mask, yes, no) }
        }
        #[inline(always)]
        unsafe fn min(x: $Raw, y: $Raw) -> $Raw {
            // SAFETY: as above. The instruction for it treats NaN in another way.
            unsafe { select(lt(x, y), x, y) }
        }
        #[inline(always)]
        unsafe fn max(x: $Raw, y: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { select(lt(y, x), x, y) }
        }
        crate::simd::plain::exponents!($T, $Raw, arm, $or, $cast, $back, $shift, $down, $mantissa, $bias);
    };
}

mod single4 {
    use std::arch::aarch64::{
        float32x4_t, uint32x4_t, vabsq_f32 as abs, vaddq_f32 as add, vceqq_f32 as eq, vcleq_f32 as le, vcltq_f32 as lt,
        vdivq_f32 as div, vdupq_n_f32 as splat, vld1q_f32 as load, vmulq_f32 as mul, vrndmq_f32 as floor,
        vrndnq_f32 as round, vsqrtq_f32 as sqrt, vst1q_f32 as store, vsubq_f32 as sub,
    };
    neon!(
        f32,
        4,
        float32x4_t,
        uint32x4_t,
        vfmaq_f32,
        vbslq_f32,
        vreinterpretq_u32_f32,
        vreinterpretq_f32_u32,
        vshlq_n_u32,
        vshrq_n_u32,
        vorrq_u32,
        vandq_u32,
        vshlq_u32,
        vdupq_n_s32,
        23,
        127
    );
    crate::simd::plain::transpose!(f32, 4);
    crate::simd::plain::narrow!(f32, 4, float32x4_t);
    crate::simd::plain::swapped!(f32, 4, float32x4_t);
    crate::simd::vector!(F32x4, f32, 4, 12, float32x4_t, uint32x4_t, with_any);
}

mod double2 {
    use std::arch::aarch64::{
        float64x2_t, uint64x2_t, vabsq_f64 as abs, vaddq_f64 as add, vceqq_f64 as eq, vcleq_f64 as le, vcltq_f64 as lt,
        vdivq_f64 as div, vdupq_n_f64 as splat, vld1q_f64 as load, vmulq_f64 as mul, vrndmq_f64 as floor,
        vrndnq_f64 as round, vsqrtq_f64 as sqrt, vst1q_f64 as store, vsubq_f64 as sub,
    };
    neon!(
        f64,
        2,
        float64x2_t,
        uint64x2_t,
        vfmaq_f64,
        vbslq_f64,
        vreinterpretq_u64_f64,
        vreinterpretq_f64_u64,
        vshlq_n_u64,
        vshrq_n_u64,
        vorrq_u64,
        vandq_u64,
        vshlq_u64,
        vdupq_n_s64,
        52,
        1023
    );
    crate::simd::plain::transpose!(f64, 2);
    crate::simd::plain::narrow!(f64, 2, float64x2_t);
    crate::simd::plain::swapped!(f64, 2, float64x2_t);
    crate::simd::vector!(F64x2, f64, 2, 12, float64x2_t, uint64x2_t, with_any);
}
