//! Products by Strassen's algorithm in Winograd's form: seven products of halves of the matrices in the place of eight.
//!
//! The rows of a block are taken in twos, one of the upper and one of the lower half, the inner dimension in halves, and the
//! panels in twos. What is multiplied are quarters of both matrices and sums of them. Each thread makes the rows' sums for
//! itself, for what another one wrote takes longer to read. The weights' sums are made while the tiles before are multiplied,
//! which leaves time for it, from the panels that the direct algorithm reads: weights take no more memory, and are read once for
//! a block.
//!
//! A number of the result has a share in the rounding errors of the other row and the other panel. So that it does not matter
//! how large the other row's numbers are, rows are added up as multiples of a power of 2 that is close to their largest number,
//! which is exact. What is not finite would spread: such numbers are computed by the definition.

mod rows;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::ptr::null;

use self::rows::Rows;
use super::algorithm::doubt;
use super::epilogue::Epilogue;
use super::format::Packing;
use super::left::Left;
use super::panels::Panels;
use super::product::{Product, far};
use super::tile::{Aside, Tile};
use crate::elementwise::{Unary, run_rows};
use crate::math;
use crate::memory::{Maker, fills_second, maker, new_key, scratch, second_level};
use crate::simd::{Beside, Kernel, Vector, dispatch};
use crate::threads::{Shared, for_each, shared_out};
use crate::tiles::tiles;

/// The most rows of a block.
const BLOCK: usize = 256;
/// The longest half of the inner dimension: sums of rows are to stay in the cache.
const LONGEST: usize = 4096;
/// The products in the time that the sums take, for each weight of a block, and for each number of the rows and of the result; and for
/// one of the result where panels are [narrow](Panels::is_narrow), which the direct algorithm is faster with.
const SUMS: [usize; 2] = [6, 8];
const NARROW: usize = 75;
/// The same for a number of the rows on Intel's processors, if these are more than the second-level cache holds: sums wait for rows, which
/// products do not. And for a number of the rows and of the result, if neither stays there.
const FAR: usize = 40;
const FAR_BOTH: usize = 50;
/// The tasks that make a fair share for each of a few threads likely, and how many do where pairs of panels go together.
const TASKS: usize = 8;
const GROUPED: usize = 4;
/// The steps of the inner dimension that are made at a time, of half of it: their sums of weights are to stay in the cache.
const STEPS: usize = 384;
/// The products of a pair of rows with a pair of panels, and which of them is the lower row's own.
const PRODUCTS: usize = 7;
const LOWER: usize = 2;

/// Rows that are multiplied with a packed matrix.
pub(super) struct Strassen<'a> {
    /// The product.
    pub(super) product: &'a Product<'a>,
    /// The left operand, and the distance of its rows.
    pub(super) data: &'a [f32],
    pub(super) stride: usize,
    /// How many lines of memory with the same place the first-level cache holds, and the bytes that the second-level cache does.
    pub(super) caches: (usize, usize),
}

/// Where the result is, and the distance of its rows.
struct Target<'a> {
    out: &'a Shared<f32>,
    stride: usize,
}

