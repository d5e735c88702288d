//! The sizes of a convolution, and what they decide: the algorithm, and how weights are kept.

use std::ops::Range;

use super::algorithm::Algorithm;
use super::format::{Format, Packing};
use super::grouped::Grouped;
use super::matrix_unit::Estimate;
use super::padded::are_in_place;
use super::panels::tile_size;
use super::product::SMALL_PANELS;
use super::tile::MOST_ROWS;
use super::two_pixels;
use super::volumes::VolumeShape;
use super::winograd::{Grid, Winograd};
use crate::simd::{Level, MatrixUnit, SIDE, has_pairs};

/// The sizes of a convolution that do not depend on the image; a convolution of one dimension has height 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvShape {
    /// The channels of the input.
    pub inputs: usize,
    /// The channels of the output.
    pub outputs: usize,
    /// The height and width of the window.
    pub kernel: [usize; 2],
    /// The steps of the window.
    pub stride: [usize; 2],
    /// The distances between the window's taps.
    pub dilation: [usize; 2],
    /// The padding above and on the left.
    pub before: [usize; 2],
    /// The padding below and on the right.
    pub after: [usize; 2],
    /// The groups that the channels are split into.
    pub groups: usize,
}

impl ConvShape {
    /// A convolution of single pixels.
    pub fn pointwise(inputs: usize, outputs: usize) -> Self {
        let (none, one) = ([0; 2], [1; 2]);
        Self { inputs, outputs, kernel: one, stride: one, dilation: one, before: none, after: none, groups: 1 }
    }

    /// The height and width of the output for an input's; 0 where the window does not fit.
    pub fn output(&self, input: [usize; 2]) -> [usize; 2] {
        std::array::from_fn(|i| {
            let window = self.dilation[i] * (self.kernel[i].max(1) - 1) + 1;
            let padded = input[i] + self.before[i] + self.after[i];
            if padded < window { 0 } else { (padded - window) / self.stride[i] + 1 }
        })
    }

    /// The lines of an image of some height that lines of the output are computed from, and how many lines of padding are
    /// above these.
    pub(crate) fn lines_read(&self, lines: &Range<usize>, height: usize) -> (Range<usize>, usize) {
        if lines.is_empty() {
            return (0..0, 0);
        }
        let window = self.dilation[0] * (self.kernel[0].max(1) - 1) + 1;
        let (first, end) = (lines.start * self.stride[0], (lines.end - 1) * self.stride[0] + window);
        let start = first.saturating_sub(self.before[0]).min(height);
        let end = end.saturating_sub(self.before[0]).clamp(start, height);
        (start..end, self.before[0].saturating_sub(first))
    }

    /// As [`lines_read`](Self::lines_read), and the padding that the windows have around these lines: above and below, on the left and
    /// on the right.
    pub(super) fn lines_around(&self, lines: &Range<usize>, height: usize) -> (Range<usize>, [[usize; 2]; 2]) {
        let (read, above) = self.lines_read(lines, height);
        let window = self.dilation[0] * (self.kernel[0].max(1) - 1) + 1;
        let needed = if lines.is_empty() { 0 } else { (lines.len() - 1) * self.stride[0] + window };
        let below = needed.saturating_sub(above + read.len());
        (read, [[above, below], [self.before[1], self.after[1]]])
    }

    /// The lines that windows of three steps by one see for all lines of the output: none in the padding, if a line has pixels enough for a tile,
    /// which leaves out what all of its windows see there.
    fn lines_seen(&self, [height, width]: [usize; 2]) -> usize {
        if width < MOST_ROWS {
            return 3 * height;
        }
        let ([dilation, _], [above, _], [below, _]) = (self.dilation, self.before, self.after);
        let end = (height + 2 * dilation).saturating_sub(below);
        let seen = |tap: usize| (height + tap).min(end).saturating_sub(above.max(tap));
        [0, dilation, 2 * dilation].map(seen).iter().sum()
    }

    /// The algorithm that is fastest for so many images whose output has a height and width, if weights may be kept in a
    /// format. For single pixels it is Strassen's, whatever their number.
    pub fn algorithm(&self, images: usize, [height, width]: [usize; 2], format: Format) -> Algorithm {
        VolumeShape::of_images(*self).algorithm(images, [1, height, width], format)
    }

    /// Whether the output's pixels are products of the input's pixels, in the same order.
    pub(super) fn is_pointwise(&self) -> bool {
        self.kernel == [1; 2] && self.stride == [1; 2] && self.before == [0; 2] && self.after == [0; 2]
    }

    /// The same, with so many groups together as one.
    pub(super) fn joined(&self, together: usize) -> Self {
        Self { groups: self.groups / together, ..*self }
    }

    /// Whether each channel is on its own.
    pub(crate) fn is_depthwise(&self) -> bool {
        self.groups == self.inputs && self.groups == self.outputs && self.groups > 1
    }

