//! Products of numbers that are [split into three](crate::simd::split_rows).
//!
//! Panels are split as they are used, a chunk of their rows at a time: the words of a chunk stay in the first-level cache while all pairs of
//! tiles are multiplied with it, and the sums of these wait in the second. The next chunk is split meanwhile, from a panel or from a matrix
//! that is not packed. Of long rows a part that stays in the second-level cache is multiplied with all panels, then the next part.

use std::ops::Range;

use super::super::block::Block as Places;
use super::super::panels::{Panel, Panels};
use super::super::product::Product;
use super::super::tile::MOST_ROWS;
use super::lines::{Lines, Tile};
use super::rest::Rest;
use super::{FEW, Few, OnUnit, SUMS, Task};
use crate::memory::scratch;
use crate::simd::{
    BESIDE, Below, Beside, Between, Kernel, Lanes, Level, MatrixUnit, PIECES, PRODUCTS, Place, SIDE, SplitSquares,
    Splits, Vector, dispatch, has_pairs,
};

/// The most rows of registers in a chunk, unless a run of so many is shorter.
const REGISTERS: usize = 4;
/// The words after those of the last piece: registers are read whole.
const BEYOND: usize = (SIDE - 1) * 2 * SIDE;
/// The words of rows that stay in the second-level cache beside sums.
const PART: usize = 256 * 1024;
/// The sums that do so beside such words.
pub(super) const WAITING: usize = 160 * 1024;

/// The products that vectors make in the time in which a unit multiplies a row of registers of a pair of tiles and a panel, in which such a
/// row of a panel is split, a number of the rows is, and one of the result is written. Measured.
const STEP: usize = 14_500;
const SPLIT: usize = 7_000;
const NUMBER: usize = 32;
const RESULT: usize = 38;
/// The words of a run, and the rows, that do not make up for splitting panels.
const SHORTEST: usize = SIDE / 2;
const FEWEST: usize = 2 * SIDE;

/// Whether there is a unit that multiplies numbers in pieces, of runs of this length and packed for a level.
pub(super) fn can_split(level: Level, run: usize) -> bool {
    run.is_multiple_of(2) && has_pairs(level) && MatrixUnit::detect().is_some()
}

/// A product whose numbers may be split.
pub(in crate::dense) struct Estimate {
    /// The lines of rows, the rows in each, and the numbers of all that they are made of.
    pub(in crate::dense) lines: usize,
    pub(in crate::dense) width: usize,
    pub(in crate::dense) numbers: usize,
    /// The runs of a row, and the numbers of each of them in a group.
    pub(in crate::dense) runs: usize,
    pub(in crate::dense) run: usize,
    /// The groups, and the columns of each.
    pub(in crate::dense) groups: usize,
    pub(in crate::dense) columns: usize,
}

impl Estimate {
    /// The product of so many rows with panels.
    pub(in crate::dense) fn of_rows(rows: usize, panels: &Panels) -> Self {
        let (groups, run) = (panels.groups(), panels.inner());
        Self { lines: 1, width: rows, numbers: rows * groups * run, runs: 1, run, groups, columns: panels.columns() }
    }

    /// The products that vectors make in the time that a matrix unit takes, if there is one that splits such numbers.
    pub(in crate::dense) fn products(&self, level: Level) -> Option<usize> {
        let Self { lines, width, numbers, runs, run, groups, columns } = *self;
        if lines * width <= FEWEST || run / 2 < SHORTEST || !can_split(level, run) {
            return None;
        }
        let pairs = (lines * width.div_ceil(SIDE)).div_ceil(2);
        let registers = runs * (run / 2).div_ceil(SIDE) * groups * columns.div_ceil(2 * SIDE);
        // The rows of a block, or more.
        let blocks = (numbers * PIECES / 2).div_ceil(super::SPLIT_BLOCK[1]);
        let results = lines * width * groups * columns;
        Some(registers * (pairs * STEP + blocks * SPLIT) + numbers * NUMBER + results * RESULT)
    }

    /// Whether there are few rows, longer than the cache holds: those that a thread has split come from memory again and again.
    pub(in crate::dense) fn is_of_long_rows(&self) -> bool {
        let [rows, words] = [self.lines * self.width, self.numbers * PIECES / 2];
        rows < super::SPLIT_ROWS && words > super::SPLIT_BLOCK[1]
    }

