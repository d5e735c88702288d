//! Panels that stay in the cache: a step is made with all of them, tile after tile, so that a row is read and written once for it.

use std::ops::Range;
use std::ptr::null;

use smallvec::SmallVec;

use super::{MANY_TILES, Place, Product, Slice, Split};
use crate::dense::format::Packing;
use crate::dense::tile::MOST_ROWS;
use crate::memory::scratch;
use crate::threads::Shared;

/// The words of the left operand that stay in the first-level cache between two panels.
const NEAR: usize = 4 * 1024;
/// The tiles of a block from which on narrow panels go together, however many there are. Measured on a Zen 3: 64 rows, in 11, take longer.
const MANY: usize = 16;
/// The tiles that bring in what panels are followed by: one for each line of a few steps of narrow ones.
const ASKING: usize = 4;

impl Product<'_> {
    /// Whether panels go together for so many tiles of a block, however many there are. Where a panel is one line wide and goes down all
    /// rows, each line of the result is written long before its neighbour.
    pub(super) fn go_together(&self, tiles: usize) -> bool {
        self.panels.is_narrow() && tiles >= MANY
    }

    /// A step of a set of panels, with some tiles, of which the table has the places.
    pub(super) fn near(
        &self,
        split: &Split,
        (group, set, step): (usize, Range<usize>, usize),
        (tiles, table): (Range<usize>, &[*const f32]),
        out: &Shared<f32>,
        stride: usize,
    ) {
        let panels = self.panels;
        let is_widened = self.widens(tiles.len());
        // Those that are widened are read in order, and what follows wide panels in f32 comes by itself: asking for it would take shorter ones a
        // fiftieth longer, while it saves a thirtieth with large weights in bytes. A few tiles use it too soon.
        let is_asked = panels.packing() != Packing::Single && self.left.runs() == 1 && tiles.len() >= MANY_TILES;
        let next = match (self.go_together(tiles.len()) || is_asked) && !is_widened {
            true if step + 1 < split.steps.count => Some((set.start, step + 1)),
            true if set.end < split.range.end => Some((set.end, 0)),
            _ => None,
        };
        let next = next.map(|(index, step)| self.slice(split, group, index, step).steps.as_ptr());
        let (full, rest) = self.full(set.clone());
        let full = (!full.is_empty()).then(|| self.side_by_side(split, group, full, step));
        let rest = rest.map(|index| self.slice(split, group, index, step));
        let slices: SmallVec<[_; 2]> = full.into_iter().chain(rest).collect();
        if !is_widened {
            return self.slices(split, &slices, group, (tiles, table), next, (out, stride));
        }
        let len = 2 * slices.iter().map(|slice| slice.steps.len()).max().unwrap_or_default();
        scratch(len * set.len(), |numbers| {
            for (index, to) in set.clone().zip(numbers.chunks_exact_mut(len)) {
                let slice = self.slice(split, group, index, step);
                slice.packing.widen(panels.level(), slice.steps, to, slice.panel.width);
            }
            let of_numbers = |slice: &Slice<'_>| {
                let place = slice.panel.first / slice.panel.width - set.start;
                slice.of_numbers(&numbers[place * len..][..len])
            };
            let slices: SmallVec<[_; 2]> = slices.iter().map(of_numbers).collect();
            self.slices(split, &slices, group, (tiles, table), next, (out, stride));
        });
    }

    /// The same with slices, before what comes next.
    fn slices(
        &self,
        split: &Split,
        slices: &[Slice<'_>],
        group: usize,
        (tiles, table): (Range<usize>, &[*const f32]),
        next: Option<*const f32>,
        (out, stride): (&Shared<f32>, usize),
    ) {
        let (panels, runs) = (self.panels, self.left.runs());
        // Tiles go together where no run is left out, as many as the cache holds if there is more than one slice.
        let follow = runs == 1 || panels.packing().is_whole() && split.steps.count == 1;
        let together = match (follow, slices.len()) {
            (true, 1) => tiles.len(),
            (true, _) => NEAR / (MOST_ROWS * split.steps.longest(split.run) * panels.packing().left()).max(1),
            (false, _) => 1,
        };
        let mut tile = tiles.start;
        while tile < tiles.end {
            let rows = |tile: usize| split.rows(tile..tile + 1);
            let share = tile - tiles.start;
            let table = |tile: usize| &table[(tile - tiles.start) * self.left.pointers() * MOST_ROWS..];
            let seen = |tile: usize| self.seen(table(tile), rows(tile), &slices[0].runs);
            let (len, first) = (rows(tile).len(), seen(tile));
            let (most, share, next) = match next.filter(|_| share < ASKING) {
                Some(next) => (1, share, next),
                None => (together.clamp(1, tiles.end - tile), usize::MAX, null()),
            };
            let follows = |tile: &usize| rows(*tile).len() == len && seen(*tile).are_all;
            let most = if first.are_all { most } else { 1 };
            let count = 1 + (tile + 1..tile + most).take_while(follows).count();
            for slice in slices {
                let place = Place { group, rows: rows(tile), stride, share, of: tiles.len(), next };
                self.tiles(slice, (count, &first), table(tile), place, out);
            }
            tile += count;
        }
    }
}
