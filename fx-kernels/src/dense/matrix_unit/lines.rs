//! The left operand of a product for a matrix unit: windows of lines of pixels, which are copied as words.

use std::ops::Range;

use smallvec::SmallVec;

use super::super::block::Rows;
use super::super::left::{Axis, Left, Windows};
use super::super::product::Product;
use super::{BLOCK, SHORTEST};
use crate::simd::{PIECES, SIDE, row_distance, rows_collide, split_rows};

/// Lines of pixels, each with a window: one for each row of the product. The lines at one height of some neighbouring frames of a volume
/// are taken together, for their windows see the same frames.
pub(super) struct Lines<'a> {
    windows: Windows<'a>,
    /// The frames that are taken together, and all lines of so many frames.
    together: usize,
    count: usize,
    /// The pixels of a line.
    width: usize,
    /// From frame to frame, from line to line and from pixel to pixel that are copied, and from window to window in the copy. Of windows of
    /// one frame, one line, or one pixel, what lies between them is left out.
    read: [usize; 3],
    steps: [usize; 3],
    /// The rows of a tile, and the tiles of a line.
    rows: usize,
    tiles: usize,
    /// The words of a pixel, and from one to the next in the copy.
    words: usize,
    pixel: usize,
    /// Whether numbers are [split](crate::simd::split_rows). Then a line is copied as planes, one for each register that a pixel fills and each piece
    /// of it, in which a pixel has the place of a register's row.
    split: bool,
    /// The words of a run, those of a group of some neighbouring pixels, how many pixels these are, the words that a register holds, and how
    /// many rows of registers a run takes.
    run: usize,
    taps: usize,
    depth: usize,
    registers: usize,
    /// Whether the pixels are such words where they lie, with what windows see around them, so that nothing is copied.
    is_there: bool,
}

/// All tiles of some lines, or some tiles of the only line.
#[derive(Clone)]
pub(super) struct Block {
    lines: Range<usize>,
    tiles: Range<usize>,
    /// Which frames the first line is in, and how many lines of these are before it.
    band: usize,
    skipped: usize,
}

/// Rows of the product that are computed together.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// Where the first one begins in the copy of the block.
    pub(super) start: usize,
    /// Which row of the product it is.
    pub(super) row: usize,
    /// How many of the rows are the tile's before too.
    pub(super) again: usize,
}

/// Lines of a block that are in the same frames: which these are of all frames that are taken together, and which lines.
struct Part {
    band: usize,
    lines: Range<usize>,
}

/// A number divided, and what is left: divisions take as long as some steps of registers do, and there is mostly nothing to divide.
fn split(index: usize, by: usize) -> (usize, usize) {
    match by {
        1 => (index, 0),
        _ if index < by => (0, index),
        _ => (index / by, index % by),
    }
}

/// The most words that registers hold of a run of so many, each an equal part of it.
fn depth(run: usize) -> Option<usize> {
    (1..=SIDE).rev().find(|depth| run.is_multiple_of(*depth))
}