    /// Whether a unit takes clearly less time than vectors.
    pub(in crate::dense) fn is_faster(&self, level: Level) -> bool {
        let Self { lines, width, runs, run, groups, columns, .. } = *self;
        let all = lines * width * runs * run * groups * columns;
        !self.is_of_long_rows() && self.products(level).is_some_and(|others| others < all / 8 * 7)
    }
}

/// Some rows of words of a panel: whole runs, or a part of one.
struct Chunk {
    runs: Range<usize>,
    /// Where it begins in a run, and how many words of it there are.
    offset: usize,
    len: usize,
}

/// The chunks of a panel.
struct Chunks {
    /// All runs, and the words of each; those that a register holds, and the rows of registers that they take.
    runs: usize,
    run: usize,
    depth: usize,
    registers: usize,
    /// The parts of a run, or the runs that are taken together.
    parts: usize,
    together: usize,
}

impl Chunks {
    /// Those of panels for so many runs of rows.
    fn new(lines: &Lines<'_>, runs: usize) -> Self {
        let (run, depth, registers) = (lines.run(), lines.depth(), lines.registers());
        let (parts, together) = (registers.div_ceil(REGISTERS), (REGISTERS / registers).max(1));
        Self { runs, run, depth, registers, parts, together }
    }

    fn count(&self) -> usize {
        self.runs.div_ceil(self.together) * self.parts
    }

    fn at(&self, index: usize) -> Chunk {
        let (first, part) = (index / self.parts * self.together, index % self.parts);
        let at = |part: usize| (part * self.registers / self.parts * self.depth).min(self.run);
        let runs = first..(first + self.together).min(self.runs);
        Chunk { runs, offset: at(part), len: at(part + 1) - at(part) }
    }

    /// The rows of a panel that a chunk has.
    fn rows(&self, chunk: &Chunk) -> Range<usize> {
        let start = chunk.runs.start * self.run + chunk.offset;
        start..start + chunk.runs.len() * chunk.len
    }

    /// The rows of registers in a chunk.
    fn steps(&self, chunk: &Chunk) -> usize {
        chunk.runs.len() * chunk.len.div_ceil(self.depth)
    }

    /// The most words of a piece of a chunk.
    fn piece(&self) -> usize {
        let rows = match self.parts {
            1 => self.together.min(self.runs) * self.run,
            parts => self.registers.div_ceil(parts) * self.depth,
        };
        rows * 2 * SIDE
    }
}