    /// The channels of a group and the taps, whose product is the length of an output's weights.
    ///
    /// # Panics
    /// If the groups do not divide the channels.
    pub(crate) fn row(&self) -> (usize, usize) {
        let Self { inputs, outputs, kernel, groups, .. } = *self;
        assert!(
            groups > 0 && inputs % groups == 0 && outputs % groups == 0,
            "{groups} groups do not divide {inputs} and {outputs} channels"
        );
        (inputs / groups, kernel[0] * kernel[1])
    }

    /// Whether lines are rounded first, and windows mostly copied, to be multiplied in pairs: those of few channels, unless a matrix unit takes
    /// their pixels as they are.
    fn is_copied(&self) -> bool {
        self.has_short_pixels() && !(self.inputs == SIDE && MatrixUnit::detect().is_some())
    }

    /// Whether a pixel has so few channels that all numbers of a window are better taken together.
    pub(crate) fn has_short_pixels(&self) -> bool {
        self.groups == 1 && self.kernel != [1; 2] && self.inputs <= 16
    }
}

impl VolumeShape {
    /// The algorithm that is fastest for so many volumes whose output has a depth, height and width, as [`ConvShape::algorithm`] says.
    pub fn algorithm(&self, volumes: usize, output: [usize; 3], format: Format) -> Algorithm {
        /// The operations on each number of a tile before and after the products, or of a window that is copied.
        const TRANSFORM: usize = 8;
        /// The products in the time in which a weight is read from memory.
        const READ: usize = 24;
        /// The products that a matrix unit makes of pairs in the time of one of numbers, at least.
        const ON_UNIT: usize = 8;
        /// The tiles that take as long as a single one: products wait for the ones before.
        const FEW: usize = 4;
        let (frame, level) = (&self.frame, Level::detect());
        let in_pairs = self.format(level, format) == Format::Bf16 && has_pairs(level);
        // A matrix unit was not measured.
        let has_two = output[2].is_multiple_of(2)
            && two_pixels::fits(level, self, format)
            && !(in_pairs && MatrixUnit::detect().is_some());
        let by_definition = match has_two {
            true => Algorithm::TwoPixels,
            false if frame.is_pointwise() && format == Format::F32 => return Algorithm::Strassen,
            false => Algorithm::Direct,
        };
        let in_pieces = self.in_pieces(level, volumes, output).filter(|_| format == Format::F32);
        // Volumes are not folded, nor turned.
        if let Some(frame) = Winograd::turned(frame).filter(|_| self.depth == 1 && output[0] == 1) {
            let along = Self { frame, ..*self }.algorithm(volumes, [1, output[2], output[1]], format);
            if matches!(along, Algorithm::WinogradLine | Algorithm::Winograd4) {
                return along;
            }
        }
        let is_folded = self.depth == 1 && output[0] == 1 && Winograd::folds(frame);
        if !Winograd::fits(frame) && !is_folded {
            let is_faster = in_pieces.is_some_and(|estimate| estimate.is_faster(level));
            return if is_faster { Algorithm::Bf16x6 } else { by_definition };
        }
        let in_pieces = in_pieces.and_then(|estimate| estimate.products(level)).unwrap_or(usize::MAX);
        let (ConvShape { inputs, outputs, dilation, groups, .. }, [depth, height, width]) = (*frame, output);
        let pixels = volumes * depth * height * width;
        let is_line = Winograd::is_line(frame);
        let tiles = |side: usize| match is_folded {
            true => volumes * depth * height * Grid::of_line(width, dilation[1], side).area(),
            false => {
                let tile = if is_line { [1, side] } else { [side; 2] };
                volumes * depth * Grid::new([height, width], dilation, tile).area()
            }
        };
        // Panels are whole vectors of a group's outputs, and those of one take as long as those of two; but for vectors that belong to several
        // groups.
        let (_, lanes) = tile_size(level);
        let panels = groups * (outputs / groups).next_multiple_of(lanes).max(2 * lanes);
        let matrix = self.depth * inputs / groups * panels;
        let window = frame.kernel[0] * frame.kernel[1];
        let taps =
            if Grouped::fits(level, frame) { window * self.depth * inputs / groups * outputs } else { window * matrix };
        let is_copied = in_pairs && frame.is_copied();
        let is_on_unit = in_pairs && (is_copied || inputs >= SIDE) && MatrixUnit::detect().is_some();
        let tiled = |side: usize| {
            let (tiles, places) = (tiles(side), (side + 2).pow(if is_line { 1 } else { 2 }));
            let products = places * matrix * tiles.max(FEW);
            let all = match Winograd::keeps(places * matrix, self.depth, groups) {
                true => products,
                false => {
                    // For each part of the tiles once.
                    let parts = (tiles * places * inputs).div_ceil(Winograd::MEMORY);
                    (products + parts * places * matrix * Winograd::making(level)).max(taps * READ)
                }
            };
            all + tiles * places * (self.stride * inputs + outputs) * TRANSFORM
        };
        // What sees padding is left out where windows have lines.
        let lines = if is_folded || is_line { 3 * height } else { frame.lines_seen([height, width]) };
        let products = taps * volumes * depth * lines * width / 3;
        let direct = if taps <= SMALL_PANELS { products } else { products.max(taps * READ) };
        let direct = match in_pairs {
            // Fewer channels than a row of its registers holds take as long.
            true if is_on_unit => direct.max(window * self.depth * 2 * SIDE * outputs * pixels) / ON_UNIT,
            // They take half of the memory: what comes in their place must be faster by a tenth.
            true => direct / 2 - direct / 20,
            false => direct,
        };
        let direct = direct + if is_copied { pixels * window * self.depth * inputs * TRANSFORM } else { 0 };
        let direct =
            if has_two { direct * (frame.kernel[1] + frame.stride[1]) / (2 * frame.kernel[1]) } else { direct };
        // Folded lines are measured to take a quarter more than that, and their weights more memory.
        let tiled = if is_folded {
            [(tiled(4) / 3 * 4, Algorithm::Winograd4); 2]
        } else if is_line {
            [(tiled(4), Algorithm::WinogradLine); 2]
        } else {
            [(tiled(2), Algorithm::Winograd2), (tiled(4), Algorithm::Winograd4)]
        };
        let costs = [(direct, by_definition), tiled[0], tiled[1], (in_pieces, Algorithm::Bf16x6)];
        costs.into_iter().min_by_key(|(cost, _)| *cost).map_or(Algorithm::Direct, |(_, algorithm)| algorithm)
    }

