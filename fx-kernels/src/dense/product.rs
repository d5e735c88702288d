//! The loops around the register tile.
//!
//! The rows are split into blocks that stay in the second-level cache together with what a thread does next, the
//! columns into sets of panels; a block times a set is a task. A task goes panel by panel, or a few at a time, and down these
//! in steps that stay in the cache while all tiles of the block use them. Sums that are not finished wait in the
//! output. How a product is split depends on its sizes only, so a result does not depend on the number of threads.

mod near;
mod one_tile;
mod rounded;
mod slice;
mod written;

use std::ops::Range;
use std::ptr::null;

pub(crate) use self::slice::far;
use self::slice::{Place, Slice};
pub(crate) use self::written::{Quantized, Written};
use super::Epilogue;
use super::algorithm::Algorithm;
use super::block::{Block, Rounding, rounded};
use super::left::{Inside, Left, Seen, Windows};
use super::matrix_unit::OnUnit;
use super::panels::Panels;
use super::strassen::Strassen;
use super::tile::{Aside, MOST_COLUMNS, MOST_ROWS, OfWords, Tile};
use crate::elementwise::run_rows;
use crate::gemm::Matrix;
use crate::memory::{ahead_in_cache, fills_second, foresees_rows, new_key, second_level, ways};
use crate::rounded::Rounded;
use crate::simd::Level;
use crate::threads::{Shared, for_each, num_threads, shared_out};

/// The steps of the inner dimension that a panel is worked through at a time: as many products are summed up in a chain, and
/// the chains' sums added, so that rounding errors do not grow with the inner dimension.
pub(crate) const DEPTH: usize = 768;
/// The same of whole numbers, whose sums are exact up to 2^31: that is more than as many words of four products of bytes add up to.
const WHOLE_DEPTH: usize = 8 * 1024;
/// The numbers of the left operand in a block.
const BLOCK: usize = 160 * 1024;
/// The numbers of the left operand in a block that stays in the cache beside panels and results.
const SMALL_BLOCK: usize = 32 * 1024;
/// The numbers of panels that stay in the cache beside all else.
pub(crate) const SMALL_PANELS: usize = 40 * 1024;
/// The numbers of a result that wait to be rounded, and the columns from which on not all of a row's do.
const RESULTS: usize = 64 * 1024;
const WIDE: usize = 256;
/// The pointers to the left operand in a block.
const POINTERS: usize = 16 * 1024;
/// The words that are read forwards where panels are multiplied from the last one to the first. Measured: half and twice as many take a
/// fiftieth longer.
const PIECE: usize = 64 * 1024;
/// The tiles of a block from which on two panels at least go down all of them together.
const MANY_TILES: usize = 8;
/// The tasks that make a fair share for each of a few threads likely, at least.
const TASKS: usize = 8;

/// A product of rows with packed matrices: the rows' runs are split among as many groups, each with a matrix.
pub(crate) struct Product<'a> {
    /// The left operand.
    pub(crate) left: Left<'a>,
    /// The number of rows.
    pub(crate) rows: usize,
    /// The right operands, one for each group.
    pub(crate) panels: &'a Panels,
    /// The right operand where it lies, if it is not [packed](Panels::unpacked).
    pub(crate) unpacked: Option<Matrix<'a, f32>>,
    /// What is done with the sums.
    pub(crate) epilogue: &'a Epilogue<'a>,
    /// How its operands are written.
    pub(crate) written: Written<'a>,
    /// Whether panels are multiplied from the last one to the first.
    pub(crate) backwards: bool,
    /// What is read and written as words by tiles.
    pub(crate) words: OfWords,
}

/// How a product is split.
struct Split {
    /// A number that no other product has.
    id: u64,
    /// The tiles of all rows, the rows of each, and how many of the first ones have a row more.
    tiles: usize,
    least: usize,
    more: usize,
    /// Where no tile has rows of two of them.
    zones: Option<Zones>,
    /// The blocks of tiles.
    blocks: usize,
    /// The panels of each matrix.
    range: Range<usize>,
    /// The sets of them.
    sets: usize,
    /// The steps of a run: rows of a panel.
    run: usize,
    /// The steps down a panel.
    steps: Steps,
    /// How many panels of a set [go down a block together](Product::near), step by step; none where each goes on its own.
    together: usize,
    /// How many steps are made before the next panel.
    ahead: usize,
}

