//! Which vector instructions the processor has, and one way to write a kernel for all of them.
//!
//! A kernel is a struct that holds its operands and a function [`Kernel::run`], generic in the [`Vector`] type that it
//! computes with. [`dispatch`] runs it with the vectors of a level, inside a function compiled for that level's
//! instructions. Three things must hold:
//!
//! - Everything generic in a `Vector` is `#[inline(always)]`, so that it becomes part of that function: elsewhere the
//!   instructions are not enabled, and each would be a call. A part that is used in several places, and takes much longer than
//!   a call, is a kernel of its own for [`Vector::run`].
//! - Nothing hands vectors through the standard library's functions that take closures, such as `array::from_fn`: those are
//!   compiled elsewhere too, and it would take link-time optimisation to make them part of the function.
//! - Vector types are named in this file, in `simd/bytes.rs` and in `simd/pairs.rs` only. Whoever has a vector got it from `dispatch`, which has seen that the
//!   processor has the instructions; that is why arithmetic on vectors is safe.

mod bytes;
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod generic;
mod lanes;
mod matrix_unit;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pairs;
mod pieces;
mod plain;
mod some;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::ops::{Add, Mul};
use std::sync::OnceLock;

pub(crate) use bytes::{ByteKernel, Bytes, dispatch_bytes, has_bytes, has_quads, rows_of_quads};
pub(crate) use lanes::{BESIDE, Beside, Lanes};
pub(crate) use matrix_unit::{
    Between, MatrixUnit, Meanwhile, Place, Registers, SIDE, SplitSquares, Squares, row_distance, rows_collide,
};
pub(crate) use pairs::{PairKernel, Pairs, dispatch_pairs, has_pairs};
pub(crate) use pieces::{Across, Below, PIECES, PRODUCTS, Splits, split_rows};
pub(crate) use some::{first, load, store};

/// A set of vector instructions that kernels are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What the compiler makes of plain Rust: for processors that have none of the others, and for tests.
    Generic,
    /// The vectors of 128 bits that every 64-bit ARM processor has.
    Neon,
    /// The vectors of 128 bits that every 64-bit x86 processor has.
    Sse2,
    /// AVX2 with FMA and F16C: 16 registers of 256 bits.
    Avx2,
    /// AVX-512 F, BW, DQ and VL: 32 registers of 512 bits.
    Avx512,
}

impl Level {
    /// All of them, the best ones first.
    const ALL: [Self; 5] = [Self::Avx512, Self::Avx2, Self::Sse2, Self::Neon, Self::Generic];

    /// The best level of this processor.
    pub fn detect() -> Self {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(|| Self::ALL.into_iter().find(|level| level.on_this()).unwrap_or(Self::Generic))
    }

    /// All levels of this processor, the plainest first, for tests.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().rev().filter(|level| level.is_available())
    }

    /// Whether one of x86's levels has all that another one has.
    #[cfg(target_arch = "x86_64")]
    const fn reaches(self, least: Self) -> bool {
        self as u8 >= least as u8
    }

    /// Whether this processor has the level.
    pub fn is_available(self) -> bool {
        let best = Self::detect();
        self == best || self < best && self.on_this()
    }

    fn on_this(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => {
                Level::Avx2.on_this()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "x86_64")]
            Level::Sse2 => true,
            #[cfg(target_arch = "aarch64")]
            Level::Neon => true,
            level => {
                level == Level::Generic && cfg!(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))
            }
        }
    }
}

/// The lanes of the longest vector.
pub(crate) const MOST_LANES: usize = 16;

/// A register full of numbers.
pub(crate) trait Vector: Lanes {
    /// How many numbers there are.
    const LANES: usize;
    /// How many rows of two vectors a kernel can keep in registers beside its operands.
    const ROWS: usize;
    /// Whether the first numbers are read and written in the time of all: there are masks of 512 bits.
    const MASKS: bool = size_of::<Self>() == 64;

    /// Reads `LANES` numbers, at any alignment.
    ///
    /// # Safety
    /// They must be readable.
    unsafe fn load_at(from: *const Self::Elem) -> Self;

    /// Writes `LANES` numbers, at any alignment.
    ///
    /// # Safety
    /// They must be writable.
    unsafe fn store_at(self, to: *mut Self::Elem);

    /// Reads the first `count` numbers; the lanes beyond are 0.
    ///
    /// # Safety
    /// They must be readable, and `count` at most `LANES`.
    unsafe fn load_first(from: *const Self::Elem, count: usize) -> Self;

