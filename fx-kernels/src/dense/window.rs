//! What is computed channel by channel from windows: depthwise convolutions and pooling.
//!
//! As in a product, the windows' pixels are reached through pointers. A tile is some rows (pixels of the output) by two
//! vectors of channels.

use super::block::Block;
use super::epilogue::Epilogue;
use super::left::{Inside, Left};
use super::tile::MOST_ROWS;
use crate::elementwise::run_rows;
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::{
    ByteKernel, Bytes, Kernel, Level, PairKernel, Pairs, Vector, dispatch, dispatch_bytes, dispatch_pairs,
};
use crate::threads::{Shared, for_each};

/// The rows of a tile: enough sums to hide how long a product takes.
const TILE_ROWS: usize = 6;

/// How a window's numbers become one, for each channel.
#[derive(Clone, Copy)]
pub(crate) enum Reduction<'a> {
    /// The sum, each tap times a weight: for each tap the weights of all channels.
    Weighted(&'a [f32]),
    /// The largest; NaN if there is one.
    Largest,
    /// The same of each number in words of numbers that are rounded so; of bytes, none is NaN.
    LargestOf(Rounded),
    /// The sum times a number that depends on the row.
    Scaled(&'a (dyn Fn(usize) -> f32 + Sync)),
}

/// A reduction of windows.
pub(crate) struct Sliding<'a> {
    /// Where the windows are.
    pub(crate) left: Left<'a>,
    /// The number of windows.
    pub(crate) rows: usize,
    /// The channels, or the words of a pixel.
    pub(crate) channels: usize,
    /// What is computed.
    pub(crate) reduction: Reduction<'a>,
    /// What is done with the result.
    pub(crate) epilogue: &'a Epilogue<'a>,
    /// What the numbers of the result are rounded to, if they are to be words: of whole words, with nothing from before.
    pub(crate) written: Option<Rounded>,
}

impl Sliding<'_> {
    /// Computes all windows, into rows that are `stride` apart.
    ///
    /// # Panics
    /// If an operand is too short.
    pub(crate) fn run(&self, level: Level, out: &mut [f32], stride: usize) {
        /// Tiles that a thread works on at a time.
        const TILES: usize = 8;
        let (rows, channels) = (self.rows, self.channels);
        if rows == 0 || channels == 0 {
            return;
        }
        assert!(self.left.covers(rows, channels), "the images are too short");
        let width = Rounded::len(self.written, channels);
        let is_whole = self.written.is_none_or(|rounded| channels.is_multiple_of(rounded.numbers()));
        assert!(is_whole, "{channels} channels are no whole words");
        assert!(stride >= width && (rows - 1) * stride + width <= out.len(), "the result does not fit");
        if let Reduction::Weighted(weights) = self.reduction {
            assert!(weights.len() >= self.left.runs() * channels, "there are too few weights");
        }
        self.epilogue.check(rows, channels);
        let out = Shared(out.as_mut_ptr());
        let block = TILES * TILE_ROWS;
        for_each(rows.div_ceil(block), 8 * rows * channels * self.left.runs(), |index| {
            let rows = index * block..rows.min((index + 1) * block);
            let tiles = rows.len().div_ceil(TILE_ROWS);
            let tiles = (0..tiles).map(|i| rows.start + i * TILE_ROWS..rows.end.min(rows.start + (i + 1) * TILE_ROWS));
            Block::once(&self.left, tiles.clone(), |table| {
                for (rows, table) in tiles.zip(table.chunks_exact(self.left.pointers() * MOST_ROWS)) {
                    let place = out.at(rows.start * stride);
                    let Some(rounded) = self.written else {
                        // SAFETY: the table points to windows that the images cover (seen above), and so do the
                        // operands and the result; no other task has the tile's rows.
                        unsafe { self.tile(level, rows, table, place, stride) };
                        continue;
                    };
                    let size = [rows.len(), channels];
                    scratch(size[0] * size[1], |numbers| {
                        // SAFETY: as above; the numbers are as many.
                        unsafe {
                            self.tile(level, rows, table, numbers.as_mut_ptr(), channels);
                            rounded.write(level, (place, stride), (numbers.as_ptr(), channels), size);
                        }
                    });
                }
            });
        });
    }

    /// # Safety
    /// The table must point to the rows' windows; `out` must be the caller's to write for so many rows.
    unsafe fn tile(
        &self,
        level: Level,
        rows: std::ops::Range<usize>,
        table: &[*const f32],
        out: *mut f32,
        stride: usize,
    ) {
        let count = rows.len();
        let mut scales = [1.0; TILE_ROWS];
        if let Reduction::Scaled(scale) = self.reduction {
            scales.iter_mut().zip(rows.clone()).for_each(|(to, row)| *to = scale(row));
        }
        let (first, table) = (rows.start, table.as_ptr());
        let job = Job { sliding: self, first, rows: count, scales, table, out, stride };
        match self.reduction {
            Reduction::LargestOf(Rounded::Bytes(_)) => dispatch_bytes(level, false, Run(job)),
            Reduction::LargestOf(Rounded::Pairs) => dispatch_pairs(Run(job)),
            _ => dispatch(level, Run(job)),
        }
        if let Some(function) = self.epilogue.function() {
            // SAFETY: the caller's promise.
            unsafe { run_rows(level, function, out, count, stride, self.channels) };
        }
    }
}

