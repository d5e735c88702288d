//! Linear layers.

use super::algorithm::Algorithm;
use super::block::Rows;
use super::epilogue::Epilogue;
use super::format::{Format, Packing};
use super::left::Left;
use super::panels::{Matrices, Panels};
use super::product::{Product, Written};
use super::weight::Weight;
use super::words::Words;
use crate::gemm::Matrix;
use crate::memory::{Lines, scratch};
use crate::rounded::Rounded;
use crate::simd::Level;
use crate::threads::for_each_piece;

/// The rows that a thread rounds at a time.
const ROWS: usize = 16;

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
    inputs: usize,
    /// What was asked for.
    algorithm: Algorithm,
}

impl PackedLinear {
    /// Packs a weight in PyTorch's layout: `outputs` rows of `inputs` numbers.
    ///
    /// # Panics
    /// If the weight has another length.
    pub fn new(weight: &[f32], outputs: usize, inputs: usize) -> Self {
        Self::with(Weight::Numbers(weight), outputs, inputs, Algorithm::Direct, Format::F32)
    }

    /// As [`new`](Self::new), for an algorithm, which gives way to the direct one where that is faster, and in a format. With an
    /// odd number of inputs the weight is kept as it is, but for bf16 where the processor has an instruction for pairs and there are more
    /// than 16.
    ///
    /// ```
    /// use fx_kernels::dense::{Algorithm, Epilogue, Format, PackedLinear, Weight};
    ///
    /// // Row `i` is all `i`.
    /// let read = |rows: std::ops::Range<usize>, numbers: &mut [f32]| {
    ///     rows.zip(numbers.chunks_exact_mut(2)).for_each(|(row, numbers)| numbers.fill(row as f32));
    /// };
    /// let layer = PackedLinear::with(Weight::Rows(&read), 3, 2, Algorithm::Strassen, Format::F32);
    /// let mut y = [0.0; 3];
    /// layer.run(&mut y, 3, &[1.0, 10.0], 2, 1, &Epilogue::default());
    /// assert_eq!(y, [0.0, 11.0, 22.0]);
    /// ```
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn with(weight: Weight<'_>, outputs: usize, inputs: usize, algorithm: Algorithm, format: Format) -> Self {
        Self::at(Level::detect(), weight, [outputs, inputs], algorithm, format)
    }

    /// As [`with`](Self::with), for instructions of the given level.
    ///
    /// # Panics
    /// As [`new`](Self::new), and if the processor does not have the level.
    pub fn at(
        level: Level,
        weight: Weight<'_>,
        [outputs, inputs]: [usize; 2],
        algorithm: Algorithm,
        format: Format,
    ) -> Self {
        let packing = Packing::of_rows(format, level, inputs, |is_such| weight.all(outputs, inputs, is_such));
        Self { algorithm, ..Self::packed((level, packing), weight, [outputs, inputs]) }
    }

    /// Packs a weight in such words, for the direct algorithm.
    pub(crate) fn packed(words: (Level, Packing), weight: Weight<'_>, [outputs, inputs]: [usize; 2]) -> Self {
        weight.check(outputs, inputs);
        let rows: Vec<usize> = (0..inputs).collect();
        let matrix = Matrices { weight, groups: 1, distance: 0, rows: &rows, columns: outputs, step: inputs };
        Self { panels: Panels::new(words, &matrix), inputs, algorithm: Algorithm::Direct }
    }

    /// Packs the right operand of a product, `inputs` rows of `outputs` numbers, for an algorithm and in a format; see
    /// [`with`](Self::with).
    pub fn from_matrix(right: Matrix<'_, f32>, algorithm: Algorithm, format: Format) -> Self {
        Self { algorithm, ..Self::by(Level::detect(), right, format, Panels::new) }
    }

    /// As [`from_matrix`](Self::from_matrix), for instructions of the given level, in memory that is given for so many numbers.
    pub(crate) fn within(
        memory: impl FnOnce(usize) -> Lines,
        level: Level,
        right: Matrix<'_, f32>,
        format: Format,
    ) -> Self {
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
        let packing = Packing::of_rows(format, level, right.height(), |is_such| data.iter().all(|x| is_such(*x)));
        let weight = Weight::Numbers(data);
        let matrix = Matrices { weight, groups: 1, distance: 0, rows: &rows, columns: right.width(), step: column };
        Self { panels: pack((level, packing), &matrix), inputs: right.height(), algorithm: Algorithm::Direct }
    }

    /// The same, for use in a loop: the weights stay in the last-level cache.
    pub(crate) fn cached(self) -> Self {
        Self { panels: self.panels.cached(), ..self }
    }

    /// The numbers in a row of the input.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The numbers in a row of the output.
    pub fn outputs(&self) -> usize {
        self.panels.columns()
    }

    /// The algorithm by which so many rows are multiplied.
    pub fn algorithm(&self, rows: usize) -> Algorithm {
        self.algorithm.of_rows(rows, &self.panels)
    }

    /// The type in which the weights are kept.
    pub fn format(&self) -> Format {
        self.panels.packing().format()
    }

    /// What their words are.
    pub(crate) fn packing(&self) -> Packing {
        self.panels.packing()
    }

