//! The left operand of a product for a matrix unit: windows of lines of pixels, which are copied as words.

use std::ops::Range;

use smallvec::SmallVec;

use super::super::block::Rows;
use super::super::left::{Left, Windows};
use super::super::product::Product;
use crate::simd::{SIDE, row_distance, rows_collide};

/// Lines of pixels, each with a window: one for each row of the product.
pub(super) struct Lines<'a> {
    windows: Windows<'a>,
    /// The lines of all images, and the pixels of each.
    count: usize,
    width: usize,
    /// From line to line and from pixel to pixel that are copied, and from window to window in the copy. Of windows of one line, or
    /// one pixel, what lies between them is left out.
    read: [usize; 2],
    steps: [usize; 2],
    /// The rows of a tile, and the tiles of a line.
    rows: usize,
    tiles: usize,
    /// The words of a run, and from pixel to pixel in the copy.
    words: usize,
    pixel: usize,
    /// Whether the pixels are such words where they lie, so that nothing is copied.
    is_there: bool,
}

/// All tiles of some lines, or some tiles of the only line.
#[derive(Clone)]
pub(super) struct Block {
    lines: Range<usize>,
    tiles: Range<usize>,
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

impl<'a> Lines<'a> {
    /// The lines of a product's rows, whose runs are so many words, and may be read again soon; None where their numbers are apart.
    pub(super) fn of(product: &Product<'a>, words: usize, again: bool) -> Option<Self> {
        let windows = match product.left {
            Left::Windows(windows) => windows,
            Left::Rows { data, stride: pixel } => {
                let [one, line] = [[1; 2], [1, product.rows]];
                let (input, output, zeros) = (line, line, [].as_slice());
                Windows { data, input, pixel, output, kernel: one, stride: one, dilation: one, before: [0; 2], zeros }
            }
            Left::Taps { .. } => return None,
        };
        let Windows { output: [_, width], kernel, stride, .. } = windows;
        let rows = width.div_ceil(width.div_ceil(SIDE));
        let pixel = windows.pixel;
        let is_rows = !matches!(product.left, Left::Windows(_));
        let is_there = is_rows && product.written.left && words.is_multiple_of(SIDE) && !rows_collide(pixel, again);
        Some(Self {
            windows,
            count: product.rows / width,
            width,
            read: [0, 1].map(|axis| if kernel[axis] == 1 { stride[axis] } else { 1 }),
            steps: [0, 1].map(|axis| if kernel[axis] == 1 { 1 } else { stride[axis] }),
            rows,
            tiles: width.div_ceil(rows),
            words,
            pixel: if is_there { pixel } else { row_distance(words) },
            is_there,
        })
    }

    /// The rows of a tile.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The words of a run.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// From one row of a tile to the next, in the copy.
    pub(super) fn distance(&self) -> usize {
        self.steps[1] * self.pixel
    }

    /// The tiles of all lines.
    pub(super) fn all_tiles(&self) -> usize {
        self.count * self.tiles
    }

    /// The most blocks.
    pub(super) fn most_blocks(&self) -> usize {
        if self.count == 1 { self.tiles } else { self.count }
    }

    /// One of so many blocks.
    pub(super) fn block(&self, index: usize, blocks: usize) -> Block {
        let part = |all: usize| index * all / blocks..(index + 1) * all / blocks;
        match self.count {
            1 => Block { lines: 0..1, tiles: part(self.tiles) },
            count => Block { lines: part(count), tiles: 0..self.tiles },
        }
    }

    /// The pixels of the copy, along an axis, of so many windows.
    fn extent(&self, axis: usize, windows: usize) -> usize {
        let Windows { kernel, dilation, .. } = self.windows;
        (windows - 1) * self.steps[axis] + (kernel[axis] - 1) * dilation[axis] + 1
    }

    /// The first window of a tile in its line.
    fn first(&self, tile: usize) -> usize {
        (tile * self.rows).min(self.width - self.rows)
    }

    /// The first window in a line of a block, and the pixels of a line of its copy.
    fn across(&self, block: &Block) -> (usize, usize) {
        let first = self.first(block.tiles.start);
        (first, self.extent(1, self.first(block.tiles.end - 1) + self.rows - first))
    }

