//! What follows the sums that registers leave in memory.

use std::marker::PhantomData;

use super::super::epilogue::Epilogue;
use crate::math;
use crate::quantization::Quantization;
use crate::rounded::Rounded;
use crate::simd::{ByteKernel, Bytes, Kernel, Lanes, PairKernel, Pairs, Vector};

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
    /// From the first row on.
    pub(super) epilogue: &'a Epilogue<'a>,
    /// Numbers of bf16 that are added, from the first row and column on, and the distance of rows.
    pub(super) words: Option<(*const u16, usize)>,
    /// The first column.
    pub(super) first: usize,
    /// Where the first number is written, and the distance of rows: the result, as numbers or as words, or the sums.
    pub(super) out: *mut f32,
    pub(super) stride: usize,
    /// What they are rounded to, if it is words.
    pub(super) rounded: Option<Rounded>,
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

/// As words of pairs.
struct InPairs;

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
        let words = V::pairs(vectors[0], high);
        // SAFETY: the caller's promise.
        unsafe { words.store_first(row.wrapping_add(column / 2), (counts[0] + more).div_ceil(2)) };
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
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn columns<V: Vector<Elem = f32>, W: Writer<V>, const VECTORS: usize>(
        &self,
        writer: &W,
        column: usize,
        counts: [usize; VECTORS],
        numbers: &impl Fn(V) -> V,
    ) {
        let (low, high) = self.epilogue.limits();
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
            // SAFETY: the sums, the residual and the result have the row and so many columns.
            unsafe {
                for v in 0..VECTORS {
                    let (column, count) = (column + v * V::LANES, counts[v]);
                    let sums = V::load_first(self.sums.wrapping_add(row * self.width + column), count);
                    let mut sums = numbers(sums).mul_add(scales[v], biases[v]);
                    if let Some((words, distance)) = self.words {
                        sums = sums + V::load_bf16_first(words.wrapping_add(row * distance + column), count);
                    }
                    let load = |from: *const f32, stride: usize| {
                        V::load_first(from.wrapping_add(row * stride + self.first + column), count)
                    };
                    let out = (self.out.wrapping_sub(self.first).cast_const(), self.stride);
                    vectors[v] = math::clamp(self.epilogue.add(sums, out, load), low, high);
                }
                writer.write(self.out.wrapping_add(row * self.stride), column, vectors, counts);
            }
        }
    }
}

impl Kernel for Finish<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        self.write(&Numbers, |sums: V| sums);
    }
}

impl PairKernel for Finish<'_> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        self.write(&InPairs, |sums: V| sums);
    }
}

impl ByteKernel for Finish<'_> {
    #[inline(always)]
    fn run<B: Bytes>(self) {
        match self.rounded {
            Some(Rounded::Bytes(quantization)) => self.write(&InBytes::<B>(quantization, PhantomData), B::numbers),
            _ => self.write(&Numbers, B::numbers),
        }
    }
}
