//! Products whose right operand is not packed: its numbers are split where they lie.

use std::ops::Range;

use super::super::algorithm::Algorithm;
use super::super::epilogue::Epilogue;
use super::super::left::Left;
use super::super::panels::Panels;
use super::super::product::Product;
use super::{Estimate, OnUnit, Task};
use crate::gemm::Matrix;
use crate::simd::{Across, Below, Level};
use crate::threads::Shared;

/// The panels after the one whose numbers are split from which others are asked for, where a row's lie side by side. Measured.
const AHEAD: usize = 2;

/// The right operand of a product, where it lies.
pub(crate) struct Unpacked<'a> {
    matrix: Matrix<'a, f32>,
    panels: Panels,
}

impl<'a> Unpacked<'a> {
    pub(crate) fn new(level: Level, matrix: Matrix<'a, f32>) -> Self {
        Self { matrix, panels: Panels::unpacked(level, matrix.height(), matrix.width()) }
    }

    /// Whether a matrix unit multiplies so many rows in less time than vectors, which pack an operand.
    pub(crate) fn is_faster(&self, rows: usize) -> bool {
        let (inner, columns) = (self.matrix.height(), self.matrix.width());
        let (_, [_, column]) = self.matrix.parts();
        let estimate = Estimate::of_rows(rows, &self.panels);
        let others = estimate.products(self.panels.level());
        // Where columns have their numbers side by side, vectors read them as they are.
        !(estimate.is_of_long_rows() && column != 1) && others.is_some_and(|others| others < rows * inner * columns)
    }

    /// Multiplies so many rows, which are so far apart, by a matrix unit, if there is one and it reads such a matrix. Returns whether it did.
    ///
    /// # Panics
    /// If an operand is too short.
    pub(crate) fn run(
        &self,
        (out, stride): (&mut [f32], usize),
        (data, distance): (&[f32], usize),
        rows: usize,
        epilogue: &Epilogue<'_>,
    ) -> bool {
        let (inner, columns) = (self.matrix.height(), self.matrix.width());
        let left = Left::Rows { data, stride: distance };
        assert!(left.covers(rows, inner), "the left operand is too short");
        assert!(stride >= columns && (rows - 1) * stride + columns <= out.len(), "the result does not fit");
        epilogue.check(rows, columns);
        let product = Product { unpacked: Some(self.matrix), ..Product::new(left, rows, &self.panels, epilogue) };
        let Some(product) = OnUnit::of(&product, Algorithm::Bf16x6) else { return false };
        let (_, [row, column]) = self.matrix.parts();
        // Numbers of a column are read in fours.
        if column != 1 && !(row == 1 && inner.is_multiple_of(4) && product.lines.depth().is_multiple_of(2)) {
            return false;
        }
        // SAFETY: the operands hold all rows and columns (just seen).
        unsafe { product.run(&Shared(out.as_mut_ptr()), stride) };
        true
    }
}

impl OnUnit<'_> {
    /// Whether a chunk of all panels is used before the next one: of a matrix whose rows have their numbers side by side, and begin in different
    /// pages.
    pub(super) fn goes_across_panels(&self) -> bool {
        self.product.unpacked.is_some_and(|matrix| matrix.parts().1[1] == 1)
    }

    /// A block times a set of panels of a matrix.
    pub(super) fn unpacked_task(&self, matrix: Matrix<'_, f32>, task: &Task<'_>, set: Range<usize>) {
        let (data, [row, column]) = matrix.parts();
        // What the last panel does not have is zero.
        if self.goes_across_panels() {
            return self.split_task(task, set, |panel, rows, (words, piece), room| {
                let (numbers, size) = (&data[rows.start * row + panel.first..], [rows.len(), panel.width]);
                if panel.columns == panel.width {
                    return Below::new(words, piece, (numbers, row), size, AHEAD * panel.width);
                }
                let room = &mut room[..rows.len() * panel.width];
                for (index, to) in room.chunks_exact_mut(panel.width).enumerate() {
                    let (to, zeros) = to.split_at_mut(panel.columns);
                    to.copy_from_slice(&numbers[index * row..][..to.len()]);
                    zeros.fill(0.0);
                }
                Below::new(words, piece, (&*room, panel.width), size, 0)
            });
        }
        self.split_task(task, set, |panel, rows, (words, piece), room| {
            let (numbers, size) = (&data[rows.start + panel.first * column..], [rows.len(), panel.width]);
            if panel.columns == panel.width {
                return Across::new(words, piece, (numbers, column), size);
            }
            let room = &mut room[..rows.len() * panel.width];
            let (columns, zeros) = room.split_at_mut(rows.len() * panel.columns);
            for (index, to) in columns.chunks_exact_mut(rows.len()).enumerate() {
                to.copy_from_slice(&numbers[index * column..][..to.len()]);
            }
            zeros.fill(0.0);
            Across::new(words, piece, (&*room, rows.len()), size)
        });
    }
}
