//! The matrix product `c = a b` or `c += a b`, of f32 and f64, with operands that are not packed before.
//!
//! In f32 it is a product of `crate::dense`: one operand is packed, the other is read where it lies; a matrix unit packs neither. Few rows are not
//! worth packing: they are computed as dot products or as sums of rows, at the speed of memory.

mod double;
mod few;
mod single;

use crate::simd::Level;

/// A matrix with any strides, as an operand.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// A matrix whose element `(i, j)` is `data[i * row_stride + j * col_stride]`.
    ///
    /// # Panics
    /// If an element lies outside `data`.
    pub fn new(data: &'a [T], rows: usize, cols: usize, row_stride: usize, col_stride: usize) -> Self {
        assert!(
            rows == 0 || cols == 0 || (rows - 1) * row_stride + (cols - 1) * col_stride < data.len(),
            "a {rows} by {cols} matrix with strides {row_stride} and {col_stride} does not fit {} elements",
            data.len()
        );
        Self { data, rows, cols, row_stride, col_stride }
    }

    /// A matrix in row-major order without gaps.
    pub fn rows(data: &'a [T], rows: usize, cols: usize) -> Self {
        Self::new(data, rows, cols, cols, 1)
    }

    /// The number of rows.
    pub(crate) fn height(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub(crate) fn width(&self) -> usize {
        self.cols
    }

    /// The elements, and the distances of rows and columns.
    pub(crate) fn parts(&self) -> (&'a [T], [usize; 2]) {
        (self.data, [self.row_stride, self.col_stride])
    }

    /// An element.
    ///
    /// # Panics
    /// If it lies outside the elements.
    pub(crate) fn at(&self, row: usize, column: usize) -> &'a T {
        &self.data[row * self.row_stride + column * self.col_stride]
    }

    /// The transposed matrix.
    #[must_use]
    pub fn t(self) -> Self {
        Self { rows: self.cols, cols: self.rows, row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }
}

/// A type that matrices are multiplied in.
#[allow(private_bounds, reason = "nobody else can implement it")]
pub trait Scalar: sealed::Sealed {}

/// The product is compiled here, for both types, and not in each crate that asks for it.
macro_rules! scalar {
    ($($T:ty)+) => { $(
        impl Scalar for $T {}

        impl sealed::Sealed for $T {
            fn gemm(level: Level, c: &mut [$T], stride: usize, accumulate: bool, a: Matrix<'_, $T>, b: Matrix<'_, $T>) {
                product(level, c, stride, accumulate, a, b);
            }
        }
    )+ };
}
scalar!(f32 f64);

mod sealed {
    use super::{Level, Matrix};

    pub(crate) trait Sealed: crate::simd::Element {
        fn gemm(
            level: Level,
            c: &mut [Self],
            stride: usize,
            accumulate: bool,
            a: Matrix<'_, Self>,
            b: Matrix<'_, Self>,
        );
    }
}

/// A type with a product of operands of more than a few rows.
trait Many: crate::simd::Element {
    /// The product, with rows of `c` that are `stride` apart and checked to fit.
    fn many(level: Level, c: &mut [Self], stride: usize, accumulate: bool, a: Matrix<'_, Self>, b: Matrix<'_, Self>);
}

/// Writes `a b` to `c`, or adds it, where `c` is in row-major order with rows `stride` apart.
///
/// # Panics
/// If the dimensions do not fit.
pub fn gemm<T: Scalar>(c: &mut [T], stride: usize, accumulate: bool, a: Matrix<'_, T>, b: Matrix<'_, T>) {
    gemm_at(Level::detect(), c, stride, accumulate, a, b);
}

/// As [`gemm`], with instructions of the given level.
///
/// # Panics
/// If the dimensions do not fit, or the processor does not have the level.
pub fn gemm_at<T: Scalar>(
    level: Level,
    c: &mut [T],
    stride: usize,
    accumulate: bool,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
) {
    T::gemm(level, c, stride, accumulate, a, b);
}

