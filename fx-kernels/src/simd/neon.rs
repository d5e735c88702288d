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

        #[inline(always)]
        unsafe fn load_first(from: *const $T, count: usize) -> $Raw {
            let mut lanes = [0.0; $lanes];
            // SAFETY: the caller gives `count` readable numbers, at most as many as there are lanes.
            unsafe {
                std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count);
                load(lanes.as_ptr())
            }
        }
        #[inline(always)]
        unsafe fn store_first(to: *mut $T, count: usize, x: $Raw) {
            let mut lanes = [0.0; $lanes];
            // SAFETY: the caller gives `count` writable numbers, at most as many as there are lanes.
            unsafe {
                store(lanes.as_mut_ptr(), x);
                std::ptr::copy_nonoverlapping(lanes.as_ptr(), to, count);
            }
        }
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
        /// 2 to a power among the exponents of normal numbers.
        #[inline(always)]
        unsafe fn pow2(x: $Raw) -> $Raw {
            // The sum has the biased exponent in its lowest bits.
            let magic = ((1_u64 << $mantissa) + $bias) as $T;
            // SAFETY: as above.
            unsafe { arm::$back(arm::$shift::<$mantissa>(arm::$cast(add(x, splat(magic))))) }
        }
        #[inline(always)]
        unsafe fn exponent(x: $Raw) -> $Raw {
            // The biased exponent as the lowest bits of a number that has no others.
            let magic = (1_u64 << $mantissa) as $T;
            // SAFETY: as above.
            unsafe {
                let exponent = arm::$down::<$mantissa>(arm::$cast(x));
                let sum = arm::$back(arm::$or(exponent, arm::$cast(splat(magic))));
                sub(sum, splat(magic + $bias as $T))
            }
        }
        #[inline(always)]
        unsafe fn scale(x: $Raw, n: $Raw) -> $Raw {
            // In two factors, since the power alone may not be a normal number.
            // SAFETY: as above.
            unsafe {
                let half = floor(mul(n, splat(0.5)));
                mul(mul(x, pow2(half)), pow2(sub(n, half)))
            }
        }
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
    crate::simd::transpose!(f32, 4);
    crate::simd::halves!(f32, 4, float32x4_t);
    crate::simd::vector!(F32x4, f32, 4, 12, float32x4_t, uint32x4_t);
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
    crate::simd::transpose!(f64, 2);
    crate::simd::halves!(f64, 2, float64x2_t);
    crate::simd::vector!(F64x2, f64, 2, 12, float64x2_t, uint64x2_t);
}
