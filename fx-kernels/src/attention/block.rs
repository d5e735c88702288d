//! One head and a block of its queries.
//!
//! Queries lie side by side: a panel of them, as wide as one vector or two, has each query in a lane. A tile of scores is some
//! keys times a panel, and reads the keys where they lie; a tile of results is some numbers of the values, where they lie, times
//! the powers of a panel's scores. So the highest score of a query, its powers and their sum need no other lane.
//!
//! Where products are of pairs of bf16, a query and a key are rounded number by number, each with its neighbour, and powers and
//! values each with that of the next key: keys and values are copied so, a block at a time.

use std::ops::Range;

use super::few::FEW;
use super::on_unit::OnUnit;
use super::tile::Tile;
use super::words::{Couples, Singles, Words, power};
use super::{Ends, GROUP, Grid, Kernel, Mask, Scores, Sizes, Strides, Vector};
use crate::math::Single;
use crate::memory::{LINE, Lent, prefetch_far};
use crate::pairs::{round_below, round_to_pairs};
use crate::simd::first as first_lanes;
use crate::simd::{BESIDE, Beside, Lanes, MatrixUnit, PairKernel, Pairs};
use crate::tiles::tiles;

/// The most keys at a time: with their values and the scores of a panel they stay in the cache.
pub(super) const KEYS: usize = 256;
/// The bytes after which places in the first-level cache repeat.
const REPEAT: usize = 4096;
/// So many panels read keys and values faster where they lie side by side, by more than it takes to copy them.
const MANY: usize = 16;

/// A head and some of its queries; pointers are to the head's first row.
pub(super) struct Block<'a> {
    pub(super) sizes: Sizes,
    /// With the mask of this head.
    pub(super) scores: Scores<'a>,
    pub(super) q: (*const f32, usize),
    pub(super) k: (*const f32, usize),
    pub(super) v: (*const f32, usize),
    pub(super) out: (*mut f32, usize),
    /// The queries, keys, values and results of the head that comes next, to be asked for.
    pub(super) next: Option<[(*const f32, usize); 4]>,
    /// The queries, of which nobody else writes the results.
    pub(super) rows: Range<usize>,
    /// For each group of these the key after the last that the mask lets one of them see.
    pub(super) ends: Ends,
    /// What multiplies pairs, if not vectors.
    pub(super) unit: Option<MatrixUnit>,
}

/// What panels share.
struct Scratch {
    /// The scores of a block of keys with a panel, key after key, then their powers, word after word.
    scores: *mut f32,
    /// What is added to them: for some queries, row after row, and for a square of these, key after key.
    mask_rows: *mut f32,
    mask: *mut f32,
    /// A block of keys and one of values, where they are copied.
    keys: *mut f32,
    values: *mut f32,
    /// What multiplies them, if not vectors.
    unit: Option<OnUnit>,
}

/// What is kept of a panel of queries while blocks of keys pass.
struct Panel {
    /// The queries.
    rows: Range<usize>,
    /// The queries times the factor of the scores, word after word.
    queries: *mut f32,
    /// The results, number after number, relative to the highest score so far.
    results: *mut f32,
    /// The highest score of each query so far, and the sum of its powers.
    highest: *mut f32,
    sums: *mut f32,
    /// Of a grid what is added for each line, then for each place in one.
    grid: *mut f32,
}

impl Kernel for Block<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        // A panel has a lane for each query, so few leave most of it empty. As many as a task may have by the number of threads are
        // few in any case: the same numbers come out for any.
        if self.rows.len() <= FEW.max(V::LANES / 2) {
            // SAFETY: the operands were checked to hold all rows.
            return unsafe { self.few::<V>() };
        }
        self.many::<V, Singles>();
    }
}

/// Several queries of a block, in products of pairs.
pub(super) struct InPairs<'a>(pub(super) Block<'a>);

impl PairKernel for InPairs<'_> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        self.0.many::<V, Couples>();
    }
}

/// Rows from one on.
fn from((first, distance): (*const f32, usize), row: usize) -> (*const f32, usize) {
    (first.wrapping_add(row * distance), distance)
}

/// Copies rows of so many numbers to where they lie side by side, without displacing each other in the cache.
///
/// # Safety
/// There must be such rows, and room for them.
unsafe fn copy(rows: (*const f32, usize), [count, width]: [usize; 2], to: *mut f32) -> (*const f32, usize) {
    for row in 0..count {
        let (from, _) = from(rows, row);
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from, to.wrapping_add(row * width), width) };
    }
    (to, width)
}

