//! Convolutions of 3 by 3 by Winograd's algorithm: F(2x2, 3x3), 16 products instead of 36 for each 2 by 2 pixels of the
//! output, and F(4x4, 3x3), 36 instead of 144 for each 4 by 4.
//!
//! A tile, 4 by 4 or 6 by 6 pixels of the input, is transformed into as many numbers a channel; place by place these are
//! multiplied with a matrix of transformed weights, and what comes out is transformed into pixels of the output. Sums of
//! large numbers that nearly cancel would cost accuracy: the transforms are such that little is lost. They would spread what
//! is not finite: such a tile is computed by the definition.
//!
//! Windows whose taps are apart see every so many lines and columns of an image alone, which are an image of their own.
//!
//! Of windows of three taps along a line, F(4, 3) takes six products instead of 12 for each four pixels: their tiles are lines. Windows of a few more
//! taps are windows of 3 by 3 of an image that the line is folded to. A column is a line whose pixels are far apart.
//!
//! Groups are convolutions of their own, of which some are computed at a time.
//!
//! Where windows see several frames of a volume, each frame is transformed once, and what comes of all that a window sees is
//! added up before it is transformed back.

mod grid;
mod lines;
mod parts;
mod transform;
mod weights;

use std::ops::Range;

pub(super) use self::grid::Grid;
use self::parts::{Part, Parts};
use self::transform::{Enter, Tiles, Transform, all, leave, pixels};
pub(crate) use self::weights::Winograd;
use self::weights::{Rows, Window};
use super::algorithm::{Algorithm, doubt};
use super::epilogue::Epilogue;
use super::left::{Left, Windows};
use super::panels::Panel;
use super::shape::ConvShape;
use super::tile::MOST_ROWS;
use crate::elementwise::run_rows;
use crate::memory::scratch;
use crate::simd::{Kernel, Level, Vector, dispatch, load, store};
use crate::threads::{Shared, for_each, for_each_piece, num_threads, shared_out};

/// The fewest channels and outputs of a group: the longest vector.
const LANES: usize = 16;
/// The numbers between rows, so that they do not collide in the cache.
const GAP: usize = 16;
/// The numbers that stay in the second-level cache.
const CACHE: usize = 192 * 1024;
/// The most numbers of images that the next tile's pixels are not asked for of: they are close enough.
const CLOSE: usize = 1024 * 1024;

impl Winograd {
    /// The most numbers of transformed tiles at a time.
    pub(super) const MEMORY: usize = 1024 * 1024;

    /// Whether a convolution can be computed so.
    pub(crate) fn fits(shape: &ConvShape) -> bool {
        let ConvShape { inputs, outputs, kernel, stride, dilation, groups, .. } = *shape;
        let is_of_vectors = inputs.min(outputs) / groups >= LANES;
        let is_of_three = kernel == [3; 2] || Self::is_line(shape);
        is_of_three && stride == [1; 2] && !dilation.contains(&0) && is_of_vectors
    }

