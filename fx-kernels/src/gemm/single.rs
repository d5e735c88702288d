//! The product of f32: the operand that is better packed is, the other is read row by row.

use super::{Many, Matrix};
use crate::copy;
use crate::dense::{Epilogue, Format, PackedLinear};
use crate::memory::{Lent, scratch};
use crate::simd::Level;

impl Many for f32 {
    fn many(level: Level, c: &mut [f32], stride: usize, accumulate: bool, a: Matrix<'_, f32>, b: Matrix<'_, f32>) {
        let (m, n) = (a.rows, b.cols);
        // The columns of a large `b`, a weight of a linear layer, are read as they are: this is `b^T a^T`.
        let swapped = b.row_stride == 1 && m < n;
        let (left, right) = if swapped { (b.t(), a.t()) } else { (a, b) };
        let mut memory = None;
        // SAFETY: the packed operand is dropped before the memory, for it was made after it.
        let lend = |len: usize| unsafe { memory.insert(Lent::new(len)).lines() };
        let packed = PackedLinear::within(lend, level, right, Format::F32);
        let epilogue = Epilogue { accumulate, ..Epilogue::default() };
        let copied = if left.col_stride == 1 { 0 } else { left.rows * left.cols };
        scratch(copied + if swapped { m * n } else { 0 }, |memory| {
            let (rows, result) = memory.split_at_mut(copied);
            let (data, distance) = if copied == 0 {
                (left.data, left.row_stride)
            } else {
                copy::copy(
                    rows,
                    &[left.cols, 1],
                    left.data,
                    &[left.row_stride, left.col_stride],
                    &[left.rows, left.cols],
                );
                (&*rows, left.cols)
            };
            if !swapped {
                return packed.run(c, stride, data, distance, m, &epilogue);
            }
            if accumulate {
                copy::copy(result, &[1, m], c, &[stride, 1], &[m, n]);
            }
            packed.run(result, m, data, distance, n, &epilogue);
            copy::copy(c, &[stride, 1], result, &[1, m], &[m, n]);
        });
    }
}
