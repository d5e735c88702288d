//! Small products of few rows, which would take less time than what is around the tile.

use std::ptr::null;

use super::{DEPTH, Place, Product, SMALL_PANELS, Slice};
use crate::dense::format::Packing;
use crate::dense::left::{Left, Seen};
use crate::dense::tile::MOST_ROWS;
use crate::threads::{Shared, WORTH_WHILE};

impl Product<'_> {
    /// Whether all rows are one tile, of numbers where they lie, which one thread multiplies with panels that stay in the cache.
    pub(super) fn is_one_tile(&self) -> bool {
        let panels = self.panels;
        self.rows <= panels.rows()
            && panels.packing() == Packing::Single
            && panels.groups() == 1
            && panels.steps() <= DEPTH
            && panels.steps() * panels.columns() <= SMALL_PANELS
            && 2 * self.rows * panels.steps() * panels.columns() < WORTH_WHILE
            && matches!(self.left, Left::Rows { .. })
            && self.written.output.is_none()
            && self.written.whole.is_none()
            && !self.left.collides()
    }

    /// Computes such a product.
    ///
    /// # Safety
    /// As for [`compute`](Self::compute).
    pub(super) unsafe fn one_tile(&self, out: &Shared<f32>, stride: usize) {
        let panels = self.panels;
        let mut table = [null(); MOST_ROWS];
        self.left.fill(0..self.rows, &mut table);
        let seen = Seen::all(1, &(0..1));
        let (full, rest) = self.full(0..panels.count());
        let sides = [(full.start, full.len())].into_iter().filter(|(_, count)| *count > 0);
        for (first, count) in sides.chain(rest.map(|index| (index, 1))) {
            let panel = panels.panel(0, first);
            let slice = Slice {
                panel,
                panels: count,
                runs: 0..1,
                offset: 0,
                depth: panels.steps(),
                packing: Packing::Single,
                steps: panel.data,
                starts: true,
                ends: true,
            };
            let place = Place { group: 0, rows: 0..self.rows, stride, share: usize::MAX, of: usize::MAX, next: null() };
            self.tiles(&slice, (1, &seen), &table, place, out);
        }
    }
}
