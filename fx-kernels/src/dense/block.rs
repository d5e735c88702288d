//! What a thread keeps of the rows that it works on: where their runs are, and a copy of them if need be.

use std::cell::Cell;
use std::ops::Range;
use std::ptr::null;

use super::format::round_to_pairs;
use super::left::Left;
use super::tile::MOST_ROWS;

/// Numbers between copied rows, so that they do not collide.
const GAP: usize = 16;

/// Some rows of a left operand, ready for the tile kernel.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// Which block of which product this is.
    key: Option<(u64, usize)>,
    table: Vec<*const f32>,
    copy: Vec<f32>,
}

impl Block {
    /// Lends the thread's block; its memory is kept for the next product.
    pub(crate) fn with(f: impl FnOnce(&mut Block)) {
        thread_local! {
            static BLOCK: Cell<Block> = const { Cell::new(Block { key: None, table: Vec::new(), copy: Vec::new() }) };
        }
        // Taken out while in use, so that a product within a product gets one of its own.
        let mut block = BLOCK.take();
        f(&mut block);
        BLOCK.set(block);
    }

    /// Finds where the runs of each tile's rows begin, and returns these places: for each tile, [`MOST_ROWS`] places for
    /// each run. Rows that collide in the cache are copied: the first `width` numbers of each run.
    ///
    /// With `pairs`, these are rounded to bf16, two to a word.
    ///
    /// The left operand must cover the rows (see [`Left::covers`]). Nothing is done if the last call had the same key.
    pub(crate) fn prepare(
        &mut self,
        key: (u64, usize),
        left: &Left<'_>,
        tiles: impl ExactSizeIterator<Item = Range<usize>> + Clone,
        width: usize,
        pairs: bool,
    ) -> &[*const f32] {
        let pitch = left.runs() * MOST_ROWS;
        let len = tiles.len() * pitch;
        if self.key == Some(key) {
            return &self.table[..len];
        }
        self.key = Some(key);
        self.table.resize(self.table.len().max(len), null());
        match left {
            Left::Windows(windows) if (pairs || left.collides()) && left.runs() > 1 => {
                let (mut first, mut last) = (usize::MAX, 0);
                tiles.clone().for_each(|rows| (first, last) = (first.min(rows.start), last.max(rows.end)));
                let pixels = windows.pixels(first..last);
                let words = if pairs { width / 2 } else { width };
                let distance = words + GAP;
                self.copy.resize(self.copy.len().max(pixels.len() * distance), 0.0);
                for (pixel, to) in pixels.clone().zip(self.copy.chunks_exact_mut(distance)) {
                    take(&mut to[..words], &windows.data[pixel * windows.pixel..][..width]);
                }
                let base = self.copy.as_ptr().wrapping_sub(pixels.start * distance);
                tiles
                    .zip(self.table.chunks_exact_mut(pitch))
                    .for_each(|(rows, table)| windows.fill(rows, base, distance, table));
            }
            _ => {
                tiles.clone().zip(self.table.chunks_exact_mut(pitch)).for_each(|(rows, table)| left.fill(rows, table));
                if pairs || left.collides() {
                    self.copy_rows(tiles, width, pairs);
                }
            }
        }
        &self.table[..len]
    }

    /// As [`prepare`](Self::prepare), for tiles that are used once: nothing is copied.
    pub(crate) fn places(
        &mut self,
        left: &Left<'_>,
        tiles: impl ExactSizeIterator<Item = Range<usize>>,
    ) -> &[*const f32] {
        let pitch = left.runs() * MOST_ROWS;
        let len = tiles.len() * pitch;
        self.key = None;
        self.table.resize(self.table.len().max(len), null());
        tiles.zip(self.table.chunks_exact_mut(pitch)).for_each(|(rows, table)| left.fill(rows, table));
        &self.table[..len]
    }

    /// Copies rows of one run, and points to the copies.
    fn copy_rows(&mut self, tiles: impl ExactSizeIterator<Item = Range<usize>>, width: usize, pairs: bool) {
        let words = if pairs { width / 2 } else { width };
        let distance = words + GAP;
        self.copy.resize(self.copy.len().max(tiles.len() * MOST_ROWS * distance), 0.0);
        let mut copies = self.copy.chunks_exact_mut(distance);
        for (rows, table) in tiles.zip(self.table.chunks_exact_mut(MOST_ROWS)) {
            for (place, copy) in table[..rows.len()].iter_mut().zip(&mut copies) {
                // SAFETY: the left operand covers the row.
                take(&mut copy[..words], unsafe { std::slice::from_raw_parts(*place, width) });
                *place = copy.as_ptr();
            }
        }
    }
}

/// Copies numbers or, where there are twice as many as words, rounds them to pairs.
fn take(words: &mut [f32], numbers: &[f32]) {
    if words.len() == numbers.len() {
        words.copy_from_slice(numbers);
    } else {
        round_to_pairs(words, numbers);
    }
}
