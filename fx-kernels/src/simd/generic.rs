//! Vectors as arrays, in whatever instructions the compiler has.

/// The functions of a vector of `$n` numbers of type `$T`, whose bits are a `$Bits` with a mantissa of `$mantissa` bits
/// and the exponent of 1 at `$bias`.
macro_rules! arrays {
    ($module:ident, $Name:ident, $T:ident, $n:literal, $Bits:ty, $mantissa:literal, $bias:literal) => {
        mod $module {
            type Raw = [$T; $n];
            type Mask = [bool; $n];

            #[inline(always)]
            fn each(f: impl Fn(usize) -> $T) -> Raw {
                let mut numbers = [0.0; $n];
                for i in 0..$n {
                    numbers[i] = f(i);
                }
                numbers
            }
            #[inline(always)]
            unsafe fn splat(x: $T) -> Raw {
                [x; $n]
            }
            #[inline(always)]
            unsafe fn load(from: *const $T) -> Raw {
                // SAFETY: the caller gives this many readable numbers.
                unsafe { from.cast::<Raw>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(to: *mut $T, x: Raw) {
                // SAFETY: the caller gives this many writable numbers.
                unsafe { to.cast::<Raw>().write_unaligned(x) }
            }
            #[inline(always)]
            unsafe fn load_first(from: *const $T, count: usize) -> Raw {
                // SAFETY: the caller gives `count` readable numbers.
                each(|i| if i < count { unsafe { *from.add(i) } } else { 0.0 })
            }
            #[inline(always)]
            unsafe fn store_first(to: *mut $T, count: usize, x: Raw) {
                for (i, &x) in x.iter().enumerate().take(count) {
                    // SAFETY: the caller gives `count` writable numbers.
                    unsafe { *to.add(i) = x };
                }
            }
            #[inline(always)]
            unsafe fn mul_add(a: Raw, b: Raw, c: Raw) -> Raw {
                // Without an instruction for it, `mul_add` of the standard library is a slow function.
                if cfg!(target_feature = "fma") {
                    each(|i| a[i].mul_add(b[i], c[i]))
                } else {
                    each(|i| a[i] * b[i] + c[i])
                }
            }
            /// 2 to a power among the exponents of normal numbers.
            #[inline(always)]
            unsafe fn pow2(x: Raw) -> Raw {
                // The sum has the biased exponent in its lowest bits.
                let magic = ((1_u64 << $mantissa) + $bias) as $T;
                each(|i| $T::from_bits((x[i] + magic).to_bits() << $mantissa))
            }
            #[inline(always)]
            unsafe fn exponent(x: Raw) -> Raw {
                // The biased exponent as the lowest bits of a number that has no others.
                let magic = (1_u64 << $mantissa) as $T;
                each(|i| $T::from_bits((x[i].to_bits() >> $mantissa) | magic.to_bits()) - (magic + $bias as $T))
            }
            crate::simd::plain::scale!(Raw);
            #[inline(always)]
            unsafe fn select(mask: Mask, yes: Raw, no: Raw) -> Raw {
                each(|i| if mask[i] { yes[i] } else { no[i] })
            }
            /// Without an instruction for it, the standard library's is a slow function: a number whose units are its last bits
            /// has no fraction, and those beyond have none anyway.
            #[inline(always)]
            unsafe fn round(x: Raw) -> Raw {
                let magic = (1_u64 << $mantissa) as $T;
                each(|i| if x[i].abs() < magic { (x[i].abs() + magic - magic).copysign(x[i]) } else { x[i] })
            }
            #[inline(always)]
            unsafe fn floor(x: Raw) -> Raw {
                // SAFETY: plain arithmetic.
                let rounded = unsafe { round(x) };
                each(|i| if rounded[i] > x[i] { rounded[i] - 1.0 } else { rounded[i] })
            }
            #[inline(always)]
            unsafe fn and(x: Raw, y: Raw) -> Raw {
                each(|i| $T::from_bits(x[i].to_bits() & y[i].to_bits()))
            }
            #[inline(always)]
            unsafe fn or(x: Raw, y: Raw) -> Raw {
                each(|i| $T::from_bits(x[i].to_bits() | y[i].to_bits()))
            }
            #[inline(always)]
            unsafe fn bits_up(x: Raw, by: u32) -> Raw {
                each(|i| $T::from_bits(x[i].to_bits() << by))
            }
            #[inline(always)]
            unsafe fn bits_down(x: Raw, by: u32) -> Raw {
                each(|i| $T::from_bits(x[i].to_bits() >> by))
            }
            arrays!(@unary $T, abs |x| x.abs(), sqrt |x| x.sqrt());
            arrays!(@binary $T, add |x, y| x + y, sub |x, y| x - y, mul |x, y| x * y, div |x, y| x / y,
                min |x, y| if x < y { x } else { y }, max |x, y| if x > y { x } else { y });
            arrays!(@compare $n, lt |x, y| x < y, le |x, y| x <= y, eq |x, y| x == y);
            crate::simd::plain::transpose!($T, $n);
            crate::simd::plain::narrow!($T, $n, Raw);
            crate::simd::plain::swapped!($T, $n, Raw);
            crate::simd::vector!($Name, $T, $n, 4, Raw, Mask, with_any);
        }
        pub(in crate::simd) use $module::$Name;
    };
    (@unary $T:ty, $($function:ident |$x:ident| $value:expr),*) => { $(
        #[inline(always)]
        unsafe fn $function(x: Raw) -> Raw {
            each(|i| { let $x: $T = x[i]; $value })
        }
    )* };
    (@binary $T:ty, $($function:ident |$x:ident, $y:ident| $value:expr),*) => { $(
        #[inline(always)]
        unsafe fn $function(x: Raw, y: Raw) -> Raw {
            each(|i| { let ($x, $y): ($T, $T) = (x[i], y[i]); $value })
        }
    )* };
    (@compare $n:literal, $($function:ident |$x:ident, $y:ident| $value:expr),*) => { $(
        #[inline(always)]
        unsafe fn $function(x: Raw, y: Raw) -> Mask {
            let mut mask = [false; $n];
            for i in 0..$n {
                let ($x, $y) = (x[i], y[i]);
                mask[i] = $value;
            }
            mask
        }
    )* };
}

arrays!(single, F32x8, f32, 8, u32, 23, 127);
arrays!(double, F64x4, f64, 4, u64, 52, 1023);