/// The reductions, as constants that choose a version of the kernel.
const WEIGHTED: u8 = 0;
const LARGEST: u8 = 1;
const SCALED: u8 = 2;

/// One tile: all channels of some rows.
struct Job<'a> {
    sliding: &'a Sliding<'a>,
    first: usize,
    rows: usize,
    scales: [f32; TILE_ROWS],
    table: *const *const f32,
    out: *mut f32,
    stride: usize,
}

/// The computation of a tile.
struct Run<'a>(Job<'a>);

impl Kernel for Run<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let job = self.0;
        if job.rows == TILE_ROWS {
            return job.reduce::<V, TILE_ROWS>();
        }
        // The last tile, row by row.
        for i in 0..job.rows {
            let (table, out) = (job.table.wrapping_add(i), job.out.wrapping_add(i * job.stride));
            let scales = [job.scales[i]; TILE_ROWS];
            Job { first: job.first + i, rows: 1, scales, table, out, ..job }.reduce::<V, 1>();
        }
    }
}

impl ByteKernel for Run<'_> {
    #[inline(always)]
    fn run<B: Bytes>(self) {
        self.0.words::<B::Vector, OfBytes<B>>();
    }
}

impl PairKernel for Run<'_> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        self.0.words::<V, OfPairs>();
    }
}

/// How the larger ones of the numbers in words are found.
trait Larger<V> {
    fn larger(one: V, other: V) -> V;
}

struct OfBytes<B>(std::marker::PhantomData<B>);

impl<B: Bytes> Larger<B::Vector> for OfBytes<B> {
    #[inline(always)]
    fn larger(one: B::Vector, other: B::Vector) -> B::Vector {
        B::larger(one, other)
    }
}

struct OfPairs;

impl<V: Pairs> Larger<V> for OfPairs {
    #[inline(always)]
    fn larger(one: V, other: V) -> V {
        let [[first, second], [other, last]] = [one.halves(), other.halves()];
        larger(second, last).or(larger(first, other).bits_down(V::BITS))
    }
}

/// The larger of two numbers; NaN if one of them is.
#[inline(always)]
fn larger<V: Vector<Elem = f32>>(one: V, other: V) -> V {
    V::select(one.eq(one), one.max(other), one)
}