impl<'a> Lines<'a> {
    /// The lines of a product's rows, of whose pixels each group has so many words, and that may be read again soon; None where their numbers are
    /// apart, or few words are a group's.
    pub(super) fn of(product: &Product<'a>, split: bool, words: usize, again: bool) -> Option<Self> {
        let windows = match product.left {
            Left::Windows(windows) => windows,
            Left::Rows { data, stride: pixel } => {
                let [one, line] = [[1; 2], [1, product.rows]];
                let (input, output, zeros, frames) = (line, line, [].as_slice(), Axis::ONE);
                let (kernel, stride, dilation, before) = (one, one, one, [0; 2]);
                Windows { data, input, pixel, output, kernel, stride, dilation, before, zeros, frames }
            }
            Left::Inside(_) | Left::Taps(_) => return None,
        };
        let Windows { output: [_, width], kernel: [lines, columns], stride, dilation, frames, .. } = windows;
        let (kernel, stride) = ([frames.kernel, lines, columns], [frames.stride, stride[0], stride[1]]);
        let rows = width.div_ceil(width.div_ceil(SIDE));
        let pixel = windows.pixel;
        let groups = product.panels.groups();
        // Neighbouring pixels without gaps are one run, which fills registers if these hold an equal part of it each. So do the words of a
        // group, which others follow.
        let filled = match groups {
            1 => {
                let taps = if dilation[1] == 1 && !split { columns } else { 1 };
                let most = taps * words.div_ceil(SIDE);
                let fits = |depth: &usize| !words.is_multiple_of(SIDE) && taps * words / depth <= most;
                depth(taps * words).filter(fits).map(|depth| (taps, depth))
            }
            _ => depth(words).map(|depth| (1, depth)),
        };
        let (taps, depth) = filled.unwrap_or((1, SIDE));
        if groups > 1 && depth < SHORTEST {
            return None;
        }
        let run = taps * words;
        let words = groups * words;
        let is_whole = filled.is_some() || words.is_multiple_of(SIDE);
        // What is read for one panel after the other is copied: rows in many pages of memory take twice as long each time.
        let is_there = again
            && product.written.left
            && is_whole
            && (taps == 1 || pixel == words)
            && windows.are_inside()
            && !rows_collide(stride[2] * pixel);
        // What windows skip is not copied.
        let is_skipped = |axis: usize| kernel[axis] == 1 && !is_there;
        let all = Self {
            windows,
            together: 1,
            count: product.rows / width,
            width,
            read: [0, 1, 2].map(|axis| if is_skipped(axis) { stride[axis] } else { 1 }),
            steps: [0, 1, 2].map(|axis| if is_skipped(axis) { 1 } else { stride[axis] }),
            rows,
            tiles: width.div_ceil(rows),
            words,
            pixel: match filled {
                _ if is_there => pixel,
                _ if split => groups * run.div_ceil(depth) * PIECES * SIDE,
                Some(_) if !words.is_multiple_of(SIDE) => words,
                _ => row_distance(words),
            },
            split,
            run,
            taps,
            depth,
            registers: run.div_ceil(depth),
            is_there,
        };
        let together = if is_there { 1 } else { all.together() };
        Some(Self { together, count: all.count / together, ..all })
    }

    /// How many frames are taken together: as many as divide all and have the fewest words for each row of a block.
    fn together(&self) -> usize {
        let Windows { frames: Axis { output, .. }, output: [height, _], .. } = self.windows;
        let line = self.extent(2, self.width) * self.pixel;
        let words = |frames: usize| {
            let copied = self.extent(0, frames);
            // The lines for which there is room, of which some are read for the others' sake.
            let read = (BLOCK / (copied * line)).min(self.extent(1, height));
            let lines = (read + self.steps[1]).saturating_sub(self.extent(1, 1)) / self.steps[1];
            let lines = lines.clamp(1, height);
            copied * self.extent(1, lines) * line / (frames * lines)
        };
        (1..=output).filter(|frames| output.is_multiple_of(*frames)).min_by_key(|frames| words(*frames)).unwrap_or(1)
    }

    /// Whether numbers are split.
    pub(super) fn are_split(&self) -> bool {
        self.split
    }

    /// From one plane to the next in a block's copy of lines that are split.
    pub(super) fn plane(&self, block: &Block) -> usize {
        self.plane_of(self.across(block).1)
    }

    /// The same for lines of so many pixels: an odd number of lines of memory, so that planes do not displace each other in the first-level
    /// cache.
    fn plane_of(&self, pixels: usize) -> usize {
        (pixels | 1) * SIDE
    }

    /// The words of so many pixels of a line in one frame.
    fn row(&self, pixels: usize) -> usize {
        if self.split { self.pixel / SIDE * self.plane_of(pixels) } else { pixels * self.pixel }
    }

    /// From a pixel to the next in the copy.
    fn step(&self) -> usize {
        if self.split { SIDE } else { self.pixel }
    }

    /// The rows of a tile.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The words of a run.
    pub(super) fn run(&self) -> usize {
        self.run
    }

    /// The words of a run that a register holds.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// The rows of registers that a run takes.
    pub(super) fn registers(&self) -> usize {
        self.registers
    }

    /// From one row of a tile to the next, in the copy.
    pub(super) fn distance(&self) -> usize {
        self.steps[2] * self.step()
    }

    /// The words that two neighbouring tiles read.
    pub(super) fn reach(&self) -> usize {
        let Windows { kernel: [lines, _], frames, .. } = self.windows;
        frames.kernel * lines * self.extent(2, 2 * self.rows) * self.pixel
    }

    /// The tiles of all lines.
    pub(super) fn all_tiles(&self) -> usize {
        self.count * self.together * self.tiles
    }

    /// The most blocks.
    pub(super) fn most_blocks(&self) -> usize {
        if self.count == 1 { self.tiles } else { self.count }
    }

