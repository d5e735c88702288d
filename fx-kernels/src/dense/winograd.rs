//! Convolutions of 3 by 3 by Winograd's algorithm: F(2x2, 3x3), 16 products instead of 36 for each 2 by 2 pixels of the
//! output, and F(4x4, 3x3), 36 instead of 144 for each 4 by 4.
//!
//! A tile, 4 by 4 or 6 by 6 pixels of the input, is transformed into as many numbers a channel; place by place these are
//! multiplied with a matrix of transformed weights, and what comes out is transformed into pixels of the output. Sums of
//! large numbers that nearly cancel would cost accuracy: the transforms are such that little is lost. They would spread what
//! is not finite: such a tile is computed by the definition.

mod transform;

use std::ops::Range;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};

use self::transform::{Enter, Tiles, Transform, Weights, leave, pixels};
use super::algorithm::{Algorithm, doubt};
use super::conv::ConvShape;
use super::epilogue::Epilogue;
use super::format::Packing;
use super::left::{Left, Windows};
use super::panels::{Panels, Source, tile_size};
use super::product::{Product, SMALL_PANELS};
use super::tile::{Aside, MOST_ROWS, Stack, Tile, tiles};
use super::weight::Weight;
use crate::elementwise::run_rows;
use crate::memory::scratch;
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::{Shared, for_each, for_each_piece, num_threads};

/// What the channels are multiples of: the longest vector.
const LANES: usize = 16;
/// The numbers between rows, so that they do not collide in the cache.
const GAP: usize = 16;
/// The numbers that stay in the second-level cache.
const CACHE: usize = 192 * 1024;
/// The most numbers of transformed tiles at a time.
const MEMORY: usize = 1024 * 1024;

/// Transformed weights: for each place a matrix, with a row for each input and a column for each output.
#[derive(Debug)]
pub(crate) struct Winograd {
    panels: Panels,
}

impl Winograd {
    /// Whether a convolution can be computed so.
    pub(crate) fn fits(shape: &ConvShape) -> bool {
        let ConvShape { inputs, outputs, kernel, stride, dilation, groups, .. } = *shape;
        let fits = |channels: usize| channels > 0 && channels.is_multiple_of(LANES);
        kernel == [3; 2] && stride == [1; 2] && dilation == [1; 2] && groups == 1 && fits(inputs) && fits(outputs)
    }

    /// Transforms a weight in PyTorch's layout, outputs, inputs, 3, 3, for an algorithm. None if that is the direct one, the
    /// transform overflows, or the weight is not finite.
    pub(crate) fn new(
        level: Level,
        weight: Weight<'_>,
        algorithm: Algorithm,
        inputs: usize,
        outputs: usize,
    ) -> Option<Self> {
        let places = match algorithm {
            Algorithm::Direct | Algorithm::Strassen => return None,
            Algorithm::Winograd2 => 16,
            Algorithm::Winograd4 => 36,
        };
        let finite = AtomicBool::new(true);
        let panels = Panels::written(level, places, inputs, outputs, |first, places| {
            let (rows, columns) = (9 * inputs, places[0].len() / inputs);
            let all = scratch(rows * columns, |taps| {
                weight.with_rows(first..first + columns, rows, |data| {
                    Source { data, step: rows, columns }.transpose(0..rows, taps, columns);
                });
                match places.len() {
                    16 => dispatch(level, Weights::<2, 4> { taps, places, outputs: columns }),
                    _ => dispatch(level, Weights::<4, 6> { taps, places, outputs: columns }),
                }
            });
            finite.fetch_and(all, Ordering::Relaxed);
        });
        finite.into_inner().then_some(Self { panels })
    }

    /// The algorithm: the size of the tiles.
    pub(crate) fn algorithm(&self) -> Algorithm {
        if self.panels.groups() == 16 { Algorithm::Winograd2 } else { Algorithm::Winograd4 }
    }

    /// The bytes of the weights.
    pub(crate) fn bytes(&self) -> usize {
        self.panels.bytes()
    }

