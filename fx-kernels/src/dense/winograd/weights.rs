//! The weights of Winograd's algorithm, and their products with transformed tiles.
//!
//! Transformed weights are up to four times as large as the taps that they come from. Where they stay in the cache, they are
//! kept. Others would have to come from memory each time: there the taps do, and are transformed as they are used.

use std::ops::Range;

use smallvec::SmallVec;

use super::super::algorithm::Algorithm;
use super::super::format::Packing;
use super::super::panels::{Matrices, Panel, Panels, tile_size};
use super::super::product::SMALL_PANELS;
use super::super::shape::ConvShape;
use super::super::tile::{MOST_ROWS, Stack, Tile, UNROLL};
use super::super::weight::Weight;
use super::parts::Part;
use super::transform::{Taps, Tiles, Transform, all};
use crate::memory::{LINE, Maker, maker, scratch, second_level};
use crate::simd::{Level, dispatch};
use crate::threads::{for_each, num_threads};
use crate::tiles::tiles;

/// The most inputs whose taps are transformed at a time: they stay in the second-level cache with what comes out.
const DEPTH: usize = 128;
/// The most numbers of all places' matrices for a panel that are read again for every few tiles, whose sums are done with at once: those stay in
/// the first-level cache.
const TOGETHER: usize = 64 * 1024;
/// Taps that are not larger do not overflow as they are transformed.
const LARGEST: f32 = f32::MAX / 16.0;

/// A convolution's weights for the algorithm.
#[derive(Debug)]
pub(crate) struct Winograd {
    /// For each group a row for each input and tap, of each frame that a window sees, with a column for each output.
    taps: Panels,
    window: Window,
    /// The frames that a window sees.
    depth: usize,
    /// For each place of a tile a matrix with a row for each input of each frame, if there is one group and they stay in the cache.
    kept: Option<Panels>,
    /// The places along a side of a tile.
    side: usize,
}

/// What windows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// Three lines of three taps.
    Square,
    /// So many taps along a line that is folded to three: those that fill them up to nine are 0.
    Folded(usize),
    /// One line of three.
    Line,
}

impl Window {
    /// Whether they are three lines high.
    pub(super) fn is_square(self) -> bool {
        self != Self::Line
    }

    /// The taps, with those that fill them up.
    pub(super) fn taps(self) -> usize {
        all(3, self.is_square())
    }

    /// The taps that count.
    pub(super) fn own(self) -> usize {
        if let Self::Folded(taps) = self { taps } else { self.taps() }
    }
}

/// Transformed tiles of some groups: a row for each of a part, with a stretch for each place, and after them one of zeros where a window sees
/// several frames.
pub(super) struct Rows<'a> {
    pub(super) data: &'a [f32],
    pub(super) part: &'a Part,
    pub(super) groups: Range<usize>,
    /// The numbers from one row to the next.
    pub(super) stride: usize,
}

/// The matrices of all places.
struct Stacked<'a> {
    /// The first one's numbers, and the distance to the next.
    data: &'a [f32],
    distance: usize,
    /// Where in a place's stretch of a row what they are multiplied with begins, and the distance to the next place's.
    first: usize,
    offset: usize,
}

/// Tiles of the result that are multiplied at once.
#[derive(Default)]
struct Bundle {
    first: usize,
    count: usize,
    /// The taps along frames with which any of them meets something; one at least.
    taps: Range<usize>,
    /// For each tap where the rows begin that they meet.
    places: SmallVec<[[*const f32; MOST_ROWS]; 3]>,
}

// SAFETY: the rows are only read.
unsafe impl Sync for Bundle {}

impl Rows<'_> {
    /// Calls a function with each bundle of tiles of the result: where a frame has enough, of one frame, whose windows see the same frames.
    fn for_each_bundle(&self, level: Level, mut f: impl FnMut(&mut Bundle)) {
        let (all, frame, most) = (self.part.written(), self.part.in_frame(), tile_size(level).0);
        let len = if frame >= MOST_ROWS { frame } else { all };
        let mut bundle = Bundle::default();
        for start in (0..all).step_by(len) {
            for (first, count) in tiles(len, most) {
                self.find(&mut bundle, start + first, count);
                f(&mut bundle);
            }
        }
    }

    /// Finds what some tiles meet.
    fn find(&self, bundle: &mut Bundle, first: usize, count: usize) {
        let (part, rows) = (self.part, first..first + count);
        let taps = part.taps(rows.clone());
        (bundle.first, bundle.count, bundle.taps) = (first, count, taps.clone());
        bundle.places.resize(taps.len(), [self.data.as_ptr(); MOST_ROWS]);
        for (tap, places) in taps.zip(&mut bundle.places) {
            for (place, index) in places.iter_mut().zip(rows.clone()) {
                let row = part.met(index, tap).unwrap_or(part.seen());
                *place = self.data.as_ptr().wrapping_add(row * self.stride);
            }
        }
    }
}

