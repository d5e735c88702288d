//! The rest of the work on sums that are there, while others are computed: which rows they are of, and when these are finished.

use std::ops::Range;
use std::ptr::null_mut;

use super::super::epilogue::{Epilogue, Residual};
use super::super::panels::Panel;
use super::super::product::Product;
use super::finish::{Added, Finish};
use super::lines::Tile;
use super::{OnUnit, Task};
use crate::elementwise::{Unary, run_rows};
use crate::rounded::Rounded;
use crate::simd::{Between, SIDE, Squares, dispatch, dispatch_bytes, dispatch_pairs};

/// The most calls in which rows are finished while others are computed, and the rows of registers for each; the former beside numbers that are
/// split.
const PARTS: usize = 4;
const STEPS: usize = 6;
const SPLIT_PARTS: usize = 8;
/// In how many steps rows are finished one by one: in fewer they would be the loop, and in more, writing some now and then keeps fewer lines
/// from being read. Measured.
const MANY: Range<usize> = 6..49;

/// Rows of the product that are neighbours, and where their sums are.
#[derive(Clone, Copy)]
struct Rows {
    first: usize,
    count: usize,
    sums: *mut f32,
}

/// What follows the sums of a pair of tiles, to be done some rows at a time.
pub(super) struct Rest<'a> {
    on: &'a OnUnit<'a>,
    task: &'a Task<'a>,
    panel: Panel<'a>,
    /// The rows that are left: those of both tiles, or of each.
    rows: [Rows; 2],
}

impl<'a> Rest<'a> {
    /// Nothing, of a task.
    pub(super) fn none(on: &'a OnUnit<'a>, task: &'a Task<'a>) -> Self {
        Self { on, task, panel: Panel::default(), rows: [Rows { first: 0, count: 0, sums: null_mut() }; 2] }
    }

    /// What follows the sums of two tiles with a panel, after nothing is left of others.
    ///
    /// # Safety
    /// The sums must stay where they are until all rows are finished.
    pub(super) unsafe fn follow(&mut self, tiles: &[Option<Tile>; 2], panel: Panel<'a>, sums: *mut f32) {
        let height = self.on.lines.rows();
        self.panel = panel;
        let rows = |index: usize| match tiles[index] {
            Some(Tile { row, again, .. }) => {
                let sums = sums.wrapping_add((index * height + again) * panel.width);
                Rows { first: row + again, count: height - again, sums }
            }
            None => Rows { first: 0, count: 0, sums },
        };
        self.rows = [rows(0), rows(1)];
        let [upper, lower] = &mut self.rows;
        // The rows of both are neighbours, mostly.
        if lower.count == height && lower.first == upper.first + upper.count {
            upper.count += std::mem::take(&mut lower.count);
        }
    }

    /// While so many steps are made: after how many of them some rows are to be finished, again and again, and how many.
    pub(super) fn shares(&self, steps: usize) -> (usize, usize) {
        let parts = match self.on.lines.are_split() {
            true => steps.min(SPLIT_PARTS),
            false => (steps / STEPS).clamp(1, PARTS),
        };
        let left = self.rows[0].count + self.rows[1].count;
        // Divisions take as long as some steps do.
        if parts == 1 { (steps, left) } else { (steps / parts, left.div_ceil(parts)) }
    }

    /// Finishes some more rows, if there are any left.
    pub(super) fn some(&mut self, mut count: usize) {
        for index in 0..2 {
            let rows = self.rows[index];
            let now = count.min(rows.count);
            if now > 0 {
                self.on.finish(self.task, &self.panel, Rows { count: now, ..rows });
                self.skip(index, now);
                count -= now;
            }
        }
    }

    /// Notes that some rows are finished.
    fn skip(&mut self, index: usize, count: usize) {
        let Rows { first, count: left, sums } = self.rows[index];
        let sums = sums.wrapping_add(count * self.panel.width);
        self.rows[index] = Rows { first: first + count, count: left - count, sums };
    }

    /// Multiplies registers, and finishes rows meanwhile.
    ///
    /// # Safety
    /// As for [`Registers::multiply`](crate::simd::Registers::multiply), in which so many steps are made.
    pub(super) unsafe fn multiply(&mut self, squares: &Squares<'_>, steps: usize) {
        let registers = self.task.registers;
        // SAFETY: the caller's promise.
        unsafe {
            if !(MANY.contains(&steps) && self.multiply_meanwhile(squares, steps)) {
                // The last of them come after the sums are written, which takes a while.
                let (steps, rows) = self.shares(steps);
                registers.multiply(squares, Between { steps: steps + 1, call: &mut || self.some(rows) });
            }
        }
    }