    /// One of so many blocks.
    pub(super) fn block(&self, index: usize, blocks: usize) -> Block {
        let part = |all: usize| index * all / blocks..(index + 1) * all / blocks;
        let (lines, tiles) = match self.count {
            1 => (0..1, part(self.tiles)),
            count => (part(count), 0..self.tiles),
        };
        let height = self.windows.output[0];
        Block { band: lines.start / height, skipped: lines.start % height, lines, tiles }
    }

    /// The pixels of the copy, along an axis, of so many windows.
    fn extent(&self, axis: usize, windows: usize) -> usize {
        let Windows { kernel, dilation, frames, .. } = self.windows;
        let (kernel, dilation) = match axis {
            0 => (frames.kernel, frames.dilation),
            _ => (kernel[axis - 1], dilation[axis - 1]),
        };
        (windows - 1) * self.steps[axis] + (kernel - 1) * dilation + 1
    }

    /// The first window of a tile in its line.
    fn first(&self, tile: usize) -> usize {
        (tile * self.rows).min(self.width - self.rows)
    }

    /// The first window in a line of a block, and the pixels of a line of its copy, or of the images.
    fn across(&self, block: &Block) -> (usize, usize) {
        let first = self.first(block.tiles.start);
        match self.is_there {
            true => (first, self.windows.input[1]),
            false => (first, self.extent(2, self.first(block.tiles.end - 1) + self.rows - first)),
        }
    }

    /// The parts of a block.
    fn parts(&self, block: &Block) -> impl Iterator<Item = Part> + use<> {
        let (height, lines) = (self.windows.output[0], block.lines.clone());
        (lines.start / height..lines.end.div_ceil(height)).map(move |band| {
            let first = band * height;
            Part { band, lines: lines.start.max(first) - first..lines.end.min(first + height) - first }
        })
    }

    /// The words of a line of a block's copy, in all frames.
    fn line(&self, block: &Block) -> usize {
        self.extent(0, self.together) * self.row(self.across(block).1)
    }

    /// From a frame to the next, and from a line to the next, in a block's copy or in the images.
    fn distances(&self, block: &Block) -> [usize; 2] {
        let line = self.row(self.across(block).1);
        match self.is_there {
            true => [self.windows.input[0] * line, line],
            false => [line, self.line(block)],
        }
    }

    /// Where a line's first window begins in the images.
    fn place(&self, band: usize, line: usize) -> usize {
        let Windows { input: [height, width], frames, .. } = self.windows;
        let (volume, frame) = split(band, frames.output);
        ((volume * frames.input + frame * self.steps[0]) * height + line * self.steps[1]) * width * self.pixel
    }

    /// The words of a block's copy.
    pub(super) fn len(&self, block: &Block) -> usize {
        let lines: usize = self.parts(block).map(|part| self.extent(1, part.lines.len())).sum();
        lines * self.line(block)
    }

    /// Where the runs of a window are in a block's copy, from its beginning on.
    pub(super) fn runs(&self, block: &Block) -> SmallVec<[usize; 64]> {
        let Windows { kernel: [lines, columns], dilation, frames, .. } = self.windows;
        let [frame, line] = self.distances(block);
        let taps = (0..frames.kernel)
            .flat_map(|i| (0..lines).map(move |j| i * frames.dilation * frame + j * dilation[0] * line))
            .flat_map(|from| (0..columns).step_by(self.taps).map(move |k| from + k * dilation[1] * self.step()));
        taps.collect()
    }

    /// The tiles of a block.
    pub(super) fn count(&self, block: &Block) -> usize {
        block.lines.len() * self.together * block.tiles.len()
    }

    /// The first run of a row of the product that is in a frame, and the end of those that are; of a window that sees no frame, one run is.
    pub(super) fn inside(&self, row: usize) -> [usize; 2] {
        let Windows { kernel: [lines, columns], frames, output: [height, width], .. } = self.windows;
        let runs = lines * columns / self.taps;
        let Axis { input, output, kernel, stride, dilation, before } = frames;
        let place = row / (height * width) % output * stride;
        let first = before.saturating_sub(place).div_ceil(dilation).min(kernel - 1);
        let end = (input + before).saturating_sub(place).div_ceil(dilation).clamp(first + 1, kernel);
        [first * runs, end * runs]
    }

    /// Whether windows see one image each.
    pub(super) fn are_images(&self) -> bool {
        self.windows.frames == Axis::ONE
    }

