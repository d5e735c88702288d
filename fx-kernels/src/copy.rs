//! Copies between strided places: permutations, broadcasts, slices, and the parts of a concatenation.
//!
//! Dimensions that continue each other on both sides are one. What is left is copied row by row where both sides have
//! a dimension of neighbours in common, and otherwise in squares of as many rows as a vector has lanes, which are
//! transposed in registers: `NCHW` to `NHWC` and back are such copies.

mod plan;
#[cfg(test)]
mod tests;

use smallvec::SmallVec;

use crate::rounded::Rounded;
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::{Shared, for_each, for_each_piece, num_threads};
use plan::{Dim, Plan};

/// The most dimensions of a copy, those that continue each other counted once.
pub const MOST_DIMS: usize = 8;

/// How many elements a task has at least.
const TASK: usize = 16 * 1024;
/// The elements of a row that is short.
const SHORT: usize = 256;
/// How many rows and columns a part of a place has at least, if there are as many.
const LEAST: usize = 64;

/// Copies the elements of `shape` from where the strides `from` find them in `x` to where the strides `to` put them
/// in `out`. A stride of 0 in `from` broadcasts.
///
/// ```
/// // A transposed matrix.
/// let mut out = [0.0; 6];
/// fx_kernels::copy::copy(&mut out, &[2, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1, 3], &[3, 2]);
/// assert_eq!(out, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// ```
///
/// # Panics
/// If an element lies outside its slice, two have the same place in `out`, the numbers of dimensions differ, or more
/// than [`MOST_DIMS`] are left after joining those that continue each other.
pub fn copy(out: &mut [f32], to: &[usize], x: &[f32], from: &[usize], shape: &[usize]) {
    copy_at(Level::detect(), out, to, x, from, shape);
}

/// As [`copy`], with instructions of the given level.
pub(crate) fn copy_at(level: Level, out: &mut [f32], to: &[usize], x: &[f32], from: &[usize], shape: &[usize]) {
    let out = (out.as_mut_ptr(), out.len());
    let Some(job) = Job::new(out, to, x, from, shape, 1) else { return };
    // SAFETY: each task is run once, and the result is there meanwhile.
    for_each(job.tasks(), job.work(), |task| unsafe { job.run(level, task) });
}

/// A tensor that is copied to its place in a concatenation: elements, strides and shape.
pub type Part<'a> = (&'a [f32], &'a [usize], &'a [usize]);

/// Copies tensors, one after the other along a dimension, to where the strides `to` put their elements in `out`.
///
/// ```
/// // A column beside two.
/// let mut out = [0.0; 6];
/// let (column, rest) = ([1.0, 4.0], [2.0, 3.0, 5.0, 6.0]);
/// fx_kernels::copy::concatenate(&mut out, &[3, 1], 1, &[(&column, &[1, 1], &[2, 1]), (&rest, &[2, 1], &[2, 2])]);
/// assert_eq!(out, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// ```
///
/// # Panics
/// As [`copy`] does, or if shapes differ in other dimensions.
pub fn concatenate(out: &mut [f32], to: &[usize], dim: usize, parts: &[Part<'_>]) {
    let Some((.., shape)) = parts.first() else { return };
    let (first, len) = (out.as_mut_ptr(), out.len());
    // All tensors are copied in one loop of a few bands, so that a thread has nearly the same rows of each.
    let bands = if num_threads() > 1 { 4 * num_threads() } else { 1 };
    let (mut whole, mut place): (SmallVec<[usize; MOST_DIMS]>, usize) = (SmallVec::from_slice(shape), 0);
    let mut jobs: SmallVec<[_; 16]> = SmallVec::new();
    for (x, from, shape) in parts {
        whole[dim] = shape[dim];
        assert_eq!(*whole, **shape, "tensors of one concatenation differ along one dimension only");
        // One pointer for all, and what is left from the tensor's place on.
        let start = place.saturating_mul(to[dim]).min(len);
        jobs.extend(Job::new((first.wrapping_add(start), len - start), to, x, from, shape, bands));
        place += shape[dim];
    }
    // Then no two tensors have a place in common either.
    whole[dim] = place;
    if let Some(plan) = Plan::new(to, to, &whole) {
        assert!(plan.reach(|dim| dim.to) <= len, "the result does not fit {len} elements");
        assert!(plan.is_injective(), "elements have the same place");
    }
    for_each(bands, jobs.iter().map(Job::work).sum(), |band| {
        for job in &jobs {
            let [start, end] = [band, band + 1].map(|band| band * job.tasks() / bands);
            // SAFETY: bands have tasks of their own, and the result is there meanwhile.
            (start..end).for_each(|task| unsafe { job.run(Level::detect(), task) });
        }
    });
}

/// Rows that stand beside others: elements, of words or of numbers, how far they are apart, and how many words a row is or becomes.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The elements.
    pub data: &'a [f32],
    /// The distance of the rows, in elements.
    pub stride: usize,
    /// The words of a row.
    pub words: usize,
    /// Whether the elements are numbers, which are rounded.
    pub numbers: bool,
}