    /// Applies the convolution that `windows` are those of, to so many images, into pixels that are `stride` apart.
    ///
    /// # Panics
    /// If an operand is too short.
    pub(crate) fn run(
        &self,
        out: &mut [f32],
        stride: usize,
        batch: usize,
        windows: Windows<'_>,
        epilogue: &Epilogue<'_>,
    ) {
        match self.algorithm() {
            Algorithm::Winograd2 => self.run_tiles::<2, 4>(out, stride, batch, windows, epilogue),
            _ => self.run_tiles::<4, 6>(out, stride, batch, windows, epilogue),
        }
    }

    /// The numbers between two tiles before the products, and after them.
    fn strides(&self) -> [usize; 2] {
        [self.panels.inner(), self.panels.columns()].map(|channels| self.panels.groups() * channels + GAP)
    }

    fn run_tiles<const M: usize, const N: usize>(
        &self,
        out: &mut [f32],
        stride: usize,
        batch: usize,
        windows: Windows<'_>,
        epilogue: &Epilogue<'_>,
    ) where
        Tiles: Transform<M, N>,
    {
        let [inputs, outputs] = [self.panels.inner(), self.panels.columns()];
        let (output, size) = (windows.output, windows.output.map(|size| size.div_ceil(M)));
        let (pixels, tiles) = (batch * output[0] * output[1], batch * size[0] * size[1]);
        if tiles == 0 {
            return;
        }
        let windows = Windows { output: size, kernel: [N; 2], stride: [M; 2], ..windows };
        assert!(Left::Windows(windows).covers(tiles, inputs), "the images are too short");
        assert!(stride >= outputs && (pixels - 1) * stride + outputs <= out.len(), "the result does not fit");
        epilogue.check(pixels, outputs);
        let (strides, weights) = (self.strides(), N * N * inputs * outputs);
        let parts = match self.stays() {
            true => tiles.div_ceil(MOST_ROWS),
            false => parts(tiles, strides[0] + strides[1], weights),
        };
        let leave = Leave { output, size, channels: outputs, epilogue, out: &Shared(out.as_mut_ptr()), stride };
        // Several parts are shared out among threads, a single one is worked on by all.
        for_each(parts, 2 * tiles * weights, |part| {
            let tiles = part * tiles / parts..(part + 1) * tiles / parts;
            scratch(tiles.len() * (strides[0] + strides[1]), |memory| {
                let (transformed, sums) = memory.split_at_mut(tiles.len() * strides[0]);
                self.part::<M, N>(tiles, &windows, transformed, sums, &leave);
            });
        });
    }

    /// Some tiles, with memory for their numbers before and after the products.
    fn part<const M: usize, const N: usize>(
        &self,
        tiles: Range<usize>,
        windows: &Windows<'_>,
        transformed: &mut [f32],
        sums: &mut [f32],
        leave: &Leave<'_>,
    ) where
        Tiles: Transform<M, N>,
    {
        let (strides, inputs, outputs) = (self.strides(), self.panels.inner(), leave.channels);
        let (count, work) = (tiles.len(), 8 * N * N * tiles.len());
        let part = |piece: usize| tiles.start + piece * MOST_ROWS..tiles.end.min(tiles.start + (piece + 1) * MOST_ROWS);
        for_each_piece(transformed, MOST_ROWS * strides[0], work * inputs, |piece, to| {
            dispatch(
                self.panels.level(),
                Enter::<M, N> { windows, tiles: part(piece), channels: inputs, to, gap: GAP },
            );
        });
        if self.stays() {
            self.products(count, transformed, sums);
        } else {
            let left = Left::Rows { data: transformed, stride: strides[0] };
            Product { left, rows: count, panels: &self.panels, epilogue: &Epilogue::default() }.run(sums, strides[1]);
        }
        for_each(count.div_ceil(MOST_ROWS), work * outputs, |piece| {
            for tile in part(piece) {
                let sums = &sums[(tile - tiles.start) * strides[1]..][..N * N * outputs];
                leave.tile::<M, N>(self.panels.level(), tile, sums, || self.direct::<M, N>(&pixels(windows, tile)));
            }
        });
    }

    /// Whether the weights stay in the cache beside all else.
    fn stays(&self) -> bool {
        self.panels.bytes() <= SMALL_PANELS * size_of::<f32>()
    }

