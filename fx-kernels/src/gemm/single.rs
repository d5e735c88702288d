//! The product of f32: the operand that is better packed is, the other is read row by row.

use std::cell::Cell;

use super::{Matrix, sealed};
use crate::copy;
use crate::dense::{Epilogue, PackedLinear};
use crate::memory::Line;
use crate::simd::Level;

/// Memory that a product works in, kept from one to the next.
#[derive(Default)]
struct Scratch {
    panels: Vec<Line>,
    rows: Vec<f32>,
}

thread_local! {
    static SCRATCH: Cell<Scratch> = const { Cell::new(Scratch { panels: Vec::new(), rows: Vec::new() }) };
}

impl sealed::Sealed for f32 {
    fn product(level: Level, c: &mut [f32], stride: usize, accumulate: bool, a: Matrix<'_, f32>, b: Matrix<'_, f32>) {
        let (m, n) = (a.rows, b.cols);
        // Taken out while in use, so that a product within a product gets memory of its own.
        let mut scratch = SCRATCH.take();
        let Scratch { panels, rows } = &mut scratch;
        let epilogue = Epilogue { accumulate, ..Epilogue::default() };
        if b.row_stride == 1 && m < n {
            // The columns of a large `b`, a weight of a linear layer, are read as they are: this is `b^T a^T`.
            let packed = PackedLinear::within(level, a.t(), std::mem::take(panels));
            if rows.len() < n * m {
                rows.resize(n * m, 0.0);
            }
            let rows = &mut rows[..n * m];
            if accumulate {
                copy::copy(rows, &[1, m], c, &[stride, 1], &[m, n]);
            }
            packed.run(rows, m, b.data, b.col_stride, n, &epilogue);
            copy::copy(c, &[stride, 1], rows, &[1, m], &[m, n]);
            *panels = packed.into_memory();
        } else {
            let packed = PackedLinear::within(level, b, std::mem::take(panels));
            if a.col_stride == 1 {
                packed.run(c, stride, a.data, a.row_stride, m, &epilogue);
            } else {
                let k = a.cols;
                if rows.len() < m * k {
                    rows.resize(m * k, 0.0);
                }
                copy::copy(rows, &[k, 1], a.data, &[a.row_stride, a.col_stride], &[m, k]);
                packed.run(c, stride, rows, k, m, &epilogue);
            }
            *panels = packed.into_memory();
        }
        SCRATCH.set(scratch);
    }
}
