//! How packed weights are kept: as they are, rounded to half floats, which take half the memory, or as bytes, which take a quarter.

use half::{bf16, f16};

use crate::simd::{Kernel, Level, MatrixUnit, SIDE, Vector, dispatch, has_bytes, has_pairs, has_quads};

/// The type in which packed weights are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// As they are.
    #[default]
    F32,
    /// Rounded to bf16. Where the processor has a fast instruction for it (AVX-512 BF16 of AMD, AMX), what they are multiplied with is
    /// rounded too, and numbers too small to be normal count as 0.
    Bf16,
    /// Rounded to f16. Weights that are too large for it are kept as they are.
    F16,
    /// Whole numbers from -128 to 127, as bytes: of [`QuantizedLinear`](super::QuantizedLinear),
    /// [`QuantizedConv`](super::QuantizedConv) and [`TransposedConv::quantized`](super::TransposedConv::quantized). Other weights
    /// stay as they are.
    Int8,
}

/// What the words of a panel are, each as long as an f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// A number each.
    Single,
    /// Numbers of two rows of the matrix each, multiplied with two numbers of the left operand that are rounded to bf16.
    Pairs,
    /// Whole numbers of four rows of the matrix each, multiplied with four bytes of the left operand.
    Quads,
    /// Two vectors of pairs of bytes in the place of one: whole numbers of two rows of the matrix, and of the next two. They are
    /// widened to 16 bits, as those of the left operand are.
    Bytes,
    /// Two vectors of bf16 in the place of one: a row of the matrix and the next one. They are widened and then multiplied.
    Bf16,
    /// As `Bf16`, for f16.
    F16,
}

impl Packing {
    /// How weights are packed whose columns are made of runs of this length, each with numbers of the left operand that lie
    /// side by side.
    /// `fits` says whether all numbers of the weight are such.
    pub(crate) fn of(format: Format, level: Level, run: usize, fits: impl Fn(fn(f32) -> bool) -> bool) -> Self {
        // A matrix unit multiplies what comes after a run with 0 where the run ends within a register.
        let ends_within = || !run.is_multiple_of(2 * SIDE) && MatrixUnit::detect().is_some();
        match format {
            // Rows come in twos, or in fours.
            _ if !run.is_multiple_of(2) => Self::Single,
            Format::Bf16 if has_pairs(level) && (!ends_within() || fits(|x| bf16::from_f32(x).is_finite())) => {
                Self::Pairs
            }
            Format::Bf16 => Self::Bf16,
            Format::F16 if fits(|x| f16::from_f32(x).is_finite() || !x.is_finite()) => Self::F16,
            Format::F16 | Format::F32 | Format::Int8 => Self::Single,
        }
    }

    /// The same for whole rows, which may be [filled up](Self::filled_up) to be multiplied in pairs.
    pub(crate) fn of_rows(format: Format, level: Level, row: usize, fits: impl Fn(fn(f32) -> bool) -> bool) -> Self {
        let is_in_pairs = format == Format::Bf16 && has_pairs(level);
        Self::of(format, level, if is_in_pairs { Self::filled_up(row, 2) } else { row }, fits)
    }

    /// The numbers of a row that is filled up to words of so many, if it is long enough for that to take less time.
    pub(crate) fn filled_up(row: usize, numbers: usize) -> usize {
        /// The numbers whose products take less time than rounding a row and writing it.
        const FEWEST: usize = 16;
        if row > FEWEST { row.next_multiple_of(numbers) } else { row }
    }

    /// How whole numbers are packed in runs of this length, to be multiplied with such of so many bits; None where the processor has
    /// no fast products of them.
    pub(crate) fn whole(level: Level, run: usize, bits: u32) -> Option<Self> {
        let packing = if has_quads(level, bits) { Self::Quads } else { Self::Bytes };
        (run.is_multiple_of(4) && has_bytes(level)).then_some(packing)
    }

    /// The format.
    pub(crate) fn format(self) -> Format {
        match self {
            Self::Single => Format::F32,
            Self::Pairs | Self::Bf16 => Format::Bf16,
            Self::F16 => Format::F16,
            Self::Quads | Self::Bytes => Format::Int8,
        }
    }