/// Rows that follow each other again and again, as those of each image, in three parts: the rows and the tiles of each.
struct Zones([[usize; 2]; 3]);

/// The steps down a panel: whole runs, or parts of a run.
struct Steps {
    /// The runs in a step.
    runs: usize,
    /// The parts of a run.
    parts: usize,
    /// The number of steps.
    count: usize,
}

impl<'a> Product<'a> {
    /// A product of numbers.
    pub(crate) fn new(left: Left<'a>, rows: usize, panels: &'a Panels, epilogue: &'a Epilogue<'a>) -> Self {
        Self {
            left,
            rows,
            panels,
            unpacked: None,
            epilogue,
            written: Written::default(),
            backwards: false,
            words: OfWords::default(),
        }
    }
}

impl Product<'_> {
    /// Computes the product into rows that are `stride` apart.
    ///
    /// # Panics
    /// If an operand is too short.
    pub(crate) fn run(&self, out: &mut [f32], stride: usize) {
        self.run_by(Algorithm::Direct, out, stride);
    }

    /// As [`run`](Self::run), by an algorithm where it is faster.
    ///
    /// # Panics
    /// As there.
    pub(crate) fn run_by(&self, algorithm: Algorithm, out: &mut [f32], stride: usize) {
        let panels = self.panels;
        let width = panels.groups() * panels.columns();
        if self.rows == 0 || width == 0 {
            return;
        }
        let run = panels.steps() / self.left.runs();
        assert!(run * self.left.runs() == panels.steps(), "the inner dimensions of a product must be equal");
        assert!(self.left.covers(self.rows, self.width(run)), "the left operand is too short");
        let row = Rounded::len(self.written.output, width);
        assert!(stride >= row && (self.rows - 1) * stride + row <= out.len(), "the result does not fit");
        self.epilogue.check(self.rows, Rounded::len(self.written.added, width));
        for rounded in [self.written.added, self.written.output].into_iter().flatten() {
            let columns = panels.columns();
            assert!(columns.is_multiple_of(rounded.numbers()), "{columns} columns are no whole words");
        }
        if let Some(rounded) = self.written.output {
            let is_added = self.written.added.is_some_and(|added| added.numbers() == rounded.numbers());
            assert!(is_added || !self.epilogue.accumulate, "numbers are not added to words");
        }
        let is_whole = panels.packing().is_whole();
        assert!(is_whole || !matches!(self.left, Left::Inside(_)), "windows inside are of whole numbers");
        let scales = self.written.whole.map_or(0, |quantized| quantized.scales.len());
        assert!(!is_whole || scales >= width, "{scales} scales for {width} columns");
        let out = Shared(out.as_mut_ptr());
        let algorithm = algorithm.of_rows(self.rows, panels);
        match self.left {
            Left::Rows { data, stride: distance } if algorithm == Algorithm::Strassen => {
                // SAFETY: the operands hold all rows and columns (just seen), and what is faster has the sizes for it.
                unsafe {
                    let caches = (ways(), second_level());
                    Strassen { product: self, data, stride: distance, caches }.run(&out, stride);
                }
            }
            // SAFETY: as above.
            _ if self.is_one_tile() => unsafe { self.one_tile(&out, stride) },
            _ => match OnUnit::of(self, algorithm) {
                // SAFETY: the operands hold all rows and columns (just seen).
                Some(product) => unsafe { product.run(&out, stride) },
                // SAFETY: as above.
                None => unsafe { self.compute(0..panels.count(), &out, stride) },
            },
        }
    }

    /// Computes the product with some panels of each matrix, into its place in a whole result.
    ///
    /// # Safety
    /// The result and the operands must hold all rows and columns, and nobody else may use these panels' columns.
    pub(crate) unsafe fn compute(&self, range: Range<usize>, out: &Shared<f32>, stride: usize) {
        let panels = self.panels;
        let columns = range.len() * 2 * panels.lanes();
        let split = self.split(range.clone());
        if let (Left::Windows(windows), false) = (&self.left, matches!(self.rounding(), Rounding::None))
            && self.left.reaches_far(split.rows(split.tiles_of(0)))
        {
            // Each block would round most of the images.
            let (pixels, numbers) = (windows.all_pixels(self.rows), (self.width(split.run), self.rounding()));
            return rounded(windows, pixels, numbers, |windows| {
                let written = Written { left: true, ..self.written };
                // SAFETY: the caller's promise.
                unsafe { Product { left: Left::Windows(windows), written, ..*self }.compute(range, out, stride) };
            });
        }
        let work = 2 * self.rows * panels.groups() * columns.min(panels.columns()) * panels.inner();
        self.in_words(out, stride, |product| {
            for_each(panels.groups() * split.blocks * split.sets, work, |task| {
                let (group, task) = (task / (split.blocks * split.sets), task % (split.blocks * split.sets));
                let (block, set) = (task / split.sets, task % split.sets);
                match self.written.output {
                    None => product.task(&split, group, block, split.set(set), out, stride),
                    Some(rounded) => product.rounded_task(&split, group, block, set, out, stride, rounded),
                }
            });
        });
    }

    /// The steps of the inner dimension that a panel is worked through at a time.
    fn depth(&self) -> usize {
        if self.panels.packing().is_whole() { WHOLE_DEPTH } else { DEPTH }
    }

    fn split(&self, range: Range<usize>) -> Split {
        let panels = self.panels;
        let runs = self.left.runs();
        let run = panels.steps() / runs;
        // The words of the left operand for each step.
        let left = panels.packing().left();
        let most = panels.rows();
        let zones = self.zones(most, run);
        let tiles = zones.as_ref().map_or(self.rows.div_ceil(most), |zones| zones.all(self.rows));
        let columns = panels.columns().min(range.len() * 2 * panels.lanes());
        let fitting = (BLOCK / (most * run.clamp(1, DEPTH) * left)).min(POINTERS / (MOST_ROWS * self.left.pointers()));
        // Numbers that are to be rounded wait for that in the cache too.
        let rounded = self.written.output.map(|_| RESULTS / most);
        let fitting = rounded.map_or(fitting, |rounded| fitting.min(rounded / columns.min(WIDE))).max(4);
        let least = tiles.div_ceil(fitting);
        // Of panels that stay in a cache each thread has its own.
        let tasks = if panels.are_cached() { num_threads() } else { shared_out(TASKS) };
        // Each block reads all panels, and each set all rows: half again if they leave the cache in between.
        let sets = |blocks: usize| tasks.div_ceil(blocks * panels.groups()).min(range.len());
        let traffic = |blocks: usize| {
            let held = run * left;
            let rows = self.rows * held * if self.rows.div_ceil(blocks) * held > SMALL_BLOCK { 3 } else { 2 };
            2 * blocks * panels.steps() * columns + sets(blocks) * rows
        };
        let most_blocks = least.max(tiles.div_ceil(4)).min(4 * least.max(tasks));
        let blocks = (least..=most_blocks).min_by_key(|&blocks| traffic(blocks)).unwrap_or(least);
        let blocks = shared_out(blocks).min(tiles);
        let (sets, held) = (sets(blocks), tiles.div_ceil(blocks) * columns);
        let sets = rounded.map_or(sets, |rounded| sets.max(held.div_ceil(rounded)).min(range.len()));
        let block = tiles.div_ceil(blocks) * most;
        let depth = self.depth();
        let steps = if run >= depth {
            let parts = run.div_ceil(depth);
            Steps { runs: 1, parts, count: runs * parts }
        } else {
            let count = runs.div_ceil(depth / run.max(1));
            Steps { runs: runs.div_ceil(count), parts: 1, count }
        };
        let widened = self.widens(tiles.div_ceil(blocks));
        let near = SMALL_PANELS / (steps.longest(run) * 2 * panels.lanes() * if widened { 2 } else { 1 }).max(1);
        let together = match widened {
            _ if self.go_together(tiles / blocks) => near,
            // What a tile has written goes on its way to memory while the next one multiplies, but not while that is called.
            false if runs == 1 && tiles / blocks >= MANY_TILES => near.max(2),
            false if steps.count == 1 && range.len().div_ceil(sets) <= near => near,
            _ => 0,
        };
        // A panel that is used once is read from its start to its end.
        let parts = runs == 1 && tiles > 1;
        let ahead =
            if parts { (BLOCK / (block * left * run.div_ceil(steps.parts)).max(1)).max(1) } else { steps.count };
        let (least, more) = (self.rows / tiles, self.rows % tiles);
        Split { id: new_key(), tiles, least, more, zones, blocks, range, sets, run, steps, together, ahead }
    }

    /// The zones that it is better split into tiles of at most so many rows by, since some tiles leave out runs then that others do not: lines,
    /// where the padding beside these is as wide as a tile and runs are long, or of whole numbers; else what of an image is above, within and below
    /// what sees the padding there.
    fn zones(&self, most: usize, run: usize) -> Option<Zones> {
        let Left::Windows(windows) = self.left else { return None };
        if self.counts_padding() {
            return None;
        }
        let Windows { output: [height, width], before: [_, before], .. } = windows;
        let each = width.div_ceil(most).max(1);
        let rows = width.div_ceil(each);
        if before >= rows && 2 * rows >= most && (2 * run > DEPTH || self.panels.packing().is_whole()) {
            return Some(Zones([[width, each], [0; 2], [0; 2]]));
        }
        let [above, below] = windows.lines_beyond();
        let within = height.saturating_sub(above + below);
        let is_worth_while = above + below > 0 && within > 0 && 2 * rows >= most;
        is_worth_while
            .then(|| Zones([above, within, below].map(|lines| [lines * width, (lines * width).div_ceil(most)])))
    }

    /// The numbers in a run of the left operand, for all groups together, or the words that they are written as.
    pub(super) fn width(&self, run: usize) -> usize {
        let packing = self.panels.packing();
        self.panels.groups() * run * if self.written.left { packing.left() } else { packing.rows() }
    }

    /// Whether half floats are widened once for all of so many tiles: if there are several.
    fn widens(&self, tiles: usize) -> bool {
        self.panels.packing().is_halves() && tiles > 1
    }

    /// What numbers of the left operand are rounded to.
    pub(super) fn rounding(&self) -> Rounding {
        self.written.rounding(self.panels.level(), self.panels.packing())
    }

    /// A block of rows times a set of panels.
    fn task(&self, split: &Split, group: usize, block: usize, mut set: Range<usize>, out: &Shared<f32>, stride: usize) {
        let panels = self.panels;
        let tiles = split.tiles_of(block);
        let pitch = self.left.pointers() * MOST_ROWS;
        let rows = |tile: usize| split.rows(tile..tile + 1);
        let (key, width) = ((split.id, block), self.width(split.run));
        Block::prepare(key, &self.left, tiles.clone().map(rows), width, self.rounding(), |table| {
            let place = |tile, share, next| Place { group, rows: rows(tile), stride, share, of: tiles.len(), next };
            if split.together > 0 {
                for first in set.clone().step_by(split.together) {
                    let panels = first..set.end.min(first + split.together);
                    for step in 0..split.steps.count {
                        self.near(split, (group, panels.clone(), step), (tiles.clone(), table), out, stride);
                    }
                }
                return;
            }
            if self.rows == 1 && split.steps.count == 1 {
                // Between two tiles the row would wait for memory.
                let (full, rest) = self.full(set);
                let most = if self.backwards { PIECE / (panels.steps() * 2 * panels.lanes()) } else { usize::MAX };
                let pieces = full.len().div_ceil(most.max(1));
                for piece in 0..pieces {
                    let start = |piece: usize| full.start + piece * full.len() / pieces;
                    let piece = if self.backwards { pieces - 1 - piece } else { piece };
                    let slice = self.side_by_side(split, group, start(piece)..start(piece + 1), 0);
                    self.tile(&slice, table, place(0, 0, null()), out);
                }
                set = rest;
            }
            let widened = self.widens(tiles.len());
            let (first, last) = (set.start, set.end.saturating_sub(1));
            let slice = |(index, step)| {
                let index = if self.backwards { last - (index - first) } else { index };
                self.slice(split, group, index, step)
            };
            let mut slices = split.slices(set).map(slice).peekable();
            while let Some(slice) = slices.next() {
                let end = slice.panel.data.as_ptr_range().end;
                let next = slices.peek().map_or(end, |next| next.steps.as_ptr());
                let all = |slice: &Slice<'_>| {
                    for (tile, table) in tiles.clone().zip(table.chunks_exact(pitch)) {
                        self.tile(slice, table, place(tile, tile - tiles.start, next), out);
                    }
                };
                match widened {
                    true => slice.widened(panels.level(), all),
                    false => all(&slice),
                }
            }
        });
    }

    /// The full panels of a set, and the panels after them.
    fn full(&self, set: Range<usize>) -> (Range<usize>, Range<usize>) {
        let full = set.end.min(self.panels.columns() / (2 * self.panels.lanes())).max(set.start);
        (set.start..full, full..set.end)
    }

    /// A step down some full panels.
    fn side_by_side(&self, split: &Split, group: usize, panels: Range<usize>, step: usize) -> Slice<'_> {
        Slice { panels: panels.len(), ..self.slice(split, group, panels.start, step) }
    }

    /// A step down a panel.
    fn slice(&self, split: &Split, group: usize, index: usize, step: usize) -> Slice<'_> {
        let panel = self.panels.panel(group, index);
        let (runs, start, depth) = split.steps.at(step, self.left.runs(), split.run);
        let first = runs.start * split.run + start;
        let steps = &panel.data[first * panel.width..(first + runs.len() * depth) * panel.width];
        let offset = group * split.run + start;
        let (starts, ends) = (start == 0, start + depth == split.run);
        let packing = self.panels.packing();
        Slice { panel, panels: 1, runs, offset, depth, packing, steps, starts, ends }
    }

    /// Whether padding adds to sums: what stands for 0 is another whole number, which is taken off all sums in the end.
    pub(super) fn counts_padding(&self) -> bool {
        let whole = self.written.whole.filter(|_| self.panels.packing().is_whole());
        whole.is_some_and(|quantized| quantized.left.zero() != 0)
    }

    /// Of a step's runs those that count for a tile: not what is padding for all rows, unless it is counted.
    fn seen(&self, table: &[*const f32], rows: Range<usize>, step: &Range<usize>) -> Seen {
        match self.counts_padding() {
            true => Seen::all(self.left.runs(), step),
            false => self.left.seen(table, rows, step),
        }
    }

    /// One step of one tile.
    fn tile(&self, slice: &Slice<'_>, table: &[*const f32], place: Place, out: &Shared<f32>) {
        let seen = self.seen(table, place.rows.clone(), &slice.runs);
        self.tiles(slice, (1, &seen), table, place, out);
    }

    /// One step of a tile and of those below it, so many of as many rows that see the same, unless all that they would multiply with is
    /// padding. There is more than one only where no run is left out.
    fn tiles(
        &self,
        slice: &Slice<'_>,
        (count, seen): (usize, &Seen),
        table: &[*const f32],
        place: Place,
        out: &Shared<f32>,
    ) {
        let Slice { panel, panels: side_by_side, ref runs, offset, depth, packing, steps, starts, ends } = *slice;
        let (rows, stride) = (place.rows.clone(), place.stride);
        // The bias is in the sums of the first step also where all of that is padding: a row's sums do not depend on the others in its tile.
        let (first, last) = (starts && runs.start == 0, ends && seen.end <= runs.end);
        let runs = match seen.runs.clone() {
            runs if !runs.is_empty() => runs,
            _ if first => 0..0,
            _ => return,
        };
        let some = &seen.some;
        let steps = &steps[(runs.start - slice.runs.start) * depth * panel.width..];
        let panels = self.panels;
        let column = place.group * panels.columns() + panel.first;
        let to = out.at(rows.start * stride + column);
        // Of a panel that is not full only what there is is read and written: by masks, or aside.
        let is_full = panel.columns == panel.width;
        let has_masks = !is_full && self.has_masks();
        let mut padded = [[0.0; MOST_COLUMNS]; 2];
        let [bias_padded, scales_padded] = &mut padded;
        let of_columns = |numbers: &[f32], padded: &mut [f32; MOST_COLUMNS]| match has_masks {
            true => {
                padded[..panel.columns].copy_from_slice(&numbers[column..column + panel.columns]);
                padded.as_ptr()
            }
            false => numbers[column..].as_ptr(),
        };
        let bias = self.epilogue.bias.filter(|_| first).map_or(null(), |bias| of_columns(bias, bias_padded));
        let scales = self.written.whole.filter(|_| packing.is_whole());
        let residual = self.epilogue.residual.filter(|_| last);
        let [applied, follows] = if last { self.functions() } else { [None; 2] };
        let (far, farther) = match rows.len() {
            1 if panels.are_cached() || panels.level() <= Level::Avx2 && foresees_rows() => (0, 0),
            _ => far((place.share, place.of), (steps.as_ptr(), steps.len()), place.next, panel.width),
        };
        // Rows have a pointer for each run, or one from which runs or numbers are found.
        let (pointers, taps, places) = match self.left {
            Left::Inside(Inside { places, .. }) => (0, null(), places[runs.start..].as_ptr()),
            Left::Taps(Inside { places, .. }) => (0, places[offset..].as_ptr(), null()),
            Left::Rows { .. } | Left::Windows(_) => (runs.start, null(), null()),
        };
        let tile = Tile {
            rows: rows.len(),
            tiles: count,
            stack: None,
            left: table[pointers * MOST_ROWS..].as_ptr(),
            offset,
            taps,
            places,
            segments: if some.is_empty() { runs.len() } else { some.len() },
            some: if some.is_empty() { null() } else { some.as_ptr() },
            depth,
            panel: steps.as_ptr(),
            panels: side_by_side,
            distance: panel.data.len(),
            packing,
            far,
            farther,
            soon: far == 0 || !fills_second(rows.len(), place.of),
            each: if panels.are_cached() { ahead_in_cache() } else { 0 },
            narrow: panel.width == panels.lanes(),
            accumulate: !first || self.epilogue.accumulate,
            bias,
            scales: scales.map_or(null(), |quantized| of_columns(quantized.scales, scales_padded)),
            residual: residual.map_or(null(), |x| x.data[rows.start * x.stride + column..].as_ptr()),
            residual_stride: residual.map_or(0, |x| x.stride),
            bounds: self.epilogue.bounds().filter(|_| last),
            function: applied,
            out: to,
            stride,
            words: if last { &raw const self.words } else { null() },
            place: [rows.start, column],
            columns: if has_masks { panel.columns } else { usize::MAX },
            aside: Aside::NONE,
        };
        // SAFETY: the table points to runs of the left operand, which holds them, as the result and what the epilogue
        // reads hold the tile's rows and columns (the promise of `compute`'s caller); tasks have tiles of their own.
        unsafe {
            if is_full || has_masks {
                tile.run(panels.level());
            } else {
                tile.run_aside(panels.level(), panel.columns, panel.width);
            }
            if let Some(function) = follows {
                let columns = panel.columns + (side_by_side - 1) * panel.width;
                run_rows(panels.level(), function, to, count * rows.len(), stride, columns);
            }
        }
    }
}

