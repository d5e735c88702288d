//! Convolutions of 3 by 3 by Winograd's algorithm: 16 products instead of 36 for each 2 by 2 pixels of the output.
//!
//! A tile, 4 by 4 pixels of the input, is transformed into 16 numbers a channel; place by place these are multiplied with
//! a matrix of transformed weights, and what comes out is transformed into 2 by 2 pixels. The transforms only add, so
//! little accuracy is lost. They would spread what is not finite: such a tile is computed by the definition.

use std::ops::Range;
use std::ptr::null;

use super::conv::ConvShape;
use super::epilogue::Epilogue;
use super::format::Packing;
use super::left::{Left, Windows};
use super::panels::Panels;
use super::product::Product;
use super::tile::MOST_ROWS;
use crate::elementwise::run_rows;
use crate::memory::scratch;
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::{Shared, for_each, for_each_piece, num_threads};

/// The numbers that a tile has for each channel.
const PLACES: usize = 16;
/// What the channels are multiples of: the longest vector.
const LANES: usize = 16;
/// The numbers between rows, so that they do not collide in the cache.
const GAP: usize = 16;
/// The numbers that stay in the second-level cache.
const CACHE: usize = 192 * 1024;
/// The most numbers of transformed tiles at a time.
const MEMORY: usize = 1024 * 1024;

/// Transformed weights: for each place a matrix with a row for each input and a column for each output.
#[derive(Debug)]
pub(crate) struct Winograd {
    level: Level,
    places: Vec<Panels>,
}

/// Where the pixels of some tiles are: [`MOST_ROWS`] places for each pixel of a tile.
type Table = [*const f32; PLACES * MOST_ROWS];

impl Winograd {
    /// Whether a convolution can be computed so, and gains by it where there are many pixels.
    pub(crate) fn fits(shape: &ConvShape) -> bool {
        let ConvShape { inputs, outputs, kernel, stride, dilation, groups, .. } = *shape;
        let fits = |channels: usize| channels > LANES && channels.is_multiple_of(LANES);
        kernel == [3; 2] && stride == [1; 2] && dilation == [1; 2] && groups == 1 && fits(inputs) && fits(outputs)
    }

    /// Transforms a weight in PyTorch's layout: outputs, inputs, 3, 3. None if that overflows, or it is not finite.
    pub(crate) fn new(level: Level, weight: &[f32], inputs: usize, outputs: usize) -> Option<Self> {
        let mut moved = vec![0.0; outputs * PLACES * inputs];
        for_each_piece(&mut moved, PLACES * inputs, 64 * weight.len(), |output, places| {
            let weight = &weight[output * 9 * inputs..][..9 * inputs];
            for channel in (0..inputs).step_by(LANES) {
                let tap = |tap: usize| std::array::from_fn(|lane| weight[(channel + lane) * 9 + tap]);
                let lines: [_; 3] = std::array::from_fn(|i| spread([tap(3 * i), tap(3 * i + 1), tap(3 * i + 2)]));
                for j in 0..4 {
                    for (i, numbers) in spread(lines.map(|line| line[j])).iter().enumerate() {
                        places[(4 * i + j) * inputs + channel..][..LANES].copy_from_slice(numbers);
                    }
                }
            }
        });
        let pack = |place: usize| {
            let rows: Vec<usize> = (place * inputs..(place + 1) * inputs).collect();
            Panels::new((level, Packing::Single), &moved, &rows, outputs, PLACES * inputs)
        };
        let finite = moved.iter().all(|x| x.is_finite());
        finite.then(|| Self { level, places: (0..PLACES).map(pack).collect() })
    }

    /// The bytes of the weights.
    pub(crate) fn bytes(&self) -> usize {
        self.places.iter().map(Panels::bytes).sum()
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
        let [inputs, outputs] = [self.places[0].inner(), self.places[0].columns()];
        let (output, size) = (windows.output, windows.output.map(|size| size.div_ceil(2)));
        let (pixels, tiles) = (batch * output[0] * output[1], batch * size[0] * size[1]);
        if tiles == 0 {
            return;
        }
        let left = Left::Windows(Windows { output: size, kernel: [4; 2], stride: [2; 2], ..windows });
        assert!(left.covers(tiles, inputs), "the images are too short");
        assert!(stride >= outputs && (pixels - 1) * stride + outputs <= out.len(), "the result does not fit");
        epilogue.check(pixels, outputs);
        let strides = [PLACES * inputs + GAP, PLACES * outputs + GAP];
        let parts = parts(tiles, strides[0] + strides[1], PLACES * inputs * outputs);
        let leave = Leave { output, size, epilogue, out: &Shared(out.as_mut_ptr()), stride };
        let work = 2 * tiles * PLACES * inputs * outputs;
        // Several parts are shared out among threads, a single one is worked on by all.
        for_each(parts, work, |part| {
            let tiles = part * tiles / parts..(part + 1) * tiles / parts;
            scratch(tiles.len() * (strides[0] + strides[1]), |memory| {
                let (transformed, sums) = memory.split_at_mut(tiles.len() * strides[0]);
                self.part(tiles, &left, transformed, sums, &leave);
            });
        });
    }

