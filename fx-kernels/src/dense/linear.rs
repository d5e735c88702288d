//! Linear layers.

use super::epilogue::Epilogue;
use super::format::{Format, Packing};
use super::left::Left;
use super::panels::{Matrices, Panels};
use super::product::Product;
use crate::gemm::Matrix;
use crate::memory::Lines;
use crate::simd::Level;

/// The weights of a linear layer, packed: `y = x W^T`.
///
/// ```
/// use fx_kernels::dense::{Epilogue, PackedLinear};
///
/// let layer = PackedLinear::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2);
/// let mut y = [0.0; 3];
/// layer.run(&mut y, 3, &[1.0, 10.0], 2, 1, &Epilogue::default());
/// assert_eq!(y, [21.0, 43.0, 65.0]);
/// ```
#[derive(Debug)]
pub struct PackedLinear {
    panels: Panels,
}

impl PackedLinear {
    /// Packs a weight in PyTorch's layout: `outputs` rows of `inputs` numbers.
    ///
    /// # Panics
    /// If the weight has another length.
    pub fn new(weight: &[f32], outputs: usize, inputs: usize) -> Self {
        Self::from_matrix(Matrix::rows(weight, outputs, inputs).t(), Format::F32)
    }

    /// Packs the right operand of a product, `inputs` rows of `outputs` numbers, in a format. With an odd number of inputs it
    /// is kept as it is.
    pub fn from_matrix(right: Matrix<'_, f32>, format: Format) -> Self {
        Self::at(Level::detect(), right, format)
    }

    /// As [`from_matrix`](Self::from_matrix), for instructions of the given level.
    ///
    /// # Panics
    /// If the processor does not have the level.
    pub fn at(level: Level, right: Matrix<'_, f32>, format: Format) -> Self {
        Self::by(level, right, format, Panels::new)
    }

    /// As [`at`](Self::at), in memory that was used before, if there is enough of it.
    pub(crate) fn within(level: Level, right: Matrix<'_, f32>, format: Format, memory: Lines) -> Self {
        Self::by(level, right, format, |format, matrices| Panels::within(memory, format, matrices))
    }

    fn by(
        level: Level,
        right: Matrix<'_, f32>,
        format: Format,
        pack: impl FnOnce((Level, Packing), &Matrices<'_>) -> Panels,
    ) -> Self {
        let (data, [row, column]) = right.parts();
        let rows: Vec<usize> = (0..right.height()).map(|k| k * row).collect();
        let packing = Packing::of(format, level, data, right.height());
        let matrix = Matrices { data, groups: 1, distance: 0, rows: &rows, columns: right.width(), step: column };
        Self { panels: pack((level, packing), &matrix) }
    }

    /// The memory, for others.
    pub(crate) fn into_memory(self) -> Lines {
        self.panels.into_memory()
    }

    /// The numbers in a row of the input.
    pub fn inputs(&self) -> usize {
        self.panels.inner()
    }

    /// The numbers in a row of the output.
    pub fn outputs(&self) -> usize {
        self.panels.columns()
    }

    /// The type in which the weights are kept.
    pub fn format(&self) -> Format {
        self.panels.packing().format()
    }

    /// The bytes of the packed weights.
    pub fn bytes(&self) -> usize {
        self.panels.bytes()
    }

    /// Applies the layer to `rows` rows of `input` that are `input_stride` apart, into rows that are `stride` apart.
    ///
    /// # Panics
    /// If an operand is too short.
    pub fn run(
        &self,
        out: &mut [f32],
        stride: usize,
        input: &[f32],
        input_stride: usize,
        rows: usize,
        epilogue: &Epilogue<'_>,
    ) {
        let left = Left::Rows { data: input, stride: input_stride };
        Product { left, rows, panels: &self.panels, epilogue }.run(out, stride);
    }
}
