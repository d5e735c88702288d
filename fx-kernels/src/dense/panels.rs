//! The right operand of a product, packed once: panels as wide as a register tile, row after row.

use std::ops::Range;

use super::format::Packing;
use super::tile::MOST_COLUMNS;
use super::weight::Weight;
use crate::copy::transpose;
use crate::memory::{LINE, Lines, scratch};
use crate::simd::{Kernel, Level, SIDE, Vector, dispatch, rows_of_quads};
use crate::threads::{Shared, for_each, for_each_piece, num_threads};

/// Matrices of equal size, in panels of as many columns as two vectors have; a matrix's last one may be narrower.
///
/// Row `k` of panel `j` holds columns `j * width..` of the matrix's row `k`, or of as many rows as are [packed](Packing)
/// together, filled up with zeros to two vectors or, if they are single, to one; below the last row are zeros too.
#[derive(Debug)]
pub(crate) struct Panels {
    lines: Lines,
    level: Level,
    lanes: usize,
    packing: Packing,
    groups: usize,
    /// The rows of a panel.
    steps: usize,
    columns: usize,
    /// Whether they are read so often that they stay in the last-level cache.
    cached: bool,
}

/// Matrices of a weight: element `(k, j)` of matrix `g` is number `g * distance + rows[k] + j * step`. Where the weight is
/// read row by row, a column is a row of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrices<'a> {
    pub(crate) weight: Weight<'a>,
    pub(crate) groups: usize,
    pub(crate) distance: usize,
    pub(crate) rows: &'a [usize],
    pub(crate) columns: usize,
    pub(crate) step: usize,
}

/// One panel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Panel<'a> {
    /// Its words, a multiple of one vector's or two vectors' lanes, if it is packed.
    pub(crate) data: &'a [f32],
    /// Its first column.
    pub(crate) first: usize,
    /// How many columns are the matrix's own.
    pub(crate) columns: usize,
    /// Its width with the zeros.
    pub(crate) width: usize,
}

impl Panels {
    /// Packs matrices.
    ///
    /// # Panics
    /// If an element lies outside their data.
    pub(crate) fn new(format: (Level, Packing), matrices: &Matrices<'_>) -> Self {
        Self::within(Lines::together, format, matrices)
    }