    /// Some tiles, with memory for their numbers before and after the products.
    fn part(&self, tiles: Range<usize>, left: &Left<'_>, transformed: &mut [f32], sums: &mut [f32], leave: &Leave<'_>) {
        let [inputs, outputs] = [self.places[0].inner(), self.places[0].columns()];
        let strides = [PLACES * inputs + GAP, PLACES * outputs + GAP];
        let (count, work) = (tiles.len(), 8 * PLACES * tiles.len());
        let table = |piece: usize| {
            let start = piece * MOST_ROWS;
            let part = start..count.min(start + MOST_ROWS);
            let mut table = [null(); PLACES * MOST_ROWS];
            left.fill(tiles.start + part.start..tiles.start + part.end, &mut table);
            (part, table)
        };
        for_each_piece(transformed, MOST_ROWS * strides[0], work * inputs, |piece, to| {
            let (part, table) = table(piece);
            dispatch(self.level, Enter { table: &table, tiles: part.len(), channels: inputs, to });
        });
        let left = Left::Rows { data: transformed, stride: strides[0] };
        let plain = Epilogue::default();
        Product { left, rows: count, groups: &self.places, epilogue: &plain }.run(sums, strides[1]);
        for_each(count.div_ceil(MOST_ROWS), work * outputs, |piece| {
            let part = piece * MOST_ROWS..count.min((piece + 1) * MOST_ROWS);
            for tile in part.clone() {
                let sums = &sums[tile * strides[1]..][..PLACES * outputs];
                leave.tile(self.level, tiles.start + tile, sums, || self.direct(&table(piece).1, tile - part.start));
            }
        });
    }

    /// The sums of a tile by the definition: those from which its pixels come.
    fn direct(&self, table: &Table, tile: usize) -> Vec<f32> {
        /// The tap that the transform of weights leaves or can be undone to: places with signs.
        const TAPS: [&[(usize, f32)]; 3] = [&[(0, 1.0)], &[(1, 1.0), (2, -1.0)], &[(3, 1.0)]];
        let outputs = self.places[0].columns();
        let mut sums = vec![0.0; PLACES * outputs];
        let pixel = |i: usize, j: usize| table[(4 * i + j) * MOST_ROWS + tile];
        for index in 0..self.places[0].count() {
            let panels: Vec<_> = self.places.iter().map(|place| place.panel(index)).collect();
            let (width, columns) = (panels[0].width, panels[0].first..panels[0].first + panels[0].columns);
            let mut weights = vec![0.0; width];
            for (channel, y, x) in
                (0..self.places[0].inner()).flat_map(|c| (0..9).map(move |tap| (c, tap / 3, tap % 3)))
            {
                weights.fill(0.0);
                for ((i, a), (j, b)) in TAPS[y].iter().flat_map(|i| TAPS[x].iter().map(move |j| (i, j))) {
                    let row = &panels[4 * i + j].data[channel * width..][..width];
                    weights.iter_mut().zip(row).for_each(|(weight, u)| *weight += a * b * u);
                }
                // Sums in the corners come out as the pixels, up to a sign.
                for (dy, dx) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    // SAFETY: the table points to pixels with so many channels.
                    let number = unsafe { *pixel(y + dy, x + dx).add(channel) };
                    let number = if dy == dx { number } else { -number };
                    let corner = &mut sums[(4 * 3 * dy + 3 * dx) * outputs..][columns.clone()];
                    corner.iter_mut().zip(&weights).for_each(|(sum, weight)| *sum += number * weight);
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

/// The transform of weights along one dimension.
fn spread(taps: [[f32; LANES]; 3]) -> [[f32; LANES]; 4] {
    let outer: [f32; LANES] = std::array::from_fn(|lane| taps[0][lane] + taps[2][lane]);
    let half = |sign: f32| std::array::from_fn(|lane| 0.5 * (outer[lane] + sign * taps[1][lane]));
    [taps[0], half(1.0), half(-1.0), taps[2]]
}

/// Transforms tiles of the input, one row for each.
struct Enter<'a> {
    table: &'a Table,
    tiles: usize,
    channels: usize,
    to: &'a mut [f32],
}

/// The transform of the input along one dimension.
#[inline(always)]
fn enter<V: Vector<Elem = f32>>(x: [V; 4]) -> [V; 4] {
    [x[0] - x[2], x[1] + x[2], x[2] - x[1], x[1] - x[3]]
}

/// The transform of sums along one dimension.
#[inline(always)]
fn leave<V: Vector<Elem = f32>>(x: [V; 4]) -> [V; 2] {
    [x[0] + x[1] + x[2], x[1] - x[2] - x[3]]
}

impl Kernel for Enter<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn run<V: Vector<Elem = f32>>(self) {
        let stride = PLACES * self.channels + GAP;
        assert!(
            self.tiles <= MOST_ROWS && self.to.len() >= self.tiles * stride && self.channels.is_multiple_of(V::LANES)
        );
        for tile in 0..self.tiles {
            let row = self.to[tile * stride..].as_mut_ptr();
            for channel in (0..self.channels).step_by(V::LANES) {
                let mut lines = [[V::zero(); 4]; 4];
                for i in 0..4 {
                    for j in 0..4 {
                        let pixel = self.table[(4 * i + j) * MOST_ROWS + tile];
                        // SAFETY: the table points to pixels with so many channels.
                        lines[i][j] = unsafe { V::load_at(pixel.add(channel)) };
                    }
                    lines[i] = enter(lines[i]);
                }
                for j in 0..4 {
                    let column = enter([lines[0][j], lines[1][j], lines[2][j], lines[3][j]]);
                    for i in 0..4 {
                        // SAFETY: the row is so long (seen above).
                        unsafe { column[i].store_at(row.add((4 * i + j) * self.channels + channel)) };
                    }
                }
            }
        }
    }
}

/// Where tiles of sums become pixels of the output.
struct Leave<'a> {
    /// The height and width of the output, in pixels and in tiles.
    output: [usize; 2],
    size: [usize; 2],
    epilogue: &'a Epilogue<'a>,
    out: &'a Shared<f32>,
    stride: usize,
}

impl Leave<'_> {
    /// Writes the pixels of a tile, whose sums `direct` gives if these are not finite.
    fn tile(&self, level: Level, tile: usize, sums: &[f32], direct: impl FnOnce() -> Vec<f32>) {
        let area = self.size[0] * self.size[1];
        let (image, y, x) = (tile / area, tile % area / self.size[1], tile % self.size[1]);
        let pixels = std::array::from_fn(|i| {
            let [y, x] = [2 * y + i / 2, 2 * x + i % 2];
            let inside = y < self.output[0] && x < self.output[1];
            inside.then_some((image * self.output[0] + y) * self.output[1] + x)
        });
        if !dispatch(level, Pixels { leave: self, pixels, sums, finite: true }) {
            dispatch(level, Pixels { leave: self, pixels, sums: &direct(), finite: false });
        }
        if let Some(function) = self.epilogue.function() {
            for pixel in pixels.into_iter().flatten() {
                // SAFETY: the tile's pixels are within the result and no other task's.
                unsafe { run_rows(level, function, self.out.at(pixel * self.stride), 1, 0, sums.len() / PLACES) };
            }
        }
    }
}

