//! Where the tiles of an image are.

/// The tiles of an image of the output. Windows whose taps are apart see every so many lines and columns alone: these are an image of their
/// own, whose tiles have pixels as far apart.
pub(in crate::dense) struct Grid {
    /// The height and width of the output.
    output: [usize; 2],
    /// The lines and columns from one pixel of a tile to the next.
    step: [usize; 2],
    /// The most pixels of a tile below each other, and side by side.
    tile: [usize; 2],
    /// The pixels of an image, of which the last line may have fewer.
    pixels: usize,
    /// The pixels after a line that its last ones see: those of the next one, and as many after the last image.
    beyond: usize,
    /// The distance of a line's pixels, where images are lines: of the input's and of the output's.
    apart: [usize; 2],
    /// The tiles below each other and side by side: of an image of the output's every so many lines and columns, and of all of these.
    each: [usize; 2],
    all: [usize; 2],
}

impl Grid {
    /// Tiles of so many pixels below each other and side by side, for windows whose taps are `dilation` apart.
    #[inline(always)]
    pub(in crate::dense) fn new(output: [usize; 2], dilation: [usize; 2], tile: [usize; 2]) -> Self {
        let each = [0, 1].map(|i| over(output[i], dilation[i]).div_ceil(tile[i]));
        let all = [0, 1].map(|i| output[i].min(dilation[i]) * each[i]);
        Self { output, step: dilation, tile, pixels: output[0] * output[1], beyond: 0, apart: [1; 2], each, all }
    }

    /// The same where images are lines whose pixels are so far apart, those of the input and those of the output: columns of images of so many.
    pub(super) fn apart(self, apart: [usize; 2]) -> Self {
        Self { apart, ..self }
    }

    /// The same for a line of so many pixels that is an image of shorter ones: each has three pixels of every `dilation`.
    pub(in crate::dense) fn of_line(pixels: usize, dilation: usize, side: usize) -> Self {
        let across = 3 * dilation;
        let image = Self::new([pixels.div_ceil(across), across], [1, dilation], [side; 2]);
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

    /// The distance of a line's pixels of the input.
    #[inline(always)]
    pub(super) fn seen_apart(&self) -> usize {
        self.apart[0]
    }

    /// The tiles of an image.
    pub(in crate::dense) fn area(&self) -> usize {
        self.all[0] * self.all[1]
    }

    /// The image of a tile, and its first pixel's line and column.
    #[inline(always)]
    pub(super) fn corner(&self, tile: usize) -> (usize, [usize; 2]) {
        let (Self { step, tile: side, each, all, .. }, area) = (self, self.area());
        // Of a single image, without a division.
        let (image, place) = if tile < area { (0, tile) } else { (tile / area, tile % area) };
        let line = place / all[1];
        let place = [line, place - line * all[1]];
        let first = |i: usize| match step[i] {
            1 => place[i] * side[i],
            step => place[i] / each[i] + place[i] % each[i] * side[i] * step,
        };
        (image, [first(0), first(1)])
    }

    /// The first pixel of a tile among those of all images, how many there are below each other and side by side, and where the image ends:
    /// what of the tile is beyond is not there. There are none, if images of every so many lines or columns have fewer tiles than the first.
    #[inline(always)]
    pub(super) fn pixels(&self, tile: usize) -> (usize, [usize; 2], usize) {
        let (image, corner) = self.corner(tile);
        let count = |i: usize| over(self.output[i].saturating_sub(corner[i]), self.step[i]).min(self.tile[i]);
        let ([_, apart], pixels) = (self.apart, self.pixels);
        let first = first_of(image, pixels, apart);
        let corner = (corner[0] * self.output[1] + corner[1]) * apart;
        (first + corner, [count(0), count(1)], first + pixels * apart)
    }

    /// The pixels of the output from one of a tile to the one below it, and to the one beside it.
    pub(super) fn steps(&self) -> [usize; 2] {
        [self.step[0] * self.output[1], self.step[1]].map(|step| step * self.apart[1])
    }
}

/// The first pixel of a line among those of all images, where all have so many that are some distance apart.
#[inline(always)]
pub(super) fn first_of(line: usize, pixels: usize, apart: usize) -> usize {
    // Without a division where they lie side by side.
    if apart == 1 { line * pixels } else { line / apart * pixels * apart + line % apart }
}

/// The pixels of so many that are a step apart. Small images have no time for a division.
#[inline(always)]
fn over(pixels: usize, step: usize) -> usize {
    if step == 1 { pixels } else { pixels.div_ceil(step) }
}