fn product<T: Many>(level: Level, c: &mut [T], stride: usize, accumulate: bool, a: Matrix<'_, T>, b: Matrix<'_, T>) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    assert!(level <= Level::detect(), "the processor does not have {level:?}");
    assert_eq!(k, b.rows, "the inner dimensions of a product must be equal");
    if m == 0 || n == 0 {
        return;
    }
    assert!(stride >= n && (m - 1) * stride + n <= c.len(), "the result does not fit");
    if k == 0 {
        if !accumulate {
            (0..m).for_each(|i| c[i * stride..i * stride + n].fill(T::ZERO));
        }
        return;
    }
    if m <= 3 {
        few::rows(level, c, stride, accumulate, a, b);
    } else if n == 1 && a.col_stride == 1 && stride == 1 {
        // A matrix times a column is a row times the transposed matrix.
        few::rows(level, c, m, accumulate, b.t(), a.t());
    } else {
        T::many(level, c, stride, accumulate, a, b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: usize, seed: u32) -> Vec<f64> {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        (0..len)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                f64::from(state >> 8) / f64::from(1 << 24) - 0.5
            })
            .collect()
    }

    /// Every level, every layout, sizes around the tiles: against a triple loop in f64.
    #[test]
    fn all_versions_agree_with_the_definition() {
        for (m, n, k) in [
            (1, 1, 1),
            (3, 5, 7),
            (2, 70, 10),
            (3, 2100, 9),
            (14, 32, 16),
            (15, 33, 321),
            (29, 1, 64),
            (1, 300, 65),
            (64, 70, 641),
            (64, 70, 640),
        ] {
            let (a, b, c0) = (numbers(m * k, 1), numbers(k * n, 2), numbers(m * n, 3));
            let product = |i: usize, j: usize, accumulate: bool| {
                let start = if accumulate { c0[i * n + j] } else { 0.0 };
                (0..k).fold(start, |sum, p| sum + a[i * k + p] * b[p * n + j])
            };
            let transposed = |x: &[f64], rows: usize, cols: usize| -> Vec<f64> {
                (0..cols).flat_map(|j| (0..rows).map(move |i| (i, j))).map(|(i, j)| x[i * cols + j]).collect()
            };
            let (at, bt) = (transposed(&a, m, k), transposed(&b, k, n));
            for level in Level::available() {
                for layout in 0..4 {
                    for accumulate in [false, true] {
                        let mut c = c0.clone();
                        let left = if layout & 1 == 0 { Matrix::rows(&a, m, k) } else { Matrix::rows(&at, k, m).t() };
                        let right = if layout & 2 == 0 { Matrix::rows(&b, k, n) } else { Matrix::rows(&bt, n, k).t() };
                        gemm_at(level, &mut c, n, accumulate, left, right);
                        let single = |x: &[f64]| x.iter().map(|&x| x as f32).collect::<Vec<f32>>();
                        let (a32, b32, at32, bt32, mut c32) =
                            (single(&a), single(&b), single(&at), single(&bt), single(&c0));
                        let left =
                            if layout & 1 == 0 { Matrix::rows(&a32, m, k) } else { Matrix::rows(&at32, k, m).t() };
                        let right =
                            if layout & 2 == 0 { Matrix::rows(&b32, k, n) } else { Matrix::rows(&bt32, n, k).t() };
                        gemm_at(level, &mut c32, n, accumulate, left, right);
                        for i in 0..m {
                            for j in 0..n {
                                let want = product(i, j, accumulate);
                                let (double, single) = (c[i * n + j], f64::from(c32[i * n + j]));
                                assert!(
                                    (double - want).abs() < 1e-12,
                                    "{level:?} {m}x{n}x{k} {layout} f64: {double} {want}"
                                );
                                assert!(
                                    (single - want).abs() < 1e-5,
                                    "{level:?} {m}x{n}x{k} {layout} f32: {single} {want}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn strided_results_leave_the_gaps_alone() {
        let (a, b) = (vec![1.0_f32; 20 * 3], vec![2.0_f32; 3 * 5]);
        let mut c = vec![9.0_f32; 20 * 8];
        gemm(&mut c, 8, false, Matrix::rows(&a, 20, 3), Matrix::rows(&b, 3, 5));
        assert!(c.chunks(8).all(|row| row[..5] == [6.0; 5] && row[5..] == [9.0; 3]));
    }
}