impl Split {
    /// One of the sets of panels.
    fn set(&self, index: usize) -> Range<usize> {
        let (first, count) = (self.range.start, self.range.len());
        first + index * count / self.sets..first + (index + 1) * count / self.sets
    }

    /// The tiles of a block.
    fn tiles_of(&self, block: usize) -> Range<usize> {
        block * self.tiles / self.blocks..(block + 1) * self.tiles / self.blocks
    }

    /// The rows of some tiles.
    fn rows(&self, tiles: Range<usize>) -> Range<usize> {
        let start = |tile: usize| match &self.zones {
            Some(zones) => zones.start(tile),
            None => tile * self.least + tile.min(self.more),
        };
        start(tiles.start)..start(tiles.end)
    }

    /// The steps of a set of panels as a task takes them, each with its panel.
    fn slices(&self, set: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        (0..self.steps.count).step_by(self.ahead).flat_map(move |first| {
            let steps = first..self.steps.count.min(first + self.ahead);
            set.clone().flat_map(move |index| steps.clone().map(move |step| (index, step)))
        })
    }
}

impl Zones {
    /// The rows and tiles of all zones together.
    fn sums(&self) -> [usize; 2] {
        let Self([above, within, below]) = self;
        [0, 1].map(|i| above[i] + within[i] + below[i])
    }

    /// The tiles of so many rows.
    fn all(&self, rows: usize) -> usize {
        let [of, tiles] = self.sums();
        rows / of * tiles
    }

    /// The first row of a tile.
    fn start(&self, tile: usize) -> usize {
        let [rows, tiles] = self.sums();
        let (mut row, mut tile) = (tile / tiles * rows, tile % tiles);
        for [rows, tiles] in self.0 {
            if tile < tiles {
                return row + tile * rows / tiles;
            }
            (row, tile) = (row + rows, tile - tiles);
        }
        row
    }
}

impl Steps {
    /// The rows of a panel in the longest step.
    fn longest(&self, run: usize) -> usize {
        self.runs * run.div_ceil(self.parts)
    }

    /// The runs of a step, and the part of them that it covers: where it starts and how long it is.
    fn at(&self, step: usize, runs: usize, run: usize) -> (Range<usize>, usize, usize) {
        if self.parts == 1 {
            return (step * self.runs..runs.min((step + 1) * self.runs), 0, run);
        }
        let (index, part) = (step / self.parts, step % self.parts);
        let (start, stop) = (part * run / self.parts, (part + 1) * run / self.parts);
        (index..index + 1, start, stop - start)
    }
}
