//! Products by the processor's matrix unit.
//!
//! Its registers hold rows that are equally far apart: a tile's rows are pixels of one line of the output, and the left operand is
//! copied, with what pads it, as words. A task multiplies a block of lines with a set of panels, two tiles with a panel at a time, over
//! the whole inner dimension. The sums go through memory to what follows them.

mod finish;
mod lines;
mod pieces;
mod rest;
mod unpacked;

use std::ops::Range;
use std::ptr::null;

use smallvec::SmallVec;

use self::lines::{Block, Lines, Tile};
pub(super) use self::pieces::Estimate;
use self::pieces::{WAITING, can_split};
use self::rest::Rest;
pub(crate) use self::unpacked::Unpacked;
use super::algorithm::Algorithm;
use super::format::Packing;
use super::panels::{Panel, Panels};
use super::product::Product;
use crate::memory::{LINE, kept, new_key, scratch};
use crate::simd::{MatrixUnit, Registers, SIDE, Squares};
use crate::threads::{Shared, for_each, num_threads, shared_out};

/// The fewest rows of a tile, and the shortest runs in words, that take less time than with vectors.
const FEWEST: usize = 2;
pub(super) const SHORTEST: usize = 3;
/// The words of the left operand that stay in the second-level cache beside panels and results.
const BLOCK: usize = 192 * 1024;
/// The same of one that is split: as many as these rows have, for panels are split again for each block, within limits.
const SPLIT_ROWS: usize = 128;
const SPLIT_BLOCK: [usize; 2] = [256 * 1024, 640 * 1024];
/// The words of panels that stay in the cache while all of them are used for two tiles after two tiles.
const SMALL_PANELS: usize = 64 * 1024;
/// The words of rows and panels that stay in the first-level cache while others are used.
const NEAR: usize = 10 * 1024;
/// The words that are read in the time in which one is made of numbers.
const COPIED: usize = 8;
/// The tasks that make a fair share for each of a few threads likely.
const TASKS: usize = 8;
/// The same where rows are split: each set of panels reads all that are.
const SPLIT_TASKS: usize = 2;
/// The pairs of tiles that are known at a time.
const FEW: usize = 32;
/// The sums of two tiles.
const SUMS: usize = 2 * SIDE * 2 * SIDE;

/// A product for a matrix unit.
pub(super) struct OnUnit<'a> {
    product: &'a Product<'a>,
    unit: MatrixUnit,
    lines: Lines<'a>,
}

/// Whether so many panels stay in the cache while all of them are used for a pair of tiles after the other.
fn are_small(panels: &Panels, count: usize) -> bool {
    panels.steps() * 2 * panels.lanes() * count <= SMALL_PANELS
}

/// As many as there are pairs at a time.
type Few<T> = SmallVec<[T; FEW]>;

/// What a task works on.
struct Task<'a> {
    block: &'a Block,
    /// The copy of the block.
    copy: &'a [f32],
    /// Where the runs of a row are in it.
    runs: &'a [usize],
    registers: &'a Registers,
    /// The result, and the distance of its rows.
    out: &'a Shared<f32>,
    stride: usize,
}

impl Task<'_> {
    /// Where the rows of tiles begin that words of a group are read from, so far from a pixel's.
    #[inline(always)]
    fn places(&self, [upper, lower]: &[Option<Tile>; 2], offset: usize) -> [*const f32; 2] {
        let place = |tile: &Option<Tile>| tile.map_or(null(), |tile| self.copy[tile.start + offset..].as_ptr());
        [place(upper), place(lower)]
    }
}

impl<'a> OnUnit<'a> {
    /// The product, if there is a unit that computes it faster than vectors do.
    pub(super) fn of(product: &'a Product<'a>, algorithm: Algorithm) -> Option<Self> {
        let panels = product.panels;
        let run = panels.steps() / product.left.runs();
        let is_single = panels.packing() == Packing::Single && algorithm == Algorithm::Bf16x6;
        let split = is_single && can_split(panels.level(), run);
        if !(panels.packing().is_for_unit() || split) || panels.lanes() != SIDE {
            return None;
        }
        let unit = MatrixUnit::detect()?;
        let words = if split { run / 2 } else { run };
        let lines = Lines::of(product, split, words, are_small(panels, panels.groups() * panels.count()))?;
        (lines.run() >= SHORTEST && lines.rows() >= FEWEST).then_some(Self { product, unit, lines })
    }

