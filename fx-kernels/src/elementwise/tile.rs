//! One op over one tile: the inner loops, each a function of its own for each level.

use super::op::{Function1, Function2, Function3};
use crate::math::Single;
use crate::simd::{BESIDE, Beside, Kernel, Vector};

/// Where an op finds an operand: its elements, and how far to go for the next vector of them (0 for a constant, which
/// is kept as one vector).
pub(crate) type Operands<'a> = &'a [(*const f32, bool); 3];

/// What an op works on: rows of `len` elements, `stride` apart; operands that are no constants have such rows too.
#[derive(Clone, Copy)]
pub(crate) struct Area {
    pub(crate) rows: usize,
    pub(crate) stride: usize,
    pub(crate) len: usize,
}

/// Reads the vector at `index`.
///
/// # Safety
/// The operand must have a vector there.
#[inline(always)]
unsafe fn at<V: Single>(operand: (*const f32, bool), index: usize) -> V {
    // SAFETY: the caller's promise.
    unsafe { V::load_at(operand.0.wrapping_add(if operand.1 { index } else { 0 })) }
}

/// Reads the vectors at some places.
///
/// # Safety
/// The operand must have vectors there.
#[inline(always)]
unsafe fn beside<V: Single>(operand: (*const f32, bool), indices: [usize; BESIDE]) -> Beside<V> {
    // SAFETY: the caller's promise; of a constant there is one vector.
    unsafe { Beside::load_each(operand.0, if operand.1 { indices } else { [0; BESIDE] }) }
}

/// Reads the last `count` elements, beginning at `index`.
///
/// # Safety
/// The operand must have them.
#[inline(always)]
unsafe fn last<V: Single>(operand: (*const f32, bool), index: usize, count: usize) -> V {
    // SAFETY: the caller's promise.
    unsafe { V::load_first(operand.0.wrapping_add(if operand.1 { index } else { 0 }), count) }
}

/// The places of an area's vectors, several at a time.
struct Places {
    area: Area,
    /// The row of the next one, and its place there.
    row: usize,
    next: usize,
}

impl Places {
    /// The next ones; the first one again where there are no more.
    #[inline(always)]
    fn next<V: Single>(&mut self) -> Option<[usize; BESIDE]> {
        let Area { rows, stride, len } = self.area;
        if self.row == rows || len < V::LANES {
            return None;
        }
        let first = self.row * stride + self.next;
        if self.next + BESIDE * V::LANES <= len {
            self.advance::<V>(BESIDE);
            return Some(Beside::<V>::from(first));
        }
        let mut places = [first; BESIDE];
        for place in &mut places {
            if self.row < rows {
                *place = self.row * stride + self.next;
                self.advance::<V>(1);
            }
        }
        Some(places)
    }

    /// So many vectors of the row further.
    #[inline(always)]
    fn advance<V: Single>(&mut self, vectors: usize) {
        self.next += vectors * V::LANES;
        if self.next + V::LANES > self.area.len {
            (self.row, self.next) = (self.row + 1, 0);
        }
    }
}

macro_rules! loops {
    ($($Name:ident $Function:ident $($n:literal)+;)+) => { $(
        /// Writes a function of the operands to `out`.
        ///
        /// `out` must be writable for the area, and every operand that the function has readable for as much, or for one
        /// full vector if it is a constant. An operand may be `out` itself, but not a part of it.
        pub(super) struct $Name<'a, F> {
            pub(super) function: F,
            pub(super) out: *mut f32,
            pub(super) area: Area,
            pub(super) x: Operands<'a>,
        }

        impl<F: $Function> Kernel for $Name<'_, F> {
            type Elem = f32;
            type Output = ();

            #[inline(always)]
            fn run<V: Vector<Elem = f32>>(self) {
                let Self { function, out, area, x } = self;
                // What is written may be anywhere, but not here.
                let x = *x;
                let (vectors, rest) = (area.len / V::LANES, area.len % V::LANES);
                let mut places = Places { area, row: 0, next: 0 };
                while F::WAITS && let Some(indices) = places.next::<V>() {
                    // SAFETY: as the struct says; the vectors end within their rows. All are read before one is written, so one
                    // may come again.
                    unsafe { function.of::<Beside<V>>($(beside(x[$n], indices)),+).store_each(out, indices) };
                }
                for row in 0..area.rows {
                    let start = row * area.stride;
                    for vector in 0..if F::WAITS { 0 } else { vectors } {
                        let index = start + vector * V::LANES;
                        // SAFETY: as the struct says; the vector ends within the row.
                        unsafe { function.of::<V>($(at(x[$n], index)),+).store_at(out.add(index)) };
                    }
                    if rest > 0 {
                        let index = start + vectors * V::LANES;
                        // SAFETY: as the struct says.
                        unsafe { function.of::<V>($(last(x[$n], index, rest)),+).store_first(out.add(index), rest) };
                    }
                }
            }
        }
    )+ };
}

loops! {
    Loop1 Function1 0;
    Loop2 Function2 0 1;
    Loop3 Function3 0 1 2;
}
