//! What follows the sums that registers leave in memory.

use std::marker::PhantomData;

use crate::math;
use crate::memory::{LINE, prefetch_far};
use crate::quantization::Quantization;
use crate::rounded::Rounded;
use crate::simd::{ByteKernel, Bytes, Kernel, Lanes, Level, Meanwhile, PairKernel, Pairs, SIDE, Vector};

/// Sums of some rows and columns, and what is done with them.
pub(super) struct Finish<'a> {
    /// Rows of the panel's width.
    pub(super) sums: *const f32,
    pub(super) width: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// What whole numbers are multiplied by, from the first column on.
    pub(super) scales: &'a [f32],
    pub(super) bias: Option<&'a [f32]>,
    pub(super) added: Added,
    /// The least and the largest that is written.
    pub(super) limits: (f32, f32),
    /// Where the first number is written, and the distance of rows: the result, as numbers or as words, or the sums.
    pub(super) out: *mut f32,
    pub(super) stride: usize,
    /// The rows of two tiles.
    pub(super) ahead: usize,
    /// Whether sums are whole numbers.
    pub(super) is_whole: bool,
    /// What they are rounded to, if it is words.
    pub(super) rounded: Option<Rounded>,
}

/// What is added to the sums: where it begins, from the first row and column on, and the distance of its rows.
#[derive(Clone, Copy)]
pub(super) enum Added {
    Nothing,
    /// Numbers of bf16.
    Pairs(*const u16, usize),
    /// Bytes, and what they stand for.
    Bytes(*const u8, usize, Quantization),
    /// Numbers.
    Once(*const f32, usize),
    Twice([(*const f32, usize); 2]),
}

/// Numbers that are added to those of some columns of a row.
pub(super) trait Adder: Copy {
    /// Adds the first numbers to a vector of a row, from a column on.
    ///
    /// # Safety
    /// They must be there.
    unsafe fn add<V: Vector<Elem = f32>>(&self, sums: V, row: usize, column: usize, count: usize) -> V;
}

/// The same for one row after the other.
#[cfg_attr(
    not(all(target_arch = "x86_64", target_os = "linux", not(miri))),
    allow(dead_code, reason = "there is no unit")
)]
pub(super) trait RowByRow: Adder {
    /// From so many rows on.
    fn from(self, rows: usize) -> Self;

    /// Asks for those of a row that comes so many rows later.
    fn ask(&self, rows: usize);
}

/// Nothing.
impl Adder for () {
    #[inline(always)]
    unsafe fn add<V: Vector<Elem = f32>>(&self, sums: V, _row: usize, _column: usize, _count: usize) -> V {
        sums
    }
}

impl RowByRow for () {
    #[inline(always)]
    fn from(self, _rows: usize) -> Self {}

    #[inline(always)]
    fn ask(&self, _rows: usize) {}
}

impl Adder for (*const u16, usize) {
    #[inline(always)]
    unsafe fn add<V: Vector<Elem = f32>>(&self, sums: V, row: usize, column: usize, count: usize) -> V {
        // SAFETY: the caller's promise.
        sums + unsafe { V::load_bf16_first(self.0.wrapping_add(row * self.1 + column), count) }
    }
}

impl Adder for (*const u8, usize, Quantization) {
    #[inline(always)]
    unsafe fn add<V: Vector<Elem = f32>>(&self, sums: V, row: usize, column: usize, count: usize) -> V {
        let from = self.0.wrapping_add(row * self.1 + column);
        // SAFETY: the caller's promise.
        sums + unsafe { self.2.load::<V>(from, count) }
    }
}

impl Adder for (*const f32, usize) {
    #[inline(always)]
    unsafe fn add<V: Vector<Elem = f32>>(&self, sums: V, row: usize, column: usize, count: usize) -> V {
        // SAFETY: the caller's promise.
        sums + unsafe { V::load_first(self.0.wrapping_add(row * self.1 + column), count) }
    }
}

impl<T: Copy> RowByRow for (*const T, usize)
where
    Self: Adder,
{
    #[inline(always)]
    fn from(self, rows: usize) -> Self {
        (self.0.wrapping_add(rows * self.1), self.1)
    }

    #[inline(always)]
    fn ask(&self, rows: usize) {
        let there = self.from(rows).0.cast::<f32>();
        for line in 0..2 * SIDE * size_of::<T>() / (LINE * size_of::<f32>()) {
            prefetch_far(there.wrapping_add(line * LINE));
        }
    }
}

