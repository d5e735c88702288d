//! Products of single rows, which wait for memory: weights in 28 bits.
//!
//! What a number lacks of 32 bits is the upper part of its exponent, which is kept once for some numbers of a column: the
//! exponent is one of the 16 up to the largest of them. A number that is so much smaller that it has none of these loses
//! bits at its end, as numbers below the normal ones do. Eight vectors are kept in seven: each word has 28 bits of its own and
//! four bits of a word of the eighth.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::epilogue::Epilogue;
use super::panels::{Matrices, tile_size};
use super::weight::Weight;
use crate::elementwise::run_rows;
use crate::gemm::Matrix;
use crate::memory::{Lines, prefetch};
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::{Shared, for_each, for_each_piece};

/// The numbers of a column that share the upper part of their exponents.
const BLOCK: usize = 256;
/// The numbers of a column that are kept together.
const STEPS: usize = 4;
/// The vectors that these are in a panel, and those that they are kept in.
const VECTORS: usize = 2 * STEPS;
const KEPT: usize = VECTORS - 1;
/// How far ahead words are asked for. Measured: from memory, half and twice as far take a twentieth longer.
const AHEAD: usize = 2560;
/// The parts that make a fair share for each of a few threads likely.
const PARTS: usize = 16;

/// The sign and the exponent of a number.
const SIGN: u32 = 0x8000_0000;
const EXPONENT: u32 = 0x7f80_0000;
/// A word's own bits, which are the number with an exponent below 16, and those of the eighth vector.
const OWN: u32 = 0x87ff_ffff;
const OTHER: u32 = 0x7800_0000;
const MAGNITUDE: u32 = OWN & !SIGN;
/// How many others there are in a word, and above how many bits.
const BITS: u32 = 4;
const BELOW: u32 = 27;
/// What a number is divided by that the exponent of the largest is the last below 16, over that one's power of 2: 2<sup>112</sup>.
const SCALE: f32 = f32::from_bits((127 + 112) << 23);
/// What counts as the largest number if all are smaller: 2<sup>-100</sup>.
const LEAST: f32 = f32::from_bits((127 - 100) << 23);
/// The weights from which on memory is what a product waits for: about as many as the second-level cache holds.
const MANY: usize = 1 << 18;

/// The weights of a linear layer for single rows, in 28 bits each: `y = x W^T`.
///
/// A weight keeps all its bits unless it is smaller than a 2<sup>14</sup>th of the largest of 256 that belong to the same output.
/// Then it is off by at most a 2<sup>37</sup>th of that one, or by 2<sup>-137</sup>, which is far less than what the sum is rounded
/// by; and it does not become 0.
///
/// ```
/// use fx_kernels::dense::{CompactLinear, Epilogue, Weight};
///
/// let weight = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let layer = CompactLinear::new(Weight::Numbers(&weight), 3, 2).expect("finite weights");
/// let mut y = [0.0; 3];
/// layer.run(&mut y, &[1.0, 10.0], &Epilogue::default());
/// assert_eq!(y, [21.0, 43.0, 65.0]);
/// ```
#[derive(Debug)]
pub struct CompactLinear {
    lines: Lines,
    level: Level,
    lanes: usize,
    inputs: usize,
    outputs: usize,
}

impl CompactLinear {
    /// Whether single rows are multiplied faster with so many weights in 28 bits than with as many in f32: with large ones, by
    /// instructions for 512 bits. With shorter vectors, unpacking takes as long as memory.
    pub fn is_faster(weights: usize) -> bool {
        weights >= MANY && Level::detect() == Level::Avx512
    }

    /// Packs a weight in PyTorch's layout: `outputs` rows of `inputs` numbers. None if one is 65536 or above, or not finite.
    ///
    /// # Panics
    /// If the weight has another length.
    pub fn new(weight: Weight<'_>, outputs: usize, inputs: usize) -> Option<Self> {
        Self::at(Level::detect(), weight, [outputs, inputs])
    }

    /// As [`new`](Self::new), for instructions of the given level.
    pub(crate) fn at(level: Level, weight: Weight<'_>, [outputs, inputs]: [usize; 2]) -> Option<Self> {
        weight.check(outputs, inputs);
        let rows: Vec<usize> = (0..inputs).collect();
        Self::of(level, &Matrices { weight, groups: 1, distance: 0, rows: &rows, columns: outputs, step: inputs })
    }

