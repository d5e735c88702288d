//! One op over one tile: the inner loops.

use super::op::{Function1, Function2, Function3};
use crate::math::Single;

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

/// The loops, for functions of one, two and three operands.
pub(super) struct Loops;

/// Reads the vector at `index`.
///
/// # Safety
/// The operand must have a vector there.
#[inline(always)]
unsafe fn at<V: Single>(operand: (*const f32, bool), index: usize) -> V {
    // SAFETY: the caller's promise.
    unsafe { V::load_at(operand.0.wrapping_add(if operand.1 { index } else { 0 })) }
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

macro_rules! loops {
    ($($name:ident $Function:ident $($n:literal)+;)+) => { $(
        /// Writes the function of the operands to `out`.
        ///
        /// # Safety
        /// `out` must be writable for the area, and every operand that the function has readable for as much, or for one
        /// full vector if it is a constant. An operand may be `out` itself, but not a part of it.
        #[inline(always)]
        pub(super) unsafe fn $name<V: Single, F: $Function>(f: &F, out: *mut f32, area: Area, x: Operands<'_>) {
            let whole = area.len - area.len % V::LANES;
            for row in 0..area.rows {
                let start = row * area.stride;
                let mut index = start;
                while index < start + whole {
                    // SAFETY: the caller's promise; the vector ends within the row.
                    unsafe { f.of::<V>($(at(x[$n], index)),+).store_at(out.add(index)) };
                    index += V::LANES;
                }
                if whole < area.len {
                    let rest = area.len - whole;
                    // SAFETY: the caller's promise.
                    unsafe { f.of::<V>($(last(x[$n], index, rest)),+).store_first(out.add(index), rest) };
                }
            }
        }
    )+ };
}

impl Loops {
    loops! {
        run1 Function1 0;
        run2 Function2 0 1;
        run3 Function3 0 1 2;
    }
}