    /// The products of some tiles with weights that stay in the cache: without all that is done for others.
    fn products(&self, count: usize, transformed: &[f32], sums: &mut [f32]) {
        let (panels, level, [left, stride]) = (&self.panels, self.panels.level(), self.strides());
        assert!(transformed.len() >= count * left && sums.len() >= count * stride);
        for (first, rows) in tiles(count, tile_size(level).0) {
            let table: [*const f32; MOST_ROWS] =
                std::array::from_fn(|row| transformed.as_ptr().wrapping_add((first + row) * left));
            for panel in (0..panels.count()).map(|index| panels.panel(0, index)) {
                let tile = Tile {
                    rows,
                    left: table.as_ptr(),
                    offset: 0,
                    segments: 1,
                    depth: panels.steps(),
                    panel: panel.data.as_ptr(),
                    panels: 1,
                    packing: Packing::Single,
                    far: 0,
                    farther: 0,
                    narrow: panel.width == panels.lanes(),
                    accumulate: false,
                    bias: null(),
                    residual: null(),
                    residual_stride: 0,
                    bounds: None,
                    out: sums[first * stride + panel.first..].as_mut_ptr(),
                    stride,
                    aside: Aside::NONE,
                };
                let (count, offset, out) = (panels.groups(), panels.steps(), panels.columns());
                // SAFETY: a row has as many numbers as all matrices have rows, and sums for all columns (seen above), which
                // fill panels.
                unsafe { tile.run_each(level, Stack { count, offset, panel: panels.group(), out }) };
            }
        }
    }

    /// The pixels of a tile by the definition.
    fn direct<const M: usize, const N: usize>(&self, pixels: &[[*const f32; N]; N]) -> Vec<f32>
    where
        Tiles: Transform<M, N>,
    {
        let outputs = self.panels.columns();
        let mut sums = vec![0.0; M * M * outputs];
        for index in 0..self.panels.count() {
            let panels: Vec<_> = (0..N * N).map(|place| self.panels.panel(place, index)).collect();
            let (width, columns) = (panels[0].width, panels[0].first..panels[0].first + panels[0].columns);
            let mut weights = vec![0.0; width];
            for (channel, y, x) in (0..self.panels.inner()).flat_map(|c| (0..9).map(move |tap| (c, tap / 3, tap % 3))) {
                weights.fill(0.0);
                let taps = Tiles::TAPS;
                for ((i, a), (j, b)) in taps[y].iter().flat_map(|i| taps[x].iter().map(move |j| (i, j))) {
                    let row = &panels[N * i + j].data[channel * width..][..width];
                    weights.iter_mut().zip(row).for_each(|(weight, u)| *weight += a * b * u);
                }
                for (dy, dx) in (0..M).flat_map(|dy| (0..M).map(move |dx| (dy, dx))) {
                    // SAFETY: the pixels have so many channels.
                    let number = unsafe { *pixels[y + dy][x + dx].add(channel) };
                    let pixel = &mut sums[(M * dy + dx) * outputs..][columns.clone()];
                    pixel.iter_mut().zip(&weights).for_each(|(sum, weight)| *sum += number * weight);
                }
            }
        }
        sums
    }
}

/// How many parts the tiles are taken in. Each reads all weights, but what stays in the cache is not written to memory in
/// between. Several parts are as many for each thread; the numbers of a tile do not depend on that.
fn parts(tiles: usize, numbers: usize, weights: usize) -> usize {
    let most = tiles.div_ceil((CACHE / numbers).max(1));
    let fewest = tiles.div_ceil((MEMORY / numbers).max(1));
    let in_cache = most * weights <= fewest * weights + 2 * tiles * numbers;
    match if in_cache { most } else { fewest } {
        1 => 1,
        parts => parts.next_multiple_of(num_threads()).min(tiles),
    }
}

/// Where tiles of sums become pixels of the output.
struct Leave<'a> {
    /// The height and width of the output, in pixels and in tiles.
    output: [usize; 2],
    size: [usize; 2],
    channels: usize,
    epilogue: &'a Epilogue<'a>,
    out: &'a Shared<f32>,
    stride: usize,
}