/// The pixels of one tile. What it gives is whether all were finite; if they must be and are not, and are added to what
/// is there, nothing was written.
struct Pixels<'a> {
    leave: &'a Leave<'a>,
    pixels: [Option<usize>; 4],
    sums: &'a [f32],
    finite: bool,
}

impl Pixels<'_> {
    /// The sums of the four pixels for a vector of channels.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn numbers<V: Vector<Elem = f32>>(&self, channel: usize) -> [V; 4] {
        let channels = self.sums.len() / PLACES;
        let mut lines = [[V::zero(); 4]; 2];
        for j in 0..4 {
            let mut column = [V::zero(); 4];
            for i in 0..4 {
                // SAFETY: there is a number for each place and channel.
                column[i] = unsafe { V::load_at(self.sums.as_ptr().add((4 * i + j) * channels + channel)) };
            }
            [lines[0][j], lines[1][j]] = leave(column);
        }
        let [top, bottom] = [leave(lines[0]), leave(lines[1])];
        [top[0], top[1], bottom[0], bottom[1]]
    }
}

/// Stays 0 as long as all numbers are finite.
#[inline(always)]
fn doubt<V: Vector<Elem = f32>>(mut doubt: V, numbers: [V; 4]) -> V {
    for x in numbers {
        doubt = x.mul_add(V::zero(), doubt);
    }
    doubt
}

impl Kernel for Pixels<'_> {
    type Elem = f32;
    type Output = bool;

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) -> bool {
        let Leave { epilogue, stride, out, .. } = *self.leave;
        let channels = self.sums.len() / PLACES;
        assert!(channels.is_multiple_of(V::LANES));
        let mut all = V::zero();
        if epilogue.accumulate && self.finite {
            for channel in (0..channels).step_by(V::LANES) {
                all = doubt(all, self.numbers(channel));
            }
            if all.reduce(|a, b| a + b) != 0.0 {
                return false;
            }
        }
        for channel in (0..channels).step_by(V::LANES) {
            let numbers = self.numbers::<V>(channel);
            all = doubt(all, numbers);
            for (i, x) in numbers.into_iter().enumerate() {
                let Some(pixel) = self.pixels[i] else { continue };
                let to = out.at(pixel * stride);
                // SAFETY: the bias has a number for each channel, as have the pixels of the residual and the result,
                // whose places for this tile are the caller's.
                let load = |from: *const f32| unsafe { V::load_at(from.add(channel)) };
                let x = epilogue.finish(x, pixel, to, load);
                // SAFETY: as above.
                unsafe { x.store_at(to.add(channel)) };
            }
        }
        all.reduce(|a, b| a + b) == 0.0
    }
}
