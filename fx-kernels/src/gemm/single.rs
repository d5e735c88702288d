//! The product of f32: a matrix unit reads the right operand where it lies, if there is one. Otherwise the operand that is better packed is, and
//! the other is read row by row.

use super::{Many, Matrix};
use crate::copy;
use crate::dense::{Epilogue, Format, PackedLinear, Unpacked};
use crate::memory::{Lent, scratch};
use crate::simd::Level;

impl Many for f32 {
    fn many(level: Level, c: &mut [f32], stride: usize, accumulate: bool, a: Matrix<'_, f32>, b: Matrix<'_, f32>) {
        let (m, n) = (a.rows, b.cols);
        let epilogue = Epilogue { accumulate, ..Epilogue::default() };
        let unpacked = Unpacked::new(level, b);
        if unpacked.is_faster(m)
            && with_rows(a, |data, distance| unpacked.run((&mut *c, stride), (data, distance), m, &epilogue))
        {
            return;
        }
        // The columns of a large `b`, a weight of a linear layer, are read as they are: this is `b^T a^T`.
        let swapped = b.row_stride == 1 && m < n;
        let (left, right) = if swapped { (b.t(), a.t()) } else { (a, b) };
        let mut memory = None;
        // SAFETY: the packed operand is dropped before the memory, for it was made after it.
        let lend = |len: usize| unsafe { memory.insert(Lent::new(len)).lines() };
        let packed = PackedLinear::within(lend, level, right, Format::F32);
        with_rows(left, |data, distance| {
            if !swapped {
                return packed.run(c, stride, data, distance, m, &epilogue);
            }
            scratch(m * n, |result| {
                if accumulate {
                    copy::copy(result, &[1, m], c, &[stride, 1], &[m, n]);
                }
                packed.run(result, m, data, distance, n, &epilogue);
                copy::copy(c, &[stride, 1], result, &[1, m], &[m, n]);
            });
        });
    }
}

/// Calls a function with the rows of a matrix, and how far apart they are: of a copy, if the numbers of a row are not side by side.
fn with_rows<R>(x: Matrix<'_, f32>, f: impl FnOnce(&[f32], usize) -> R) -> R {
    if x.col_stride == 1 {
        return f(x.data, x.row_stride);
    }
    scratch(x.rows * x.cols, |rows| {
        copy::copy(rows, &[x.cols, 1], x.data, &[x.row_stride, x.col_stride], &[x.rows, x.cols]);
        f(rows, x.cols)
    })
}