/// Writes rows of words side by side, and those of numbers as words of what they are rounded to.
///
/// ```no_run
/// use fx_kernels::Rounded;
/// use fx_kernels::copy::{Rows, join_words};
///
/// // Pairs of bf16: a row of one word beside one of two numbers, which become another.
/// let mut out = [0.0; 2];
/// let pair = [f32::from_bits(0x3f80_4000)];
/// let words = Rows { data: &pair, stride: 1, words: 1, numbers: false };
/// let numbers = Rows { data: &[2.0, 1.0], stride: 2, words: 1, numbers: true };
/// join_words(&mut out, Rounded::Pairs, &[words, numbers]);
/// assert_eq!(out, [pair[0]; 2]);
/// ```
///
/// # Panics
/// If the processor has no instructions that round so, or a part has fewer rows than there are.
pub fn join_words(out: &mut [f32], rounded: Rounded, parts: &[Rows<'_>]) {
    join_words_at(Level::detect(), out, rounded, parts);
}

/// As [`join_words`], with instructions of the given level.
fn join_words_at(level: Level, out: &mut [f32], rounded: Rounded, parts: &[Rows<'_>]) {
    let stride = parts.iter().map(|part| part.words).sum::<usize>().max(1);
    let each = (TASK / stride).max(1);
    let work = 4 * out.len();
    for_each_piece(out, each * stride, work, |task, out| {
        let (first, rows, mut place) = (task * each, out.len() / stride, 0);
        for Rows { data, stride: distance, words, numbers } in parts {
            let width = if *numbers { words * rounded.numbers() } else { *words };
            let reach = rows.checked_sub(1).map_or(0, |last| last * distance + width);
            let from = data[(first * distance).min(data.len())..][..reach].as_ptr();
            let to = out.as_mut_ptr().wrapping_add(place);
            place += words;
            // SAFETY: so many rows of the part are there, and they have a place of their own in each row of the result.
            unsafe {
                if *numbers {
                    rounded.write(level, (to, stride), (from, *distance), [rows, width]);
                } else {
                    let rows = Dim { size: rows, to: stride, from: *distance };
                    Piece { to, from, rows, columns: Dim { size: width, to: 1, from: 1 } }.copy(level);
                }
            }
        }
    });
}

/// A copy in tasks. A task is some of the outer places, or a part of one: of its rows, and of the columns where rows are few and
/// long.
struct Job {
    plan: Plan,
    out: Shared<f32>,
    /// Only read.
    x: Shared<f32>,
    /// The rows and columns of a part, and how many there are.
    size: [usize; 2],
    parts: [usize; 2],
    /// The outer places of a task.
    each: usize,
}

impl Job {
    /// A copy to a place that has so many elements, in so many tasks at least if there are as many rows; none if there is no
    /// element.
    fn new(
        (out, len): (*mut f32, usize),
        to: &[usize],
        x: &[f32],
        from: &[usize],
        shape: &[usize],
        tasks: usize,
    ) -> Option<Self> {
        let plan = Plan::new(to, from, shape)?;
        assert!(plan.reach(|dim| dim.to) <= len, "the result does not fit {len} elements");
        assert!(plan.reach(|dim| dim.from) <= x.len(), "the operand has more than {} elements", x.len());
        assert!(plan.is_injective(), "elements have the same place");
        let [rows, columns] = plan.inner.map(|dim| dim.size);
        let high = (TASK / columns.max(1)).max(LEAST).min(rows.div_ceil(tasks));
        // Strips are wide: threads that write close to each other wait for each other.
        let strips = (high * columns / (4 * TASK)).max(1);
        let wide = columns.div_ceil(strips).next_multiple_of(LEAST);
        let parts = [rows.div_ceil(high), columns.div_ceil(wide)];
        let most = plan.count().div_ceil(tasks);
        let each = if parts == [1, 1] { (TASK / (rows * columns).max(1)).clamp(1, most) } else { 1 };
        let (out, x) = (Shared(out), Shared(x.as_ptr().cast_mut()));
        Some(Self { plan, out, x, size: [high, wide], parts, each })
    }

    fn tasks(&self) -> usize {
        self.plan.count().div_ceil(self.each) * self.parts[0] * self.parts[1]
    }

    /// The bytes that are copied.
    fn work(&self) -> usize {
        4 * self.plan.count() * self.plan.inner[0].size * self.plan.inner[1].size
    }

    /// # Safety
    /// Result and operand must still be there, and no other thread may run the task meanwhile, or anything that reads or writes
    /// its places.
    unsafe fn run(&self, level: Level, task: usize) {
        let ([rows, columns], [high, wide], [bands, strips]) = (self.plan.inner, self.size, self.parts);
        let (outer, band, strip) = (task / (bands * strips), task / strips % bands, task % strips);
        let (row, column) = (band * high, strip * wide);
        for index in outer * self.each..self.plan.count().min((outer + 1) * self.each) {
            let (to, from) = self.plan.place(index);
            let piece = Piece {
                to: self.out.at(to + row * rows.to + column * columns.to),
                from: self.x.at(from + row * rows.from + column * columns.from),
                rows: rows.part(row, high),
                columns: columns.part(column, wide),
            };
            // SAFETY: all places lie within the slices (seen by `new`), and are the task's (the caller's promise).
            unsafe { piece.copy(level) };
        }
    }
}

/// Copies so many rows of so many elements. Both begin at a place, and their rows are as far apart as is said.
///
/// # Safety
/// The rows must be readable, and writable at `to`, where they do not overlap.
pub(crate) unsafe fn copy_rows(level: Level, to: (*mut f32, usize), from: (*const f32, usize), size: [usize; 2]) {
    let [rows, columns] = size;
    let (rows, columns) = (Dim { size: rows, to: to.1, from: from.1 }, Dim { size: columns, to: 1, from: 1 });
    // SAFETY: the caller's promise.
    unsafe { Piece { to: to.0, from: from.0, rows, columns }.copy(level) };
}

/// Copies columns of `size[1]` elements, each of which are neighbours, that begin `step` apart, to rows that begin `width` apart.
///
/// # Panics
/// If an element lies outside.
pub(crate) fn transpose(to: &mut [f32], width: usize, from: &[f32], step: usize, [columns, count]: [usize; 2]) {
    if columns == 0 || count == 0 {
        return;
    }
    assert!(
        (columns - 1) * step + count <= from.len() && (count - 1) * width + columns <= to.len(),
        "a column lies outside"
    );
    let (rows, columns) = (Dim { size: count, to: width, from: 1 }, Dim { size: columns, to: 1, from: step });
    // SAFETY: all columns lie within both (just seen), which do not overlap.
    unsafe { Piece { to: to.as_mut_ptr(), from: from.as_ptr(), rows, columns }.copy(Level::detect()) };
}

/// As [`transpose`], with zeros after each row's columns up to its width.
///
/// # Panics
/// As there, or if the columns are wider than rows.
pub(crate) fn transpose_filled(to: &mut [f32], width: usize, from: &[f32], step: usize, [columns, count]: [usize; 2]) {
    assert!(columns <= width && width * count <= to.len(), "{columns} columns do not fit rows of {width}");
    if columns == 0 || count == 0 {
        return to.fill(0.0);
    }
    assert!((columns - 1) * step + count <= from.len(), "a column lies outside");
    dispatch(Level::detect(), Filled { to: to.as_mut_ptr(), from: from.as_ptr(), step, size: [columns, count], width });
}

/// Rows of few columns without gaps, each with zeros at its end.
struct Filled {
    to: *mut f32,
    from: *const f32,
    step: usize,
    size: [usize; 2],
    width: usize,
}

impl Filled {
    /// A transposed copy whose loops over constants become vectors.
    ///
    /// # Safety
    /// All columns must be readable, and all rows writable.
    #[inline(always)]
    unsafe fn few<const WIDTH: usize, const COLUMNS: usize>(&self) {
        for row in 0..self.size[1] {
            for column in 0..WIDTH {
                // SAFETY: the caller's promise.
                unsafe {
                    let element = if column < COLUMNS { *self.from.add(column * self.step + row) } else { 0.0 };
                    *self.to.add(row * WIDTH + column) = element;
                }
            }
        }
    }

    /// # Safety
    /// As [`few`](Self::few).
    #[inline(always)]
    unsafe fn copy(&self) {
        // SAFETY: the caller's promise.
        unsafe {
            match [self.width, self.size[0]] {
                [2, 1] => self.few::<2, 1>(),
                [2, 2] => self.few::<2, 2>(),
                [3, 3] => self.few::<3, 3>(),
                [4, 1] => self.few::<4, 1>(),
                [4, 3] => self.few::<4, 3>(),
                [4, 4] => self.few::<4, 4>(),
                [width, columns] => {
                    for row in 0..self.size[1] {
                        for column in 0..columns {
                            *self.to.add(row * width + column) = *self.from.add(column * self.step + row);
                        }
                        (columns..width).for_each(|column| *self.to.add(row * width + column) = 0.0);
                    }
                }
            }
        }
    }
}

impl Kernel for Filled {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        // SAFETY: `transpose_filled` has seen that columns and rows are there.
        unsafe { self.copy() };
    }
}

/// Two dimensions of a copy.
struct Piece {
    to: *mut f32,
    from: *const f32,
    rows: Dim,
    columns: Dim,
}

impl Piece {
    /// # Safety
    /// All places must be readable and writable, and not be reached by another thread.
    unsafe fn copy(&self, level: Level) {
        let Self { to, from, rows, columns } = *self;
        if columns.to == 1 && rows.from == 1 && columns.from != 1 && rows.size > 1 {
            return dispatch(level, Squares(Self { ..*self }));
        }
        if columns.to == 1 && columns.from == 1 && rows.size > 1 && columns.size <= SHORT {
            return dispatch(level, ShortRows(Self { ..*self }));
        }
        for i in 0..rows.size {
            let (to, from) = (to.wrapping_add(i * rows.to), from.wrapping_add(i * rows.from));
            // SAFETY: the caller's promise.
            unsafe {
                match (columns.to, columns.from) {
                    (1, 1) => std::ptr::copy_nonoverlapping(from, to, columns.size),
                    (1, 0) => std::slice::from_raw_parts_mut(to, columns.size).fill(*from),
                    (stride, step) => (0..columns.size).for_each(|j| *to.add(j * stride) = *from.add(j * step)),
                }
            }
        }
    }
}

/// Rows that are copied sooner than a call that copies one would find out how.
struct ShortRows(Piece);

impl Kernel for ShortRows {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Piece { to, from, rows, columns } = self.0;
        let whole = columns.size / V::LANES * V::LANES;
        for i in 0..rows.size {
            let (to, from) = (to.wrapping_add(i * rows.to), from.wrapping_add(i * rows.from));
            // SAFETY: whoever makes one promises what `Piece::copy` asks for.
            unsafe {
                for j in (0..whole).step_by(V::LANES) {
                    V::load_at(from.add(j)).store_at(to.add(j));
                }
                if whole < columns.size {
                    V::load_first(from.add(whole), columns.size - whole)
                        .store_first(to.add(whole), columns.size - whole);
                }
            }
        }
    }
}

/// A transposed copy: neighbours in a column on one side are neighbours in a row on the other. The last squares begin where they end
/// with the rows or the columns.
struct Squares(Piece);

impl Kernel for Squares {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Piece { to, from, rows, columns } = self.0;
        let n = V::LANES;
        // SAFETY: whoever makes one promises what `Piece::copy` asks for; squares lie within.
        unsafe {
            if columns.size < n && columns.size == rows.to {
                return Filled { to, from, step: columns.from, size: [columns.size, rows.size], width: rows.to }.copy();
            }
            if rows.size < n || columns.size < n {
                for i in 0..rows.size {
                    for j in 0..columns.size {
                        *to.add(i * rows.to + j) = *from.add(i + j * columns.from);
                    }
                }
                return;
            }
            let firsts = |size: usize| (0..size - n).step_by(n).chain([size - n]);
            for i in firsts(rows.size) {
                for j in firsts(columns.size) {
                    V::transpose(from.add(i + j * columns.from), columns.from, to.add(i * rows.to + j), rows.to);
                }
            }
        }
    }
}
