//! Micro-kernels: one tile of the result in registers, and the two loops for products with few rows.

use super::{Scalar, sealed};
use crate::simd::Level;

/// A tile kernel: depth, panel of `a`, panel of `b`, tile, its row stride, whether to add.
type Tile<T> = unsafe fn(usize, *const T, *const T, *mut T, usize, bool);

/// The largest tile of any version, in elements.
const LARGEST: usize = 14 * 32;

/// The kernels of one level.
#[derive(Debug)]
pub struct Micro<T> {
    /// The rows of a tile.
    pub(super) rows: usize,
    /// The columns of a tile.
    pub(super) cols: usize,
    kernel: Tile<T>,
    /// Adds the dot product of two rows to a number.
    pub(super) dot: fn(&mut T, &[T], &[T]),
    /// Adds a multiple of a row to a row.
    pub(super) axpy: fn(&mut [T], T, &[T]),
}

impl<T: Scalar> Micro<T> {
    /// Computes one tile from two panels; `rows` and `cols` are less than a tile's at the edges.
    ///
    /// # Safety
    /// `c` must point to `rows` rows of `cols` elements, `stride` apart, that nobody else reads or writes.
    #[allow(clippy::too_many_arguments, reason = "a tile has two operands, a place and a size")]
    pub(super) unsafe fn tile(
        &self,
        a: &[T],
        b: &[T],
        c: *mut T,
        stride: usize,
        rows: usize,
        cols: usize,
        accumulate: bool,
    ) {
        let depth = a.len() / self.rows;
        assert!(a.len() == depth * self.rows && b.len() == depth * self.cols && self.rows * self.cols <= LARGEST);
        if rows == self.rows && cols == self.cols {
            // SAFETY: the panels hold `depth` columns and rows of a full tile (asserted), the caller gives the tile.
            unsafe { (self.kernel)(depth, a.as_ptr(), b.as_ptr(), c, stride, accumulate) };
            return;
        }
        let mut full = [T::default(); LARGEST];
        // SAFETY: as above, with a tile of our own.
        unsafe { (self.kernel)(depth, a.as_ptr(), b.as_ptr(), full.as_mut_ptr(), self.cols, false) };
        for i in 0..rows {
            // SAFETY: the caller gives `rows` rows of `cols` elements.
            let row = unsafe { std::slice::from_raw_parts_mut(c.add(i * stride), cols) };
            let from = &full[i * self.cols..i * self.cols + cols];
            if accumulate {
                (self.axpy)(row, T::ONE, from);
            } else {
                row.copy_from_slice(from);
            }
        }
    }
}

/// The kernel of plain Rust, in whatever instructions the caller's function has.
///
/// # Safety
/// `a` and `b` must hold `depth` columns of `ROWS` and rows of `COLS` elements, `c` a tile with rows `stride` apart.
#[inline(always)]
unsafe fn generic<T: Number, const ROWS: usize, const COLS: usize>(
    depth: usize,
    a: *const T,
    b: *const T,
    c: *mut T,
    stride: usize,
    accumulate: bool,
) {
    let mut tile = [[T::default(); COLS]; ROWS];
    for p in 0..depth {
        // SAFETY: the caller gives `depth` columns and rows.
        let (a, b) = unsafe { (&*a.add(p * ROWS).cast::<[T; ROWS]>(), &*b.add(p * COLS).cast::<[T; COLS]>()) };
        for (tile, &a) in tile.iter_mut().zip(a) {
            for (tile, &b) in tile.iter_mut().zip(b) {
                *tile = a.mul_add_or(b, *tile);
            }
        }
    }
    for (i, tile) in tile.iter().enumerate() {
        // SAFETY: the caller gives the tile.
        let row = unsafe { &mut *c.add(i * stride).cast::<[T; COLS]>() };
        for (out, &x) in row.iter_mut().zip(tile) {
            *out = if accumulate { *out + x } else { x };
        }
    }
}