impl Winograd {
    /// Whether so many transformed weights are kept, of windows that see so many frames, if all channels are one group: they stay in the cache beside all else. Those of volumes,
    /// which have many tiles, may have five eighths of the second-level cache.
    pub(crate) fn keeps(weights: usize, depth: usize, groups: usize) -> bool {
        let own = if depth > 1 { second_level() / size_of::<f32>() / 8 * 5 } else { 0 };
        groups == 1 && weights <= SMALL_PANELS.max(own)
    }

    /// The products in the time in which a weight is made of taps as it is used. Measured: 7 cycles for a vector on Intel's processors, with 256 bits too,
    /// which make twice the products of AMD's family 19h (Zen 4) in each with 512 bits.
    pub(in crate::dense) fn making(level: Level) -> usize {
        if level == Level::Avx512 && maker() != Maker::Intel { 4 } else { 10 }
    }

    /// Packs a weight in PyTorch's layout, outputs, inputs of a group, depth, 3 or 1, 3, for an algorithm and windows that see so many frames. None
    /// if that is not Winograd's, or the weight is not finite or so large that the transform could overflow.
    pub(crate) fn new(
        level: Level,
        weight: Weight<'_>,
        algorithm: Algorithm,
        shape: &ConvShape,
        depth: usize,
    ) -> Option<Self> {
        let groups = shape.groups;
        let (inputs, outputs) = (shape.inputs / groups, shape.outputs / groups);
        let window = if Self::is_line(shape) { Window::Line } else { Window::Square };
        let side = match (algorithm, window.is_square()) {
            (Algorithm::Winograd2, true) => 4,
            (Algorithm::Winograd4, true) | (Algorithm::WinogradLine, false) => 6,
            _ => return None,
        };
        let (each, places) = (window.taps(), all(side, window.is_square()));
        let step = each * depth * inputs;
        let rows: Vec<usize> = (0..depth * inputs)
            .map(|row| (row % inputs * depth + row / inputs) * each)
            .flat_map(|first| first..first + each)
            .collect();
        let matrices = Matrices { weight, groups, distance: outputs * step, rows: &rows, columns: outputs, step };
        let taps = Panels::new((level, Packing::Single), &matrices);
        // Without a branch for each.
        let are_small = |numbers: &[f32]| numbers.iter().fold(true, |all, x| all & (x.abs() <= LARGEST));
        let mut panels = (0..groups).flat_map(|group| (0..taps.count()).map(move |index| (group, index)));
        if !panels.all(|(group, index)| are_small(taps.panel(group, index).data)) {
            return None;
        }
        let kept = Self::keeps(places * depth * inputs * outputs, depth, groups).then(|| {
            let width = 2 * taps.lanes();
            Panels::written(level, places, depth * inputs, outputs, |first, places| {
                let Panel { data: taps, width, .. } = taps.panel(0, first / width);
                match (side, window.is_square()) {
                    (4, true) => dispatch(level, Taps::<2, 4, true> { taps, width, places }),
                    (_, true) => dispatch(level, Taps::<4, 6, true> { taps, width, places }),
                    (_, false) => dispatch(level, Taps::<4, 6, false> { taps, width, places }),
                }
            })
        });
        Some(Self { taps, window, depth, kept, side })
    }

    /// The same for windows of so many taps along lines that are folded.
    pub(super) fn along_lines(self, taps: usize) -> Self {
        Self { window: Window::Folded(taps), ..self }
    }

    pub(super) fn window(&self) -> Window {
        self.window
    }

    /// The places of a tile.
    fn places(&self) -> usize {
        all(self.side, self.window.is_square())
    }

    /// The algorithm: the size of the tiles.
    pub(crate) fn algorithm(&self) -> Algorithm {
        match self.window {
            Window::Line => Algorithm::WinogradLine,
            _ if self.side == 4 => Algorithm::Winograd2,
            _ => Algorithm::Winograd4,
        }
    }

    pub(super) fn level(&self) -> Level {
        self.taps.level()
    }

    /// All channels of an image.
    pub(super) fn inputs(&self) -> usize {
        self.groups() * self.group()
    }

    /// The groups that channels are split into.
    pub(super) fn groups(&self) -> usize {
        self.taps.groups()
    }

    /// The channels of a group.
    pub(super) fn group(&self) -> usize {
        self.taps.inner() / (self.window.taps() * self.depth)
    }

