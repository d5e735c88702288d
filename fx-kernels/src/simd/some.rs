//! Vectors of which some lanes alone count: the last ones of a row.

use super::Vector;

/// Reads a vector, or as many of its elements as there are.
///
/// # Safety
/// They must be readable.
#[inline(always)]
pub(crate) unsafe fn load<V: Vector<Elem = f32>>(from: *const f32, count: usize) -> V {
    // SAFETY: the caller's promise.
    unsafe { if count >= V::LANES { V::load_at(from) } else { V::load_first(from, count) } }
}

/// Writes a vector, or as many of its elements as there are.
///
/// # Safety
/// They must be writable.
#[inline(always)]
pub(crate) unsafe fn store<V: Vector<Elem = f32>>(x: V, to: *mut f32, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { if count >= V::LANES { x.store_at(to) } else { x.store_first(to, count) } }
}

/// Those of the first `count` lanes of `x`, and `other` in the rest.
#[inline(always)]
pub(crate) fn first<V: Vector<Elem = f32>>(x: V, count: usize, other: V) -> V {
    const LANE: [f32; 16] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
    V::select(V::load(&LANE).lt(V::splat(count as f32)), x, other)
}
