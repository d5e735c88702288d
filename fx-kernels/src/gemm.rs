//! The matrix product `c = a b` or `c += a b`, of f32 and f64.
//!
//! The scheme is that of Goto and van de Geijn (2008): a block of the inner dimension at a time, both operands are
//! packed into panels as wide as a register tile, and a micro-kernel keeps one tile of the result in registers while
//! it runs down a pair of panels. Few rows are not worth packing: they are computed as dot products or as sums of
//! rows, at the speed of memory.

mod micro;

use crate::simd::Level;
use crate::threads::{Shared, for_each};
use micro::Micro;

/// The length of a block of the inner dimension: a panel of it stays in the first-level cache.
const BLOCK_K: usize = 320;
/// The columns of `b` that one task works on: their panels stay in the second-level cache.
const BLOCK_N: usize = 256;
/// The rows of `a` that one task works on.
const BLOCK_M: usize = 112;

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

    /// The transposed matrix.
    #[must_use]
    pub fn t(self) -> Self {
        Self { rows: self.cols, cols: self.rows, row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }
}

/// A type that matrices are multiplied in.
pub trait Scalar: Copy + Send + Sync + Default + sealed::Sealed + 'static {
    /// The number 1.
    const ONE: Self;

    #[doc(hidden)]
    fn micro(level: Level) -> Micro<Self>;
    #[doc(hidden)]
    fn scratch<R>(f: impl FnOnce(&mut Vec<Self>) -> R) -> R;
}

mod sealed {
    pub trait Sealed {}
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
    let (m, n, k) = (a.rows, b.cols, a.cols);
    assert!(level <= Level::detect(), "the processor does not have {level:?}");
    assert_eq!(k, b.rows, "the inner dimensions of a product must be equal");
    if m == 0 || n == 0 {
        return;
    }
    assert!(stride >= n && (m - 1) * stride + n <= c.len(), "the result does not fit");
    let micro = T::micro(level);
    if k == 0 {
        if !accumulate {
            (0..m).for_each(|i| c[i * stride..i * stride + n].fill(T::default()));
        }
        return;
    }
    if m <= 3 {
        return few_rows(&micro, c, stride, accumulate, a, b);
    }
    if n == 1 && a.col_stride == 1 && stride == 1 {
        // A matrix times a column is a row times the transposed matrix.
        return few_rows(&micro, c, m, accumulate, b.t(), a.t());
    }
    packed(&micro, c, stride, accumulate, a, b);
}

/// A product with few rows: nothing is packed, `b` is read once.
fn few_rows<T: Scalar>(
    micro: &Micro<T>,
    c: &mut [T],
    stride: usize,
    accumulate: bool,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
) {
    /// Columns a task.
    const COLUMNS: usize = 256;
    let (m, n, k) = (a.rows, b.cols, a.cols);
    let rows: Vec<T> = (0..m).flat_map(|i| (0..k).map(move |p| a.data[i * a.row_stride + p * a.col_stride])).collect();
    let c = Shared(c.as_mut_ptr());
    for_each(n.div_ceil(COLUMNS), 2 * m * n * k, |task| {
        let (start, stop) = (task * COLUMNS, n.min((task + 1) * COLUMNS));
        for i in 0..m {
            let row = &rows[i * k..(i + 1) * k];
            // SAFETY: tasks write disjoint columns of `c`, which holds `m` rows of `n` elements `stride` apart.
            let out = unsafe { std::slice::from_raw_parts_mut(c.at(i * stride + start), stop - start) };
            if !accumulate {
                out.fill(T::default());
            }
            if b.row_stride == 1 {
                for (j, out) in (start..stop).zip(out) {
                    let column = &b.data[j * b.col_stride..j * b.col_stride + k];
                    (micro.dot)(out, row, column);
                }
            } else if b.col_stride == 1 {
                for (p, &x) in row.iter().enumerate() {
                    let line = p * b.row_stride;
                    (micro.axpy)(out, x, &b.data[line + start..line + stop]);
                }
            } else {
                for (j, out) in (start..stop).zip(out) {
                    let column: Vec<T> = (0..k).map(|p| b.data[p * b.row_stride + j * b.col_stride]).collect();
                    (micro.dot)(out, row, &column);
                }
            }
        }
    });
}

