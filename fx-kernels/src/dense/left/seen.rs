//! Which runs of its rows a tile multiplies: not those that are padding for all of them.

use std::ops::Range;

use smallvec::SmallVec;

/// The runs that a tile sees, one at least.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// From the first to the last.
    range: Range<usize>,
    /// Which of these; empty if all are.
    some: SmallVec<[u16; MOST]>,
}

/// The most runs of which others than the first and the last ones are left out.
const MOST: usize = 32;

impl Seen {
    /// All of so many runs.
    pub(crate) fn all(runs: usize) -> Self {
        Self { range: 0..runs, some: SmallVec::new() }
    }

    /// Those of so many runs that are seen; the first, if none is.
    pub(super) fn of(runs: usize, sees: impl Fn(usize) -> bool) -> Self {
        let first = (0..runs).find(|run| sees(*run)).unwrap_or(0);
        let last = (first + 1..runs).rfind(|run| sees(*run)).unwrap_or(first);
        let range = first..last + 1;
        // Who sees the first run and the last one is taken to see all.
        if range.len() == runs || runs > MOST {
            return Self { range, some: SmallVec::new() };
        }
        let some: SmallVec<_> = range.clone().filter(|run| sees(*run)).map(|run| run as u16).collect();
        let some = if some.len() == range.len() { SmallVec::new() } else { some };
        Self { range, some }
    }

    /// Whether these are all of so many runs.
    pub(crate) fn are_all(&self, runs: usize) -> bool {
        self.range == (0..runs)
    }

    /// The end of the last one.
    pub(crate) fn end(&self) -> usize {
        self.range.end
    }

    /// Those within a range: from the first to the last, and which of these if not all are.
    pub(crate) fn within(&self, runs: &Range<usize>) -> (Range<usize>, &[u16]) {
        if self.some.is_empty() {
            return (runs.start.max(self.range.start)..runs.end.min(self.range.end), &[]);
        }
        let place = |run: usize| self.some.partition_point(|some| usize::from(*some) < run);
        match self.some.get(place(runs.start)..place(runs.end)) {
            Some(some @ [first, .., last]) => {
                let range = usize::from(*first)..usize::from(*last) + 1;
                let is_some = some.len() < range.len();
                (range, if is_some { some } else { &[] })
            }
            Some([run]) => (usize::from(*run)..usize::from(*run) + 1, &[]),
            _ => (0..0, &[]),
        }
    }
}
