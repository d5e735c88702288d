//! Where the tiles of an image are.

/// The tiles of an image of the output. Windows whose taps are apart see every so many lines and columns alone: these are an image of their
/// own, whose tiles have pixels as far apart.
pub(in crate::dense) struct Grid {
    /// The height and width of the output.
    output: [usize; 2],
    /// The lines and columns from one pixel of a tile to the next.
    step: [usize; 2],
    /// The most pixels of a tile below each other, and side by side.
    side: usize,
    /// The pixels of an image, of which the last line may have fewer.
    pixels: usize,
    /// The pixels after a line that its last ones see: those of the next one, and as many after the last image.
    beyond: usize,
    /// The tiles below each other and side by side: of an image of the output's every so many lines and columns, and of all of these.
    each: [usize; 2],
    all: [usize; 2],
}

impl Grid {
    /// Tiles of so many pixels a side, for windows whose taps are `dilation` apart.
    #[inline(always)]
    pub(in crate::dense) fn new(output: [usize; 2], dilation: [usize; 2], side: usize) -> Self {
        let each = [0, 1].map(|i| over(output[i], dilation[i]).div_ceil(side));
        let all = [0, 1].map(|i| output[i].min(dilation[i]) * each[i]);
        Self { output, step: dilation, side, pixels: output[0] * output[1], beyond: 0, each, all }
    }

    /// The same for a line of so many pixels that is an image of shorter ones: each has three pixels of every `dilation`.
    pub(in crate::dense) fn of_line(pixels: usize, dilation: usize, side: usize) -> Self {
        let across = 3 * dilation;
        let image = Self::new([pixels.div_ceil(across), across], [1, dilation], side);
        Self { pixels, beyond: 2 * dilation, ..image }
    }

    /// The pixels of an image.
    pub(super) fn len(&self) -> usize {
        self.pixels
    }

    /// The pixels after a line that belong to windows of it.
    pub(super) fn beyond(&self) -> usize {
        self.beyond
    }

    /// The tiles of an image.
    pub(in crate::dense) fn area(&self) -> usize {
        self.all[0] * self.all[1]
    }

    /// The image of a tile, and its first pixel's line and column.
    #[inline(always)]
    pub(super) fn corner(&self, tile: usize) -> (usize, [usize; 2]) {
        let (Self { step, side, each, all, .. }, area) = (self, self.area());
        // Of a single image, without a division.
        let (image, place) = if tile < area { (0, tile) } else { (tile / area, tile % area) };
        let line = place / all[1];
        let place = [line, place - line * all[1]];
        let first = |i: usize| match step[i] {
            1 => place[i] * side,
            step => place[i] / each[i] + place[i] % each[i] * side * step,
        };
        (image, [first(0), first(1)])
    }

    /// The first pixel of a tile among those of all images, how many there are below each other and side by side, and where the image ends:
    /// what of the tile is beyond is not there. There are none, if images of every so many lines or columns have fewer tiles than the first.
    #[inline(always)]
    pub(super) fn pixels(&self, tile: usize) -> (usize, [usize; 2], usize) {
        let (image, corner) = self.corner(tile);
        let count = |i: usize| over(self.output[i].saturating_sub(corner[i]), self.step[i]).min(self.side);
        let first = image * self.pixels;
        (first + corner[0] * self.output[1] + corner[1], [count(0), count(1)], first + self.pixels)
    }

    /// The pixels of the output from one of a tile to the one below it, and to the one beside it.
    pub(super) fn steps(&self) -> [usize; 2] {
        [self.step[0] * self.output[1], self.step[1]]
    }
}

/// The pixels of so many that are a step apart. Small images have no time for a division.
#[inline(always)]
fn over(pixels: usize, step: usize) -> usize {
    if step == 1 { pixels } else { pixels.div_ceil(step) }
}