/// Sums in as many parts as keep the vector units busy.
#[inline(always)]
fn dot<T: Number>(out: &mut T, x: &[T], y: &[T]) {
    const PARTS: usize = 64;
    let mut parts = [T::default(); PARTS];
    let (xs, ys) = (x.chunks_exact(PARTS), y.chunks_exact(PARTS));
    let rest = xs.remainder().iter().zip(ys.remainder()).fold(T::default(), |sum, (&x, &y)| sum + x * y);
    for (x, y) in xs.zip(ys) {
        for i in 0..PARTS {
            parts[i] = x[i].mul_add_or(y[i], parts[i]);
        }
    }
    let mut len = PARTS;
    while len > 1 {
        len /= 2;
        for i in 0..len {
            parts[i] = parts[i] + parts[i + len];
        }
    }
    *out = *out + parts[0] + rest;
}

#[inline(always)]
fn axpy<T: Number>(out: &mut [T], x: T, y: &[T]) {
    out.iter_mut().zip(y).for_each(|(out, &y)| *out = x.mul_add_or(y, *out));
}

/// The arithmetic that the generic kernels need.
trait Number: Scalar + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {
    /// `self * b + c`, fused where that is one instruction.
    fn mul_add_or(self, b: Self, c: Self) -> Self;
}