    /// One of them; those of a frame follow each other.
    #[inline(always)]
    pub(super) fn tile(&self, block: &Block, index: usize) -> Tile {
        let (line, tile) = split(index, block.tiles.len());
        let (frame, line) = split(line, block.lines.len());
        let (first, across) = self.across(block);
        // The lines of the bands before this one's.
        let (height, line) = (self.windows.output[0], block.skipped + line);
        let (band, y, copied) = match line < height {
            true => (0, line, (line - block.skipped) * self.steps[1]),
            false => {
                let (band, y) = (line / height, line % height);
                let before = self.extent(1, height - block.skipped) + (band - 1) * self.extent(1, height);
                (band, y, before + y * self.steps[1])
            }
        };
        let (all, tile) = (block.band + band, block.tiles.start + tile);
        let x = self.first(tile);
        let start = match self.is_there {
            true => self.place(all, y) - self.place(block.band, block.skipped),
            false => (copied * self.extent(0, self.together) + frame * self.steps[0]) * self.row(across),
        };
        let start = start + (x - first) * self.steps[2] * self.step();
        let row = ((all * self.together + frame) * height + y) * self.width + x;
        Tile { start, row, again: tile * self.rows - x }
    }

    /// The pixels of a block where they lie, if they need not be copied.
    pub(super) fn in_place(&self, block: &Block) -> Option<&'a [f32]> {
        let first = self.first(block.tiles.start) * self.steps[2] * self.pixel;
        self.is_there.then(|| &self.windows.data[self.place(block.band, block.skipped) + first..])
    }

    /// Copies the pixels that a block's windows have, rounded.
    pub(super) fn copy(&self, product: &Product<'_>, block: &Block, copy: &mut [f32]) {
        let Windows { input: [height, width], before, pixel, data, frames, .. } = self.windows;
        let (packing, words) = (product.panels.packing(), self.words);
        let padding = product.written.padding(packing);
        let (first, across) = self.across(block);
        // The pixels of a line that are in the image.
        let place = |coordinate: usize| coordinate.div_ceil(self.read[2]);
        let start = place(before[1]).saturating_sub(first * self.steps[2]).min(across);
        let end = place(width + before[1]).saturating_sub(first * self.steps[2]).clamp(start, across);
        let rows = Rows {
            data,
            stride: self.read[2] * pixel,
            width: product.width(self.run / self.taps),
            rounding: product.rounding(),
        };
        let depth = self.extent(0, self.together);
        let mut copied = copy.chunks_exact_mut(self.row(across));
        for Part { band, lines } in self.parts(block) {
            // The volume, and the first frame.
            let band = band * self.together;
            let (volume, front) = (band / frames.output, band % frames.output * self.steps[0]);
            let top = lines.start * self.steps[1];
            let places = (top..top + self.extent(1, lines.len()))
                .flat_map(|y| (front..front + depth).map(move |z| [z, y]))
                .zip(&mut copied);
            for ([z, y], line) in places {
                let z = (z * self.read[0]).wrapping_sub(frames.before);
                let y = (y * self.read[1]).wrapping_sub(before[0]);
                let (start, end) = if z < frames.input && y < height { (start, end) } else { (0, 0) };
                let from = || {
                    let x = (first * self.steps[2] + start) * self.read[2] - before[1];
                    &data[(((volume * frames.input + z) * height + y) * width + x) * pixel..]
                };
                if self.split {
                    for plane in line.chunks_exact_mut(self.plane_of(across)) {
                        plane[..start * SIDE].fill(0.0);
                        plane[end * SIDE..].fill(0.0);
                    }
                    if start < end {
                        let (plane, size) = (self.plane_of(across), [end - start, 2 * words]);
                        split_rows(&mut line[start * SIDE..], plane, 2 * self.depth, from(), rows.stride, size);
                    }
                    continue;
                }
                let (left, inside) = line.split_at_mut(start * self.pixel);
                let (inside, right) = inside.split_at_mut((end - start) * self.pixel);
                [left, right].into_iter().for_each(|outside| outside.fill(padding));
                if start < end {
                    let data = from();
                    if rows.stride == rows.width && words == self.pixel {
                        let width = rows.width * (end - start);
                        Rows { data, width, ..rows }.take(inside, inside.len());
                    } else {
                        Rows { data, ..rows }.take(inside, self.pixel);
                    }
                }
                if words < self.pixel {
                    line.chunks_exact_mut(self.pixel).for_each(|pixel| pixel[words..].fill(0.0));
                }
            }
        }
    }
}