    /// The parts of a block in each image: which it is, and which of its lines.
    fn parts(&self, block: &Block) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let (height, lines) = (self.windows.output[0], block.lines.clone());
        (lines.start / height..lines.end.div_ceil(height)).map(move |image| {
            let first = image * height;
            (image, lines.start.max(first) - first..lines.end.min(first + height) - first)
        })
    }

    /// The words of a block's copy.
    pub(super) fn len(&self, block: &Block) -> usize {
        let lines: usize = self.parts(block).map(|(_, lines)| self.extent(0, lines.len())).sum();
        lines * self.across(block).1 * self.pixel
    }

    /// Where the runs of a window are in a block's copy, from its beginning on.
    pub(super) fn runs(&self, block: &Block) -> SmallVec<[usize; 64]> {
        let Windows { kernel: [lines, columns], dilation, .. } = self.windows;
        let line = self.across(block).1 * self.pixel;
        let taps = (0..lines).flat_map(|i| (0..columns).map(move |j| [i, j]));
        taps.map(|[i, j]| i * dilation[0] * line + j * dilation[1] * self.pixel).collect()
    }

    /// The tiles of a block.
    pub(super) fn count(&self, block: &Block) -> usize {
        block.lines.len() * block.tiles.len()
    }

    /// One of them.
    pub(super) fn tile(&self, block: &Block, index: usize) -> Tile {
        let (line, tile) = (index / block.tiles.len(), block.tiles.start + index % block.tiles.len());
        let (first, across) = self.across(block);
        let height = self.windows.output[0];
        // The lines of the images before this one's.
        let (skipped, line) = (block.lines.start % height, block.lines.start + line);
        let (image, y) = (line / height - block.lines.start / height, line % height);
        let copied = match image {
            0 => (y - skipped) * self.steps[0],
            _ => self.extent(0, height - skipped) + (image - 1) * self.extent(0, height) + y * self.steps[0],
        };
        let x = self.first(tile);
        let start = (copied * across + (x - first) * self.steps[1]) * self.pixel;
        Tile { start, row: line * self.width + x, again: tile * self.rows - x }
    }

    /// The pixels of a block where they lie, if they need not be copied.
    pub(super) fn in_place(&self, block: &Block) -> Option<&'a [f32]> {
        self.is_there.then(|| &self.windows.data[self.first(block.tiles.start) * self.pixel..])
    }

    /// Copies the pixels that a block's windows have, rounded.
    pub(super) fn copy(&self, product: &Product<'_>, block: &Block, copy: &mut [f32]) {
        let Windows { input: [height, width], before, pixel, data, .. } = self.windows;
        let (packing, words) = (product.panels.packing(), self.words);
        let padding = match product.written.whole {
            Some(quantized) if packing.is_whole() => quantized.left.zeros(packing.numbers()),
            _ => 0.0,
        };
        let (first, across) = self.across(block);
        // The pixels of a line that are in the image.
        let place = |coordinate: usize| coordinate.div_ceil(self.read[1]);
        let start = place(before[1]).saturating_sub(first * self.steps[1]).min(across);
        let end = place(width + before[1]).saturating_sub(first * self.steps[1]).clamp(start, across);
        let rows =
            Rows { data, stride: self.read[1] * pixel, width: product.width(words), rounding: product.rounding() };
        let mut copied = copy.chunks_exact_mut(across * self.pixel);
        for (image, lines) in self.parts(block) {
            let top = lines.start * self.steps[0];
            for (y, line) in (top..top + self.extent(0, lines.len())).zip(&mut copied) {
                let y = (y * self.read[0]).wrapping_sub(before[0]);
                let (start, end) = if y < height { (start, end) } else { (0, 0) };
                let (left, inside) = line.split_at_mut(start * self.pixel);
                let (inside, right) = inside.split_at_mut((end - start) * self.pixel);
                [left, right].into_iter().for_each(|outside| outside.fill(padding));
                if start < end {
                    let x = (first * self.steps[1] + start) * self.read[1] - before[1];
                    let data = &data[((image * height + y) * width + x) * pixel..];
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