    /// The level whose vectors they are packed for.
    pub(crate) fn level(&self) -> Level {
        self.panels.level()
    }

    /// The bytes of the packed weights.
    pub fn bytes(&self) -> usize {
        self.panels.bytes()
    }

    /// Copies rows of the weight, which are as long as an input, to where they are wanted one after the other: an embedding
    /// by the same weight.
    ///
    /// ```
    /// use fx_kernels::dense::PackedLinear;
    ///
    /// let layer = PackedLinear::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2);
    /// let mut rows = [0.0; 4];
    /// layer.rows(&mut rows, &[2, 0]);
    /// assert_eq!(rows, [5.0, 6.0, 1.0, 2.0]);
    /// ```
    ///
    /// # Panics
    /// If the weight is not kept in f32, does not have a row, or the rows have another length.
    pub fn rows(&self, out: &mut [f32], rows: &[usize]) {
        assert_eq!(self.format(), Format::F32, "what is rounded has no rows");
        assert_eq!(out.len(), rows.len() * self.inputs(), "the rows have another length");
        for (out, row) in out.chunks_exact_mut(self.inputs().max(1)).zip(rows) {
            assert!(*row < self.outputs(), "the weight has {} rows, not {row}", self.outputs());
            let panel = self.panels.panel(0, row / (2 * self.panels.lanes()));
            let column = panel.data.iter().skip(row - panel.first).step_by(panel.width);
            out.iter_mut().zip(column).for_each(|(to, x)| *to = *x);
        }
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
        self.compute(out, stride, (input, input_stride), rows, epilogue, Written::default());
    }

    /// As [`run`](Self::run), of rows that are side by side, and from the last weights to the first if `backwards`: those that the run before
    /// came to last may be in a cache still.
    ///
    /// # Panics
    /// As there.
    pub(crate) fn run_rows(
        &self,
        out: &mut [f32],
        input: &[f32],
        rows: usize,
        epilogue: &Epilogue<'_>,
        backwards: bool,
    ) {
        self.with_left((input, self.inputs), rows, Written::default(), |left, written| {
            let product = Product { written, backwards, ..Product::new(left, rows, &self.panels, epilogue) };
            product.run_by(self.algorithm, out, self.outputs());
        });
    }

    /// As [`run`](Self::run), with operands that may be words; their strides are in words too.
    ///
    /// # Panics
    /// As there, or if an operand [cannot be](Self::reads_words) [words](Self::writes_words).
    #[allow(clippy::too_many_arguments, reason = "as many say what is computed")]
    pub fn run_words(
        &self,
        out: &mut [f32],
        stride: usize,
        input: &[f32],
        input_stride: usize,
        rows: usize,
        words: Words,
        epilogue: &Epilogue<'_>,
    ) {
        words.check(self.reads_words(), |_| false, |rounded| self.writes_words(rounded));
        self.compute(out, stride, (input, input_stride), rows, epilogue, words.written(None));
    }

    /// Whether the input may be [words](Words): of pairs of bf16.
    pub fn reads_words(&self) -> bool {
        self.packing().is_for_unit() && !self.is_filled_up()
    }

    /// Whether the result may be words of what is rounded so.
    pub fn writes_words(&self, rounded: Rounded) -> bool {
        // Strassen's algorithm, for weights in f32, writes numbers.
        self.packing() != Packing::Single
            && rounded.is_fast(self.level())
            && self.outputs().is_multiple_of(rounded.numbers())
    }

    /// As [`run`](Self::run), with operands that are written in other ways.
    ///
    /// # Panics
    /// If an operand is too short.
    pub(crate) fn compute(
        &self,
        out: &mut [f32],
        stride: usize,
        input: (&[f32], usize),
        rows: usize,
        epilogue: &Epilogue<'_>,
        written: Written<'_>,
    ) {
        self.with_left(input, rows, written, |left, written| {
            let product = Product { written, ..Product::new(left, rows, &self.panels, epilogue) };
            product.run_by(self.algorithm, out, stride);
        });
    }

    /// Calls a function with so many rows of an input that are so far apart, and how they are written: rounded to whole words first where
    /// those of the weights are [filled up](Self::is_filled_up).
    fn with_left<'w>(
        &self,
        (data, stride): (&[f32], usize),
        rows: usize,
        written: Written<'w>,
        f: impl FnOnce(Left<'_>, Written<'w>),
    ) {
        if !self.is_filled_up() {
            return f(Left::Rows { data, stride }, written);
        }
        let rounding = written.rounding(self.level(), self.packing());
        let len = self.panels.inner() / rounding.numbers();
        scratch(rows * len, |words| {
            for_each_piece(words, ROWS * len, 8 * rows * len, |piece, words| {
                let data = &data[(piece * ROWS * stride).min(data.len())..];
                Rows { data, stride, width: self.inputs, rounding }.take(words, len);
            });
            f(Left::Rows { data: words, stride: len }, Written { left: true, ..written });
        });
    }

    /// Whether there are more numbers in the words of a row than there are inputs, with weights that are 0.
    fn is_filled_up(&self) -> bool {
        self.inputs < self.panels.inner()
    }
}