    /// As [`new`](Self::new), of the right operand of a product: `inputs` rows of `outputs` numbers.
    pub fn from_matrix(right: Matrix<'_, f32>) -> Option<Self> {
        let (data, [row, column]) = right.parts();
        let rows: Vec<usize> = (0..right.height()).map(|k| k * row).collect();
        let (weight, columns) = (Weight::Numbers(data), right.width());
        Self::of(Level::detect(), &Matrices { weight, groups: 1, distance: 0, rows: &rows, columns, step: column })
    }

    fn of(level: Level, matrix: &Matrices<'_>) -> Option<Self> {
        let (_, lanes) = tile_size(level);
        let (inputs, outputs) = (matrix.rows.len(), matrix.columns);
        let mut layer = Self { lines: Lines::default(), level, lanes, inputs, outputs };
        let (panel, width) = (layer.panel(), 2 * lanes);
        let count = outputs.div_ceil(width);
        let some = count.div_ceil(PARTS);
        let mut lines = Lines::together(count * panel);
        let fit = AtomicBool::new(true);
        let packed = &mut lines.numbers_mut()[..count * panel];
        for_each_piece(packed, some * panel, 16 * count * panel, |index, packed| {
            // Not what a thread lends, which it would keep.
            let mut numbers = vec![0.0; inputs * width];
            for (panel, packed) in (index * some..).zip(packed.chunks_mut(panel)) {
                matrix.panel(0, panel * width..outputs.min((panel + 1) * width), &mut numbers, width);
                fit.fetch_and(dispatch(level, Pack { numbers: &numbers, packed }), Ordering::Relaxed);
            }
        });
        layer.lines = lines;
        fit.into_inner().then_some(layer)
    }

    /// The numbers in a row of the input.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The numbers in a row of the output.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The bytes of the packed weights.
    pub fn bytes(&self) -> usize {
        size_of_val(self.lines.numbers())
    }

    /// Applies the layer to a row.
    ///
    /// # Panics
    /// If an operand is too short.
    pub fn run(&self, out: &mut [f32], input: &[f32], epilogue: &Epilogue<'_>) {
        assert!(input.len() >= self.inputs, "the row is too short");
        assert!(out.len() >= self.outputs, "the result does not fit");
        epilogue.check(1, self.outputs);
        let count = self.outputs.div_ceil(2 * self.lanes);
        let parts = count.min(PARTS);
        let out = Shared(out.as_mut_ptr());
        let part = |index: usize| index * count / parts;
        for_each(parts, 2 * self.inputs * self.outputs, |index| {
            let panels = part(index)..part(index + 1);
            let columns = panels.start * 2 * self.lanes..self.outputs.min(panels.end * 2 * self.lanes);
            // SAFETY: the operands hold all columns (just seen), and no other task has these.
            unsafe {
                dispatch(self.level, Run { layer: self, panels, input, epilogue, out: out.at(0) });
                if let Some(function) = epilogue.function() {
                    run_rows(self.level, function, out.at(columns.start), 1, columns.len(), columns.len());
                }
            }
        });
    }

    /// The words of a panel: for each block two vectors of scales, and seven for all four steps.
    fn panel(&self) -> usize {
        (2 * self.inputs.div_ceil(BLOCK) + KEPT * self.inputs.div_ceil(STEPS)) * self.lanes
    }
}

/// The packing of a panel; gives whether all its numbers have a place.
struct Pack<'a> {
    /// Rows of two vectors.
    numbers: &'a [f32],
    packed: &'a mut [f32],
}

impl Kernel for Pack<'_> {
    type Elem = f32;
    type Output = bool;

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) -> bool {
        let mut doubt = V::zero();
        let mut packed = self.packed;
        for block in self.numbers.chunks(BLOCK * 2 * V::LANES) {
            let mut largest = [V::splat(LEAST); 2];
            for row in block.chunks_exact(2 * V::LANES) {
                for v in 0..2 {
                    let x = V::load(&row[v * V::LANES..]);
                    largest[v] = largest[v].max(x.abs());
                    // Zero, unless it is not finite.
                    doubt = x.mul_add(V::zero(), doubt);
                }
            }
            let mut inverse = [V::zero(); 2];
            for v in 0..2 {
                let scale = largest[v].and(bits(EXPONENT)) * V::splat(SCALE);
                doubt = scale.mul_add(V::zero(), doubt);
                inverse[v] = V::splat(1.0) / scale;
                scale.store(packed);
                packed = &mut packed[V::LANES..];
            }
            for steps in block.chunks(STEPS * 2 * V::LANES) {
                let mut small = [V::zero(); VECTORS];
                for (i, x) in steps.chunks_exact(V::LANES).enumerate() {
                    let x = V::load(x);
                    let least = V::and(x, bits(SIGN)).or(bits(1));
                    // Only 0 becomes 0: its product with infinity is another one.
                    small[i] = x * inverse[i % 2];
                    small[i] = V::select(small[i].eq(V::zero()), V::select(x.eq(V::zero()), x, least), small[i]);
                }
                let last = small[KEPT];
                let last = last.and(bits(MAGNITUDE)).or(last.and(bits(SIGN)).bits_down(BITS));
                for (i, own) in small[..KEPT].iter().enumerate() {
                    own.or(last.bits_up(BELOW - BITS * i as u32).and(bits(OTHER))).store(packed);
                    packed = &mut packed[V::LANES..];
                }
            }
        }
        doubt.sum() == 0.0
    }
}

