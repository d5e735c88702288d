//! What a thread keeps of the rows that it works on: where their runs are, and a copy of them if need be.

use std::cell::Cell;
use std::ops::Range;
use std::ptr::null;

use super::left::{Left, Windows};
use super::tile::MOST_ROWS;
use crate::memory::{kept, scratch};
use crate::pairs::round_to_pairs;
use crate::quantization::{Quantization, round_to_words};
use crate::simd::Level;
use crate::threads::for_each_piece;

/// Numbers between copied rows, so that they do not collide.
const GAP: usize = 16;

/// What rows are rounded to as they are copied.
#[derive(Clone, Copy)]
pub(crate) enum Rounding {
    /// They stay as they are.
    None,
    /// bf16, two to a word.
    Pairs,
    /// Whole numbers, so many to a word, with the vectors of a level.
    Words(Level, usize, Quantization),
    /// What whole numbers stand for.
    Whole(Quantization),
}

impl Rounding {
    /// How many numbers are in a word.
    pub(super) fn numbers(self) -> usize {
        match self {
            Self::None | Self::Whole(_) => 1,
            Self::Pairs => 2,
            Self::Words(_, numbers, _) => numbers,
        }
    }
}

/// Where the runs of some rows of a left operand begin.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// Which block of which product this is, and where its rows were copied to.
    key: Option<((u64, usize), *const f32)>,
    table: Vec<*const f32>,
}

impl Block {
    /// Lends the thread's block; its memory is kept for the next product.
    fn with(f: impl FnOnce(&mut Block)) {
        thread_local! {
            static BLOCK: Cell<Block> = const { Cell::new(Block { key: None, table: Vec::new() }) };
        }
        // Taken out while in use, so that a product within a product gets one of its own.
        let mut block = BLOCK.take();
        f(&mut block);
        BLOCK.set(block);
    }

    /// Finds where the runs of each tile's rows begin, and lends these places: for each tile, [`MOST_ROWS`] places for
    /// each run. Rows that are rounded, or that collide in the cache, are copied: the first `width` numbers of each run. Windows that reach
    /// far are not copied for collisions.
    ///
    /// The left operand must cover the rows (see [`Left::covers`]), and tiles follow each other. What the thread's last call
    /// with the same key did is not done again.
    pub(crate) fn prepare(
        key: (u64, usize),
        left: &Left<'_>,
        tiles: impl ExactSizeIterator<Item = Range<usize>> + Clone,
        width: usize,
        rounding: Rounding,
        f: impl FnOnce(&[*const f32]),
    ) {
        let words = width / rounding.numbers();
        let distance = words + GAP;
        let all = || tiles.clone().reduce(|all, rows| all.start..rows.end).unwrap_or(0..0);
        Self::with(|block| match left {
            _ if matches!(rounding, Rounding::None) && (!left.collides() || left.reaches_far(all())) => {
                f(block.places((key, null()), left, tiles.clone(), |rows, table| left.fill(rows, table)));
            }
            Left::Windows(windows) if left.runs() > 1 => {
                let pixels = windows.pixels(all());
                let data = &windows.data[pixels.start * windows.pixel..];
                let write =
                    |copy: &mut [f32]| Rows { data, stride: windows.pixel, width, rounding }.take(copy, distance);
                kept(key, pixels.len() * distance, write, |copy| {
                    let base = copy.as_ptr().wrapping_sub(pixels.start * distance);
                    let fill = |rows: Range<usize>, table: &mut [_]| windows.fill(rows, base, distance, table);
                    f(block.places((key, base), left, tiles.clone(), fill));
                });
            }
            _ => {
                let all = all();
                let write = |copy: &mut [f32]| {
                    if let Left::Rows { data, stride } = left {
                        let data = &data[all.start * stride..];
                        return Rows { data, stride: *stride, width, rounding }.take(copy, distance);
                    }
                    let mut copies = copy.chunks_exact_mut(distance);
                    for rows in tiles.clone() {
                        let mut places = [null(); MOST_ROWS];
                        left.fill(rows.clone(), &mut places);
                        for (place, copy) in places[..rows.len()].iter().zip(&mut copies) {
                            // SAFETY: the left operand covers the row.
                            let data = unsafe { std::slice::from_raw_parts(*place, width) };
                            Rows { data, stride: width, width, rounding }.take(copy, distance);
                        }
                    }
                };
                kept(key, all.len() * distance, write, |copy| {
                    let fill = |rows: Range<usize>, table: &mut [*const f32]| {
                        let copies = copy[(rows.start - all.start) * distance..].chunks_exact(distance);
                        table.iter_mut().zip(copies).for_each(|(place, copy)| *place = copy.as_ptr());
                    };
                    f(block.places((key, copy.as_ptr()), left, tiles.clone(), fill));
                });
            }
        });
    }

