//! Kernels on rows: softmax, normalisations and reductions, in one pass over memory while a row stays in the cache.
//!
//! A tensor is seen as `[outer, len, inner]`, in row-major order, and worked on along `len`. Where `inner` is 1 a row is
//! contiguous and the lanes of a vector are its neighbours; otherwise they are rows beside each other.

mod group;
mod norm;
mod reduce;
mod rotary;
mod softmax;
mod squares;
#[cfg(test)]
mod tests;

pub use group::{Groups, group_factors, group_norm};
pub use norm::{Affine, layer_norm, norm_to_words, rms_norm};
pub use reduce::{Reduction, reduce, reduce_computed, reduce_pairs, reduces_in_cache};
pub use rotary::{Along, rotate_halves};
pub use softmax::{Softmax, softmax};
pub use squares::squares;

use crate::math::Single;
use crate::simd::{load, store};
use crate::threads::for_each;

/// How many elements a task has at least, so that starting it costs little beside them.
const TASK: usize = 16 * 1024;

/// What a kernel on rows reads: a sum of up to two operands, which it may keep.
///
/// ```
/// use fx_kernels::rows::Input;
///
/// let (x, residual, mut sum) = ([1.0; 4], [2.0; 4], [0.0; 4]);
/// let input = Input::of(&x).plus(&residual).keep(&mut sum);
/// # drop(input);
/// ```
#[derive(Debug, Default)]
pub struct Input<'a> {
    x: Option<&'a [f32]>,
    residual: Option<&'a [f32]>,
    sum: Option<&'a mut [f32]>,
}

impl<'a> Input<'a> {
    /// The elements of a slice.
    pub fn of(x: &'a [f32]) -> Self {
        Self { x: Some(x), ..Self::default() }
    }

    /// What the output holds before it is written.
    pub fn output() -> Self {
        Self::default()
    }

    /// The sum with another operand.
    #[must_use]
    pub fn plus(self, residual: &'a [f32]) -> Self {
        Self { residual: Some(residual), ..self }
    }

    /// Writes the sum to a slice as well.
    #[must_use]
    pub fn keep(self, sum: &'a mut [f32]) -> Self {
        Self { sum: Some(sum), ..self }
    }

    /// The same as pointers, for an output of `len` elements.
    ///
    /// # Panics
    /// If an operand has another length.
    fn pointers(&mut self, out: &mut [f32]) -> Pointers {
        let len = out.len();
        for x in [self.x, self.residual, self.sum.as_deref()].into_iter().flatten() {
            assert_eq!(x.len(), len, "an operand has as many elements as the output");
        }
        Pointers {
            out: out.as_mut_ptr(),
            x: self.x.map_or(out.as_ptr(), <[f32]>::as_ptr),
            residual: self.residual.map(<[f32]>::as_ptr),
            sum: self.sum.as_deref_mut().map(<[f32]>::as_mut_ptr),
        }
    }
}

/// The operands of a kernel on rows; `x` may be `out`, the others are apart.
#[derive(Clone, Copy)]
struct Pointers {
    out: *mut f32,
    x: *const f32,
    residual: Option<*const f32>,
    sum: Option<*mut f32>,
}

// SAFETY: tasks reach disjoint rows through them.
unsafe impl Sync for Pointers {}
// SAFETY: as above.
unsafe impl Send for Pointers {}

impl Pointers {
    /// The operands from an element on.
    fn at(self, index: usize) -> Self {
        Self {
            out: self.out.wrapping_add(index),
            x: self.x.wrapping_add(index),
            residual: self.residual.map(|x| x.wrapping_add(index)),
            sum: self.sum.map(|x| x.wrapping_add(index)),
        }
    }

    /// Reads the vector at `index`, or its first `count` elements.
    ///
    /// # Safety
    /// The operands must have them.
    #[inline(always)]
    unsafe fn read<V: Single>(self, index: usize, count: usize) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let mut x = load::<V>(self.x.wrapping_add(index), count);
            if let Some(residual) = self.residual {
                x = x + load::<V>(residual.wrapping_add(index), count);
            }
            if let Some(sum) = self.sum {
                store(x, sum.wrapping_add(index), count);
            }
            x
        }
    }
}

/// Calls `f` with the first and the last row of each of the tasks that `rows` rows of `len` elements make.
fn tasks(rows: usize, len: usize, work: usize, f: impl Fn(usize, usize) + Sync) {
    let each = (TASK / len.max(1)).clamp(1, rows.max(1));
    for_each(rows.div_ceil(each), work, |task| f(task * each, rows.min((task + 1) * each)));
}

/// The rows of so many columns that have some elements together, or a few rows more.
fn rows_of(elements: usize, columns: usize) -> usize {
    /// So many rows are worth a result of their own.
    const LEAST: usize = 16;
    (elements / columns).max(LEAST)
}

/// Calls `$body` for every vector of a row of `$len` elements, with the place where it begins, how many of its lanes
/// are elements, and which of four running results it is for.
macro_rules! for_vectors {
    ($V:ty, $len:expr, |$index:ident, $count:ident, $part:ident| $body:expr) => {{
        let len: usize = $len;
        let mut $index = 0;
        // Four at a time, so that a running result need not wait for the one before.
        while $index + 4 * <$V>::LANES <= len {
            let $count = <$V>::LANES;
            for $part in 0..4 {
                $body;
                $index += <$V>::LANES;
            }
        }
        while $index < len {
            let $count = (len - $index).min(<$V>::LANES);
            let $part = 0;
            $body;
            $index += <$V>::LANES;
        }
    }};
}
use for_vectors;
