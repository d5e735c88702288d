//! Functions that a vector type is made from where its level has no instruction for them.

#![allow(unused_macros, unused_imports, reason = "which of them are needed depends on the architecture")]

/// Makes the function `transpose` that a vector type is made from, a number at a time.
macro_rules! transpose {
    ($Elem:ty, $lanes:literal) => {
        #[inline(always)]
        unsafe fn transpose(from: *const $Elem, from_stride: usize, to: *mut $Elem, to_stride: usize) {
            for i in 0..$lanes {
                for j in 0..$lanes {
                    // SAFETY: the caller's promise.
                    unsafe { *to.add(j * to_stride + i) = *from.add(i * from_stride + j) };
                }
            }
        }
    };
}
pub(in crate::simd) use transpose;

/// Makes the function `swapped` that a vector type is made from, by way of an array.
macro_rules! swapped {
    ($Elem:ty, $lanes:literal, $Raw:ty) => {
        #[inline(always)]
        unsafe fn swapped(x: $Raw, by: usize) -> $Raw {
            let [mut lanes, mut order] = [[0.0; $lanes]; 2];
            // SAFETY: there are as many numbers as lanes.
            unsafe { store(lanes.as_mut_ptr(), x) };
            for (lane, to) in order.iter_mut().enumerate() {
                *to = lanes[(lane ^ by) % $lanes];
            }
            // SAFETY: as above.
            unsafe { load(order.as_ptr()) }
        }
    };
}
pub(in crate::simd) use swapped;

/// Makes the functions `load_bf16`, `load_f16`, `store_f16` and `load_u8` that a vector type is made from, a number at a time.
macro_rules! narrow {
    ($Elem:ty, $lanes:literal, $Raw:ty) => {
        crate::simd::plain::narrow!(@one load_bf16, u16, crate::simd::plain::from_bf16, $Elem, $lanes, $Raw);
        crate::simd::plain::narrow!(@one load_f16, u16, crate::simd::plain::from_f16, $Elem, $lanes, $Raw);
        crate::simd::plain::narrow!(@one load_u8, u8, f32::from, $Elem, $lanes, $Raw);

        #[inline(always)]
        unsafe fn store_f16(to: *mut u16, x: $Raw) {
            let (mut numbers, mut near): ([$Elem; $lanes], _) = ([0.0; $lanes], [0; $lanes]);
            // SAFETY: the caller's promise; the array has as many lanes.
            unsafe { store(numbers.as_mut_ptr(), x) };
            for (near, x) in near.iter_mut().zip(numbers) {
                *near = crate::conversion::rounded_to_f16(x as f32).to_bits();
            }
            // SAFETY: as above.
            unsafe { to.cast::<[u16; $lanes]>().write_unaligned(near) };
        }
    };
    (@one $function:ident, $Narrow:ty, $from:expr, $Elem:ty, $lanes:literal, $Raw:ty) => {
        #[inline(always)]
        unsafe fn $function(from: *const $Narrow) -> $Raw {
            // SAFETY: the caller's promise.
            let bits = unsafe { from.cast::<[$Narrow; $lanes]>().read_unaligned() };
            let numbers = bits.map(|bits| <$Elem>::from($from(bits)));
            // SAFETY: there are as many numbers as lanes.
            unsafe { load(numbers.as_ptr()) }
        }
    };
}
pub(in crate::simd) use narrow;

/// The number whose bits as a bf16 are these.
#[inline(always)]
pub(in crate::simd) fn from_bf16(bits: u16) -> f32 {
    half::bf16::from_bits(bits).to_f32()
}

/// The number whose bits as an f16 are these: a long function, so not in every place that reads a few.
#[inline(never)]
pub(in crate::simd) fn from_f16(bits: u16) -> f32 {
    half::f16::from_bits(bits).to_f32()
}

/// Makes the functions `load_first` and `store_first` that a vector type is made from, by way of an array.
macro_rules! firsts {
    ($Elem:ty, $lanes:literal, $Raw:ty) => {
        #[inline(always)]
        unsafe fn load_first(from: *const $Elem, count: usize) -> $Raw {
            let mut lanes = [0.0; $lanes];
            // SAFETY: the caller gives `count` readable numbers, at most as many as there are lanes.
            unsafe {
                std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count);
                load(lanes.as_ptr())
            }
        }
        #[inline(always)]
        unsafe fn store_first(to: *mut $Elem, count: usize, x: $Raw) {
            let mut lanes = [0.0; $lanes];
            // SAFETY: the caller gives `count` writable numbers, at most as many as there are lanes.
            unsafe {
                store(lanes.as_mut_ptr(), x);
                std::ptr::copy_nonoverlapping(lanes.as_ptr(), to, count);
            }
        }
    };
}
pub(in crate::simd) use firsts;

/// Makes the function `scale` that a vector type is made from, by way of `pow2`: 2 to a power among the exponents of normal
/// numbers.
macro_rules! scale {
    ($Raw:ty) => {
        #[inline(always)]
        unsafe fn scale(x: $Raw, n: $Raw) -> $Raw {
            // In two factors, since the power alone may not be a normal number.
            // SAFETY: who has a vector has the instructions.
            unsafe {
                let half = floor(mul(n, splat(0.5)));
                mul(mul(x, pow2(half)), pow2(sub(n, half)))
            }
        }
        #[inline(always)]
        unsafe fn scale_normal(x: $Raw, n: $Raw) -> $Raw {
            // SAFETY: as above.
            unsafe { mul(x, pow2(n)) }
        }
    };
}
pub(in crate::simd) use scale;

/// Makes the functions `exponent` and `scale` that a vector type is made from, by instructions of the module `$arch` for
/// integers: a mantissa has `$mantissa` bits, and the exponent of 1 is `$bias`.
macro_rules! exponents {
    ($Elem:ty, $Raw:ty, $arch:ident, $or:ident, $cast:ident, $back:ident, $up:ident, $down:ident, $mantissa:literal,
        $bias:literal) => {
        #[inline(always)]
        unsafe fn pow2(x: $Raw) -> $Raw {
            // The sum has the biased exponent in its lowest bits.
            let magic = ((1_u64 << $mantissa) + $bias) as $Elem;
            // SAFETY: who has a vector has the instructions.
            unsafe { $arch::$back($arch::$up::<$mantissa>($arch::$cast(add(x, splat(magic))))) }
        }
        #[inline(always)]
        unsafe fn exponent(x: $Raw) -> $Raw {
            // The biased exponent as the lowest bits of a number that has no others.
            let magic = (1_u64 << $mantissa) as $Elem;
            // SAFETY: as above.
            unsafe {
                let exponent = $arch::$down::<$mantissa>($arch::$cast(x));
                let sum = $arch::$back($arch::$or(exponent, $arch::$cast(splat(magic))));
                sub(sum, splat(magic + $bias as $Elem))
            }
        }
        crate::simd::plain::scale!($Raw);
    };
}
pub(in crate::simd) use exponents;