impl Adder for [(*const f32, usize); 2] {
    #[inline(always)]
    unsafe fn add<V: Vector<Elem = f32>>(&self, sums: V, row: usize, column: usize, count: usize) -> V {
        // SAFETY: the caller's promise.
        unsafe { self[1].add(self[0].add(sums, row, column, count), row, column, count) }
    }
}

/// How vectors of a row are written.
trait Writer<V: Vector<Elem = f32>> {
    /// Writes the first numbers of each vector to a row, from a column on.
    ///
    /// # Safety
    /// There must be room for them.
    unsafe fn write<const VECTORS: usize>(
        &self,
        row: *mut f32,
        column: usize,
        vectors: [V; VECTORS],
        counts: [usize; VECTORS],
    );
}

/// As they are.
struct Numbers;

/// As words of pairs. What is written is asked for so many words before: more lines can be on their way to the second-level cache than
/// those that are written.
struct InPairs(usize);

/// As words of bytes, which count from the least whole number on.
struct InBytes<B>(Quantization, PhantomData<B>);

impl<V: Vector<Elem = f32>> Writer<V> for Numbers {
    #[inline(always)]
    unsafe fn write<const VECTORS: usize>(
        &self,
        row: *mut f32,
        column: usize,
        vectors: [V; VECTORS],
        counts: [usize; VECTORS],
    ) {
        for v in 0..VECTORS {
            // SAFETY: the caller's promise.
            unsafe { vectors[v].store_first(row.wrapping_add(column + v * V::LANES), counts[v]) };
        }
    }
}

impl<V: Pairs> Writer<V> for InPairs {
    #[inline(always)]
    unsafe fn write<const VECTORS: usize>(
        &self,
        row: *mut f32,
        column: usize,
        vectors: [V; VECTORS],
        counts: [usize; VECTORS],
    ) {
        let (high, more) = if VECTORS > 1 { (vectors[1], counts[1]) } else { (V::zero(), 0) };
        let (words, row) = (V::pairs(vectors[0], high), row.wrapping_add(column / 2));
        prefetch_far(row.wrapping_add(self.0));
        // SAFETY: the caller's promise.
        unsafe { words.store_first(row, (counts[0] + more).div_ceil(2)) };
    }
}

impl<B: Bytes> Writer<B::Vector> for InBytes<B> {
    #[inline(always)]
    unsafe fn write<const VECTORS: usize>(
        &self,
        row: *mut f32,
        column: usize,
        vectors: [B::Vector; VECTORS],
        counts: [usize; VECTORS],
    ) {
        let mut parts = [B::Vector::zero(); 4];
        for v in 0..VECTORS {
            parts[v] = self.0.scaled(vectors[v]);
        }
        let words = counts.iter().sum::<usize>().div_ceil(B::NUMBERS);
        // SAFETY: the caller's promise.
        unsafe { B::words(parts, self.0.zero()).store_first(row.wrapping_add(column / B::NUMBERS), words) };
    }
}