    /// The product of windows where they lie, of numbers that may be split; None if windows are computed in another way.
    fn in_pieces(&self, level: Level, volumes: usize, [depth, height, width]: [usize; 3]) -> Option<Estimate> {
        let frame = &self.frame;
        if frame.is_depthwise() || frame.has_short_pixels() || Grouped::fits(level, frame) {
            return None;
        }
        let ConvShape { inputs, outputs, kernel, stride, groups, .. } = *frame;
        // Of single pixels those that windows skip are not read.
        let read = |kernel: usize, stride: usize| if kernel == 1 { 1 } else { stride };
        let read = read(self.depth, self.stride) * read(kernel[0], stride[0]) * read(kernel[1], stride[1]);
        let lines = volumes * depth * height;
        Some(Estimate {
            lines,
            width,
            numbers: lines * width * read * inputs,
            runs: self.depth * kernel[0] * kernel[1],
            run: inputs / groups,
            groups,
            columns: outputs / groups,
        })
    }

    /// The format in which the direct algorithm's weights are kept where one is allowed. Windows of few channels have an odd
    /// number of numbers, mostly: they are copied to be multiplied in pairs, if enough is done with each copy. Other half floats do
    /// not make up for it.
    pub(super) fn format(&self, level: Level, allowed: Format) -> Format {
        /// The products for a pixel of the output, with those that fill vectors, which take as long as rounding and copying; and as
        /// rounding for a matrix unit, which reads windows where they lie.
        const COPIED: usize = 768;
        const ROUNDED: usize = 384;
        /// How many times as long a product of numbers takes where frames are added up.
        const ADDED: usize = 2;
        let ConvShape { inputs, outputs, kernel: [height, width], .. } = self.frame;
        let added = if self.depth > 1 { ADDED * self.depth } else { 1 };
        let products = || inputs * height * width * outputs.next_multiple_of(16) * added;
        // Of one channel half of each word is zeros.
        let in_place = || inputs > 1 && are_in_place(self, Packing::Pairs);
        let is_much = || products() >= if in_place() { ROUNDED } else { COPIED };
        match allowed {
            Format::Bf16 if self.joins_pairs(level) => allowed,
            Format::Bf16 if Grouped::are_faster_than_pairs(level, &self.frame) => Format::F32,
            Format::Bf16 if has_pairs(level) && !self.frame.is_copied() => allowed,
            _ if !self.frame.has_short_pixels() => allowed,
            Format::Bf16 if has_pairs(level) && is_much() => allowed,
            _ => Format::F32,
        }
    }

    /// What the words of weights are that windows are multiplied with where they lie; None if there is a better way. `all` says whether all
    /// weights are such.
    pub(super) fn packing(
        &self,
        level: Level,
        allowed: Format,
        all: impl Fn(fn(f32) -> bool) -> bool,
    ) -> Option<Packing> {
        let (frame, format) = (&self.frame, self.format(level, allowed));
        if frame.is_depthwise() || self.is_padded(level, allowed) {
            return None;
        }
        let packing = Packing::of(format, level, frame.row().0, all);
        let is_joined = match packing {
            Packing::Single => Grouped::fits(level, frame),
            Packing::Pairs => self.joins_pairs(level),
            _ => false,
        };
        (!is_joined).then_some(packing)
    }

    /// Whether pairs are multiplied whose groups are joined in vectors. Frames are added up as numbers are.
    fn joins_pairs(&self, level: Level) -> bool {
        self.depth == 1 && Grouped::fits_pairs(level, &self.frame)
    }

    /// Whether windows of few channels are multiplied in pairs, of lines that are rounded first, where weights may be kept in a format.
    pub(super) fn is_padded(&self, level: Level, allowed: Format) -> bool {
        self.format(level, allowed) == Format::Bf16 && self.frame.is_copied()
    }
}
