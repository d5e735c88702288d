//! Rotary position embeddings.

use smallvec::SmallVec;

use super::TASK;
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::for_each_piece;

/// Rows of neighbours, at these distances along the dimensions of a result.
#[derive(Clone, Copy, Debug)]
pub struct Along<'a> {
    /// What the rows are in, from the first one on.
    pub data: &'a [f32],
    /// The distances; of what is the same along a dimension 0.
    pub strides: &'a [usize],
}

impl Along<'_> {
    fn check(&self, sizes: &[usize], len: usize) {
        assert_eq!(self.strides.len(), sizes.len(), "there is a distance for each dimension");
        let last: usize = sizes.iter().zip(self.strides).map(|(size, stride)| (size - 1) * stride).sum();
        assert!(last + len <= self.data.len(), "an operand of rows of {len} elements is too short");
    }
}

/// Writes rows, along so many of each dimension, times cosines, plus what their halves `[a, b]` are when turned, `[-b, a]`, times sines
/// (Su et al., 2021). The operands are the rows, the cosines and the sines.
///
/// ```
/// use fx_kernels::rows::{Along, rotate_halves};
///
/// // Two rows of four numbers, of which each first one is turned by a quarter.
/// let (x, cos, sin) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]);
/// let mut out = [0.0; 8];
/// let same = |data| Along { data, strides: &[0] };
/// rotate_halves(&mut out, &[2], 4, [Along { data: &x, strides: &[4] }, same(&cos), same(&sin)]);
/// assert_eq!(out, [-3.0, 2.0, 1.0, 4.0, -7.0, 6.0, 5.0, 8.0]);
/// ```
///
/// # Panics
/// If `len` is odd, `out` has another length, or an operand is too short or has too few distances.
pub fn rotate_halves(out: &mut [f32], sizes: &[usize], len: usize, operands: [Along<'_>; 3]) {
    rotate_halves_at(Level::detect(), out, sizes, len, operands);
}

/// As [`rotate_halves`], with instructions of the given level.
pub(super) fn rotate_halves_at(level: Level, out: &mut [f32], sizes: &[usize], len: usize, operands: [Along<'_>; 3]) {
    assert!(len.is_multiple_of(2), "{len} elements have no halves");
    assert_eq!(out.len(), sizes.iter().product::<usize>() * len, "there is a row for each place");
    if out.is_empty() {
        return;
    }
    operands.iter().for_each(|operand| operand.check(sizes, len));
    let rows = (TASK / len).max(1);
    let work = 4 * out.len();
    for_each_piece(out, rows * len, work, |task, out| {
        dispatch(level, Rows { first: task * rows, out, sizes, len, operands });
    });
}

/// Some rows of the result.
struct Rows<'a> {
    first: usize,
    out: &'a mut [f32],
    sizes: &'a [usize],
    len: usize,
    operands: [Along<'a>; 3],
}

impl Kernel for Rows<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Self { first, out, sizes, len, operands } = self;
        let mut places: SmallVec<[usize; 6]> = SmallVec::from_elem(0, sizes.len());
        let (mut starts, mut rest) = ([0; 3], first);
        for (dim, size) in sizes.iter().enumerate().rev() {
            (places[dim], rest) = (rest % size, rest / size);
            for (start, operand) in starts.iter_mut().zip(&operands) {
                *start += places[dim] * operand.strides[dim];
            }
        }
        let half = len / 2;
        for out in out.chunks_exact_mut(len) {
            let [x, cos, sin] = [0, 1, 2].map(|index: usize| operands[index].data[starts[index]..][..len].as_ptr());
            let to = out.as_mut_ptr();
            for column in (0..half).step_by(V::LANES) {
                let count = V::LANES.min(half - column);
                // SAFETY: every row has `len` elements, two halves.
                unsafe {
                    let load = |row: *const f32| {
                        let row = row.add(column);
                        [V::load_first(row, count), V::load_first(row.add(half), count)]
                    };
                    let ([a, b], [cos_a, cos_b], [sin_a, sin_b]) = (load(x), load(cos), load(sin));
                    (a * cos_a - b * sin_a).store_first(to.add(column), count);
                    (b * cos_b + a * sin_b).store_first(to.add(half + column), count);
                }
            }
            // The next row: along the last dimension, and where that ends along the one before.
            for (dim, size) in sizes.iter().enumerate().rev() {
                places[dim] += 1;
                let is_end = places[dim] == *size;
                for (start, operand) in starts.iter_mut().zip(&operands) {
                    *start += operand.strides[dim];
                    *start -= if is_end { size * operand.strides[dim] } else { 0 };
                }
                if !is_end {
                    break;
                }
                places[dim] = 0;
            }
        }
    }
}