    /// The rows of the matrix in a row of words.
    pub(crate) fn rows(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Pairs | Self::Bf16 | Self::F16 => 2,
            Self::Quads | Self::Bytes => 4,
        }
    }

    /// The words that the left operand takes for these rows.
    pub(crate) fn left(self) -> usize {
        if matches!(self, Self::Bf16 | Self::F16 | Self::Bytes) { 2 } else { 1 }
    }

    /// Whether words are vectors of half floats.
    pub(crate) fn is_halves(self) -> bool {
        matches!(self, Self::Bf16 | Self::F16)
    }

    /// The numbers in a word of the left operand.
    pub(crate) fn numbers(self) -> usize {
        self.rows() / self.left()
    }

    /// Whether a matrix unit multiplies such words.
    pub(crate) fn is_for_unit(self) -> bool {
        matches!(self, Self::Pairs | Self::Quads)
    }

    /// Whether words are whole numbers.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Self::Quads | Self::Bytes)
    }

    /// Writes a row of words for four rows of whole numbers.
    fn pack_bytes(self, numbers: &[f32], words: &mut [f32], width: usize, lanes: usize) {
        for (vector, words) in words.chunks_exact_mut(lanes).enumerate() {
            for (word, to) in words.iter_mut().enumerate() {
                let byte = |index: usize| {
                    // Which row, and which lane.
                    let (row, lane) = match self {
                        Self::Quads => (index, word),
                        _ => {
                            let pair = 2 * word + index / 2;
                            (pair / lanes * 2 + index % 2, pair % lanes)
                        }
                    };
                    (numbers[row * width + vector * lanes + lane] as i8) as u8
                };
                *to = f32::from_bits(u32::from_ne_bytes([byte(0), byte(1), byte(2), byte(3)]));
            }
        }
    }

    /// Writes the numbers of rows of words that are vectors of half floats, two rows of numbers for each, all of `width`.
    pub(crate) fn widen(self, level: Level, words: &[f32], numbers: &mut [f32], width: usize) {
        dispatch(level, Widen { f16: self == Self::F16, words, numbers, width });
    }

    /// Writes words for rows of numbers, `width` each: two or four rows of numbers for each row of words.
    pub(crate) fn pack(self, numbers: &[f32], words: &mut [f32], width: usize, lanes: usize) {
        if self.is_whole() {
            let bytes = numbers.chunks_exact(4 * width).zip(words.chunks_exact_mut(width));
            return bytes.for_each(|(numbers, words)| self.pack_bytes(numbers, words, width, lanes));
        }
        let rounded = |x: f32| match self {
            Self::F16 => f16::from_f32(x).to_bits(),
            _ => bf16::from_f32(x).to_bits(),
        };
        let word = |low: u16, high: u16| {
            let ([a, b], [c, d]) = (low.to_ne_bytes(), high.to_ne_bytes());
            f32::from_bits(u32::from_ne_bytes([a, b, c, d]))
        };
        for (numbers, words) in numbers.chunks_exact(2 * width).zip(words.chunks_exact_mut(width)) {
            let (first, second) = numbers.split_at(width);
            if self == Self::Pairs {
                for ((to, x), y) in words.iter_mut().zip(first).zip(second) {
                    *to = word(rounded(*x), rounded(*y));
                }
                continue;
            }
            let vectors = first.chunks_exact(lanes).zip(second.chunks_exact(lanes));
            for (words, (first, second)) in words.chunks_exact_mut(lanes).zip(vectors) {
                let mut halves = first.iter().chain(second).map(|x| rounded(*x));
                for to in words {
                    if let (Some(low), Some(high)) = (halves.next(), halves.next()) {
                        *to = word(low, high);
                    }
                }
            }
        }
    }
}

/// See [`Packing::widen`].
struct Widen<'a> {
    f16: bool,
    words: &'a [f32],
    numbers: &'a mut [f32],
    width: usize,
}

impl Kernel for Widen<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Self { f16, words, numbers, width } = self;
        for (words, numbers) in words.chunks_exact(width).zip(numbers.chunks_exact_mut(2 * width)) {
            let (first, second) = numbers.split_at_mut(width);
            let rows = first.chunks_exact_mut(V::LANES).zip(second.chunks_exact_mut(V::LANES));
            for (words, (first, second)) in words.chunks_exact(V::LANES).zip(rows) {
                let halves = words.as_ptr().cast::<u16>();
                // SAFETY: as many words have room for twice as many half floats.
                let (low, high) = unsafe {
                    let next = halves.add(V::LANES);
                    if f16 {
                        (V::load_f16(halves), V::load_f16(next))
                    } else {
                        (V::load_bf16(halves), V::load_bf16(next))
                    }
                };
                low.store(first);
                high.store(second);
            }
        }
    }
}