/// The products of a row with some panels.
struct Run<'a> {
    layer: &'a CompactLinear,
    panels: Range<usize>,
    input: &'a [f32],
    epilogue: &'a Epilogue<'a>,
    out: *mut f32,
}

impl Kernel for Run<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Self { layer, ref panels, input, epilogue, out } = self;
        let (whole, rest) = input[..layer.inputs].as_chunks::<STEPS>();
        let mut tail = [0.0; STEPS];
        tail[..rest.len()].copy_from_slice(rest);
        let len = layer.panel();
        for index in panels.clone() {
            let mut words = layer.lines.numbers()[index * len..][..len].as_ptr();
            let mut sums = [V::zero(); 2];
            for block in (0..layer.inputs).step_by(BLOCK) {
                // SAFETY: a panel has the words of all blocks.
                unsafe {
                    let scale = [V::load_at(words), V::load_at(words.add(V::LANES))];
                    words = words.add(2 * V::LANES);
                    let mut parts = [[V::zero(); 2]; STEPS];
                    let first = block / STEPS;
                    for x in &whole[first.min(whole.len())..whole.len().min(first + BLOCK / STEPS)] {
                        multiply(&mut parts, scale, x, words);
                        words = words.add(KEPT * V::LANES);
                    }
                    if block + BLOCK > layer.inputs && !rest.is_empty() {
                        multiply(&mut parts, scale, &tail, words);
                    }
                    for v in 0..2 {
                        sums[v] = sums[v] + ((parts[0][v] + parts[1][v]) + (parts[2][v] + parts[3][v]));
                    }
                }
            }
            for v in 0..2 {
                let column = index * 2 * V::LANES + v * V::LANES;
                let count = layer.outputs.saturating_sub(column).min(V::LANES);
                // SAFETY: the operands hold all columns.
                unsafe {
                    let to = out.add(column.min(layer.outputs));
                    let load = |from: *const f32, _| V::load_first(from.add(column.min(layer.outputs)), count);
                    let sums = epilogue.finish(sums[v], (out.cast_const(), 0), load);
                    sums.store_first(to, count);
                }
            }
        }
    }
}

/// The same bits in all lanes.
#[inline(always)]
fn bits<V: Vector<Elem = f32>>(bits: u32) -> V {
    V::splat(f32::from_bits(bits))
}

/// Adds the products of four numbers with the vectors in seven.
///
/// # Safety
/// The words must be readable.
#[inline(always)]
unsafe fn multiply<V: Vector<Elem = f32>>(
    sums: &mut [[V; 2]; STEPS],
    scale: [V; 2],
    x: &[f32; STEPS],
    words: *const f32,
) {
    let (own, other): (V, V) = (bits(OWN), bits(OTHER));
    let mut last = V::zero();
    for i in 0..KEPT {
        prefetch(words.wrapping_add(AHEAD + i * V::LANES));
        // SAFETY: the caller's promise.
        let word = unsafe { V::load_at(words.add(i * V::LANES)) };
        let (step, v) = (i / 2, i % 2);
        sums[step][v] = (word.and(own) * scale[v]).mul_add(V::splat(x[step]), sums[step][v]);
        last = last.bits_down(BITS).or(word.and(other));
    }
    let magnitude = last.bits_down(BITS - 1).and(bits(MAGNITUDE));
    let last = magnitude.or(last.bits_up(1).and(bits(SIGN)));
    sums[STEPS - 1][1] = (last * scale[1]).mul_add(V::splat(x[STEPS - 1]), sums[STEPS - 1][1]);
}