    /// Writes the first `count` numbers.
    ///
    /// # Safety
    /// They must be writable, and `count` at most `LANES`.
    unsafe fn store_first(self, to: *mut Self::Elem, count: usize);

    /// Reads `LANES` numbers of type bf16, given as their bits.
    ///
    /// # Safety
    /// They must be readable.
    unsafe fn load_bf16(from: *const u16) -> Self;

    /// As [`load_bf16`](Self::load_bf16), of the first `count` numbers; the lanes beyond are 0.
    ///
    /// # Safety
    /// They must be readable, and `count` at most `LANES`.
    #[inline(always)]
    unsafe fn load_bf16_first(from: *const u16, count: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            if count == Self::LANES {
                return Self::load_bf16(from);
            }
            let mut numbers = [0; MOST_LANES];
            std::ptr::copy_nonoverlapping(from, numbers.as_mut_ptr(), count);
            Self::load_bf16(numbers.as_ptr())
        }
    }

    /// As [`load_bf16`](Self::load_bf16), for f16.
    ///
    /// # Safety
    /// As there.
    unsafe fn load_f16(from: *const u16) -> Self;

    /// Writes the f16 nearest to each number, as their bits.
    ///
    /// # Safety
    /// There must be room for `LANES` of them.
    unsafe fn store_f16(self, to: *mut u16);

    /// Reads `LANES` whole numbers of eight bits, without a sign.
    ///
    /// # Safety
    /// As there.
    unsafe fn load_u8(from: *const u8) -> Self;

    /// The bits that are set in both.
    fn and(self, other: Self) -> Self;
    /// The bits that are set in either.
    fn or(self, other: Self) -> Self;
    /// The bits of each lane, moved to where they count for more.
    fn bits_up(self, by: u32) -> Self;
    /// The bits of each lane, moved to where they count for less.
    fn bits_down(self, by: u32) -> Self;

    /// The lanes in another order: each lane's number is that of the lane whose index differs in the bits of `by`, which is less than
    /// `LANES`.
    fn swapped(self, by: usize) -> Self;

    /// Runs a kernel with vectors of this type, in a function compiled for their instructions: once, whoever calls it.
    fn run<K: Kernel<Elem = Self::Elem>>(kernel: K) -> K::Output;

    /// Transposes a square of `LANES` rows and columns.
    ///
    /// # Safety
    /// There must be `LANES` rows of `LANES` numbers at both places, the rows as far apart as the strides say.
    unsafe fn transpose(from: *const Self::Elem, from_stride: usize, to: *mut Self::Elem, to_stride: usize);

    /// Reads the first `LANES` numbers of a slice.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline(always)]
    fn load(from: &[Self::Elem]) -> Self {
        assert!(from.len() >= Self::LANES);
        // SAFETY: the slice is long enough.
        unsafe { Self::load_at(from.as_ptr()) }
    }

    /// Writes the first `LANES` numbers of a slice.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline(always)]
    fn store(self, to: &mut [Self::Elem]) {
        assert!(to.len() >= Self::LANES);
        // SAFETY: the slice is long enough.
        unsafe { self.store_at(to.as_mut_ptr()) }
    }

    /// Reads a slice, up to `LANES` numbers of it; the lanes beyond are 0.
    #[inline(always)]
    fn load_part(from: &[Self::Elem]) -> Self {
        // SAFETY: the count is within the slice and within the vector.
        unsafe { Self::load_first(from.as_ptr(), from.len().min(Self::LANES)) }
    }

    /// Writes a slice, up to `LANES` numbers of it.
    #[inline(always)]
    fn store_part(self, to: &mut [Self::Elem]) {
        // Some processors take long for a store with a mask, also where it is all of a vector.
        if to.len() >= Self::LANES {
            return self.store(to);
        }
        // SAFETY: the count is within the slice and within the vector.
        unsafe { self.store_first(to.as_mut_ptr(), to.len().min(Self::LANES)) }
    }

    /// All lanes combined by `f`, in a tree of fixed shape.
    #[inline(always)]
    fn reduce(self, f: impl Fn(Self::Elem, Self::Elem) -> Self::Elem) -> Self::Elem {
        let mut lanes = [Self::Elem::ZERO; MOST_LANES];
        self.store(&mut lanes);
        let mut half = Self::LANES / 2;
        while half > 0 {
            for lane in 0..half {
                lanes[lane] = f(lanes[lane], lanes[lane + half]);
            }
            half /= 2;
        }
        lanes[0]
    }

    /// The sum of all lanes.
    #[inline(always)]
    fn sum(self) -> Self::Elem {
        self.reduce(|x, y| x + y)
    }
}