impl Strassen<'_> {
    /// Whether so many rows are multiplied faster so, by a thirtieth at least.
    pub(super) fn is_faster(rows: usize, panels: &Panels) -> bool {
        let (inner, columns) = (panels.steps(), panels.columns());
        let [weights, others] = SUMS;
        let products = rows * inner * columns;
        let leaves = |row: usize| rows * row * size_of::<f32>() > second_level() && maker() == Maker::Intel;
        let [read, written] = match (leaves(inner), leaves(columns)) {
            (true, true) => [FAR_BOTH; 2],
            (true, false) => [FAR, others],
            (false, _) => [others; 2],
        };
        let written = if panels.is_narrow() { NARROW } else { written };
        let sums = weights * inner * columns * rows.div_ceil(BLOCK) + rows * (read * inner + written * columns);
        let pair = 4 * panels.lanes();
        let single = columns % pair;
        let saved = rows * inner * (columns - single) / 8;
        // Columns that make no pair come after all others, when threads have waited for each other: half again.
        let rest = rows * inner * single.next_multiple_of(pair / 2) / 2;
        let fits = panels.packing() == Packing::Single && panels.groups() == 1 && columns >= pair;
        fits && inner.is_multiple_of(2) && inner <= 2 * LONGEST && saved > sums + rest + products / 30
    }

    /// Computes the product into rows that are `stride` apart.
    ///
    /// # Safety
    /// The result and the operands must hold all rows and columns. The inner dimension must be even, and there must be two full
    /// panels and rows for tiles of three pairs.
    pub(super) unsafe fn run(&self, out: &Shared<f32>, stride: usize) {
        let Product { rows, panels, .. } = *self.product;
        let (half, columns) = (panels.steps() / 2, panels.columns());
        let (pairs, blocks) = (columns / (4 * panels.lanes()), rows.div_ceil(BLOCK));
        let target = Target { out, stride };
        let (ways, second) = self.caches;
        let group = group(second, rows.div_ceil(blocks), half, 2 * panels.lanes());
        let tasks = if group == 1 { TASKS } else { GROUPED.max(pairs.div_ceil(group)) };
        let sets = shared_out(tasks).min(pairs);
        let start = |set: usize| set * pairs / sets;
        // Each row is read once for a panel: it is enough if the cache holds a line of each row of a tile.
        let left = Left::Rows { data: self.data, stride: self.stride };
        let copied = left.collides() && ways < panels.rows();
        let id = new_key();
        for_each(blocks * sets, 4 * rows * half * columns, |task| {
            let (block, set) = (task / sets, task % sets);
            // What comes next for this thread, unless it helps another.
            let after = start((set + 1) % sets);
            let rows = block * rows / blocks..(block + 1) * rows / blocks;
            let left = (&self.data[rows.start * self.stride..], self.stride);
            Rows::with(panels.level(), (id, block), left, rows.len(), half, copied, |left| {
                self.task(left, rows.clone(), (start(set)..start(set + 1), group), after, &target);
            });
        });
        // SAFETY: the caller's promise, and all tasks are done.
        unsafe { self.direct(0..rows, 2 * pairs..panels.count(), &target) };
    }

    /// The product of some rows with some panels by the definition.
    ///
    /// # Safety
    /// As for [`Product::compute`].
    unsafe fn direct(&self, rows: Range<usize>, range: Range<usize>, target: &Target<'_>) {
        let Product { panels, epilogue, .. } = *self.product;
        if range.is_empty() {
            return;
        }
        let left = Left::Rows { data: &self.data[rows.start * self.stride..], stride: self.stride };
        let out = Shared(target.out.at(rows.start * target.stride));
        let epilogue = epilogue.at_row(rows.start);
        let product = Product::new(left, rows.len(), panels, &epilogue);
        // SAFETY: the caller's promise.
        unsafe { product.compute(range, &out, target.stride) };
    }

    /// A block of rows times some pairs of panels, so many of which [go together](group), after which another one comes.
    fn task(
        &self,
        left: &Rows<'_>,
        rows: Range<usize>,
        (pairs, group): (Range<usize>, usize),
        after: usize,
        target: &Target<'_>,
    ) {
        let Product { panels, epilogue, .. } = *self.product;
        let (width, level) = (2 * panels.lanes(), panels.level());
        let (quarter, each) = (left.half() * width, left.pairs() * width);
        let steps = left.half().div_ceil(STEPS);
        let start = |step: usize| step * left.half() / steps;
        let most = left.half().div_ceil(steps) * width;
        let group = group.min(pairs.len());
        scratch(group * PRODUCTS * each + 2 * most, |memory| {
            let (products, sums) = memory.split_at_mut(group * PRODUCTS * each);
            // Where the rows of each part begin.
            let mut table = [[null(); BLOCK / 2]; PRODUCTS];
            for (part, table) in table.iter_mut().enumerate() {
                let (first, distance) = left.part(part);
                for (row, place) in table.iter_mut().take(left.count(part)).enumerate() {
                    *place = first.wrapping_add(row * distance);
                }
            }
            // Where the lower half has a row less than the upper one.
            for products in products.chunks_exact_mut(PRODUCTS * each) {
                products[LOWER * each + left.count(LOWER) * width..(LOWER + 1) * each].fill(0.0);
            }
            let [first, second] = [0, 1].map(|index| sums.as_mut_ptr().wrapping_add(index * most));
            let groups = pairs.clone().step_by(group).map(|first| first..pairs.end.min(first + group));
            let mut order = groups
                .flat_map(|group| {
                    (0..steps).flat_map(move |step| group.clone().enumerate().map(move |pair| (step, pair)))
                })
                .peekable();
            while let Some((step, (place, pair))) = order.next() {
                // From some step on, the upper and lower quarters of two panels, which lie one after the other: a and b, c and d.
                let quarters = |pair: usize, step: usize| {
                    let panel = panels.panel(0, 2 * pair).data[start(step) * width..].as_ptr();
                    [0, 1, 2, 3].map(|index| panel.wrapping_add(index * quarter))
                };
                let [a, c, b, d] = quarters(pair, step);
                let [next_a, _, next_b, _] =
                    order.peek().map_or_else(|| quarters(after, 0), |&(step, (_, pair))| quarters(pair, step));
                let products = &mut products[place * PRODUCTS * each..][..PRODUCTS * each];
                let range = start(step)..start(step + 1);
                let aside = |to, minuend, subtrahend| Aside { to, minuend, subtrahend, numbers: range.len() * width };
                // What comes next is asked for as late as can be, and sums take the place of those that are done with: the cache
                // that holds all this is nearly full of sums of rows.
                let parts = [
                    (0, a, c, aside(first, b, a)),
                    (1, c, d, Aside::NONE),
                    (3, first, null(), aside(second, d, first)),
                    (4, second, null(), aside(first, d, b)),
                    (5, first, null(), aside(second, second, c)),
                    (LOWER, second, next_a, Aside::NONE),
                    (6, d, next_b, Aside::NONE),
                ];
                for (part, weights, next, aside) in parts {
                    let products = &mut products[part * each..][..each];
                    let left = &table[part][..left.count(part)];
                    // SAFETY: the rows have the steps, the panels have two quarters each, there is room for two sums, and
                    // differences are made of what was written before.
                    unsafe { self.multiply(left, range.clone(), weights, products, next, aside) };
                }
                if step + 1 < steps {
                    continue;
                }
                let column = 2 * pair * width;
                let leave = Leave { rows: rows.clone(), left, epilogue, column, products, target };
                if !dispatch(level, leave) {
                    // SAFETY: the operands hold all rows and columns, of which these are no other task's.
                    unsafe { self.direct(rows.clone(), 2 * pair..2 * pair + 2, target) };
                } else if let Some(function) = epilogue.function().filter(|function| !Leave::applies(*function)) {
                    let to = target.out.at(rows.start * target.stride + column);
                    // SAFETY: the rows and columns are in the result, and no other task has them.
                    unsafe { run_rows(level, function, to, rows.len(), target.stride, 2 * width) };
                }
            }
        });
    }

    /// The products of some steps of rows with those of a quarter of a pair of panels, added to those of the steps before.
    ///
    /// # Safety
    /// There must be as many numbers of the rows and rows of weights as there are steps, and what is done aside must be possible.
    unsafe fn multiply(
        &self,
        left: &[*const f32],
        steps: Range<usize>,
        weights: *const f32,
        products: &mut [f32],
        next: *const f32,
        aside: Aside,
    ) {
        let panels = self.product.panels;
        let (width, level, depth) = (2 * panels.lanes(), panels.level(), steps.len());
        assert!(products.len() >= left.len() * width);
        let all = tiles(left.len(), panels.rows());
        let of = all.len();
        let accumulate = steps.start > 0;
        let mut tile = Tile { offset: steps.start, depth, panel: weights, accumulate, stride: width, ..Tile::PLAIN };
        for (index, (row, rows)) in all.enumerate() {
            tile.rows = rows;
            tile.left = left[row..row + rows].as_ptr();
            tile.out = products[row * width..].as_mut_ptr();
            if !next.is_null() {
                (tile.far, tile.farther) = far((index, of), (weights, depth * width), next, width);
                tile.soon = !fills_second(rows, of);
            }
            let [from, to] = [index, index + 1].map(|index| index * depth / of * width);
            tile.aside = aside.part(from..to);
            // SAFETY: there are so many rows, and the products have the tile's place (seen above); the rest is the caller's promise.
            unsafe { tile.run(level) };
        }
    }
}