impl Leave<'_> {
    /// Writes the pixels of a tile, which `direct` gives if those that come from the sums are not finite.
    fn tile<const M: usize, const N: usize>(
        &self,
        level: Level,
        tile: usize,
        sums: &[f32],
        direct: impl FnOnce() -> Vec<f32>,
    ) where
        Tiles: Transform<M, N>,
    {
        let area = self.size[0] * self.size[1];
        let (image, y, x) = (tile / area, M * (tile % area / self.size[1]), M * (tile % self.size[1]));
        let first = (image * self.output[0] + y) * self.output[1] + x;
        let size = [M.min(self.output[0] - y), M.min(self.output[1] - x)];
        if !dispatch(level, Pixels::<M, N, false> { leave: self, first, size, sums }) {
            dispatch(level, Pixels::<M, N, true> { leave: self, first, size, sums: &direct() });
        }
        if let Some(function) = self.epilogue.function() {
            for pixel in (0..size[0]).flat_map(|i| (0..size[1]).map(move |j| first + i * self.output[1] + j)) {
                // SAFETY: the tile's pixels are within the result and no other task's.
                unsafe { run_rows(level, function, self.out.at(pixel * self.stride), 1, 0, self.channels) };
            }
        }
    }
}

/// The pixels of one tile, from sums of all places or, if `DONE`, as they are. What it gives is whether all were finite; if
/// they are not, and are added to what is there, nothing was written.
struct Pixels<'a, const M: usize, const N: usize, const DONE: bool> {
    leave: &'a Leave<'a>,
    /// The first pixel of the output, and how many there are below each other and side by side.
    first: usize,
    size: [usize; 2],
    sums: &'a [f32],
}

impl<const M: usize, const N: usize, const DONE: bool> Pixels<'_, M, N, DONE>
where
    Tiles: Transform<M, N>,
{
    /// The pixels for a vector of channels, which there must be.
    #[inline(always)]
    unsafe fn numbers<V: Vector<Elem = f32>>(&self, channel: usize) -> [[V; M]; M] {
        let (sums, channels) = (self.sums.as_ptr().wrapping_add(channel), self.leave.channels);
        if !DONE {
            // SAFETY: the caller's promise.
            return unsafe { leave(sums, channels) };
        }
        let mut pixels = [[V::zero(); M]; M];
        for (index, pixel) in pixels.as_flattened_mut().iter_mut().enumerate() {
            // SAFETY: as above.
            *pixel = unsafe { V::load_at(sums.add(index * channels)) };
        }
        pixels
    }
}

impl<const M: usize, const N: usize, const DONE: bool> Kernel for Pixels<'_, M, N, DONE>
where
    Tiles: Transform<M, N>,
{
    type Elem = f32;
    type Output = bool;

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) -> bool {
        let Leave { epilogue, stride, out, channels, .. } = *self.leave;
        let each = if DONE { M * M } else { N * N };
        assert!(self.sums.len() == each * channels && channels.is_multiple_of(V::LANES));
        let mut all = V::zero();
        if epilogue.accumulate && !DONE {
            for channel in (0..channels).step_by(V::LANES) {
                // SAFETY: there are so many (seen above).
                all = doubt(all, &unsafe { self.numbers(channel) });
            }
            if all.reduce(|a, b| a + b) != 0.0 {
                return false;
            }
        }
        for channel in (0..channels).step_by(V::LANES) {
            // SAFETY: there are so many (seen above).
            let numbers: [[V; M]; M] = unsafe { self.numbers(channel) };
            all = doubt(all, &numbers);
            for (i, x) in numbers.as_flattened().iter().enumerate() {
                let [i, j] = [i / M, i % M];
                if i >= self.size[0] || j >= self.size[1] {
                    continue;
                }
                let pixel = self.first + i * self.leave.output[1] + j;
                let to = out.at(pixel * stride);
                // SAFETY: the bias has a number for each channel, as have the pixels of the residual and the result,
                // whose places for this tile are the caller's.
                let load = |from: *const f32| unsafe { V::load_at(from.add(channel)) };
                let x = epilogue.finish(*x, pixel, to, load);
                // SAFETY: as above.
                unsafe { x.store_at(to.add(channel)) };
            }
        }
        all.reduce(|a, b| a + b) == 0.0
    }
}