    /// Applies the convolution that `windows` are those of, to so many images or volumes, into pixels that are `stride` apart.
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
        let (windows, batch, apart) = lines::along(windows, batch);
        if let Window::Folded(_) = self.window() {
            return self.run_folded(out, stride, batch, windows, epilogue, apart);
        }
        let grid = |tile| Grid::new(windows.output, windows.dilation, tile).apart([apart; 2]);
        match self.algorithm() {
            Algorithm::WinogradLine => {
                self.run_tiles::<4, 6, false>(out, stride, batch, windows, &grid([1, 4]), epilogue);
            }
            Algorithm::Winograd2 => {
                self.run_tiles::<2, 4, true>(out, stride, batch, windows, &grid([2; 2]), epilogue);
            }
            _ => self.run_tiles::<4, 6, true>(out, stride, batch, windows, &grid([4; 2]), epilogue),
        }
    }

    fn run_tiles<const M: usize, const N: usize, const SQUARE: bool>(
        &self,
        out: &mut [f32],
        stride: usize,
        batch: usize,
        windows: Windows<'_>,
        grid: &Grid,
        epilogue: &Epilogue<'_>,
    ) where
        Tiles: Transform<M, N>,
    {
        let [inputs, outputs] = [self.inputs(), self.outputs()];
        let (output, frames) = (windows.output, windows.frames);
        let parts = Parts::new(frames, batch, grid.area());
        let images = batch * frames.output;
        let (pixels, tiles) = (images * grid.len(), parts.written());
        if tiles == 0 {
            return;
        }
        assert!(frames.kernel == self.depth(), "windows see as many frames as there are weights for");
        assert!(Left::Windows(windows).covers(images * output[0] * output[1], inputs), "the images are too short");
        assert!(stride >= outputs && (pixels - 1) * stride + outputs <= out.len(), "the result does not fit");
        epilogue.check(pixels, outputs);
        let places = const { all(N, SQUARE) };
        let set = self.set(parts.seen() * places);
        let (sets, row) = (self.groups().div_ceil(set), places * set * self.group() + GAP);
        let weights = places * set * self.numbers();
        let count = match self.are_kept() {
            true if frames.kernel == 1 => shared_out(tiles.div_ceil(MOST_ROWS)).min(tiles),
            // A single part would be one thread's.
            true => shared_out((parts.seen() * row).div_ceil(CACHE).max(2)),
            false => parts_in_caches(parts.seen().max(tiles), row, weights, self.panels()),
        };
        let parts = parts.shared_out(count);
        let leave = Leave { grid, epilogue, out: &Shared(out.as_mut_ptr()), stride };
        // Several parts are shared out among threads, a single one is worked on by all.
        for_each(parts.count() * sets, 2 * tiles * sets * weights, |index| {
            let (part, first) = (parts.part(index / sets), index % sets * set);
            let groups = first..self.groups().min(first + set);
            // What windows see beyond the volume is a tile of zeros.
            let zeros = if frames.kernel > 1 { row } else { 0 };
            scratch(part.seen() * row + zeros, |memory| {
                self.part::<M, N, SQUARE>((&part, groups), &windows, (memory, row), &leave);
            });
        });
    }

    /// How many groups are computed at once: as many as stay in the cache, of which each channel has so many numbers, but whole vectors. Where that
    /// makes too few sets for several threads, these share out the tiles of all groups.
    fn set(&self, numbers: usize) -> usize {
        let (groups, threads) = (self.groups(), num_threads());
        let whole = LANES >> self.group().trailing_zeros().min(LANES.ilog2());
        let most = CACHE / (numbers * self.group()).max(1);
        let set = (most / whole * whole).clamp(whole.min(groups), groups);
        if threads > 1 && groups.div_ceil(set) < 2 * threads { groups } else { set }
    }

    /// Some tiles of some groups, with memory for transformed ones and the numbers from one to the next.
    fn part<const M: usize, const N: usize, const SQUARE: bool>(
        &self,
        (part, groups): (&Part, Range<usize>),
        windows: &Windows<'_>,
        (memory, stride): (&mut [f32], usize),
        leave: &Leave<'_>,
    ) where
        Tiles: Transform<M, N>,
    {
        let (level, count, grid) = (self.level(), part.seen(), leave.grid);
        let channels = groups.start * self.group()..groups.end * self.group();
        let (transformed, zeros) = memory.split_at_mut(count * stride);
        zeros.fill(0.0);
        let places = const { all(N, SQUARE) };
        let work = 8 * places * count * channels.len();
        // Pieces so small that threads have equally many, nearly, where there is enough to share.
        let few = if self.are_kept() { MOST_ROWS } else { count.div_ceil(4 * num_threads()).max(1) };
        for_each_piece(transformed, few * stride, work, |piece, to| {
            let first = piece * few;
            for (run, tiles) in part.neighbours(first..count.min(first + few)) {
                let (to, channels, gap) =
                    (&mut to[(run.start - first) * stride..], channels.clone(), stride - places * channels.len());
                if windows.data.len() > CLOSE {
                    dispatch(level, Enter::<M, N, SQUARE, true> { windows, grid, tiles, channels, to, gap });
                } else {
                    dispatch(level, Enter::<M, N, SQUARE, false> { windows, grid, tiles, channels, to, gap });
                }
            }
        });
        let rows = Rows { data: memory, part, groups, stride };
        self.multiply::<M, N, SQUARE>(rows, |panel, first, sums| {
            leave.tiles::<M, N, SQUARE>((level, panel), (part, first), sums, |index| {
                self.direct::<M, N, SQUARE>(panel, (part, index), (windows, grid))
            });
        });
    }

    /// The pixels of a tile for a panel's outputs, by the definition.
    fn direct<const M: usize, const N: usize, const SQUARE: bool>(
        &self,
        panel: Panel<'_>,
        (part, index): (&Part, usize),
        (windows, grid): (&Windows<'_>, &Grid),
    ) -> Vec<f32> {
        let mut sums = vec![0.0; all(M, SQUARE) * panel.width];
        let group = self.inputs_of(panel);
        // A 0 that fills a window up would make NaN of what is not finite.
        let (taps, own) = (self.window().taps(), self.window().own());
        let frames = panel.data.chunks_exact(taps * group.len() * panel.width).enumerate();
        for (met, weights) in frames.filter_map(|(tap, weights)| Some((part.met(index, tap)?, weights))) {
            let pixels = pixels::<N, SQUARE>(windows, grid, part.number(met));
            for (row, weights) in weights.chunks_exact(panel.width).enumerate().filter(|(row, _)| row % taps < own) {
                let (channel, y, x) = (group.start + row / taps, row % taps / 3, row % 3);
                for (index, sums) in sums.chunks_exact_mut(panel.width).enumerate() {
                    // SAFETY: the pixels have so many channels.
                    let number = unsafe { *pixels[y + index / M][x + index % M].add(channel) };
                    sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += number * weight);
                }
            }
        }
        sums
    }
}