    /// As [`prepare`](Self::prepare), for tiles that are used once: nothing is copied.
    pub(crate) fn once(
        left: &Left<'_>,
        tiles: impl ExactSizeIterator<Item = Range<usize>>,
        f: impl FnOnce(&[*const f32]),
    ) {
        Self::with(|block| {
            block.key = None;
            f(block.fill(left.pointers(), tiles, |rows, table| left.fill(rows, table)));
        });
    }

    /// The places that `fill` finds for each tile, unless they are those of the last call with the same key.
    fn places(
        &mut self,
        key: ((u64, usize), *const f32),
        left: &Left<'_>,
        tiles: impl ExactSizeIterator<Item = Range<usize>>,
        fill: impl FnMut(Range<usize>, &mut [*const f32]),
    ) -> &[*const f32] {
        if self.key == Some(key) {
            return &self.table[..tiles.len() * left.pointers() * MOST_ROWS];
        }
        self.key = Some(key);
        self.fill(left.pointers(), tiles, fill)
    }

    fn fill(
        &mut self,
        pointers: usize,
        tiles: impl ExactSizeIterator<Item = Range<usize>>,
        mut fill: impl FnMut(Range<usize>, &mut [*const f32]),
    ) -> &[*const f32] {
        let pitch = pointers * MOST_ROWS;
        let len = tiles.len() * pitch;
        self.table.resize(self.table.len().max(len), null());
        tiles.zip(self.table.chunks_exact_mut(pitch)).for_each(|(rows, table)| fill(rows, table));
        &self.table[..len]
    }
}

/// Calls a function with windows of the same images, of so many pixels, whose first `width` numbers are rounded by all threads.
pub(crate) fn rounded(
    windows: &Windows<'_>,
    pixels: usize,
    (width, rounding): (usize, Rounding),
    f: impl FnOnce(Windows<'_>),
) {
    /// The pixels that a thread rounds at a time.
    const FEW: usize = 16;
    let distance = width / rounding.numbers() + GAP;
    scratch(pixels * distance, |copy| {
        for_each_piece(copy, FEW * distance, pixels * width, |piece, copy| {
            let data = &windows.data[piece * FEW * windows.pixel..];
            Rows { data, stride: windows.pixel, width, rounding }.take(copy, distance);
        });
        f(Windows { data: copy, pixel: distance, ..*windows });
    });
}

/// Rows at equal distances, of which the first numbers are copied.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) width: usize,
    pub(crate) rounding: Rounding,
}

impl Rows<'_> {
    /// Copies as many rows as there are places for, which are `distance` apart.
    pub(crate) fn take(&self, copy: &mut [f32], distance: usize) {
        let Self { data, stride, width, rounding } = *self;
        match rounding {
            Rounding::Pairs => return round_to_pairs(copy, distance, data, stride, width),
            Rounding::Words(level, numbers, to) => {
                return round_to_words((level, numbers), to, copy, distance, data, stride, width);
            }
            Rounding::None | Rounding::Whole(_) => {}
        }
        for (row, to) in copy.chunks_exact_mut(distance).enumerate() {
            to[..width].copy_from_slice(&data[row * stride..][..width]);
            if let Rounding::Whole(quantization) = rounding {
                quantization.apply(&mut to[..width]);
            }
        }
    }
}