/// The parts of some memory, of these lengths.
fn parts<const N: usize>(mut start: *mut f32, lens: [usize; N]) -> [*mut f32; N] {
    lens.map(|len| {
        let part = start;
        start = part.wrapping_add(len);
        part
    })
}

impl Block<'_> {
    /// All queries, a panel at a time.
    #[inline(always)]
    fn many<V: Single, W: Words<V>>(self) {
        let Sizes { width, values, .. } = self.sizes;
        let wide = 2 * V::LANES;
        debug_assert!(wide <= GROUP, "a panel is in one group");
        let panels = self.rows.len().div_ceil(wide);
        let in_pairs = W::NUMBERS > 1;
        // Room for a block of rows that are copied: so many panels read them, or they displace each other.
        let room = |distance: usize, len: usize| {
            let displace = (distance * size_of::<f32>()).is_multiple_of(REPEAT);
            if distance != len && (panels >= MANY || displace) { len * KEYS } else { 0 }
        };
        let in_rows = matches!(self.scores.mask, Mask::Add(..) | Mask::Keep(..));
        let mask = if in_rows { [V::LANES * KEYS, V::LANES * V::LANES] } else { [0; 2] };
        let unit = self.unit.filter(|_| in_pairs).map(OnUnit::new);
        let [keys, copied_values, queries] = match unit {
            Some(_) => OnUnit::sizes(W::count(width), values),
            None if in_pairs => [W::count(width) * KEYS, W::count(KEYS) * values, 0],
            None => [room(self.k.1, width), room(self.v.1, values), 0],
        };
        let shared = [wide * KEYS, mask[0], mask[1], keys, copied_values];
        let grid = if let Mask::Grid(grid) = self.scores.mask { self.axes(&grid).iter().sum() } else { 0 };
        let each = [width.max(queries) * wide, values * wide, wide, wide, grid * wide];
        let each = each.map(|len| len.next_multiple_of(LINE));
        let of_panel: usize = each.iter().sum();
        let mut memory = Lent::new(shared.iter().sum::<usize>() + panels * of_panel);
        let [scores, mask_rows, mask, keys, values_copy] = parts(memory.numbers_mut().as_mut_ptr(), shared);
        let scratch = Scratch { scores, mask_rows, mask, keys, values: values_copy, unit };
        let first = values_copy.wrapping_add(shared[4]);
        let panel = |index: usize| {
            let start = self.rows.start + index * wide;
            let [queries, results, highest, sums, grid] = parts(first.wrapping_add(index * of_panel), each);
            Panel { rows: start..self.rows.end.min(start + wide), queries, results, highest, sums, grid }
        };
        // SAFETY: the operands were checked to hold all rows, and the scratch memory has room for all parts.
        unsafe {
            for index in 0..panels {
                let panel = panel(index);
                self.pack::<V, W>(&panel);
                if let Some(unit) = &scratch.unit {
                    unit.pad(panel.queries, W::count(width), panel.rows.len().next_multiple_of(V::LANES));
                }
            }
            let last_key = self.last_key(self.rows.end - 1);
            // Without any key there is one block of none.
            let blocks = tiles(last_key, KEYS).chain((last_key == 0).then_some((0, 0)));
            for (start, len) in blocks {
                let block = start..start + len;
                let (k, v) = if in_pairs {
                    self.rounded::<V, W>(&scratch, block.clone())
                } else {
                    let rows = |rows, width, room: usize, to| match room {
                        0 => from(rows, start),
                        _ => copy(from(rows, start), [len, width], to),
                    };
                    let k = rows(self.k, width, shared[3], scratch.keys);
                    (k, rows(self.v, values, shared[4], scratch.values))
                };
                for index in 0..panels {
                    if start == 0 {
                        self.ask(index, panels);
                    }
                    self.panel::<V, W>(&scratch, &panel(index), [k, v], block.clone());
                }
            }
        }
    }

    /// Asks for one of so many parts of the rows of the next head: each while a panel is computed, as not all can be on their way at once.
    fn ask(&self, part: usize, parts: usize) {
        let Sizes { queries, keys, width, values, .. } = self.sizes;
        let sizes = [(queries, width), (keys, width), (keys, values), (queries, values)];
        for ((first, distance), (rows, len)) in self.next.into_iter().flatten().zip(sizes) {
            for row in rows * part / parts..rows * (part + 1) / parts {
                for line in (0..len).step_by(LINE) {
                    prefetch_far(first.wrapping_add(row * distance + line));
                }
            }
        }
    }

    /// The key after the last that may count for a query.
    pub(super) fn last_key(&self, row: usize) -> usize {
        if matches!(self.scores.mask, Mask::Causal) { self.sizes.keys.min(row + 1) } else { self.sizes.keys }
    }

    /// The key after the last that may count for a panel.
    fn end(&self, panel: &Panel) -> usize {
        self.last_key(panel.rows.end - 1).min(self.ends[(panel.rows.start - self.rows.start) / GROUP])
    }

    /// The lines of a grid, and the places in a line that have keys.
    fn axes(&self, grid: &Grid<'_>) -> [usize; 2] {
        let keys = self.sizes.keys;
        [keys.div_ceil(grid.len), grid.len.min(keys)]
    }

    /// What is added to the scores of a query and some keys.
    #[inline(always)]
    pub(super) fn added(&self, row: usize, start: usize, to: &mut [f32]) {
        let counts = |counts: bool| if counts { 0.0 } else { f32::NEG_INFINITY };
        let first = |strides: Strides, step: usize| row * strides.row + start * step;
        // Neighbours that lie side by side are taken many at a time.
        match self.scores.mask {
            Mask::None | Mask::Causal => to.fill(0.0),
            Mask::Add(data, strides, 1) => to.copy_from_slice(&data[first(strides, 1)..][..to.len()]),
            Mask::Keep(data, strides, 1) => {
                to.iter_mut().zip(&data[first(strides, 1)..]).for_each(|(to, keep)| *to = counts(*keep));
            }
            Mask::Add(data, strides, step) => {
                to.iter_mut().enumerate().for_each(|(index, to)| *to = data[first(strides, step) + index * step]);
            }
            Mask::Keep(data, strides, step) => {
                to.iter_mut()
                    .enumerate()
                    .for_each(|(index, to)| *to = counts(data[first(strides, step) + index * step]));
            }
            Mask::Grid(Grid { lines, places, len }) => {
                let [lines, places] = [lines, places].map(|(data, strides)| &data[row * strides.row..]);
                to.iter_mut().zip(start..).for_each(|(to, key)| *to = lines[key / len] + places[key % len]);
            }
        }
    }

    /// A score with what is added to it.
    #[inline(always)]
    pub(super) fn masked<V: Single>(&self, x: V, mask: V) -> V {
        let lowest = V::splat(f32::NEG_INFINITY);
        if self.scores.hides { V::select(mask.eq(lowest), lowest, x + mask) } else { x + mask }
    }

    /// Copies keys, whose numbers are rounded with their neighbours, and values, with those of the next one.
    ///
    /// # Safety
    /// There must be such keys and values, and room for them.
    #[inline(always)]
    unsafe fn rounded<V: Single, W: Words<V>>(
        &self,
        scratch: &Scratch,
        block: Range<usize>,
    ) -> ((*const f32, usize), (*const f32, usize)) {
        let (Sizes { width, values, .. }, count) = (self.sizes, block.len());
        let words = W::count(width);
        if let Some(unit) = &scratch.unit {
            let [k, v] = [self.k, self.v].map(|operand| from(operand, block.start));
            // SAFETY: the caller's promise.
            unsafe { unit.copy::<V, W>((k, width, scratch.keys), (v, values, scratch.values), count) };
        } else if count > 0 {
            // SAFETY: the caller's promise; a last row may end where its operand does.
            unsafe {
                let rows = |(first, distance): (*const f32, usize), len: usize| {
                    let first = first.wrapping_add(block.start * distance);
                    std::slice::from_raw_parts(first, (count - 1) * distance + len)
                };
                if width > 0 {
                    let to = std::slice::from_raw_parts_mut(scratch.keys, count * words);
                    round_to_pairs(to, words, rows(self.k, width), self.k.1, width);
                }
                let to = std::slice::from_raw_parts_mut(scratch.values, W::count(count) * values);
                round_below(to, rows(self.v, values), self.v.1, [count, values]);
            }
        }
        ((scratch.keys, words), (scratch.values, values))
    }

    /// Transposes queries into their panel, times the factor of the scores, and what a grid adds; missing queries are zeros.
    ///
    /// # Safety
    /// The queries must be readable, and the panel have room for them.
    #[inline(always)]
    unsafe fn pack<V: Single, W: Words<V>>(&self, panel: &Panel) {
        let (width, lanes) = (self.sizes.width, V::LANES);
        let wide = panel.rows.len().next_multiple_of(lanes);
        let scale = V::splat(self.scores.scale);
        for lane in (0..wide).step_by(lanes) {
            let count = (panel.rows.len() - lane).min(lanes);
            let from = self.q.0.wrapping_add((panel.rows.start + lane) * self.q.1);
            let to = panel.queries.wrapping_add(lane);
            // SAFETY: `count` queries are left, and the panel has room for as many as there are lanes.
            unsafe { transpose::<V>((from, self.q.1), [count, width], (to, wide)) };
            if let Mask::Grid(grid) = self.scores.mask {
                let mut to = panel.grid.wrapping_add(lane);
                for ((data, strides), axis) in [grid.lines, grid.places].into_iter().zip(self.axes(&grid)) {
                    let rows = &data[(panel.rows.start + lane) * strides.row..];
                    // SAFETY: masks were checked to hold all rows, and the panel has room for as many as there are lanes.
                    unsafe { transpose::<V>((rows.as_ptr(), strides.row), [count, axis], (to, wide)) };
                    to = to.wrapping_add(axis * wide);
                }
            }
            for word in 0..W::count(width) {
                let first = word * W::NUMBERS;
                let last = (first + W::NUMBERS - 1).min(width - 1);
                // SAFETY: just written.
                unsafe {
                    let low = V::load_at(to.wrapping_add(first * wide)) * scale;
                    let high = if last > first { V::load_at(to.wrapping_add(last * wide)) * scale } else { V::zero() };
                    W::of(low, high).store_at(to.wrapping_add(word * wide));
                }
            }
        }
    }

    /// A panel of queries and a block of keys: the scores, their powers, and the values' share of the results.
    ///
    /// # Safety
    /// `k` and `v` must be the block's keys and values, and the panel be packed.
    #[inline(always)]
    unsafe fn panel<V: Single, W: Words<V>>(
        &self,
        scratch: &Scratch,
        panel: &Panel,
        [k, v]: [(*const f32, usize); 2],
        block: Range<usize>,
    ) {
        let (Sizes { width, values, .. }, wide) = (self.sizes, panel.rows.len().next_multiple_of(V::LANES));
        let (starts, end) = (block.start == 0, self.end(panel));
        let keys = end.min(block.end).saturating_sub(block.start);
        if keys == 0 && !starts {
            return;
        }
        let narrow = wide == V::LANES;
        let place = |row: usize, lane: usize| row * wide + lane;
        // SAFETY: the caller's promise; the scratch memory has room for the block's scores.
        unsafe {
            if let Some(unit) = &scratch.unit {
                unit.scores(scratch.keys, keys, W::count(width), (panel.queries, wide), scratch.scores);
            } else {
                for (first, count) in tiles(keys, V::ROWS) {
                    let tile = Tile::<false> {
                        rows: count,
                        left: k.0.wrapping_add(first * k.1),
                        distance: k.1,
                        depth: W::count(width),
                        panel: panel.queries,
                        narrow,
                        before: None,
                        after: None,
                        out: scratch.scores.wrapping_add(first * wide),
                    };
                    W::multiply(&tile);
                }
            }
            let lowest = V::splat(f32::NEG_INFINITY);
            self.mask::<V>(scratch, panel, block.start, keys);
            // Some at a time, so that they need not wait for the ones before.
            let padded = keys.next_multiple_of(BESIDE);
            for place in (keys * wide..padded * wide).step_by(V::LANES) {
                lowest.store_at(scratch.scores.wrapping_add(place));
            }
            let [mut shrink, mut factors] = [[0.0; GROUP]; 2];
            for lane in (0..wide).step_by(V::LANES) {
                let places = |key: usize| [0, 1, 2, 3].map(|part| place(key + part, lane));
                let mut highest = Beside([lowest; BESIDE]);
                for key in (0..padded).step_by(BESIDE) {
                    highest = highest.max(Beside::load_each(scratch.scores, places(key)));
                }
                let highest = highest.join(V::max);
                let (highest_at, sums_at) = (panel.highest.wrapping_add(lane), panel.sums.wrapping_add(lane));
                let before = if starts { lowest } else { V::load_at(highest_at) };
                let highest = before.max(highest);
                highest.store_at(highest_at);
                // Without any key so far, the powers of minus infinity are 0.
                let base = V::select(highest.eq(lowest), V::zero(), highest);
                let mut sums = Beside::<V>::zero();
                for key in (0..padded).step_by(BESIDE) {
                    let x = W::power(Beside::load_each(scratch.scores, places(key)) - Beside([base; BESIDE]));
                    sums = sums + x;
                    if W::NUMBERS == 1 {
                        x.store_each(scratch.scores, places(key));
                        continue;
                    }
                    // Words take half the room, so none is written where powers are still to be computed.
                    let Beside([first, second, third, fourth]) = x;
                    let word = key / W::NUMBERS;
                    W::of(first, second).store_at(scratch.scores.wrapping_add(place(word, lane)));
                    W::of(third, fourth).store_at(scratch.scores.wrapping_add(place(word + 1, lane)));
                }
                let mut sum = sums.join(|x, y| x + y);
                if !starts {
                    let by = power(before - base);
                    by.store(&mut shrink[lane..]);
                    sum = V::load_at(sums_at).mul_add(by, sum);
                }
                sum.store_at(sums_at);
                let factor = V::select(sum.eq(V::zero()), V::splat(self.scores.empty), V::splat(1.0) / sum);
                factor.store(&mut factors[lane..]);
            }
            let ends = block.start + keys == end;
            let (before, after) = ((!starts).then_some(&shrink), ends.then_some(&factors));
            if let Some(unit) = &scratch.unit {
                let powers = (scratch.scores, W::count(keys));
                unit.results::<V>((scratch.values, values), powers, (panel.results, wide), before, after);
            } else {
                for (first, count) in tiles(values, V::ROWS) {
                    let tile = Tile::<true> {
                        rows: count,
                        left: v.0.wrapping_add(first),
                        distance: v.1,
                        depth: W::count(keys),
                        panel: scratch.scores,
                        narrow,
                        before,
                        after,
                        out: panel.results.wrapping_add(first * wide),
                    };
                    W::multiply(&tile);
                }
            }
            if ends {
                self.write::<V>(panel, wide);
            }
        }
    }

    /// Adds what is added to the scores of a panel and some keys.
    ///
    /// # Safety
    /// There must be so many scores.
    #[inline(always)]
    unsafe fn mask<V: Single>(&self, scratch: &Scratch, panel: &Panel, start: usize, keys: usize) {
        let (lanes, wide) = (V::LANES, panel.rows.len().next_multiple_of(V::LANES));
        let score = |key: usize, lane: usize| scratch.scores.wrapping_add(key * wide + lane);
        // The distance of rows, and numbers that may be read where they lie.
        let (of_row, numbers) = match self.scores.mask {
            Mask::None => return,
            Mask::Causal => {
                // Queries before a key, which are the first ones.
                for key in (panel.rows.start + 1).saturating_sub(start)..keys {
                    for lane in (0..wide).step_by(lanes) {
                        let before = (start + key).saturating_sub(panel.rows.start + lane).min(lanes);
                        let score = score(key, lane);
                        // SAFETY: the caller's promise.
                        unsafe { first_lanes(V::splat(f32::NEG_INFINITY), before, V::load_at(score)).store_at(score) };
                    }
                }
                return;
            }
            Mask::Add(data, Strides { row: 1, .. }, step) => {
                for key in 0..keys {
                    let data = &data[panel.rows.start + (start + key) * step..][..panel.rows.len()];
                    for lane in (0..wide).step_by(lanes) {
                        let score = score(key, lane);
                        // SAFETY: the caller's promise.
                        unsafe { self.masked(V::load_at(score), V::load_part(&data[lane..])).store_at(score) };
                    }
                }
                return;
            }
            Mask::Grid(grid) => {
                let [lines, _] = self.axes(&grid);
                let (mut line, mut at) = (start / grid.len, start % grid.len);
                for key in 0..keys {
                    for lane in (0..wide).step_by(lanes) {
                        let axis = |row: usize| panel.grid.wrapping_add(row * wide + lane);
                        // SAFETY: the caller's promise; the panel has the numbers of all lines and places.
                        unsafe {
                            let added = V::load_at(axis(line)) + V::load_at(axis(lines + at));
                            self.masked(V::load_at(score(key, lane)), added).store_at(score(key, lane));
                        }
                    }
                    at += 1;
                    if at == grid.len {
                        (line, at) = (line + 1, 0);
                    }
                }
                return;
            }
            Mask::Add(data, strides, 1) => (strides.row, Some(data)),
            Mask::Add(_, strides, _) | Mask::Keep(_, strides, _) => (strides.row, None),
        };
        // SAFETY: there is room for a block of keys and a vector's lanes of rows.
        let rows = unsafe { std::slice::from_raw_parts_mut(scratch.mask_rows, lanes * KEYS) };
        for lane in (0..wide).step_by(lanes) {
            let row = panel.rows.start + lane;
            let count = if of_row == 0 { 1 } else { lanes.min(panel.rows.len() - lane) };
            let read = numbers.filter(|_| count == lanes).map_or(0, |_| keys - keys % lanes);
            for (index, to) in rows.chunks_exact_mut(KEYS).take(count).enumerate() {
                self.added(row + index, start + read, &mut to[read..keys]);
            }
            for first in (0..keys).step_by(lanes) {
                let (from, stride) = match numbers {
                    Some(data) if first < read => (data[row * of_row + start + first..].as_ptr(), of_row),
                    _ => (rows[first..].as_ptr(), KEYS),
                };
                if of_row > 0 {
                    // SAFETY: there are so many rows of so many numbers, and room for a square.
                    unsafe { V::transpose(from, stride, scratch.mask, lanes) };
                }
                for (index, key) in (first..keys.min(first + lanes)).enumerate() {
                    let score = score(key, lane);
                    // SAFETY: as above.
                    unsafe {
                        let added = match of_row {
                            0 => V::splat(*from.wrapping_add(index)),
                            _ => V::load_at(scratch.mask.wrapping_add(index * lanes)),
                        };
                        self.masked(V::load_at(score), added).store_at(score);
                    }
                }
            }
        }
    }

    /// Writes the results of a panel to their rows.
    ///
    /// # Safety
    /// The rows must be writable.
    #[inline(always)]
    unsafe fn write<V: Single>(&self, panel: &Panel, wide: usize) {
        let (values, lanes) = (self.sizes.values, V::LANES);
        for lane in (0..wide).step_by(lanes) {
            let (count, row) = ((panel.rows.len() - lane).min(lanes), panel.rows.start + lane);
            let to = self.out.0.wrapping_add(row * self.out.1);
            for first in (0..values).step_by(lanes) {
                let from = panel.results.wrapping_add(first * wide + lane);
                let to = to.wrapping_add(first);
                // SAFETY: the caller's promise.
                unsafe {
                    if count == lanes && first + lanes <= values {
                        V::transpose(from, wide, to, self.out.1);
                        continue;
                    }
                    for (row, d) in (0..count).flat_map(|row| (0..lanes.min(values - first)).map(move |d| (row, d))) {
                        *to.wrapping_add(row * self.out.1 + d) = *from.wrapping_add(d * wide + row);
                    }
                }
            }
        }
    }
}

/// Transposes up to as many rows as a vector has lanes: number after number, with zeros in the place of missing rows.
///
/// # Safety
/// The rows must be readable, and all numbers of whole vectors writable.
#[inline(always)]
unsafe fn transpose<V: Single>(from: (*const f32, usize), [rows, columns]: [usize; 2], to: (*mut f32, usize)) {
    let whole = if rows == V::LANES { columns - columns % V::LANES } else { 0 };
    // SAFETY: the caller's promise.
    unsafe {
        for column in (0..whole).step_by(V::LANES) {
            V::transpose(from.0.wrapping_add(column), from.1, to.0.wrapping_add(column * to.1), to.1);
        }
        for column in whole..columns {
            let to = to.0.wrapping_add(column * to.1);
            V::zero().store_at(to);
            for row in 0..rows {
                *to.wrapping_add(row) = *from.0.wrapping_add(row * from.1 + column);
            }
        }
    }
}