impl Job<'_> {
    /// Where a tap of the window of the tile's first row is, and those of the next ones.
    ///
    /// # Safety
    /// There must be such a tap.
    #[inline(always)]
    unsafe fn row(&self, tap: usize, i: usize) -> *const f32 {
        // SAFETY: the caller's promise; whoever makes a job gives a place for each row, of each tap or with places for these.
        unsafe {
            match self.sliding.left {
                Left::Inside(Inside { places, .. }) => (*self.table.add(i)).add(*places.get_unchecked(tap)),
                _ => *self.table.add(tap * MOST_ROWS + i),
            }
        }
    }

    /// All words of a pixel, a vector at a time.
    #[inline(always)]
    fn words<V: Vector<Elem = f32>, L: Larger<V>>(&self) {
        let (runs, words) = (self.sliding.left.runs(), self.sliding.channels);
        for i in 0..self.rows {
            for word in (0..words).step_by(V::LANES) {
                let count = V::LANES.min(words - word);
                // SAFETY: whoever makes a job gives a place for each row of each tap, and rows of so many words.
                unsafe {
                    let load = |tap: usize| V::load_first(self.row(tap, i).add(word), count);
                    let mut largest = load(0);
                    for tap in 1..runs {
                        largest = L::larger(largest, load(tap));
                    }
                    largest.store_first(self.out.add(i * self.stride + word), count);
                }
            }
        }
    }

    /// All channels, by the version for the reduction.
    #[inline(always)]
    fn reduce<V: Vector<Elem = f32>, const ROWS: usize>(&self) {
        match self.sliding.reduction {
            Reduction::Weighted(_) => self.channels::<V, ROWS, WEIGHTED>(),
            Reduction::Largest => self.channels::<V, ROWS, LARGEST>(),
            Reduction::Scaled(_) => self.channels::<V, ROWS, SCALED>(),
            Reduction::LargestOf(_) => unreachable!("words are for vectors of words"),
        }
    }

    /// All channels, two vectors at a time.
    #[inline(always)]
    fn channels<V: Vector<Elem = f32>, const ROWS: usize, const KIND: u8>(&self) {
        let channels = self.sliding.channels;
        let mut channel = 0;
        while channel + 2 * V::LANES <= channels {
            self.some::<V, ROWS, 2, KIND, false>(channel);
            channel += 2 * V::LANES;
        }
        if channel + V::LANES <= channels {
            self.some::<V, ROWS, 1, KIND, false>(channel);
            channel += V::LANES;
        }
        if channel < channels {
            self.some::<V, ROWS, 1, KIND, true>(channel);
        }
    }

    /// Some vectors of channels, of which the last one may be a part.
    ///
    /// The loops over constants are unrolled, so that the sums are registers.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn some<V, const ROWS: usize, const VECTORS: usize, const KIND: u8, const PART: bool>(&self, channel: usize)
    where
        V: Vector<Elem = f32>,
    {
        let Sliding { channels, reduction, epilogue, left, .. } = self.sliding;
        let load = |from: *const f32, v: usize| -> V {
            let from = from.wrapping_add(channel + v * V::LANES);
            // SAFETY: whoever makes a job gives rows of so many channels.
            unsafe { if PART { V::load_first(from, channels - channel) } else { V::load_at(from) } }
        };
        let start = if KIND == LARGEST { V::splat(f32::NEG_INFINITY) } else { V::zero() };
        let mut sums = [[start; VECTORS]; ROWS];
        for tap in 0..left.runs() {
            let mut weights = [V::zero(); VECTORS];
            if let Reduction::Weighted(all) = reduction {
                for v in 0..VECTORS {
                    weights[v] = load(all.as_ptr().wrapping_add(tap * channels), v);
                }
            }
            for i in 0..ROWS {
                // SAFETY: there is a place for each row of each tap.
                let row = unsafe { self.row(tap, i) };
                for v in 0..VECTORS {
                    let x = load(row, v);
                    sums[i][v] = match KIND {
                        WEIGHTED => x.mul_add(weights[v], sums[i][v]),
                        LARGEST => larger(sums[i][v], x),
                        _ => sums[i][v] + x,
                    };
                }
            }
        }
        for i in 0..ROWS {
            for v in 0..VECTORS {
                let mut sum = sums[i][v];
                if KIND == SCALED {
                    sum = sum * V::splat(self.scales[i]);
                }
                // From the first of all rows on.
                let out = self.out.wrapping_sub(self.first * self.stride);
                let row = |from: *const f32, stride: usize| load(from.wrapping_add((self.first + i) * stride), v);
                sum = epilogue.finish(sum, (out, self.stride), row);
                let to = self.out.wrapping_add(i * self.stride + channel + v * V::LANES);
                // SAFETY: as for `load`.
                unsafe { if PART { sum.store_first(to, channels - channel) } else { sum.store_at(to) } };
            }
        }
    }
}