/// How many pairs of panels go together: all of them are multiplied with some steps of a block of rows before the next steps are, which
/// are read once for each such group. They are as many as a cache, of so many bytes, has room for the products of, beside the rows,
/// panels and sums of some steps.
fn group(cache: usize, rows: usize, half: usize, width: usize) -> usize {
    /// The parts of a pair of rows that are read, and the quarters of panels and their sums.
    const READ: [usize; 2] = [7, 6];
    let steps = half.div_ceil(STEPS);
    if steps == 1 {
        return 1;
    }
    let (pairs, length) = (rows.div_ceil(2), half.div_ceil(steps));
    let [left, right] = READ;
    let read = (left * pairs + right * width) * length;
    ((cache / size_of::<f32>()).saturating_sub(read) / (PRODUCTS * pairs * width)).max(1)
}

/// The numbers of a block of rows and a pair of panels. What it gives is whether all were finite; if they are not, and are
/// added to what is there, nothing was written.
struct Leave<'a> {
    rows: Range<usize>,
    left: &'a Rows<'a>,
    epilogue: &'a Epilogue<'a>,
    /// The first column.
    column: usize,
    products: &'a [f32],
    target: &'a Target<'a>,
}

impl Leave<'_> {
    /// Whether a function is applied before numbers are written: those that transformers have after large products. Others go
    /// over the numbers once more.
    fn applies(function: Unary) -> bool {
        matches!(function, Unary::Gelu | Unary::GeluTanh)
    }

    /// A vector of the upper row in each of the two panels, and of the lower row.
    #[inline(always)]
    fn numbers<V: Vector<Elem = f32>>(&self, place: usize, [above, below, inverse]: [V; 3]) -> [[V; 2]; 2] {
        let each = self.products.len() / PRODUCTS;
        let at = |part: usize| V::load(&self.products[part * each + place..]);
        let (first, fourth) = (at(0), at(3));
        let common = first.mul_add(inverse, at(4));
        let lower = common + at(5);
        [[first + at(1), (common + fourth + at(6)) * above], [lower.mul_add(below, -at(2)), (lower + fourth) * below]]
    }

    /// Writes the numbers of all rows; what it gives is 0 in all lanes if they were finite.
    #[inline(always)]
    fn write<V: Vector<Elem = f32>>(&self, function: impl Fn(Beside<V>) -> Beside<V>) -> V {
        let Leave { rows, left, epilogue, target, .. } = self;
        let pairs = left.pairs();
        let width = self.products.len() / PRODUCTS / pairs;
        let mut all = V::zero();
        for pair in 0..pairs {
            let scales = left.scales(pair);
            // Where there is no lower row, the upper one is written once more.
            let (first, second) = (rows.start + pair, rows.start + pairs + pair);
            let second = if second < rows.end { second } else { first };
            for from in (0..width).step_by(V::LANES) {
                let numbers = self.numbers(pair * width + from, scales);
                all = doubt(all, &numbers);
                let [upper, lower] = numbers;
                let lower = if second == first { upper } else { lower };
                let x = Beside([upper[0], upper[1], lower[0], lower[1]]);
                let column = self.column + from;
                let places = |stride: usize| {
                    let (first, second) = (first * stride + column, second * stride + column);
                    [first, first + width, second, second + width]
                };
                // SAFETY: the bias has a number for each column, as have the rows of the residual and the result, whose places are
                // the caller's. All are read before one is written.
                let load = |from: *const f32, stride| unsafe { Beside::load_each(from, places(stride)) };
                let out = target.out.at(0);
                let x = function(epilogue.finish(x, (out, target.stride), load));
                // SAFETY: as above.
                unsafe { x.store_each(out, places(target.stride)) };
            }
        }
        all
    }
}

impl Kernel for Leave<'_> {
    type Elem = f32;
    type Output = bool;

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) -> bool {
        let pairs = self.left.pairs();
        let width = self.products.len() / PRODUCTS / pairs;
        if self.epilogue.accumulate {
            let mut all = V::zero();
            for pair in 0..pairs {
                let scales = self.left.scales(pair);
                for column in (0..width).step_by(V::LANES) {
                    all = doubt(all, &self.numbers(pair * width + column, scales));
                }
            }
            if all.sum() != 0.0 {
                return false;
            }
        }
        let all = match self.epilogue.function() {
            Some(Unary::Gelu) => self.write::<V>(math::gelu),
            Some(Unary::GeluTanh) => self.write::<V>(math::gelu_tanh),
            _ => self.write::<V>(|x| x),
        };
        all.sum() == 0.0
    }
}