    /// Computes the product into rows that are `stride` apart.
    ///
    /// # Safety
    /// The result and the operands must hold all rows and columns.
    pub(super) unsafe fn run(&self, out: &Shared<f32>, stride: usize) {
        let Product { rows, panels, .. } = *self.product;
        let (id, [blocks, sets]) = (new_key(), self.split());
        let (groups, count) = (panels.groups(), panels.groups() * panels.count());
        let work = 2 * rows * groups * panels.columns() * panels.inner();
        for_each(blocks * sets, work, |task| {
            let (index, set) = (task / sets, task % sets);
            let set = set * count / sets..(set + 1) * count / sets;
            let block = &self.lines.block(index, blocks);
            let run = |copy: &[f32]| {
                let (runs, registers) =
                    (&self.lines.runs(block), &self.unit.registers(self.lines.rows(), self.lines.depth()));
                let task = Task { block, copy, runs, registers, out, stride };
                match self.lines.are_split() {
                    false => self.task(&task, set),
                    true => self.task_in_pieces(&task, set),
                }
            };
            match self.lines.in_place(block) {
                Some(words) => run(words),
                None => {
                    let write = |copy: &mut [f32]| self.lines.copy(self.product, block, copy);
                    kept((id, index), self.lines.len(block), write, run);
                }
            }
        });
    }

    /// How many blocks of lines there are, and how many sets of panels: as many as read the least.
    fn split(&self) -> [usize; 2] {
        let (lines, panels) = (&self.lines, self.product.panels);
        let copied = lines.len(&lines.block(0, 1));
        let (groups, words) = (panels.groups(), panels.groups() * panels.group());
        // The words of a block, the tasks, and what panels and rows count for: each block reads all panels, or splits them, and each set all
        // rows, which each thread splits once.
        let (block, tasks, [panel, row], most_sets) = match lines.are_split() {
            false => (BLOCK, TASKS, [1, COPIED], usize::MAX),
            true => {
                let block = (copied * SPLIT_ROWS / self.product.rows).clamp(SPLIT_BLOCK[0], SPLIT_BLOCK[1]);
                (block, SPLIT_TASKS, [2, 1], num_threads())
            }
        };
        let tasks = shared_out(tasks);
        // Sums of a set's panels may wait.
        let waiting = |blocks: usize| match self.goes_across_panels() {
            true => (lines.all_tiles().div_ceil(blocks).div_ceil(2) * SUMS * panels.count()).div_ceil(WAITING),
            false => 1,
        };
        let sets = |blocks: usize| tasks.div_ceil(blocks).max(waiting(blocks)).min(groups * panels.count());
        // Of few rows, however long, a part stays in the cache if sums with all panels may wait: one block splits panels once.
        let few = lines.are_split() && lines.all_tiles() * SIDE <= SPLIT_ROWS;
        let waits = lines.all_tiles().div_ceil(2) * (groups * panels.count()).div_ceil(sets(1)) * SUMS <= WAITING;
        let least = if few && waits { 1 } else { copied.div_ceil(block).clamp(1, lines.most_blocks()) };
        let traffic = |blocks: usize| blocks * words * panel + sets(blocks).min(most_sets) * copied * row;
        let most = (lines.all_tiles() / 4).min(4 * tasks).max(least);
        let blocks = (least..=most).min_by_key(|&blocks| traffic(blocks)).unwrap_or(least);
        let blocks = shared_out(blocks).min(lines.most_blocks());
        [blocks, sets(blocks)]
    }

    /// One of the panels of all groups, with its first column in the result, and where the words of its group begin in a pixel.
    fn panel(&self, index: usize) -> (Panel<'_>, usize) {
        let panels = self.product.panels;
        let (group, index) = match panels.groups() {
            1 => (0, index),
            _ => (index / panels.count(), index % panels.count()),
        };
        let panel = panels.panel(group, index);
        (Panel { first: group * panels.columns() + panel.first, ..panel }, group * self.lines.run())
    }