impl OnUnit<'_> {
    /// A block times a set of panels.
    pub(super) fn task_in_pieces(&self, task: &Task<'_>, set: Range<usize>) {
        if let Some(matrix) = self.product.unpacked {
            return self.unpacked_task(matrix, task, set);
        }
        self.split_task(task, set, |panel, rows, (words, piece), _| {
            let numbers = &panel.data[rows.start * panel.width..rows.end * panel.width];
            // The next chunk's are asked for, a line for each that is read: asked for together, they and registers wait for each other.
            Below::new(words, piece, (numbers, panel.width), [rows.len(), panel.width], numbers.len())
        });
    }

    /// The same, where a function begins to split the numbers of some rows of a panel into words, those of each piece so far from those of the
    /// last, and has room for as many numbers.
    pub(super) fn split_task<S: Splits>(
        &self,
        task: &Task<'_>,
        set: Range<usize>,
        split: impl Fn(&Panel<'_>, Range<usize>, (&mut [f32], usize), &mut [f32]) -> S,
    ) {
        let chunks = Chunks::new(&self.lines, task.runs.len());
        let (pairs, piece) = (self.lines.count(task.block).div_ceil(2), chunks.piece());
        let words = PIECES * piece + BEYOND;
        let parts = match pairs * set.len() * SUMS <= WAITING {
            _ if self.goes_across_panels() => chunks.count(),
            true => task.copy.len().div_ceil(PART).min(chunks.count()),
            false => 1,
        };
        // The sums of all pairs with a panel wait, and what follows those of one is done while the next is multiplied; of parts, those with
        // all panels.
        let kept = if parts == 1 { pairs + 1 } else { pairs * set.len() };
        let order = (0..parts).flat_map(|part| {
            let [first, end] = [part, part + 1].map(|part| part * chunks.count() / parts);
            set.clone().flat_map(move |index| (first..end).map(move |number| (index, number)))
        });
        scratch(kept * SUMS + 2 * words + 2 * piece, |memory| {
            let (sums, memory) = memory.split_at_mut(kept * SUMS);
            let (all, room) = memory.split_at_mut(2 * words);
            all.fill(0.0);
            let mut begin = |panel: &Panel<'_>, number, words: &mut [f32]| {
                let rows = chunks.rows(&chunks.at(number));
                split(panel, 2 * rows.start..2 * rows.end, (words, piece), room)
            };
            let (mut now, mut soon) = all.split_at_mut(words);
            let mut following = Following::new(self, task, sums);
            let mut order = order.peekable();
            let mut next = self.panel(set.start);
            if let Some((_, number)) = order.peek() {
                // SAFETY: the numbers and the places are there.
                unsafe { begin(&next.0, *number, now).all() };
            }
            while let Some((index, number)) = order.next() {
                let (chunk, panel) = (chunks.at(number), next);
                let mut below = match order.peek() {
                    Some((soon_index, number)) => {
                        if *soon_index != index {
                            next = self.panel(*soon_index);
                        }
                        begin(&next.0, *number, soon)
                    }
                    None => S::NOTHING,
                };
                let steps = chunks.steps(&chunk);
                let each = below.left().div_ceil(pairs * steps * PRODUCTS.len());
                following.panel = panel;
                following.steps = if number + 1 == chunks.count() { steps } else { 0 };
                let before = (index - set.start) * pairs;
                for first in (0..pairs).step_by(FEW) {
                    following.begin(first..pairs.min(first + FEW), (before + first) % kept);
                    let words = (&*now, piece, number > 0);
                    self.multiply_chunk(task, (&chunks, &chunk), words, (&mut below, each), &mut following);
                }
                // SAFETY: the numbers and the places are there.
                unsafe { below.all() };
                std::mem::swap(&mut now, &mut soon);
            }
            following.last();
        });
    }

    /// The sums of pairs of tiles with a chunk of a panel, whose pieces are so far apart, added to those that are there if it keeps them.
    /// Meanwhile some of the next chunk is split, and what follows other sums is done.
    fn multiply_chunk<S: Splits>(
        &self,
        task: &Task<'_>,
        (chunks, chunk): (&Chunks, &Chunk),
        (words, piece, keeps): (&[f32], usize, bool),
        (soon, each): (&mut S, usize),
        following: &mut Following<'_>,
    ) {
        let plane = self.lines.plane(task.block);
        let place = |words: usize| words / chunks.depth * PIECES * plane;
        let shifted = [task.runs[chunk.runs.start] + place(chunk.offset)];
        let (panel, offset) = following.panel;
        let all = following.places(place(offset));
        // The last tile may be alone.
        let tall = all.iter().take_while(|place| !place.left[1].is_null()).count();
        let (tall, rest) = all.split_at(tall);
        for (all, is_tall) in [(tall, true), (rest, false)] {
            let pieces = SplitSquares {
                all,
                tall: is_tall,
                panel: words.as_ptr(),
                wide: panel.width > SIDE,
                distance: self.lines.distance(),
                runs: if chunk.runs.len() == 1 { &shifted } else { &task.runs[chunk.runs.clone()] },
                len: chunk.len,
                plane,
                piece,
                keeps,
                soon,
                each,
            };
            let steps = if following.steps == 0 { usize::MAX } else { 1 };
            let between = Between { steps, call: &mut || following.step() };
            // SAFETY: the copy has the rows of all tiles, words are followed by others or by zeros, and there is room for the sums.
            unsafe { task.registers.multiply_pieces(pieces, between) };
        }
    }

    /// Computes by the definition what pieces do not give: sums that are not finite, of numbers that are not, or that are too large to be split.
    pub(super) fn mend(&self, rows: Range<usize>, panel: &Panel<'_>, sums: &mut [f32]) {
        let Product { left, panels, unpacked, .. } = self.product;
        let sums = &mut sums[..rows.len() * panel.width];
        if !dispatch(panels.level(), Doubt(sums)) {
            return;
        }
        // The numbers of a run, and where those of the panel's group begin in it.
        let run = panels.steps() / left.runs();
        let first = if panels.groups() == 1 { 0 } else { panel.first / panels.columns() * run };
        let mut own = [0.0; 2 * SIDE];
        for (row, sums) in rows.zip(sums.chunks_exact_mut(panel.width)) {
            if sums.iter().all(|sum| sum.is_finite()) {
                continue;
            }
            sums.fill(0.0);
            Places::once(left, std::iter::once(row..row + 1), |table| {
                for (index, place) in table.iter().step_by(MOST_ROWS).enumerate() {
                    // SAFETY: the left operand covers the row.
                    let numbers = unsafe { std::slice::from_raw_parts(place.add(first), run) };
                    for (k, x) in numbers.iter().enumerate() {
                        let weights = match unpacked {
                            Some(matrix) => {
                                let columns = panel.first..panel.first + panel.columns;
                                own.iter_mut().zip(columns).for_each(|(to, column)| *to = *matrix.at(k, column));
                                &own
                            }
                            None => &panel.data[(index * run + k) * panel.width..][..panel.width],
                        };
                        sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += x * weight);
                    }
                }
            });
        }
    }
}

