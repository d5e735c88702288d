//! Convolutions with few outputs: the numbers of a pixel are multiplied with an output's weights vector by vector, and a vector's lanes are
//! added up last. In products of matrices, whose vectors have a number for each output, most of them would be empty.

use std::ops::Range;

use super::algorithm::Algorithm;
use super::block::Block;
use super::epilogue::Epilogue;
use super::format::Format;
use super::left::Left;
use super::shape::ConvShape;
use super::tile::MOST_ROWS;
use super::weight::{Weight, by_tap};
use crate::elementwise::run_rows;
use crate::simd::{Kernel, Level, MatrixUnit, Vector, dispatch};
use crate::threads::{Shared, for_each};

/// The most outputs.
const OUTPUTS: usize = 4;
/// What channels are a multiple of, so that they fill all vectors, and the fewest products of an output for which adding up lanes is worth it.
const CHANNELS: usize = 16;
const PRODUCTS: usize = 128;
/// The rows of a tile for so many outputs: sums enough to hide how long a product takes, and no more than there are registers for.
const ROWS: [usize; OUTPUTS] = [8, 6, 4, 3];
/// The tiles of a task.
const TILES: usize = 16;

/// The weights of each output, all channels of a tap after those of the tap before.
#[derive(Debug)]
pub(crate) struct Few {
    outputs: usize,
    weights: Vec<f32>,
}

impl Few {
    /// Whether a convolution has so few outputs that this is faster; not where a matrix unit is to compute it, which they are no burden for.
    pub(crate) fn fits(shape: &ConvShape, algorithm: Algorithm, format: Format) -> bool {
        let on_unit = || algorithm == Algorithm::Bf16x6 || format == Format::Bf16;
        let ConvShape { inputs, outputs, kernel, groups, .. } = *shape;
        groups == 1
            && (1..=OUTPUTS).contains(&outputs)
            && inputs.is_multiple_of(CHANNELS)
            && inputs * kernel[0] * kernel[1] >= PRODUCTS
            && !(on_unit() && MatrixUnit::detect().is_some())
    }

    /// Packs a weight in PyTorch's layout.
    pub(crate) fn new(weight: Weight<'_>, shape: &ConvShape) -> Self {
        let ((channels, taps), outputs) = (shape.row(), shape.outputs);
        let pack =
            |numbers: &[f32]| numbers.chunks_exact(channels * taps).flat_map(|row| by_tap(row, channels)).collect();
        Self { outputs, weights: weight.with_rows(0..outputs, channels * taps, pack) }
    }

    /// The bytes of the weights.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.weights.as_slice())
    }

    /// Computes so many windows, into rows that are `stride` apart.
    ///
    /// # Panics
    /// If an operand is too short.
    pub(crate) fn run(
        &self,
        level: Level,
        (out, stride): (&mut [f32], usize),
        left: &Left<'_>,
        rows: usize,
        epilogue: &Epilogue<'_>,
    ) {
        if rows == 0 {
            return;
        }
        let channels = self.weights.len() / (self.outputs * left.runs());
        assert!(left.covers(rows, channels), "the images are too short");
        assert!(stride >= self.outputs && (rows - 1) * stride + self.outputs <= out.len(), "the result does not fit");
        epilogue.check(rows, self.outputs);
        let (out, tile) = (Shared(out.as_mut_ptr()), ROWS[self.outputs - 1]);
        let task = TILES * tile;
        for_each(rows.div_ceil(task), 2 * rows * self.weights.len(), |index| {
            let rows = index * task..rows.min((index + 1) * task);
            let tiles = rows.len().div_ceil(tile);
            let tiles = (0..tiles).map(|i| rows.start + i * tile..rows.end.min(rows.start + (i + 1) * tile));
            Block::once(left, tiles.clone(), |table| {
                for (rows, table) in tiles.zip(table.chunks_exact(left.pointers() * MOST_ROWS)) {
                    let job = Job { few: self, channels, rows, table, epilogue, out: out.at(0), stride };
                    dispatch(level, job);
                }
            });
            if let Some(function) = epilogue.function() {
                // SAFETY: the result has these rows (seen above), and no other task.
                unsafe { run_rows(level, function, out.at(rows.start * stride), rows.len(), stride, self.outputs) };
            }
        });
    }
}

/// One tile.
struct Job<'a> {
    few: &'a Few,
    channels: usize,
    rows: Range<usize>,
    /// Where the runs of the rows begin.
    table: &'a [*const f32],
    epilogue: &'a Epilogue<'a>,
    /// The first of all rows.
    out: *mut f32,
    stride: usize,
}

impl Kernel for Job<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        match self.few.outputs {
            1 => self.tile::<V, 1, { ROWS[0] }>(),
            2 => self.tile::<V, 2, { ROWS[1] }>(),
            3 => self.tile::<V, 3, { ROWS[2] }>(),
            _ => self.tile::<V, 4, { ROWS[3] }>(),
        }
    }
}

impl Job<'_> {
    /// All rows; the last tile's one by one.
    #[inline(always)]
    fn tile<V: Vector<Elem = f32>, const COUNT: usize, const MANY: usize>(&self) {
        if self.rows.len() == MANY {
            return self.some::<V, COUNT, MANY>(0);
        }
        for i in 0..self.rows.len() {
            self.some::<V, COUNT, 1>(i);
        }
    }

    /// Some rows from the tile's `first` on, for so many outputs.
    ///
    /// The loops over constants are unrolled, so that the sums are registers.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn some<V: Vector<Elem = f32>, const COUNT: usize, const MANY: usize>(&self, first: usize) {
        let (channels, weights) = (self.channels, self.few.weights.as_ptr());
        let taps = self.table.len() / MOST_ROWS;
        let mut sums = [[V::zero(); COUNT]; MANY];
        for tap in 0..taps {
            let mut rows = [std::ptr::null(); MANY];
            rows.copy_from_slice(&self.table[tap * MOST_ROWS + first..][..MANY]);
            let weight =
                |output: usize, channel: usize| weights.wrapping_add((output * taps + tap) * channels + channel);
            for channel in (0..channels).step_by(V::LANES) {
                let mut kernel = [V::zero(); COUNT];
                for o in 0..COUNT {
                    // SAFETY: each output has weights for all channels of all taps.
                    kernel[o] = unsafe { V::load_at(weight(o, channel)) };
                }
                for i in 0..MANY {
                    // SAFETY: the left operand covers all channels of the run.
                    let numbers = unsafe { V::load_at(rows[i].add(channel)) };
                    for o in 0..COUNT {
                        sums[i][o] = numbers.mul_add(kernel[o], sums[i][o]);
                    }
                }
            }
        }
        for i in 0..MANY {
            let mut numbers = [0.0; COUNT];
            for o in 0..COUNT {
                numbers[o] = sums[i][o].sum();
            }
            let row = self.rows.start + first + i;
            // SAFETY: the result and what is added have so many numbers in each row (`run` saw it).
            unsafe {
                let numbers = V::load_first(numbers.as_ptr(), COUNT);
                let load = |from: *const f32, stride: usize| V::load_first(from.wrapping_add(row * stride), COUNT);
                let sum = self.epilogue.finish(numbers, (self.out, self.stride), load);
                sum.store_first(self.out.wrapping_add(row * self.stride), COUNT);
            }
        }
    }
}
