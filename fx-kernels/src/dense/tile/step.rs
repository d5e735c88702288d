//! What a step of the inner dimension is: a row of a panel times a number of each row of the left operand.

use std::marker::PhantomData;

use super::function::ToPairs;
use super::{Packing, Tile};
use crate::rounded::Rounded;
use crate::simd::{Bytes, Lanes, Pairs, Vector};

/// How a row of a panel is multiplied with the left operand, in vectors of a type.
pub(super) trait Step<V: Vector<Elem = f32>> {
    /// The words of a run of the left operand that meet a row of the panel.
    const LEFT: usize;
    /// Whether sums are whole numbers, each column's to be multiplied by a number.
    const WHOLE: bool = false;

    /// Whether numbers of the left operand are pairs of bf16, as those may be that a tile adds and writes.
    const PAIRS: bool = false;

    /// Whether functions are [applied](Tile::applies) to sums.
    const APPLIES: bool = true;

    /// Sums as numbers.
    #[inline(always)]
    fn numbers(sums: V) -> V {
        sums
    }

    /// Reads rounded numbers that are words as those of the left operand: of pairs only the first `count` if that is less, an even number.
    ///
    /// # Safety
    /// They must be there.
    #[inline(always)]
    unsafe fn load<const VECTORS: usize>(_of: Rounded, _from: *const u8, _count: usize) -> [V; VECTORS] {
        unreachable!("numbers are not kept in words");
    }

    /// Writes rounded numbers as words: as bytes, see [`Bytes::put`], or pairs of bf16, an even number of them.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn put<const VECTORS: usize>(_numbers: [V; VECTORS], _added: i32, _count: usize, _to: *mut u8) {
        unreachable!("numbers are not kept in words");
    }

    /// Writes a function of sums as pairs.
    #[inline(always)]
    fn put_function(_job: ToPairs) {
        unreachable!("numbers are not kept in pairs");
    }

    /// Where in a run the words of the `k`-th step are, in such words.
    ///
    /// # Safety
    /// There must be such a step.
    #[inline(always)]
    unsafe fn place(_: &Tile, k: usize) -> usize {
        k
    }

    /// One step of the inner dimension.
    ///
    /// # Safety
    /// Every row must have these words at `k`, and the panel a row.
    unsafe fn multiply<const ROWS: usize, const VECTORS: usize>(
        job: &Tile,
        sums: &mut [[V; VECTORS]; ROWS],
        rows: &[*const f32; ROWS],
        k: usize,
        panel: *const f32,
    );
}

/// Numbers with numbers.
pub(super) struct Singles;

impl<V: Vector<Elem = f32>> Step<V> for Singles {
    const LEFT: usize = 1;

    #[inline(always)]
    unsafe fn multiply<const ROWS: usize, const VECTORS: usize>(
        _: &Tile,
        sums: &mut [[V; VECTORS]; ROWS],
        rows: &[*const f32; ROWS],
        k: usize,
        panel: *const f32,
    ) {
        // SAFETY: the caller's promise.
        let right = unsafe { load::<V, VECTORS>(panel) };
        // SAFETY: the caller's promise.
        unsafe { add_products(sums, rows, k, |left, sum, v| left.mul_add(right[v], sum)) };
    }
}

/// Numbers with numbers that are apart.
pub(super) struct Taps;

impl<V: Vector<Elem = f32>> Step<V> for Taps {
    // Runs begin where they begin; the places of their numbers are counted from there.
    const LEFT: usize = 0;

    #[inline(always)]
    unsafe fn place(job: &Tile, k: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe { *job.taps.add(k) }
    }

    #[inline(always)]
    unsafe fn multiply<const ROWS: usize, const VECTORS: usize>(
        job: &Tile,
        sums: &mut [[V; VECTORS]; ROWS],
        rows: &[*const f32; ROWS],
        k: usize,
        panel: *const f32,
    ) {
        // SAFETY: the caller's promise.
        unsafe { <Singles as Step<V>>::multiply(job, sums, rows, k, panel) };
    }
}

/// Numbers with half floats, which are widened: f16 or bf16.
pub(super) struct Widened;

impl<V: Vector<Elem = f32>> Step<V> for Widened {
    const LEFT: usize = 2;
    const APPLIES: bool = false;

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    unsafe fn multiply<const ROWS: usize, const VECTORS: usize>(
        job: &Tile,
        sums: &mut [[V; VECTORS]; ROWS],
        rows: &[*const f32; ROWS],
        k: usize,
        panel: *const f32,
    ) {
        for half in 0..2 {
            let mut right = [V::zero(); VECTORS];
            // SAFETY: the caller's promise; in the place of a vector there are two of half the length.
            unsafe {
                let from = panel.cast::<u16>().add(half * V::LANES);
                // A look for each step takes less than a version of all tiles for each.
                match job.packing {
                    Packing::F16 => {
                        for v in 0..VECTORS {
                            right[v] = V::load_f16(from.add(2 * v * V::LANES));
                        }
                    }
                    _ => {
                        for v in 0..VECTORS {
                            right[v] = V::load_bf16(from.add(2 * v * V::LANES));
                        }
                    }
                }
            }
            // SAFETY: the caller's promise.
            unsafe { add_products(sums, rows, 2 * k + half, |left, sum, v| left.mul_add(right[v], sum)) };
        }
    }
}