/// How many parts the tiles are taken in. Each needs all weights, but what stays in the cache is not written to memory in
/// between. Several parts are as many for each thread, a single one is for threads that take panels of the weights. None is a
/// single tile, whose sums are made in another order, unless there is no other: the numbers of a tile do not depend on threads.
fn parts_in_caches(tiles: usize, numbers: usize, weights: usize, panels: usize) -> usize {
    let most = tiles.div_ceil((CACHE / numbers).max(1));
    let fewest = tiles.div_ceil((Winograd::MEMORY / numbers).max(1));
    let in_cache = most * weights <= fewest * weights + 2 * tiles * numbers;
    match if in_cache { most } else { fewest } {
        1 if panels >= num_threads() => 1,
        parts => shared_out(parts.max(2)).min(tiles / 2).max(1),
    }
}

/// Where tiles of sums become pixels of the output.
struct Leave<'a> {
    grid: &'a Grid,
    epilogue: &'a Epilogue<'a>,
    out: &'a Shared<f32>,
    stride: usize,
}

impl Leave<'_> {
    /// Writes the pixels of some tiles for a panel's outputs, from the `first` of a part on, which `direct` gives for one of which those that
    /// come from the sums are not finite.
    fn tiles<const M: usize, const N: usize, const SQUARE: bool>(
        &self,
        (level, panel): (Level, Panel<'_>),
        (part, first): (&Part, usize),
        sums: &[f32],
        direct: impl Fn(usize) -> Vec<f32>,
    ) where
        Tiles: Transform<M, N>,
    {
        let len = all(N, SQUARE) * panel.width;
        let count = sums.len() / len;
        let mut done = 0;
        while done < count {
            let sums = &sums[done * len..count * len];
            done +=
                dispatch(level, Pixels::<M, N, SQUARE, false> { leave: self, panel, part, first: first + done, sums });
            if done < count {
                let sums = &direct(first + done);
                done += dispatch(
                    level,
                    Pixels::<M, N, SQUARE, true> { leave: self, panel, part, first: first + done, sums },
                );
            }
        }
        let Some(function) = self.epilogue.function() else { return };
        let [below, beside] = self.grid.steps();
        for index in first..first + count {
            let (pixel, size, end) = self.grid.pixels(part.tile(index));
            for line in 0..size[0] {
                let pixel = pixel + line * below;
                let count = size[1].min(end.saturating_sub(pixel).div_ceil(beside));
                // SAFETY: the tile's pixels are within the result and no other task's.
                unsafe {
                    let to = self.out.at(pixel * self.stride + panel.first);
                    run_rows(level, function, to, count, beside * self.stride, panel.columns);
                }
            }
        }
    }
}