/// A type of number that there are vectors of.
pub(crate) trait Element:
    Copy + Send + Sync + PartialOrd + Default + Add<Output = Self> + Mul<Output = Self> + 'static
{
    /// The number 0.
    const ZERO: Self;

    /// Runs a kernel with the vectors of a level that the processor has.
    fn dispatch<K: Kernel<Elem = Self>>(level: Level, kernel: K) -> K::Output;
}

/// A computation that is written once for the vectors of every level.
///
/// The functions that it runs in are methods of its own, so the compiler has them in one unit with who calls them, and hands them the
/// operands without copying these.
pub(crate) trait Kernel: Sized {
    /// The type of number it computes with.
    type Elem: Element;
    /// What it returns.
    type Output;
    /// The least of x86's levels that there is a version for: processors of before 2013 have SSE2, where some kernels have a plainer one in
    /// their place, and what is for the matrix unit needs no other than AVX-512.
    const LEAST: Level = Level::Sse2;

    /// The computation. Every implementation is `#[inline(always)]`.
    fn run<V: Vector<Elem = Self::Elem>>(self) -> Self::Output;

    /// Runs it in a function for AVX-512.
    ///
    /// # Safety
    /// The processor must have the instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
    #[inline(never)]
    unsafe fn with_avx512<V: Vector<Elem = Self::Elem>>(self) -> Self::Output {
        self.run::<V>()
    }

    /// Runs it in a function for AVX2.
    ///
    /// # Safety
    /// The processor must have the instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline(never)]
    unsafe fn with_avx2<V: Vector<Elem = Self::Elem>>(self) -> Self::Output {
        self.run::<V>()
    }

    /// Runs it in a function for what every processor of the architecture has.
    ///
    /// # Safety
    /// As for the others, which asks for nothing here.
    #[inline(never)]
    unsafe fn with_any<V: Vector<Elem = Self::Elem>>(self) -> Self::Output {
        self.run::<V>()
    }
}

/// Runs a kernel with instructions of the given level.
///
/// # Panics
/// If the processor does not have the level.
#[inline(always)]
pub(crate) fn dispatch<K: Kernel>(level: Level, kernel: K) -> K::Output {
    assert!(level.is_available(), "the processor does not have {level:?}");
    K::Elem::dispatch(level, kernel)
}