/// The general case.
fn packed<T: Scalar>(
    micro: &Micro<T>,
    c: &mut [T],
    stride: usize,
    accumulate: bool,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    let (mr, nr) = (micro.rows, micro.cols);
    let (panels_m, panels_n) = (m.div_ceil(mr), n.div_ceil(nr));
    let block_k = k.div_ceil(k.div_ceil(BLOCK_K));
    let (task_m, task_n) = ((BLOCK_M / mr).max(1), (BLOCK_N / nr).max(1));
    let (tasks_m, tasks_n) = (panels_m.div_ceil(task_m), panels_n.div_ceil(task_n));
    T::scratch(|scratch| {
        let a_len = panels_m * mr * block_k;
        let len = a_len + panels_n * nr * block_k;
        if scratch.len() < len {
            scratch.resize(len, T::default());
        }
        let (packed_a, packed_b) = scratch[..len].split_at_mut(a_len);
        let c = Shared(c.as_mut_ptr());
        for start in (0..k).step_by(block_k) {
            let depth = block_k.min(k - start);
            pack(packed_a, a, mr, start, depth);
            pack(packed_b, b.t(), nr, start, depth);
            let (packed_a, packed_b) = (&*packed_a, &*packed_b);
            let accumulate = accumulate || start > 0;
            for_each(tasks_m * tasks_n, 2 * m * n * depth, |task| {
                let (task_i, task_j) = (task % tasks_m * task_m, task / tasks_m * task_n);
                for i in task_i..panels_m.min(task_i + task_m) {
                    let panel_a = &packed_a[i * mr * depth..(i + 1) * mr * depth];
                    for j in task_j..panels_n.min(task_j + task_n) {
                        let panel_b = &packed_b[j * nr * depth..(j + 1) * nr * depth];
                        let (rows, cols) = (mr.min(m - i * mr), nr.min(n - j * nr));
                        // SAFETY: the tile lies within `c` (checked by the caller), and tiles are disjoint.
                        unsafe {
                            micro.tile(panel_a, panel_b, c.at(i * mr * stride + j * nr), stride, rows, cols, accumulate)
                        };
                    }
                }
            });
        }
    });
}

/// Copies columns `start..start + depth` of a matrix into panels of `width` rows, column after column; the last
/// panel is filled up with zeros.
fn pack<T: Scalar>(out: &mut [T], x: Matrix<'_, T>, width: usize, start: usize, depth: usize) {
    let panel = width * depth;
    let panels = x.rows.div_ceil(width);
    crate::threads::for_each_piece(&mut out[..panels * panel], panel, 4 * panels * panel, |index, out| {
        let first = index * width;
        let rows = width.min(x.rows - first);
        let base = first * x.row_stride + start * x.col_stride;
        if x.row_stride == 1 {
            for (p, out) in out.chunks_exact_mut(width).enumerate() {
                let from = base + p * x.col_stride;
                out[..rows].copy_from_slice(&x.data[from..from + rows]);
                out[rows..].fill(T::default());
            }
            return;
        }
        for i in 0..width {
            if i >= rows {
                out[i..].iter_mut().step_by(width).for_each(|x| *x = T::default());
                continue;
            }
            let from = base + i * x.row_stride;
            let line = x.data[from..].iter().step_by(x.col_stride.max(1)).take(depth);
            if x.col_stride == 0 {
                out[i..].iter_mut().step_by(width).for_each(|out| *out = x.data[from]);
            } else {
                out[i..].iter_mut().step_by(width).zip(line).for_each(|(out, &x)| *out = x);
            }
        }
    });
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
        for (m, n, k) in [(1, 1, 1), (3, 5, 7), (14, 32, 16), (15, 33, 321), (29, 1, 64), (1, 300, 65), (64, 70, 641)] {
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