    /// A block times a set of panels.
    fn task(&self, task: &Task<'_>, set: Range<usize>) {
        let panels = self.product.panels;
        let pairs = self.lines.count(task.block).div_ceil(2);
        scratch(2 * SUMS, |sums| {
            // What follows the sums of a pair is done while the next one's are computed: vectors need not wait for the unit.
            let (mut sums, mut others) = sums.split_at_mut(SUMS);
            let mut before = Rest::none(self, task);
            // All panels are used for a pair, whose rows stay in the cache too, or all pairs for a panel. Of windows of several pixels what
            // one run reads the next ones do: where panels leave no room for that, they go past the first-level cache, but for the first
            // pair, which brings them into the second.
            let by_pairs = are_small(panels, set.len());
            let are_windows = task.runs.len() > 1;
            let panel = self.panel(set.start).0.data.len() * if by_pairs { set.len() } else { 1 };
            let leave_room = !are_windows || self.lines.reach() + panel <= NEAR;
            let mut next = |pair: &Pair, (panel, offset)| {
                let again = [by_pairs || are_windows, leave_room || pair.index == 0];
                self.multiply(task, (pair, pairs), again, (&panel, offset), sums, &mut before);
                before.some(usize::MAX);
                // SAFETY: the sums stay until the next ones are there, and then all is finished.
                unsafe { before.follow(&pair.tiles, panel, sums.as_mut_ptr()) };
                std::mem::swap(&mut sums, &mut others);
            };
            if by_pairs {
                for pair in (0..pairs).map(|pair| self.pair(task, pair)) {
                    set.clone().for_each(|index| next(&pair, self.panel(index)));
                }
            } else {
                let first: Few<Pair> = (0..pairs.min(FEW)).map(|pair| self.pair(task, pair)).collect();
                for panel in set.map(|index| self.panel(index)) {
                    first.iter().for_each(|pair| next(pair, panel));
                    (FEW..pairs).for_each(|pair| next(&self.pair(task, pair), panel));
                }
            }
            before.some(usize::MAX);
        });
    }

    /// The rows of registers that a pair of tiles is multiplied with.
    fn steps(&self, pair: &Pair) -> usize {
        (pair.end - pair.first) * self.lines.registers()
    }

    /// The tiles of a pair; the last one may be alone.
    #[inline(always)]
    fn tiles(&self, task: &Task<'_>, pair: usize) -> [Option<Tile>; 2] {
        let tile = |index: usize| (index < self.lines.count(task.block)).then(|| self.lines.tile(task.block, index));
        [tile(2 * pair), tile(2 * pair + 1)]
    }

    /// A pair of tiles.
    #[inline(always)]
    fn pair(&self, task: &Task<'_>, index: usize) -> Pair {
        let tiles = self.tiles(task, index);
        let all = [0, task.runs.len()];
        let [first, end] = match self.lines.are_images() || self.product.counts_padding() {
            true => all,
            false => {
                let inside = tiles.iter().flatten().map(|tile| self.lines.inside(tile.row));
                inside.reduce(|[start, end], [first, last]| [start.min(first), end.max(last)]).unwrap_or(all)
            }
        };
        Pair { index, tiles, first, end }
    }

    /// The sums of one of so many pairs of tiles with a panel; whether its rows, and the panel, are read again soon. Meanwhile others are
    /// finished.
    fn multiply(
        &self,
        task: &Task<'_>,
        (pair, pairs): (&Pair, usize),
        again: [bool; 2],
        (panel, offset): (&Panel<'_>, usize),
        sums: &mut [f32],
        rest: &mut Rest<'_>,
    ) {
        assert!(sums.len() >= SUMS);
        let lines = &self.lines;
        // What comes after the panel is brought in by all pairs together, or by the first ones if there are many.
        let (len, steps) = (panel.data.len().div_ceil(LINE), self.steps(pair));
        let each = len.div_ceil(pairs * steps);
        let before = pair.index * steps * each;
        let squares = Squares {
            whole: self.product.panels.packing().is_whole(),
            left: task.places(&pair.tiles, offset),
            distance: lines.distance(),
            again,
            runs: &task.runs[pair.first..pair.end],
            len: lines.run(),
            panel: panel.data[pair.first * lines.run() * panel.width..].as_ptr(),
            wide: panel.width > SIDE,
            next: panel.data.as_ptr_range().end.wrapping_add(before * LINE),
            lines: if before < len { each } else { 0 },
            sums: sums.as_mut_ptr(),
        };
        // SAFETY: the copy has the rows of all tiles, panels are followed by others or by zeros, and there is room for the sums (seen above).
        unsafe { rest.multiply(&squares, steps) };
    }
}

/// Two tiles that are multiplied together, or the last one.
struct Pair {
    index: usize,
    tiles: [Option<Tile>; 2],
    /// The first of their runs that count, and the end of these.
    first: usize,
    end: usize,
}