    /// The channels that a panel of taps is multiplied with.
    pub(super) fn inputs_of(&self, panel: Panel<'_>) -> Range<usize> {
        let group = panel.first / self.taps.columns();
        group * self.group()..(group + 1) * self.group()
    }

    /// The numbers of a group's matrix for a place of a tile.
    pub(super) fn numbers(&self) -> usize {
        self.depth * self.group() * self.taps.columns()
    }

    /// The frames that a window sees.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn outputs(&self) -> usize {
        self.groups() * self.taps.columns()
    }

    /// The bytes of the weights.
    pub(crate) fn bytes(&self) -> usize {
        self.taps.bytes() + self.kept.as_ref().map_or(0, Panels::bytes)
    }

    /// The panels that threads share out among them.
    pub(super) fn panels(&self) -> usize {
        self.groups() * self.taps.count()
    }

    /// One of them: its first column is one of all outputs.
    fn panel(&self, index: usize) -> Panel<'_> {
        let (group, index) = (index / self.taps.count(), index % self.taps.count());
        let panel = self.taps.panel(group, index);
        Panel { first: group * self.taps.columns() + panel.first, ..panel }
    }

    /// Whether transformed ones are kept.
    pub(super) fn are_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Multiplies transformed tiles with the weights. `done` gets the sums of some tiles, from the given one on, for a panel
    /// of the taps: for each tile and place as many as the panel is wide. It is called by several threads.
    ///
    /// # Panics
    /// If a row has fewer numbers than there are inputs for each place, or the tiles have another size.
    pub(super) fn multiply<const M: usize, const N: usize, const SQUARE: bool>(
        &self,
        rows: Rows<'_>,
        done: impl Fn(Panel<'_>, usize, &[f32]) + Sync,
    ) where
        Tiles: Transform<M, N>,
    {
        let Rows { data, part, ref groups, stride } = rows;
        let (count, held) = (part.written(), part.seen() + usize::from(self.depth > 1));
        let places = const { all(N, SQUARE) };
        let is_such = N == self.side && SQUARE == self.window.is_square() && part.depth() == self.depth;
        assert!(is_such, "the weights are for tiles of another size");
        assert!(
            stride >= places * groups.len() * self.group() && data.len() >= held * stride,
            "the tiles are too short"
        );
        if let Some(kept) = &self.kept {
            return rows.for_each_bundle(self.level(), |bundle| {
                for index in 0..kept.count() {
                    let matrices = Stacked {
                        data: kept.panel(0, index).data,
                        distance: kept.group(),
                        first: 0,
                        offset: self.inputs(),
                    };
                    self.stack(bundle, &matrices, self.panel(index), &done);
                }
            });
        }
        let (first, panels) = (groups.start * self.taps.count(), groups.len() * self.taps.count());
        let work = 2 * count * places * groups.len() * self.numbers();
        let mut bundles = SmallVec::<[_; 4]>::new();
        rows.for_each_bundle(self.level(), |bundle| bundles.push(std::mem::take(bundle)));
        // A thread takes neighbours, for it brings in what comes next.
        let sets = panels.min(2 * num_threads());
        for_each(sets, work, |set| {
            for index in set * panels / sets..(set + 1) * panels / sets {
                self.transformed::<M, N, SQUARE>((&bundles, &rows), count, self.panel(first + index), &done);
            }
        });
    }

    /// Multiplies tiles with the matrices of all places for a panel of taps.
    fn stack(
        &self,
        bundle: &Bundle,
        matrices: &Stacked<'_>,
        panel: Panel<'_>,
        done: impl Fn(Panel<'_>, usize, &[f32]),
    ) {
        let (count, width) = (self.places(), panel.width);
        let stack = Stack { count, offset: matrices.offset, panel: matrices.distance, out: width };
        scratch(bundle.count * count * width, |sums| {
            let steps = self.group() * width;
            let met = &matrices.data[bundle.taps.start * steps..bundle.taps.end * steps];
            let tile = Tile {
                segments: bundle.taps.len(),
                depth: self.group(),
                offset: matrices.first,
                ..self.tile(bundle, 0, met, width, sums.as_mut_ptr())
            };
            // SAFETY: a row has as many numbers as all matrices have rows for a tap (seen by `multiply`), and as many sums as their
            // panels are wide.
            unsafe { stack.run(self.level(), &tile) };
            done(panel, bundle.first, sums);
        });
    }

    /// Multiplies so many tiles with a panel of taps, which are transformed for some inputs at a time.
    fn transformed<const M: usize, const N: usize, const SQUARE: bool>(
        &self,
        (bundles, rows): (&[Bundle], &Rows<'_>),
        count: usize,
        panel: Panel<'_>,
        done: impl Fn(Panel<'_>, usize, &[f32]),
    ) where
        Tiles: Transform<M, N>,
    {
        let (level, width, Range { start, end }) = (self.level(), panel.width, self.inputs_of(panel));
        // What a place's stretch of a row has, and where in it the panel's inputs begin.
        let (inputs, channels) = (end - start, rows.groups.len() * (end - start));
        let own = start - rows.groups.start * inputs;
        let most = inputs.div_ceil(inputs.div_ceil(DEPTH));
        let (each, all) = (self.window.taps(), const { all(N, SQUARE) });
        // Places that do not collide in the cache.
        let (matrix, row) = (most * width + LINE, all * width);
        if self.depth == 1 && most == inputs && all * inputs * width <= TOGETHER {
            return scratch(all * matrix, |memory| {
                {
                    let mut places: SmallVec<[_; 36]> = memory.chunks_exact_mut(matrix).collect();
                    dispatch(level, Taps::<M, N, SQUARE> { taps: panel.data, width, places: &mut places });
                }
                let matrices = Stacked { data: memory, distance: matrix, first: own, offset: channels };
                bundles.iter().for_each(|bundle| self.stack(bundle, &matrices, panel, &done));
            });
        }
        scratch(all * matrix + count * row, |memory| {
            let (matrices, sums) = memory.split_at_mut(all * matrix);
            let mut places: SmallVec<[_; 36]> = matrices.chunks_exact_mut(matrix).collect();
            let steps =
                (0..self.depth).flat_map(|tap| tiles(inputs, most).map(move |(start, depth)| (tap, start, depth)));
            let is_met = |tap: usize| bundles.iter().any(|bundle| bundle.taps.contains(&tap));
            for (tap, start, depth) in steps.filter(|(tap, ..)| is_met(*tap)) {
                let taps = &panel.data[each * (tap * inputs + start) * width..][..each * depth * width];
                dispatch(level, Taps::<M, N, SQUARE> { taps, width, places: &mut places });
                for (place, matrix) in places.iter().enumerate() {
                    for (number, bundle) in bundles.iter().enumerate() {
                        let Some(met) = tap.checked_sub(bundle.taps.start).filter(|_| tap < bundle.taps.end) else {
                            continue;
                        };
                        let (slot, slots) = (place * bundles.len() + number, all * bundles.len());
                        let next = Next { slot, slots, taps: each, depth, width };
                        let (far, farther) = next.far(taps.as_ptr_range().end, matrix.as_ptr());
                        let to = &mut sums[bundle.first * row + place * width..];
                        let tile = Tile {
                            offset: place * channels + own + start,
                            accumulate: met + start > 0,
                            far,
                            farther,
                            each: 0,
                            ..self.tile(bundle, met, &matrix[..depth * width], width, to.as_mut_ptr())
                        };
                        // SAFETY: as in `stack`.
                        unsafe { tile.run(level) };
                    }
                }
            }
            done(panel, 0, sums);
        });
    }

    /// Rows times a panel, from those on that are met with one of the bundle's taps.
    fn tile(&self, bundle: &Bundle, met: usize, panel: &[f32], width: usize, out: *mut f32) -> Tile {
        Tile {
            rows: bundle.count,
            left: bundle.places.as_flattened()[met * MOST_ROWS..].as_ptr(),
            depth: panel.len() / width,
            panel: panel.as_ptr(),
            narrow: width == self.taps.lanes(),
            out,
            stride: self.places() * width,
            ..Tile::PLAIN
        }
    }
}

/// What one of many tiles brings in of the taps that come next: they are spread over the time there is.
struct Next {
    /// The tile's number, and how many there are.
    slot: usize,
    slots: usize,
    /// How many taps come next, and the inputs and the columns of each.
    taps: usize,
    depth: usize,
    width: usize,
}

impl Next {
    /// From where, seen from the place in the panel, the tile brings in numbers: a line of every few, for a tap of each
    /// input.
    fn far(&self, next: *const f32, panel: *const f32) -> (usize, usize) {
        let lines = UNROLL * self.width / LINE;
        let parts = self.taps * lines;
        let distance = next.addr().wrapping_sub(panel.addr()) / size_of::<f32>();
        let far = |part: usize| distance.wrapping_add(part / lines * self.depth * self.width + part % lines * LINE);
        let mut mine = (self.slot * parts / self.slots..(self.slot + 1) * parts / self.slots).map(far);
        (mine.next().unwrap_or(0), mine.next().unwrap_or(0))
    }
}