    /// As [`new`](Self::new), in memory for so many words.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub(crate) fn within(
        memory: impl FnOnce(usize) -> Lines,
        (level, packing): (Level, Packing),
        matrices: &Matrices<'_>,
    ) -> Self {
        let Matrices { groups, rows, columns, .. } = *matrices;
        let (_, lanes) = tile_size(level);
        let steps = rows.len().div_ceil(packing.rows());
        let mut panels = Self { lines: Lines::default(), level, lanes, packing, groups, steps, columns, cached: false };
        let (group, len, count) = (panels.group(), groups * panels.group(), panels.count());
        // A matrix unit reads whole registers: beyond the last row are zeros.
        let beyond = if packing.is_for_unit() { (SIDE - 1) * 2 * lanes } else { 0 };
        let mut lines = memory(len + beyond);
        let (packed, zeros) = lines.numbers_mut()[..len + beyond].split_at_mut(len);
        zeros.fill(0.0);
        for_each_piece(packed, group, 16 * len, |index, packed| {
            if packing == Packing::Single && matrices.has_neighbours() {
                let together = count.div_ceil(count.div_ceil(TOGETHER).max(num_threads()));
                for_each_piece(packed, together * steps * 2 * lanes, 16 * group, |some, packed| {
                    matrices.panels(index, some * together * 2 * lanes, packed, lanes);
                });
                return;
            }
            for_each_piece(packed, steps * 2 * lanes, 16 * group, |panel, packed| {
                let (first, width) = (panel * 2 * lanes, panels.width(panel));
                let own = first..columns.min(first + width);
                let fill = |packed: &mut [f32]| matrices.panel(index, own.clone(), packed, width);
                match packing {
                    Packing::Single => fill(packed),
                    _ => scratch(steps * packing.rows() * width, |numbers| {
                        let (own, beyond) = numbers.split_at_mut(rows.len() * width);
                        fill(own);
                        beyond.fill(0.0);
                        packing.pack(numbers, packed, width, lanes);
                    }),
                }
            });
        });
        panels.lines = lines;
        panels
    }

    /// Panels of numbers that `fill` writes: it is told a column, and gets the panels of all matrices that begin with it.
    pub(crate) fn written(
        level: Level,
        groups: usize,
        inner: usize,
        columns: usize,
        fill: impl Fn(usize, &mut [&mut [f32]]) + Sync,
    ) -> Self {
        let (_, lanes) = tile_size(level);
        let packing = Packing::Single;
        let mut panels =
            Self { lines: Lines::default(), level, lanes, packing, groups, steps: inner, columns, cached: false };
        let (group, len) = (panels.group(), groups * panels.group());
        let mut lines = Lines::together(len);
        let packed = Shared(lines.numbers_mut().as_mut_ptr());
        for_each(panels.count(), 16 * len, |index| {
            let (first, width) = (index * 2 * lanes, panels.width(index));
            // SAFETY: there is memory for all panels, and no two have a place in common.
            let panel = |matrix: usize| unsafe {
                std::slice::from_raw_parts_mut(packed.at(matrix * group + inner * first), inner * width)
            };
            fill(first, &mut (0..groups).map(panel).collect::<Vec<_>>());
        });
        panels.lines = lines;
        panels
    }

    /// The panels of a matrix that is not packed, of which only the sizes are known: a matrix unit splits its numbers where they lie.
    pub(crate) fn unpacked(level: Level, steps: usize, columns: usize) -> Self {
        let ((_, lanes), packing) = (tile_size(level), Packing::Single);
        Self { lines: Lines::default(), level, lanes, packing, groups: 1, steps, columns, cached: false }
    }

    /// The same, where they are read so often that they stay in the last-level cache.
    pub(crate) fn cached(self) -> Self {
        Self { cached: true, ..self }
    }

    /// Whether their rows are one line of memory at most.
    pub(crate) fn is_narrow(&self) -> bool {
        2 * self.lanes <= LINE
    }

    /// Whether they are expected in the last-level cache.
    pub(crate) fn are_cached(&self) -> bool {
        self.cached
    }

    /// The level whose vectors set the width.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// The lanes of that vector.
    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    /// The rows of the largest tile.
    pub(crate) fn rows(&self) -> usize {
        let (most, _) = tile_size(self.level);
        if self.packing == Packing::Quads { rows_of_quads(self.level, most) } else { most }
    }

    /// What the words are.
    pub(crate) fn packing(&self) -> Packing {
        self.packing
    }

    /// The number of matrices.
    pub(crate) fn groups(&self) -> usize {
        self.groups
    }

    /// The rows of a panel.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// The rows of a matrix.
    pub(crate) fn inner(&self) -> usize {
        self.steps * self.packing.rows()
    }

    /// The columns of a matrix.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// The number of a matrix's panels.
    pub(crate) fn count(&self) -> usize {
        self.columns.div_ceil(2 * self.lanes)
    }

    /// The bytes of the words.
    pub(crate) fn bytes(&self) -> usize {
        self.groups * self.group() * size_of::<f32>()
    }

    /// One of a matrix's panels.
    pub(crate) fn panel(&self, group: usize, index: usize) -> Panel<'_> {
        let (first, width) = (index * 2 * self.lanes, self.width(index));
        let data = match self.lines.numbers() {
            [] => &[],
            words => &words[group * self.group() + self.steps * first..][..self.steps * width],
        };
        Panel { data, first, columns: width.min(self.columns - first), width }
    }

    /// The words of a matrix.
    pub(crate) fn group(&self) -> usize {
        let last = self.count().checked_sub(1).map_or(0, |last| last * 2 * self.lanes + self.width(last));
        self.steps * last
    }

    fn width(&self, index: usize) -> usize {
        let may_be = !self.packing.is_halves();
        let narrow = may_be && self.columns - index * 2 * self.lanes <= self.lanes;
        if narrow { self.lanes } else { 2 * self.lanes }
    }
}

