//! The parts of panels that tiles are multiplied with, and where tiles are.

use std::ops::Range;

use crate::dense::format::Packing;
use crate::dense::panels::Panel;
use crate::dense::tile::UNROLL;
use crate::memory::{LINE, scratch};
use crate::simd::Level;

/// How far ahead numbers of a panel are asked for that are used once: as many as are on their way at a time.
const STREAM: usize = 4096;

/// A step down a panel.
pub(super) struct Slice<'a> {
    pub(super) panel: Panel<'a>,
    /// How many panels, of which this is the first, the rows are multiplied with.
    pub(super) panels: usize,
    /// The runs that it covers, where it starts in those of the left operand, and for how long.
    pub(super) runs: Range<usize>,
    pub(super) offset: usize,
    pub(super) depth: usize,
    /// What the words are.
    pub(super) packing: Packing,
    /// Its part of the first panel's words.
    pub(super) steps: &'a [f32],
    /// Whether it has its runs from their start, and to their end.
    pub(super) starts: bool,
    pub(super) ends: bool,
}

impl Slice<'_> {
    /// Calls a function with the same step of numbers, if this one is of half floats.
    pub(super) fn widened(&self, level: Level, f: impl FnOnce(&Slice<'_>)) {
        scratch(2 * self.steps.len(), |numbers| {
            self.packing.widen(level, self.steps, numbers, self.panel.width);
            f(&self.of_numbers(numbers));
        });
    }

    /// The same step, of half floats, where the panel's numbers are, and those of others side by side after them.
    pub(super) fn of_numbers<'a>(&self, numbers: &'a [f32]) -> Slice<'a> {
        let panel = Panel { data: numbers, ..self.panel };
        let (offset, depth, packing) = (2 * self.offset, 2 * self.depth, Packing::Single);
        Slice { panel, offset, depth, packing, steps: numbers, runs: self.runs.clone(), ..*self }
    }
}

/// Where a tile is.
pub(super) struct Place {
    pub(super) group: usize,
    pub(super) rows: Range<usize>,
    pub(super) stride: usize,
    /// Its number among the tiles that use the same step of a panel, and how many these are.
    pub(super) share: usize,
    pub(super) of: usize,
    /// What is used after that.
    pub(super) next: *const f32,
}

/// From where, seen from the place in a panel of some width, numbers of what comes `next` are brought in while one of a few
/// tiles works through `steps`. Tiles of the same step bring in different ones, so that what comes next is spread over the time
/// there is.
pub(crate) fn far(
    (share, of): (usize, usize),
    (steps, len): (*const f32, usize),
    next: *const f32,
    width: usize,
) -> (usize, usize) {
    let next = next.addr().wrapping_sub(steps.addr()) / size_of::<f32>();
    let line = |line: usize| next.wrapping_add(line * LINE);
    let own = len.min(STREAM);
    // The lines between two times that a tile asks.
    let lines = UNROLL * width / LINE;
    let half = lines / 2;
    match (share, of) {
        // A tile that is alone brings its own.
        (_, 1) => (own, own + half * LINE),
        _ if of >= lines && share < lines => (line(share), line(share)),
        // The processor brings in the other line of a pair by itself: two tiles that share one would bring in the same.
        _ if (half..lines).contains(&of) && share < half => (line(2 * share), line(2 * share + 1)),
        (0..2, ..4) => (line(2 * share), line(2 * (share + 2))),
        _ => (0, 0),
    }
}
