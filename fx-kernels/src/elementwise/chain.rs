//! Chains of elementwise ops, run tile by tile.

use std::fmt;
use std::mem::MaybeUninit;
use std::ops::Range;

use super::scaled::Scaled;
use super::spread::{Again, Spread};
use super::tile::{Area, Operands};
use super::*;
use crate::copy::copy_rows;
use crate::memory::{LINE, Line};
use crate::pairs::widen_pairs;
use crate::rounded::Rounded;
use crate::simd::dispatch;

/// An op of any number of operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Of one operand.
    Unary(Unary),
    /// Of two operands.
    Binary(Binary),
    /// Of three operands.
    Ternary(Ternary),
}

impl Op {
    /// How many operands it has.
    fn operands(self) -> usize {
        match self {
            Op::Unary(_) => 1,
            Op::Binary(_) => 2,
            Op::Ternary(_) => 3,
        }
    }
}

impl Op {
    /// Runs the op over a tile.
    ///
    /// # Safety
    /// As the loops of the module `tile`.
    unsafe fn run(self, level: Level, out: *mut f32, area: Area, x: Operands<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Op::Unary(op) => op.run(level, out, area, x),
                Op::Binary(op) => op.run(level, out, area, x),
                Op::Ternary(op) => op.run(level, out, area, x),
            }
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Unary(op) => op.fmt(f),
            Op::Binary(op) => op.fmt(f),
            Op::Ternary(op) => op.fmt(f),
        }
    }
}

/// What a step computes with: an operand of the chain, or the result of an earlier step, both counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An operand of the chain.
    Input(usize),
    /// The result of a step.
    Step(usize),
}

/// One op of a chain, and where its operands are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    op: Op,
    /// As many as the op has; the rest repeat the last.
    args: [Place; 3],
}

impl Step {
    /// An op of one operand.
    pub fn unary(op: Unary, x: Place) -> Self {
        Self { op: Op::Unary(op), args: [x; 3] }
    }

    /// An op of two operands.
    pub fn binary(op: Binary, x: Place, y: Place) -> Self {
        Self { op: Op::Binary(op), args: [x, y, y] }
    }

    /// An op of three operands.
    pub fn ternary(op: Ternary, x: Place, y: Place, z: Place) -> Self {
        Self { op: Op::Ternary(op), args: [x, y, z] }
    }

    /// What it computes.
    pub fn op(&self) -> Op {
        self.op
    }

    /// What it computes with.
    pub fn args(&self) -> &[Place] {
        &self.args[..self.op.operands()]
    }
}

/// A sequence of elementwise ops whose last result is the output.
///
/// ```
/// use fx_kernels::elementwise::{Binary, Chain, Operand, Place, Step, Unary};
///
/// let chain = Chain::new(2, &[
///     Step::binary(Binary::Add, Place::Input(0), Place::Input(1)),
///     Step::unary(Unary::Relu, Place::Step(0)),
/// ]);
/// let chain = chain.expect("a short chain");
/// assert_eq!(chain.to_string(), "relu(add(x0, x1))");
/// let mut out = [0.0; 4];
/// chain.run(&mut out, &[Operand::Cycle(&[1.0, -2.0, 3.0, -4.0]), Operand::Cycle(&[0.5, 1.0])]);
/// assert_eq!(out, [1.5, 0.0, 3.5, 0.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    inputs: usize,
    steps: Vec<Coded>,
}

/// A step with its place among the registers; the last step's is the output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Coded {
    pub(super) step: Step,
    /// Where the result goes, if not to the output.
    register: usize,
    /// The registers of the operands that are steps.
    from: [usize; 3],
}

impl Chain {
    /// A chain of `inputs` operands; none if there are more operands, or results alive at once, than fit a tile's
    /// registers: it has to be cut in two then.
    ///
    /// # Panics
    /// If there is no step, or if a step refers to an operand that there is not, or to a step that is not before it.
    pub fn new(inputs: usize, steps: &[Step]) -> Option<Self> {
        assert!(!steps.is_empty(), "a chain has at least one step");
        let mut last_use = vec![0; steps.len()];
        for (index, step) in steps.iter().enumerate() {
            for arg in step.args() {
                match *arg {
                    Place::Input(input) => assert!(input < inputs, "there are {inputs} operands, not {}", input + 1),
                    Place::Step(step) => {
                        assert!(step < index, "step {index} refers to step {step}");
                        last_use[step] = index;
                    }
                }
            }
        }
        // Which step's result a register holds.
        let mut holders = [None::<usize>; REGISTERS];
        let mut registers = vec![0; steps.len()];
        let mut coded = Vec::with_capacity(steps.len());
        for (index, &step) in steps.iter().enumerate() {
            let from = step.args.map(|arg| if let Place::Step(step) = arg { registers[step] } else { 0 });
            if index + 1 < steps.len() {
                // A result may take the place of an operand that nobody needs later.
                let free = holders.iter().position(|holder| holder.is_none_or(|step| last_use[step] <= index))?;
                holders[free] = Some(index);
                registers[index] = free;
            }
            coded.push(Coded { step, register: registers[index], from });
        }
        (inputs <= INPUTS).then_some(Self { inputs, steps: coded })
    }