impl Matrices<'_> {
    /// Whether the columns are neighbours in memory.
    fn has_neighbours(&self) -> bool {
        self.step == 1 && matches!(self.weight, Weight::Numbers(_))
    }

    /// Writes panels of a matrix with [neighbours](Self::has_neighbours), from a column on, a few rows at a time: these are read from their start to
    /// their end.
    ///
    /// # Panics
    /// As [`panel`](Self::panel) does.
    fn panels(&self, group: usize, column: usize, packed: &mut [f32], lanes: usize) {
        /// As many rows as the processor reads ahead at a time.
        const ROWS: usize = 8;
        let (steps, whole) = (self.rows.len(), 2 * lanes);
        self.with_columns(group, column..self.columns, |data| {
            for first in (0..steps).step_by(ROWS) {
                let rows = first..steps.min(first + ROWS);
                for (index, packed) in packed.chunks_mut(steps * whole).enumerate() {
                    let (start, width) = (index * whole, packed.len() / steps);
                    let packed = &mut packed[rows.start * width..rows.end * width];
                    let own = width.min(self.columns - column - start);
                    if own < width {
                        packed.fill(0.0);
                    }
                    let source = Source { data: &data[start..], step: 1, place: 0..own };
                    source.copy(&self.rows[rows.clone()], packed, width);
                }
            }
        });
    }

    /// Writes some columns of a matrix as rows of `width` numbers, filled up with zeros.
    ///
    /// # Panics
    /// If an element lies outside the data, or there is room for fewer rows.
    pub(crate) fn panel(&self, group: usize, columns: Range<usize>, packed: &mut [f32], width: usize) {
        let Self { rows, step, .. } = *self;
        let in_order = rows.windows(2).all(|pair| pair[1] == pair[0] + 1);
        if columns.len() < width {
            packed.fill(0.0);
        }
        for some in self.weight.few(columns.clone(), step) {
            let place = some.start - columns.start..some.end - columns.start;
            self.with_columns(group, some, |data| {
                let source = Source { data, step, place };
                if step == 1 {
                    source.copy(rows, packed, width);
                } else if in_order && !rows.is_empty() {
                    source.transpose(rows[0]..rows[0] + rows.len(), packed, width);
                } else {
                    source.gather(rows, packed, width);
                }
            });
        }
    }

    /// The numbers from some columns of a matrix on.
    fn with_columns<R>(&self, group: usize, columns: Range<usize>, f: impl FnOnce(&[f32]) -> R) -> R {
        match self.weight {
            Weight::Numbers(data) => f(&data[(group * self.distance + columns.start * self.step).min(data.len())..]),
            Weight::Rows(_) => {
                let before = group * self.columns;
                self.weight.with_rows(before + columns.start..before + columns.end, self.step, f)
            }
        }
    }
}

/// The most panels that are written together.
const TOGETHER: usize = 64;
/// As many rows of a panel as the first-level cache has room for.
const BLOCK: usize = 64;

/// Some columns of a panel in the matrix: element `(k, j)` is `data[rows[k] + j * step]`.
struct Source<'a> {
    data: &'a [f32],
    step: usize,
    /// The columns' place in the panel.
    place: Range<usize>,
}

impl Source<'_> {
    /// Where the columns are neighbours.
    fn copy(&self, rows: &[usize], panel: &mut [f32], width: usize) {
        for (packed, row) in panel.chunks_exact_mut(width).zip(rows) {
            let (to, from) = (&mut packed[self.place.clone()], &self.data[*row..row + self.place.len()]);
            match (to.as_mut_array::<MOST_COLUMNS>(), from.as_array()) {
                // Without a call.
                (Some(to), Some(from)) => *to = *from,
                _ => to.copy_from_slice(from),
            }
        }
    }

    /// Where the rows are neighbours.
    fn transpose(&self, rows: Range<usize>, panel: &mut [f32], width: usize) {
        for (packed, first) in panel.chunks_mut(BLOCK * width).zip(rows.clone().step_by(BLOCK)) {
            let size = [self.place.len(), BLOCK.min(rows.end - first)];
            transpose(&mut packed[self.place.start..], width, &self.data[first..], self.step, size);
        }
    }

    /// Where neither are.
    fn gather(&self, rows: &[usize], panel: &mut [f32], width: usize) {
        for (packed, rows) in panel.chunks_mut(BLOCK * width).zip(rows.chunks(BLOCK)) {
            for (j, place) in self.place.clone().enumerate() {
                let column = &self.data[(j * self.step).min(self.data.len())..];
                for (packed, row) in packed.chunks_exact_mut(width).zip(rows) {
                    packed[place] = column[*row];
                }
            }
        }
    }
}

/// The rows of a level's largest tile, and the lanes of its vectors.
pub(crate) fn tile_size(level: Level) -> (usize, usize) {
    struct Size;
    impl Kernel for Size {
        type Elem = f32;
        type Output = (usize, usize);
        #[inline(always)]
        fn run<V: Vector<Elem = f32>>(self) -> (usize, usize) {
            (V::ROWS, V::LANES)
        }
    }
    dispatch(level, Size)
}