impl Finish<'_> {
    /// The same for vectors in between products.
    pub(super) fn whole<A: RowByRow, const IN_PAIRS: bool, const VECTORS: usize>(
        &self,
        adder: A,
    ) -> Whole<A, IN_PAIRS, VECTORS> {
        let Self { sums, rows, bias, limits, out, stride, ahead, .. } = *self;
        let bias = bias.map_or(NO_BIAS.as_ptr(), <[f32]>::as_ptr);
        Whole { sums, left: rows, bias, adder, limits, out, stride, ahead }
    }

    /// Writes what sums become, which are `numbers`.
    #[inline(always)]
    fn write<V: Vector<Elem = f32>, W: Writer<V>>(&self, writer: &W, numbers: impl Fn(V) -> V) {
        for column in (0..self.columns).step_by(2 * V::LANES) {
            match self.columns - column {
                count if count >= 2 * V::LANES => self.columns(writer, column, [V::LANES; 2], &numbers),
                count if count > V::LANES => self.columns(writer, column, [V::LANES, count - V::LANES], &numbers),
                count => self.columns(writer, column, [count], &numbers),
            }
        }
    }

    /// Some vectors of columns, of which so many are there.
    #[inline(always)]
    fn columns<V: Vector<Elem = f32>, W: Writer<V>, const VECTORS: usize>(
        &self,
        writer: &W,
        column: usize,
        counts: [usize; VECTORS],
        numbers: &impl Fn(V) -> V,
    ) {
        match self.added {
            Added::Nothing => self.rows(writer, &(), column, counts, numbers),
            Added::Pairs(words, distance) => self.rows(writer, &(words, distance), column, counts, numbers),
            Added::Bytes(bytes, distance, of) => {
                self.rows(writer, &(bytes, distance, of), column, counts, numbers);
            }
            Added::Once(data, distance) => self.rows(writer, &(data, distance), column, counts, numbers),
            Added::Twice(both) => self.rows(writer, &both, column, counts, numbers),
        }
    }

    /// The rows of these, to which something is added.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn rows<V: Vector<Elem = f32>, W: Writer<V>, A: Adder, const VECTORS: usize>(
        &self,
        writer: &W,
        adder: &A,
        column: usize,
        counts: [usize; VECTORS],
        numbers: &impl Fn(V) -> V,
    ) {
        let (low, high) = self.limits;
        let (mut scales, mut biases) = ([V::splat(1.0); VECTORS], [V::zero(); VECTORS]);
        for v in 0..VECTORS {
            let place = column + v * V::LANES..column + v * V::LANES + counts[v];
            if !self.scales.is_empty() {
                scales[v] = V::load_part(&self.scales[place.clone()]);
            }
            if let Some(bias) = self.bias {
                biases[v] = V::load_part(&bias[place]);
            }
        }
        for row in 0..self.rows {
            let mut vectors = [V::zero(); VECTORS];
            // SAFETY: the sums, what is added and the result have the row and so many columns.
            unsafe {
                for v in 0..VECTORS {
                    let (column, count) = (column + v * V::LANES, counts[v]);
                    let sums = V::load_first(self.sums.wrapping_add(row * self.width + column), count);
                    let sums = numbers(sums).mul_add(scales[v], biases[v]);
                    vectors[v] = math::clamp(adder.add(sums, row, column, count), low, high);
                }
                writer.write(self.out.wrapping_add(row * self.stride), column, vectors, counts);
            }
        }
    }
}

/// The bias of what has none.
static NO_BIAS: [f32; 2 * SIDE] = [0.0; 2 * SIDE];

/// Sums of as many columns as one register has or two, to be finished row by row, and written as words if they are.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(all(target_arch = "x86_64", target_os = "linux", not(miri))),
    allow(dead_code, reason = "there is no unit")
)]
pub(super) struct Whole<A, const IN_PAIRS: bool, const VECTORS: usize> {
    sums: *const f32,
    /// The rows that are left.
    pub(super) left: usize,
    bias: *const f32,
    adder: A,
    limits: (f32, f32),
    out: *mut f32,
    stride: usize,
    ahead: usize,
}

impl<A: RowByRow, const IN_PAIRS: bool, const VECTORS: usize> Meanwhile for Whole<A, IN_PAIRS, VECTORS> {
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    unsafe fn some<V: Pairs>(&mut self, count: usize) {
        let (low, high) = self.limits;
        for _ in 0..count.min(self.left) {
            let mut vectors = [V::zero(); VECTORS];
            self.adder.ask(self.ahead);
            // SAFETY: the caller's promise.
            unsafe {
                for v in 0..VECTORS {
                    let column = v * V::LANES;
                    let sums = V::load_at(self.sums.wrapping_add(column));
                    let sums = sums + V::load_at(self.bias.wrapping_add(column));
                    vectors[v] = math::clamp(self.adder.add(sums, 0, column, V::LANES), low, high);
                }
                match IN_PAIRS {
                    true => InPairs(self.ahead * self.stride).write(self.out, 0, vectors, [V::LANES; VECTORS]),
                    false => Numbers.write(self.out, 0, vectors, [V::LANES; VECTORS]),
                }
            }
            self.sums = self.sums.wrapping_add(VECTORS * V::LANES);
            self.out = self.out.wrapping_add(self.stride);
            self.adder = self.adder.from(1);
            self.left -= 1;
        }
    }
}

impl Kernel for Finish<'_> {
    type Elem = f32;
    type Output = ();
    const LEAST: Level = Level::Avx512;

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        self.write(&Numbers, |sums: V| sums);
    }
}

impl PairKernel for Finish<'_> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        self.write(&InPairs(self.ahead * self.stride), |sums: V| sums);
    }
}

impl ByteKernel for Finish<'_> {
    const LEAST: Level = Level::Avx512;

    #[inline(always)]
    fn run<B: Bytes>(self) {
        match self.rounded {
            Some(Rounded::Bytes(quantization)) => self.write(&InBytes::<B>(quantization, PhantomData), B::numbers),
            _ => self.write(&Numbers, B::numbers),
        }
    }
}