/// Implements the kernels of a type: tile sizes, and vector type and intrinsics for each level.
macro_rules! kernels {
    ($T:ty, $module:ident, generic $grows:literal $gcols:literal,
        avx2 $rows2:literal $cols2:literal $Vec2:ident $lanes2:literal $load2:ident $set2:ident $fma2:ident $add2:ident
            $store2:ident,
        avx512 $rows5:literal $cols5:literal $Vec5:ident $lanes5:literal $load5:ident $set5:ident $fma5:ident
            $add5:ident $store5:ident) => {
        mod $module {
            use super::*;

            impl Number for $T {
                #[inline(always)]
                fn mul_add_or(self, b: Self, c: Self) -> Self {
                    if cfg!(target_feature = "fma") { self.mul_add(b, c) } else { self * b + c }
                }
            }

            /// # Safety
            /// As [`generic`].
            unsafe fn tile(depth: usize, a: *const $T, b: *const $T, c: *mut $T, stride: usize, accumulate: bool) {
                // SAFETY: the caller's promise is that of the callee.
                unsafe { generic::<$T, $grows, $gcols>(depth, a, b, c, stride, accumulate) };
            }

            fn dot_generic(out: &mut $T, x: &[$T], y: &[$T]) {
                dot(out, x, y);
            }

            fn axpy_generic(out: &mut [$T], x: $T, y: &[$T]) {
                axpy(out, x, y);
            }

            kernels!(@level $T, tile_avx2 dot_avx2 axpy_avx2 "avx2,fma" $rows2 $cols2 $Vec2 $lanes2 $load2 $set2 $fma2
                $add2 $store2);
            kernels!(@level $T, tile_avx512 dot_avx512 axpy_avx512 "avx512f" $rows5 $cols5 $Vec5 $lanes5 $load5 $set5
                $fma5 $add5 $store5);

            thread_local! {
                static SCRATCH: std::cell::Cell<Vec<$T>> = const { std::cell::Cell::new(Vec::new()) };
            }

            impl sealed::Sealed for $T {}

            impl Scalar for $T {
                const ONE: Self = 1.0;

                fn micro(level: Level) -> Micro<Self> {
                    match level {
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512 => Micro {
                            rows: $rows5, cols: $cols5, kernel: tile_avx512, dot: dot_avx512, axpy: axpy_avx512,
                        },
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx2 => Micro {
                            rows: $rows2, cols: $cols2, kernel: tile_avx2, dot: dot_avx2, axpy: axpy_avx2,
                        },
                        _ => Micro {
                            rows: $grows, cols: $gcols, kernel: tile, dot: dot_generic, axpy: axpy_generic,
                        },
                    }
                }

                fn scratch<R>(f: impl FnOnce(&mut Vec<Self>) -> R) -> R {
                    // Taken out while in use, so that a product within a product gets memory of its own.
                    let mut scratch = SCRATCH.take();
                    let result = f(&mut scratch);
                    SCRATCH.set(scratch);
                    result
                }
            }
        }
    };
    (@level $T:ty, $tile:ident $dot:ident $axpy:ident $features:literal $rows:literal $cols:literal $Vec:ident
        $lanes:literal $load:ident $set:ident $fma:ident $add:ident $store:ident) => {
        /// # Safety
        /// As [`generic`]; the processor must have the instructions.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $tile(depth: usize, a: *const $T, b: *const $T, c: *mut $T, stride: usize, accumulate: bool) {
            use std::arch::x86_64::*;
            const VECTORS: usize = $cols / $lanes;
            let mut tile = [[$set(0.0); VECTORS]; $rows];
            for p in 0..depth {
                // SAFETY: the caller gives `depth` rows of `b`.
                let row: [$Vec; VECTORS] = std::array::from_fn(|v| unsafe { $load(b.add(p * $cols + v * $lanes)) });
                for i in 0..$rows {
                    // SAFETY: the caller gives `depth` columns of `a`.
                    let x = $set(unsafe { *a.add(p * $rows + i) });
                    for v in 0..VECTORS {
                        tile[i][v] = $fma(x, row[v], tile[i][v]);
                    }
                }
            }
            for i in 0..$rows {
                for v in 0..VECTORS {
                    // SAFETY: the caller gives the tile.
                    unsafe {
                        let place = c.add(i * stride + v * $lanes);
                        $store(place, if accumulate { $add($load(place), tile[i][v]) } else { tile[i][v] });
                    }
                }
            }
        }

        #[cfg(target_arch = "x86_64")]
        fn $dot(out: &mut $T, x: &[$T], y: &[$T]) {
            #[target_feature(enable = $features)]
            fn inner(out: &mut $T, x: &[$T], y: &[$T]) {
                use std::arch::x86_64::*;
                const PARTS: usize = 4;
                const STEP: usize = PARTS * $lanes;
                assert!(y.len() >= x.len());
                let mut parts = [$set(0.0); PARTS];
                let steps = x.len() / STEP;
                for step in 0..steps {
                    for part in 0..PARTS {
                        let at = step * STEP + part * $lanes;
                        // SAFETY: `at + lanes` is at most `x.len()`, and `y` is not shorter.
                        let (x, y) = unsafe { ($load(x.as_ptr().add(at)), $load(y.as_ptr().add(at))) };
                        parts[part] = $fma(x, y, parts[part]);
                    }
                }
                let sum = $add($add(parts[0], parts[1]), $add(parts[2], parts[3]));
                let mut lanes = [0.0; $lanes];
                // SAFETY: the array holds one vector.
                unsafe { $store(lanes.as_mut_ptr(), sum) };
                let rest: $T = x[steps * STEP..].iter().zip(&y[steps * STEP..]).map(|(x, y)| x * y).sum();
                *out += lanes.iter().sum::<$T>() + rest;
            }
            // SAFETY: this function is only in the table of a level that the processor has.
            unsafe { inner(out, x, y) }
        }

        #[cfg(target_arch = "x86_64")]
        fn $axpy(out: &mut [$T], x: $T, y: &[$T]) {
            #[target_feature(enable = $features)]
            fn inner(out: &mut [$T], x: $T, y: &[$T]) {
                out.iter_mut().zip(y).for_each(|(out, &y)| *out = x.mul_add(y, *out));
            }
            // SAFETY: this function is only in the table of a level that the processor has.
            unsafe { inner(out, x, y) }
        }
    };
}

kernels!(f32, single, generic 4 16,
    avx2 6 16 __m256 8 _mm256_loadu_ps _mm256_set1_ps _mm256_fmadd_ps _mm256_add_ps _mm256_storeu_ps,
    avx512 14 32 __m512 16 _mm512_loadu_ps _mm512_set1_ps _mm512_fmadd_ps _mm512_add_ps _mm512_storeu_ps);
kernels!(f64, double, generic 4 8,
    avx2 6 8 __m256d 4 _mm256_loadu_pd _mm256_set1_pd _mm256_fmadd_pd _mm256_add_pd _mm256_storeu_pd,
    avx512 14 16 __m512d 8 _mm512_loadu_pd _mm512_set1_pd _mm512_fmadd_pd _mm512_add_pd _mm512_storeu_pd);