/// Makes a vector type from functions of the same names in scope: `$Raw` is what they compute with, and `$with` how a kernel runs
/// with their instructions.
macro_rules! vector {
    ($Name:ident, $Elem:ty, $lanes:literal, $rows:literal, $Raw:ty, $Mask:ty, $with:ident) => {
        #[derive(Clone, Copy)]
        pub(in crate::simd) struct $Name(pub(in crate::simd) $Raw);

        crate::simd::vector!(@operators $Name, Add add, Sub sub, Mul mul, Div div);

        impl std::ops::Neg for $Name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                // SAFETY: who has a vector has the instructions (see the file `simd.rs`).
                Self(unsafe { sub(splat(-0.0), self.0) })
            }
        }

        impl crate::simd::Lanes for $Name {
            type Elem = $Elem;
            type Mask = $Mask;

            #[inline(always)]
            fn splat(x: $Elem) -> Self {
                // SAFETY: as for `neg`.
                Self(unsafe { splat(x) })
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: as for `neg`.
                Self(unsafe { mul_add(self.0, b.0, c.0) })
            }
            #[inline(always)]
            fn select(mask: $Mask, yes: Self, no: Self) -> Self {
                // SAFETY: as for `neg`.
                Self(unsafe { select(mask, yes.0, no.0) })
            }
            #[inline(always)]
            fn any(mask: $Mask) -> bool {
                crate::simd::Vector::sum(Self::select(mask, Self::splat(1.0), Self::splat(0.0))) > 0.0
            }
            #[inline(always)]
            fn each(self, f: fn($Elem) -> $Elem) -> Self {
                let mut lanes = [0.0; $lanes];
                crate::simd::Vector::store(self, &mut lanes);
                for x in &mut lanes {
                    *x = f(*x);
                }
                crate::simd::Vector::load(&lanes)
            }
            crate::simd::vector!(@unary abs, sqrt, round, floor, exponent);
            crate::simd::vector!(@binary min, max, scale, scale_normal);
            crate::simd::vector!(@compare $Mask, lt, le, eq);
        }

        impl crate::simd::Vector for $Name {
            const LANES: usize = $lanes;
            const ROWS: usize = $rows;

            #[inline(always)]
            unsafe fn load_at(from: *const $Elem) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { load(from) })
            }
            #[inline(always)]
            unsafe fn store_at(self, to: *mut $Elem) {
                // SAFETY: the caller's promise.
                unsafe { store(to, self.0) }
            }
            #[inline(always)]
            unsafe fn load_first(from: *const $Elem, count: usize) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { load_first(from, count) })
            }
            #[inline(always)]
            unsafe fn store_first(self, to: *mut $Elem, count: usize) {
                // SAFETY: the caller's promise.
                unsafe { store_first(to, count, self.0) }
            }
            #[inline(always)]
            unsafe fn load_bf16(from: *const u16) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { load_bf16(from) })
            }
            #[inline(always)]
            unsafe fn load_f16(from: *const u16) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { load_f16(from) })
            }
            #[inline(always)]
            unsafe fn store_f16(self, to: *mut u16) {
                // SAFETY: the caller's promise.
                unsafe { store_f16(to, self.0) }
            }
            #[inline(always)]
            unsafe fn load_u8(from: *const u8) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { load_u8(from) })
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                // SAFETY: as for `neg`.
                Self(unsafe { and(self.0, other.0) })
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                // SAFETY: as for `neg`.
                Self(unsafe { or(self.0, other.0) })
            }
            #[inline(always)]
            fn bits_up(self, by: u32) -> Self {
                // SAFETY: as for `neg`.
                Self(unsafe { bits_up(self.0, by) })
            }
            #[inline(always)]
            fn bits_down(self, by: u32) -> Self {
                // SAFETY: as for `neg`.
                Self(unsafe { bits_down(self.0, by) })
            }
            #[inline(always)]
            fn swapped(self, by: usize) -> Self {
                // SAFETY: as for `neg`.
                Self(unsafe { swapped(self.0, by) })
            }
            #[inline(always)]
            fn run<K: crate::simd::Kernel<Elem = $Elem>>(kernel: K) -> K::Output {
                // SAFETY: as for `neg`.
                unsafe { kernel.$with::<Self>() }
            }
            #[inline(always)]
            unsafe fn transpose(from: *const $Elem, from_stride: usize, to: *mut $Elem, to_stride: usize) {
                // SAFETY: the caller's promise.
                unsafe { transpose(from, from_stride, to, to_stride) }
            }
        }
    };
    (@operators $Name:ident, $($Trait:ident $function:ident),*) => { $(
        impl std::ops::$Trait for $Name {
            type Output = Self;
            #[inline(always)]
            fn $function(self, other: Self) -> Self {
                // SAFETY: as for `neg`.
                Self(unsafe { $function(self.0, other.0) })
            }
        }
    )* };
    (@unary $($function:ident),*) => { $(
        #[inline(always)]
        fn $function(self) -> Self {
            // SAFETY: as for `neg`.
            Self(unsafe { $function(self.0) })
        }
    )* };
    (@binary $($function:ident),*) => { $(
        #[inline(always)]
        fn $function(self, other: Self) -> Self {
            // SAFETY: as for `neg`.
            Self(unsafe { $function(self.0, other.0) })
        }
    )* };
    (@compare $Mask:ty, $($function:ident),*) => { $(
        #[inline(always)]
        fn $function(self, other: Self) -> $Mask {
            // SAFETY: as for `neg`.
            unsafe { $function(self.0, other.0) }
        }
    )* };
}
pub(crate) use vector;

/// The vectors of each level for one type of number.
macro_rules! element {
    ($T:ty, $generic:ty, $neon:ty, $sse2:ty, $avx2:ty, $avx512:ty) => {
        impl Element for $T {
            const ZERO: Self = 0.0;

            #[inline(always)]
            fn dispatch<K: Kernel<Elem = Self>>(level: Level, kernel: K) -> K::Output {
                match level {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => <$avx512>::run(kernel),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 if const { Level::Avx2.reaches(K::LEAST) } => <$avx2>::run(kernel),
                    #[cfg(target_arch = "x86_64")]
                    Level::Sse2 if const { Level::Sse2.reaches(K::LEAST) } => <$sse2>::run(kernel),
                    #[cfg(target_arch = "aarch64")]
                    Level::Neon => <$neon>::run(kernel),
                    #[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
                    Level::Generic => <$generic>::run(kernel),
                    level => unreachable!("there are no vectors of {level:?} here"),
                }
            }
        }
    };
}

element!(f32, generic::F32x8, neon::F32x4, x86::F32x4, x86::F32x8, x86::F32x16);
element!(f64, generic::F64x4, neon::F64x2, x86::F64x2, x86::F64x4, x86::F64x8);