    /// This chain with one of its operands computed by another, whose operands take that one's place; none if that is more
    /// than fits a tile's registers.
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn after(&self, before: &Chain, input: usize) -> Option<Self> {
        assert!(input < self.inputs, "there are {} operands, not {}", self.inputs, input + 1);
        let result = Place::Step(before.steps.len() - 1);
        let place = |place| match place {
            Place::Input(other) if other == input => result,
            Place::Input(other) if other < input => Place::Input(other),
            Place::Input(other) => Place::Input(other + before.inputs - 1),
            Place::Step(step) => Place::Step(step + before.steps.len()),
        };
        // The other chain's operands begin where the one is that it computes.
        let moved = |place| match place {
            Place::Input(other) => Place::Input(other + input),
            step => step,
        };
        let first = before.steps().map(|step| Step { args: step.args.map(moved), ..*step });
        let then = self.steps().map(|step| Step { args: step.args.map(place), ..*step });
        Self::new(self.inputs + before.inputs - 1, &first.chain(then).collect::<Vec<_>>())
    }

    /// How many operands it has.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The steps, in order.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().map(|coded| &coded.step)
    }

    /// Computes all elements of `out`.
    ///
    /// # Panics
    /// If the number of operands is another, or if one does not divide the output into equal parts.
    pub fn run(&self, out: &mut [f32], inputs: &[Operand<'_>]) {
        self.run_at(Level::detect(), out, inputs);
    }

    /// As [`Chain::run`], with instructions of the given level.
    ///
    /// # Panics
    /// As [`Chain::run`], and if the processor does not have the level.
    pub fn run_at(&self, level: Level, out: &mut [f32], inputs: &[Operand<'_>]) {
        assert_eq!(inputs.len(), self.inputs, "the chain {self} has {} operands", self.inputs);
        run(level, &self.steps, out, None, inputs);
    }

    /// As [`Chain::run`], with a result that is written as words of what is rounded so. It may take the place of an operand if both are pairs.
    ///
    /// # Panics
    /// As [`Chain::run`], and if the processor does not [write](Rounded::is_written) such words.
    pub fn run_words(&self, out: &mut [f32], rounded: Rounded, inputs: &[Operand<'_>]) {
        assert_eq!(inputs.len(), self.inputs, "the chain {self} has {} operands", self.inputs);
        let is_read = inputs.iter().any(|input| matches!(input, Operand::Output));
        assert!(!is_read || rounded == Rounded::Pairs, "bytes do not take the place of numbers");
        run(Level::detect(), &self.steps, out, Some(rounded), inputs);
    }

    /// Computes some elements alone of all for which the operands are, on one thread.
    ///
    /// # Panics
    /// If the number of operands is another, if `out` does not have as many elements, and if an operand has too few of them, is pairs, or
    /// is the output.
    pub fn run_some(&self, elements: Range<usize>, out: &mut [f32], inputs: &[Operand<'_>]) {
        assert_eq!(inputs.len(), self.inputs, "the chain {self} has {} operands", self.inputs);
        assert_eq!(elements.len(), out.len(), "there is a place for each element");
        assert!(
            !inputs.iter().any(|input| has_pairs(input) || matches!(input, Operand::Output)),
            "operands are numbers"
        );
        if out.is_empty() {
            return;
        }
        inputs.iter().for_each(|input| check_rows(input, elements.end));
        let (tile, Range { start, end: stop }) = (few_elements(inputs), elements);
        let (out, scaled) = (out.as_mut_ptr().wrapping_sub(start), Scaled::of(&self.steps, inputs, stop));
        let scaled = scaled.as_ref();
        Task { level: Level::detect(), steps: &self.steps, inputs, scaled, out, written: None, start, stop, tile }
            .run();
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, index: usize) -> fmt::Result {
        let step = &self.steps[index].step;
        write!(f, "{}(", step.op)?;
        for (i, arg) in step.args().iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            match *arg {
                Place::Input(input) => write!(f, "x{input}")?,
                Place::Step(step) => self.write(f, step)?,
            }
        }
        f.write_str(")")
    }
}

/// The formula; the operands are `x0`, `x1` and so on.
impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, self.steps.len() - 1)
    }
}