/// Pairs of bf16 with pairs of bf16.
pub(super) struct Dots;

impl<V: Pairs> Step<V> for Dots {
    const LEFT: usize = 1;
    const PAIRS: bool = true;

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    unsafe fn load<const VECTORS: usize>(_of: Rounded, from: *const u8, count: usize) -> [V; VECTORS] {
        let mut numbers = [V::zero(); VECTORS];
        // SAFETY: the caller's promise.
        unsafe {
            if count < VECTORS * V::LANES {
                let [low, high] = V::load_first(from.cast(), count / 2).widened();
                (numbers[0], numbers[VECTORS - 1]) = if VECTORS == 1 { (low, low) } else { (low, high) };
                return numbers;
            }
            for v in 0..VECTORS {
                numbers[v] = V::load_bf16(from.cast::<u16>().add(v * V::LANES));
            }
        }
        numbers
    }

    #[inline(always)]
    unsafe fn put<const VECTORS: usize>(numbers: [V; VECTORS], _added: i32, count: usize, to: *mut u8) {
        let last = if VECTORS == 1 { V::zero() } else { numbers[VECTORS - 1] };
        let words = count.min(VECTORS * V::LANES) / 2;
        // SAFETY: the caller's promise.
        unsafe { V::pairs(numbers[0], last).store_first(to.cast(), words) };
    }

    #[inline(always)]
    fn put_function(job: ToPairs) {
        V::run_pairs(job);
    }

    #[inline(always)]
    unsafe fn multiply<const ROWS: usize, const VECTORS: usize>(
        _: &Tile,
        sums: &mut [[V; VECTORS]; ROWS],
        rows: &[*const f32; ROWS],
        k: usize,
        panel: *const f32,
    ) {
        // SAFETY: the caller's promise.
        let right = unsafe { load::<V, VECTORS>(panel) };
        // SAFETY: the caller's promise.
        unsafe { add_products(sums, rows, k, |left, sum, v| left.dot(right[v], sum)) };
    }
}

/// Whole numbers with bytes, four of a run at a time.
pub(super) struct Whole<B>(PhantomData<B>);

impl<B: Bytes> Step<B::Vector> for Whole<B> {
    const LEFT: usize = 4 / B::NUMBERS;
    const WHOLE: bool = true;

    #[inline(always)]
    fn numbers(sums: B::Vector) -> B::Vector {
        B::numbers(sums)
    }

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    unsafe fn load<const VECTORS: usize>(of: Rounded, from: *const u8, _count: usize) -> [B::Vector; VECTORS] {
        let Rounded::Bytes(of) = of else { unreachable!("whole numbers are kept in bytes") };
        let mut numbers = [B::Vector::zero(); VECTORS];
        for v in 0..VECTORS {
            // SAFETY: the caller's promise.
            numbers[v] = unsafe { of.load(from.add(v * B::Vector::LANES), B::Vector::LANES) };
        }
        numbers
    }

    #[inline(always)]
    unsafe fn put<const VECTORS: usize>(numbers: [B::Vector; VECTORS], added: i32, count: usize, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { B::put(numbers, added, count, to) };
    }

    #[inline(always)]
    unsafe fn multiply<const ROWS: usize, const VECTORS: usize>(
        _: &Tile,
        sums: &mut [[B::Vector; VECTORS]; ROWS],
        rows: &[*const f32; ROWS],
        k: usize,
        panel: *const f32,
    ) {
        let parts = <Self as Step<B::Vector>>::LEFT;
        for part in 0..parts {
            let mut right = [B::Vector::zero(); VECTORS];
            for (v, right) in right.iter_mut().enumerate() {
                // SAFETY: the caller's promise.
                *right = unsafe { B::load_part(panel.add(v * B::Vector::LANES), part) };
            }
            // SAFETY: the caller's promise.
            unsafe { add_products(sums, rows, parts * k + part, |left, sum, v| B::dot(left, right[v], sum)) };
        }
    }
}

/// Reads a row of a panel, which must have one.
#[inline(always)]
unsafe fn load<V: Vector<Elem = f32>, const VECTORS: usize>(panel: *const f32) -> [V; VECTORS] {
    let mut right = [V::zero(); VECTORS];
    for (v, right) in right.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *right = unsafe { V::load_at(panel.add(v * V::LANES)) };
    }
    right
}

/// Adds to each sum the product of the row's word at `k` with a vector.
///
/// # Safety
/// Every row must have a word there.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
unsafe fn add_products<V: Vector<Elem = f32>, const ROWS: usize, const VECTORS: usize>(
    sums: &mut [[V; VECTORS]; ROWS],
    rows: &[*const f32; ROWS],
    k: usize,
    product: impl Fn(V, V, usize) -> V,
) {
    for i in 0..ROWS {
        // SAFETY: the caller's promise. Words of smaller numbers may begin at any byte.
        let left = V::splat(unsafe { rows[i].add(k).read_unaligned() });
        for v in 0..VECTORS {
            sums[i][v] = product(left, sums[i][v], v);
        }
    }
}