/// The pixels of tiles of a part, from sums of all places or, if `DONE`, as they are. What it gives is how many come before the first one of
/// which not all are finite, all if they are `DONE`; of that one nothing was written where pixels are added to what is there.
struct Pixels<'a, const M: usize, const N: usize, const SQUARE: bool, const DONE: bool> {
    leave: &'a Leave<'a>,
    panel: Panel<'a>,
    part: &'a Part,
    first: usize,
    sums: &'a [f32],
}

/// The pixels of a tile for a vector of a panel's outputs, which there must be, with so many from one place to the next.
#[inline(always)]
unsafe fn numbers<V: Vector<Elem = f32>, const M: usize, const N: usize, const SQUARE: bool, const DONE: bool>(
    sums: *const f32,
    channels: usize,
) -> [[V; M]; M]
where
    Tiles: Transform<M, N>,
{
    if !DONE {
        // SAFETY: the caller's promise.
        return unsafe { leave::<V, M, N, SQUARE>(sums, channels) };
    }
    let mut pixels = [[V::zero(); M]; M];
    for (index, pixel) in pixels.as_flattened_mut().iter_mut().enumerate().take(all(M, SQUARE)) {
        // SAFETY: as above.
        *pixel = unsafe { V::load_at(sums.add(index * channels)) };
    }
    pixels
}

impl<const M: usize, const N: usize, const SQUARE: bool, const DONE: bool> Kernel for Pixels<'_, M, N, SQUARE, DONE>
where
    Tiles: Transform<M, N>,
{
    type Elem = f32;
    type Output = usize;

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) -> usize {
        let Leave { grid, epilogue, .. } = *self.leave;
        let Panel { columns, width, .. } = self.panel;
        let each = width * all(if DONE { M } else { N }, SQUARE);
        let count = self.sums.len() / each;
        assert!(columns <= width && width.is_multiple_of(V::LANES));
        for index in 0..count {
            let sums = self.sums[index * each..][..each].as_ptr();
            let mut all = V::zero();
            if epilogue.accumulate && !DONE {
                for column in (0..columns).step_by(V::LANES) {
                    // SAFETY: there are so many (seen above).
                    all = doubt(all, &unsafe { numbers::<V, M, N, SQUARE, DONE>(sums.add(column), width) });
                }
                if all.reduce(|a, b| a + b) != 0.0 {
                    return index;
                }
            }
            let tile = grid.pixels(self.part.tile(self.first + index));
            for column in (0..columns).step_by(V::LANES) {
                // SAFETY: there are so many (seen above).
                let numbers: [[V; M]; M] = unsafe { numbers::<V, M, N, SQUARE, DONE>(sums.add(column), width) };
                all = doubt(all, &numbers);
                // Of the last ones there may be fewer than a vector has lanes.
                match columns - column {
                    rest if rest < V::LANES => self.write(&numbers, tile, column, rest),
                    _ => self.write(&numbers, tile, column, V::LANES),
                }
            }
            if !DONE && all.reduce(|a, b| a + b) != 0.0 {
                return index;
            }
        }
        count
    }
}

impl<const M: usize, const N: usize, const SQUARE: bool, const DONE: bool> Pixels<'_, M, N, SQUARE, DONE> {
    /// Finishes and writes the pixels of a tile, which begins somewhere and has some size, for so many outputs from one of the panel's on.
    #[inline(always)]
    fn write<V: Vector<Elem = f32>>(
        &self,
        numbers: &[[V; M]; M],
        (tile, size, end): (usize, [usize; 2], usize),
        column: usize,
        count: usize,
    ) {
        let Leave { grid, epilogue, stride, out } = *self.leave;
        let [below, beside] = grid.steps();
        for (i, x) in numbers.as_flattened().iter().enumerate().take(all(M, SQUARE)) {
            let [i, j] = [i / M, i % M];
            if i >= size[0] || j >= size[1] {
                continue;
            }
            let pixel = tile + i * below + j * beside;
            if pixel >= end {
                continue;
            }
            let place = |stride: usize| pixel * stride + self.panel.first + column;
            // SAFETY: the bias has a number for each channel, as have the pixels of the residual and the result,
            // whose places for this tile are the caller's.
            let load = |from: *const f32, stride| unsafe { load(from.add(place(stride)), count) };
            let x = epilogue.finish(*x, (out.at(0), stride), load);
            // SAFETY: as above.
            unsafe { store(x, out.at(place(stride)), count) };
        }
    }
}