/// Runs one op as a chain.
pub(crate) fn run_one(level: Level, op: Op, out: &mut [f32], inputs: &[Operand<'_>]) {
    let place = |i: usize| Place::Input(i.min(inputs.len() - 1));
    let step = Step { op, args: [place(0), place(1), place(2)] };
    run(level, &[Coded { step, register: 0, from: [0; 3] }], out, None, inputs);
}

/// Applies a function to rows of `len` elements that are `stride` apart.
///
/// # Safety
/// The rows must be the caller's to read and to write.
pub(crate) unsafe fn run_rows(level: Level, function: Unary, out: *mut f32, rows: usize, stride: usize, len: usize) {
    // Rows without gaps are one, which has fewer vectors that are not full.
    let area = match stride == len {
        true => Area { rows: 1, stride: rows * len, len: rows * len },
        false => Area { rows, stride, len },
    };
    // SAFETY: the caller's promise.
    unsafe { function.run(level, out, area, &[(out.cast_const(), true); 3]) };
}

fn run(level: Level, steps: &[Coded], out: &mut [f32], written: Option<Rounded>, inputs: &[Operand<'_>]) {
    let numbers = written.map_or(1, Rounded::numbers);
    let len = numbers * out.len();
    if len == 0 {
        return;
    }
    for input in inputs {
        let parts = parts(input).unwrap_or(1);
        assert!(parts > 0 && len.is_multiple_of(parts), "an operand of {parts} elements does not divide {len}");
        assert!(!matches!(input, Operand::Pairs(x) if 2 * x.len() != len), "there are pairs for each element");
        check_rows(input, len);
    }
    let least = if len > 64 * TILE { 16 * TILE } else { 4 * TILE };
    let words = if inputs.iter().any(has_pairs) { numbers.max(2) } else { numbers };
    let tile = match words {
        1 => tile(len, least, steps, inputs),
        words => Some(few_elements(inputs)).filter(|tile| tile.is_multiple_of(words)).unwrap_or(TILE),
    };
    let per_element: usize = steps.iter().map(|step| if matches!(step.step.op, Op::Unary(_)) { 12 } else { 4 }).sum();
    let task = tile * least.div_ceil(tile);
    let (place, scaled) = (Shared(out.as_mut_ptr()), Scaled::of(steps, inputs, len));
    let scaled = scaled.as_ref();
    for_each(len.div_ceil(task), per_element * len, |index| {
        let start = index * task;
        let stop = len.min(start + task);
        Task { level, steps, inputs, scaled, out: place.at(0), written, start, stop, tile }.run();
    });
}

/// Panics if an operand does not have all rows that the first elements meet.
fn check_rows(input: &Operand<'_>, elements: usize) {
    match *input {
        Operand::Rows(x, row, stride) => {
            let reach = (elements.div_ceil(row) - 1).checked_mul(stride).and_then(|start| start.checked_add(row));
            assert!(reach.is_some_and(|reach| reach <= x.len()), "rows reach over more than {} elements", x.len());
        }
        Operand::Joined(parts) => {
            let rows = elements.div_ceil(joined::row(parts));
            assert!(parts.iter().all(|part| part.has(rows)), "each operand has {rows} rows of whole words");
        }
        _ => (),
    }
}

/// Whether an operand is words of pairs, in part at least.
fn has_pairs(input: &Operand<'_>) -> bool {
    match input {
        Operand::Pairs(_) => true,
        Operand::Joined(parts) => parts.iter().any(|part| part.pairs),
        _ => false,
    }
}

/// The elements after which an operand begins anew, unless it is a constant.
fn parts(input: &Operand<'_>) -> Option<usize> {
    match *input {
        Operand::Cycle(x) => Some(x.len()),
        Operand::Repeat(x, run) => Some(x.len() * run),
        Operand::Again(x, row, times) => Some(if x.len().is_multiple_of(row) { x.len() * times } else { 0 }),
        Operand::Pairs(x) => Some(2 * x.len()),
        Operand::Rows(_, row, _) => Some(row),
        Operand::Joined(parts) => Some(joined::row(parts)),
        Operand::Output | Operand::Number(_) => None,
    }
}

/// The elements of a tile, of which tasks have `task` at least.
fn tile(len: usize, task: usize, steps: &[Coded], inputs: &[Operand<'_>]) -> usize {
    if let [_] = steps {
        // One step keeps nothing: if its operands can be read as they are for so many elements, one loop has them all.
        let as_they_are = |input: &Operand<'_>| match *input {
            Operand::Cycle([_]) | Operand::Output | Operand::Number(_) => len,
            Operand::Cycle(x) => x.len(),
            Operand::Repeat(_, run) | Operand::Rows(_, run, _) => run,
            Operand::Pairs(_) | Operand::Joined(_) | Operand::Again(..) => 1,
        };
        let least = inputs.iter().map(as_they_are).min().unwrap_or(len);
        let all = inputs.iter().all(|input| as_they_are(input).is_multiple_of(least));
        if least == len {
            return task;
        } else if all && (TILE..=task).contains(&least) {
            return least;
        }
    }
    few_elements(inputs)
}

/// The elements of a tile that is kept: a multiple of the longest operand that is shorter, so that every tile begins at its beginning.
fn few_elements(inputs: &[Operand<'_>]) -> usize {
    let shorter = inputs.iter().filter_map(|input| match input {
        Operand::Cycle(x) if x.len() <= TILE => Some(x.len()),
        Operand::Rows(_, row, _) if *row <= TILE => Some(*row),
        Operand::Again(_, row, times) if row * times <= TILE => Some(row * times),
        Operand::Joined(parts) => Some(joined::row(parts)).filter(|row| *row <= TILE),
        _ => None,
    });
    let longest = shorter.max().unwrap_or(1);
    TILE / longest * longest
}

/// A part of the output, a few tiles long, which nobody else writes.
struct Task<'a> {
    level: Level,
    steps: &'a [Coded],
    inputs: &'a [Operand<'a>],
    /// The same at once, if that is how all is computed.
    scaled: Option<&'a Scaled<'a>>,
    /// All of the output, and what elements are rounded to if it is words.
    out: *mut f32,
    written: Option<Rounded>,
    start: usize,
    stop: usize,
    tile: usize,
}

/// Memory for a tile, from a line of the cache on.
type Scratch = MaybeUninit<[Line; TILE / LINE]>;

impl Task<'_> {
    fn run(&self) {
        let mut spread = [const { Scratch::uninit() }; INPUTS];
        let mut registers = [const { Scratch::uninit() }; REGISTERS];
        let registers = registers.each_mut().map(|register| register.as_mut_ptr().cast::<f32>());
        let mut result = Scratch::uninit();
        let mut start = self.start;
        while start < self.stop {
            let len = self.tile.min(self.stop - start);
            let last = if self.written.is_some() { result.as_mut_ptr().cast() } else { self.out.wrapping_add(start) };
            if let Some(scaled) = self.scaled {
                // SAFETY: as below; `run` has seen that there are as many rows.
                unsafe { joined::join(self.level, last, scaled.parts(), [start, len], Some(scaled.scale)) };
                self.write(&result, start, len);
                start += len;
                continue;
            }
            let mut places = [(std::ptr::null::<f32>(), false); INPUTS];
            for ((place, &input), scratch) in places.iter_mut().zip(self.inputs).zip(&mut spread) {
                *place = self.place(input, start, len, scratch);
            }
            for (index, coded) in self.steps.iter().enumerate() {
                let mut args = [(std::ptr::null(), false); 3];
                for i in 0..3 {
                    args[i] = match coded.step.args[i] {
                        Place::Input(input) => places[input],
                        Place::Step(_) => (registers[coded.from[i]].cast_const(), true),
                    };
                }
                let to = if index + 1 == self.steps.len() { last } else { registers[coded.register] };
                // SAFETY: the output and the registers hold `len` elements; operands do too, or are a constant
                // (see `place`), and registers that are read were written by the steps before.
                unsafe { coded.step.op.run(self.level, to, Area { rows: 1, stride: 0, len }, &args) };
            }
            self.write(&result, start, len);
            start += len;
        }
    }

    /// Writes a tile's result as words, if it is to be such.
    fn write(&self, result: &Scratch, start: usize, len: usize) {
        let Some(rounded) = self.written else { return };
        let to = self.out.wrapping_add(start / rounded.numbers());
        // SAFETY: the output has the whole words of so many elements, which were written just now.
        unsafe { rounded.write(self.level, (to, 0), (result.as_ptr().cast(), 0), [1, len]) };
    }

    /// Where a tile finds an operand, and whether it is more than a constant.
    fn place(&self, input: Operand<'_>, start: usize, len: usize, scratch: &mut Scratch) -> (*const f32, bool) {
        /// The lanes of the longest vector.
        const CONSTANT: usize = 16;
        let scratch = scratch.as_mut_ptr().cast::<f32>();
        let constant = |x: f32| {
            // SAFETY: a tile has so many elements.
            unsafe { std::slice::from_raw_parts_mut(scratch.cast::<MaybeUninit<f32>>(), CONSTANT) }
                .fill(MaybeUninit::new(x));
        };
        let widened = |words: *const f32| {
            // SAFETY: so many elements, an even number, are left in the words and fit a tile.
            unsafe { widen_pairs(self.level, (scratch, 0), (words, 0), [1, len]) };
            (scratch.cast_const(), true)
        };
        match input {
            Operand::Pairs(x) => widened(x[start / 2..].as_ptr()),
            Operand::Output if self.written.is_some() => widened(self.out.wrapping_add(start / 2)),
            Operand::Output => (self.out.wrapping_add(start).cast_const(), true),
            Operand::Number(x) | Operand::Cycle(&[x]) => {
                constant(x);
                (scratch, false)
            }
            Operand::Cycle(x) => {
                let first = start % x.len();
                if first + len <= x.len() {
                    return (x[first..].as_ptr(), true);
                }
                if self.tile.is_multiple_of(x.len()) && start > self.start {
                    // Every tile begins at the beginning of the operand, and the first one has filled the memory.
                    return (scratch, true);
                }
                // The operand once, from the first element on; then twice as much of it each time.
                let (head, tail) = ((x.len() - first).min(len), first.min(len.saturating_sub(x.len() - first)));
                let mut done = head + tail;
                // SAFETY: the tile has room for so many elements, and the operand has `tail` before the first one.
                unsafe {
                    std::ptr::copy_nonoverlapping(x[first..].as_ptr(), scratch, head);
                    std::ptr::copy_nonoverlapping(x.as_ptr(), scratch.add(head), tail);
                }
                while done < len {
                    let count = done.min(len - done);
                    // SAFETY: so many were written, and there is room for as many after them.
                    unsafe { std::ptr::copy_nonoverlapping(scratch, scratch.add(done), count) };
                    done += count;
                }
                (scratch, true)
            }
            Operand::Rows(x, row, stride) => {
                let (first, mut index) = (start % row, start / row);
                let from = |index: usize, first: usize| x[index * stride + first..].as_ptr();
                if first + len <= row {
                    return (from(index, first), true);
                }
                let mut done = 0;
                if first > 0 {
                    done = row - first;
                    // SAFETY: `run` has seen that the operand has all rows; so many elements are left in this one.
                    unsafe { std::ptr::copy_nonoverlapping(from(index, first), scratch, done) };
                    index += 1;
                }
                let (rows, rest) = ((len - done) / row, (len - done) % row);
                if rows > 0 {
                    // SAFETY: as above; whole rows that fit the tile.
                    unsafe { copy_rows(self.level, (scratch.add(done), row), (from(index, 0), stride), [rows, row]) };
                }
                if rest > 0 {
                    let (from, done) = (from(index + rows, 0), len - rest);
                    // SAFETY: as above; the beginning of a row.
                    unsafe { std::ptr::copy_nonoverlapping(from, scratch.add(done), rest) };
                }
                (scratch, true)
            }
            Operand::Joined(parts) => {
                // SAFETY: `run` has seen that there are as many rows; a tile holds so many elements.
                unsafe { joined::join(self.level, scratch, parts, [start, len], None) };
                (scratch, true)
            }
            Operand::Repeat(x, run) => {
                let (place, left) = (start / run % x.len(), run - start % run);
                if left >= len {
                    constant(x[place]);
                    return (scratch, false);
                }
                // A tile holds as many elements.
                dispatch(self.level, Spread { to: scratch, len, x, place, left, run });
                (scratch, true)
            }
            Operand::Again(x, row, times) => {
                // A tile holds as many elements.
                dispatch(self.level, Again { to: scratch, start, len, x, row, times });
                (scratch, true)
            }
        }
    }
}