/// Whether any number is not finite.
struct Doubt<'a>(&'a [f32]);

impl Kernel for Doubt<'_> {
    type Elem = f32;
    type Output = bool;

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) -> bool {
        // Several sums, so that few wait for each other: all stay 0.
        let mut sums = Beside::<V>::zero();
        let numbers = self.0.chunks_exact(BESIDE * V::LANES);
        let rest = numbers.remainder();
        for numbers in numbers {
            // SAFETY: there are as many.
            let numbers = unsafe { Beside::load_each(numbers.as_ptr(), Beside::<V>::from(0)) };
            sums = numbers.mul_add(Beside::zero(), sums);
        }
        sums.join(|x, y| x + y).sum() != 0.0 || rest.iter().any(|x| !x.is_finite())
    }
}

/// Pairs of tiles that are multiplied with a chunk of a panel, and what follows sums, some of it at each step.
struct Following<'a> {
    on: &'a OnUnit<'a>,
    task: &'a Task<'a>,
    /// The panel, and where the words of its group begin in a pixel.
    panel: (Panel<'a>, usize),
    /// Which pairs of the block these are, and their tiles.
    pairs: Range<usize>,
    tiles: Few<[Option<Tile>; 2]>,
    /// The places for the sums of a pair, how many these are, and which of them the first pair has; each has the one after the last one's.
    sums: *mut f32,
    count: usize,
    first: usize,
    /// The steps in which a pair's sums are computed, if they are finished then.
    steps: usize,
    /// What follows the sums that are there, and after how many steps some rows of it.
    before: Rest<'a>,
    shares: (usize, usize),
    /// The pair whose sums are computed, the steps that are made for it, and those until some rows are finished.
    pair: usize,
    step: usize,
    until: usize,
}

impl<'a> Following<'a> {
    /// Nothing yet, with places for sums.
    fn new(on: &'a OnUnit<'a>, task: &'a Task<'a>, sums: &'a mut [f32]) -> Self {
        Self {
            on,
            task,
            panel: (Panel::default(), 0),
            pairs: 0..0,
            tiles: Few::new(),
            sums: sums.as_mut_ptr(),
            count: sums.len() / SUMS,
            first: 0,
            steps: 0,
            before: Rest::none(on, task),
            shares: (1, 0),
            pair: 0,
            step: 0,
            until: 0,
        }
    }

    /// Begins with some pairs, the first of which has this place for its sums.
    fn begin(&mut self, pairs: Range<usize>, first: usize) {
        if self.pairs != pairs {
            self.tiles.clear();
            self.tiles.extend(pairs.clone().map(|pair| self.on.tiles(self.task, pair)));
            self.pairs = pairs;
        }
        (self.first, self.pair, self.step) = (first, 0, 0);
    }

    /// The place for a pair's sums.
    fn sums(&self, pair: usize) -> *mut f32 {
        let place = self.first + pair;
        self.sums.wrapping_add(if place < self.count { place } else { place - self.count } * SUMS)
    }

    /// Where the pairs are read, words of a group so far from a pixel's, and their sums written.
    fn places(&self, offset: usize) -> Few<Place> {
        let place = |(index, tiles)| Place { left: self.task.places(tiles, offset), sums: self.sums(index) };
        self.tiles.iter().enumerate().map(place).collect()
    }

    /// What is done after a step.
    fn step(&mut self) {
        if self.step == 0 {
            self.shares = self.before.shares(self.steps);
            self.until = self.shares.0;
        }
        (self.step, self.until) = (self.step + 1, self.until - 1);
        if self.until == 0 {
            self.before.some(self.shares.1);
            self.until = self.shares.0;
        }
        if self.step == self.steps {
            self.last();
            let (tiles, sums) = (self.tiles[self.pair], self.sums(self.pair));
            // SAFETY: the place is there, and what is multiplied until all is finished has others.
            unsafe { self.before.follow(&tiles, self.panel.0, sums) };
            (self.pair, self.step) = (self.pair + 1, 0);
        }
    }

    /// What follows the last sums.
    fn last(&mut self) {
        self.before.some(usize::MAX);
    }
}
