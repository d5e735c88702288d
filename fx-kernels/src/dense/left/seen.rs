//! Which runs of its rows a tile multiplies: not those that are padding for all of them.

use std::ops::Range;

use smallvec::SmallVec;

/// What a tile sees of the runs of a step.
pub(crate) struct Seen {
    /// From the first to the last; none, if it sees none of the step's.
    pub(crate) runs: Range<usize>,
    /// Which of these; empty if all are.
    pub(crate) some: SmallVec<[u16; MOST]>,
    /// The end of the last one that it sees at all, be it of another step.
    pub(crate) end: usize,
    /// Whether it sees all that there are.
    pub(crate) are_all: bool,
}

/// The most runs of which others than the first and the last ones are left out.
const MOST: usize = 32;

impl Seen {
    /// All runs of a step, of so many.
    #[inline]
    pub(crate) fn all(count: usize, step: &Range<usize>) -> Self {
        Self { runs: step.clone(), some: SmallVec::new(), end: count, are_all: true }
    }

    /// Those of a step, of so many runs, that are seen; a tile that sees none of all is taken to see the first.
    pub(super) fn of(count: usize, step: &Range<usize>, sees: impl Fn(usize) -> bool) -> Self {
        let first = (0..count).find(|run| sees(*run)).unwrap_or(0);
        let last = (first + 1..count).rfind(|run| sees(*run)).unwrap_or(first);
        let (are_all, end) = (last + 1 - first == count, last + 1);
        let runs = step.start.max(first)..step.end.min(end);
        // Who sees the first run and the last one is taken to see all of several.
        if runs.len() > 1 && (are_all || count > MOST) {
            return Self { runs, some: SmallVec::new(), end, are_all };
        }
        let some: SmallVec<[u16; MOST]> = runs
            .clone()
            .filter(|run| [first, last].contains(run) || sees(*run))
            .take(MOST)
            .map(|run| run as u16)
            .collect();
        let runs = match *some.as_slice() {
            [first, .., last] => usize::from(first)..usize::from(last) + 1,
            [run] => usize::from(run)..usize::from(run) + 1,
            [] => 0..0,
        };
        let some = if some.len() == runs.len() { SmallVec::new() } else { some };
        Self { runs, some, end, are_all }
    }
}