    /// The same of bf16 and two registers of rows, where those of the sums are all neighbours, have as many columns, and nothing is to be done
    /// but to add, to limit and to round; otherwise nothing is multiplied.
    unsafe fn multiply_meanwhile(&mut self, squares: &Squares<'_>, steps: usize) -> bool {
        let [rows @ Rows { count, .. }, Rows { count: 0, .. }] = self.rows else { return false };
        let Panel { columns, width, .. } = self.panel;
        let Product { epilogue, written, .. } = *self.on.product;
        let is_all = !squares.left[1].is_null() && count > 0 && columns == width && (width > SIDE) == squares.wide;
        if !is_all || squares.whole || written.whole.is_some() || epilogue.function().is_some() {
            return false;
        }
        let Finished { finish, is_last: true, .. } = self.on.finished(self.task, &self.panel, rows) else {
            return false;
        };
        let each = count.div_ceil(steps);
        macro_rules! finish {
            ($adder:expr, $in_pairs:literal) => {
                match squares.wide {
                    true => finish!($adder, $in_pairs, 2),
                    false => finish!($adder, $in_pairs, 1),
                }
            };
            ($adder:expr, $in_pairs:literal, $vectors:literal) => {{
                let mut whole = finish.whole::<_, $in_pairs, $vectors>($adder);
                // SAFETY: the caller's promise, and the sums and the result are there, as who let them follow promised.
                unsafe { self.task.registers.multiply_meanwhile(squares, &mut whole, each) };
                whole.left
            }};
        }
        let left = match (finish.added, finish.rounded.is_some()) {
            (Added::Nothing, true) => finish!((), true),
            (Added::Nothing, false) => finish!((), false),
            (Added::Pairs(words, distance), true) => finish!((words, distance), true),
            (Added::Once(data, distance), false) => finish!((data, distance), false),
            _ => return false,
        };
        self.skip(0, count - left);
        true
    }
}

/// How some sums are finished.
struct Finished<'a> {
    finish: Finish<'a>,
    /// A function of all that is written then.
    function: Option<Unary>,
    /// Whether that is all. Otherwise it is rounded to the result's words.
    is_last: bool,
    /// Where the result's rows begin.
    result: *mut f32,
}

impl OnUnit<'_> {
    /// Writes what follows the sums of some rows of the product.
    #[inline(always)]
    fn finish(&self, task: &Task<'_>, panel: &Panel<'_>, rows: Rows) {
        let (level, Rows { first, count, sums }) = (self.product.panels.level(), rows);
        if self.lines.are_split() {
            // SAFETY: there is a sum for each number.
            let sums = unsafe { std::slice::from_raw_parts_mut(sums, count * panel.width) };
            self.mend(first..first + count, panel, sums);
        }
        let Finished { finish, function, is_last, result } = self.finished(task, panel, rows);
        let (out, stride) = (finish.out, finish.stride);
        match finish.rounded {
            _ if finish.is_whole => dispatch_bytes(level, false, finish),
            Some(_) => dispatch_pairs(finish),
            None => dispatch(level, finish),
        }
        if let Some(function) = function {
            // SAFETY: the result, or what is to be rounded, holds the rows and columns, which no other task has.
            unsafe { run_rows(level, function, out, count, stride, panel.columns) };
        }
        if let Some(rounded) = self.product.written.output.filter(|_| !is_last) {
            // SAFETY: the result holds the rows and columns as words, which no other task has.
            unsafe { rounded.write(level, (result, task.stride), (out, stride), [count, panel.columns]) };
        }
    }

    /// How they are finished.
    #[inline(always)]
    fn finished(&self, task: &Task<'_>, panel: &Panel<'_>, rows: Rows) -> Finished<'_> {
        let Product { panels, epilogue, written, .. } = *self.product;
        let (width, column, Rows { first, count, sums }) = (panel.width, panel.first, rows);
        let numbers = written.output.map_or(1, Rounded::numbers);
        let result = task.out.at(first * task.stride + column / numbers);
        let function = epilogue.function();
        let is_whole = panels.packing().is_whole();
        let in_words = match written.output.filter(|_| function.is_none()) {
            Some(Rounded::Pairs) => !is_whole,
            Some(Rounded::Bytes(_)) => is_whole,
            None => false,
        };
        // Other numbers that are rounded are so before they leave the first-level cache.
        let is_last = written.output.is_none() || in_words;
        let (out, stride) = if is_last { (result, task.stride) } else { (sums, width) };
        assert!(panel.columns <= width, "there is a sum for each number");
        let finish = Finish {
            sums,
            width,
            rows: count,
            columns: panel.columns,
            scales: written.whole.map_or(&[], |quantized| &quantized.scales[column..]),
            bias: epilogue.bias.map(|bias| &bias[column..]),
            added: self.added(task, first, column, (out, stride)),
            limits: epilogue.limits(),
            out,
            stride,
            ahead: 2 * self.lines.rows(),
            is_whole,
            rounded: written.output.filter(|_| in_words),
        };
        Finished { finish, function, is_last, result }
    }

    /// What is added from a row and a column on, where the result, as numbers, has such a place.
    fn added(&self, task: &Task<'_>, row: usize, column: usize, (out, stride): (*mut f32, usize)) -> Added {
        let Epilogue { residual, accumulate, .. } = *self.product.epilogue;
        if let Some((added, (words, distance))) = self.product.words_added(task.out, task.stride) {
            let (words, distance) = (words.wrapping_add(row * distance), added.numbers() * distance);
            return match added {
                Rounded::Pairs => Added::Pairs(words.cast::<u16>().wrapping_add(column), distance),
                Rounded::Bytes(quantization) => {
                    Added::Bytes(words.cast::<u8>().wrapping_add(column), distance, quantization)
                }
            };
        }
        let residual = residual.map(|Residual { data, stride }| (data[row * stride + column..].as_ptr(), stride));
        match (residual, accumulate) {
            (None, false) => Added::Nothing,
            (None, true) => Added::Once(out, stride),
            (Some((data, stride)), false) => Added::Once(data, stride),
            (Some(residual), true) => Added::Twice([(out, stride), residual]),
        }
    }
}
