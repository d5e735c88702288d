//! The left operand of a product where it lies in memory: rows of a matrix, or the windows of a convolution.

mod inside;
mod seen;

use std::ops::Range;

pub(crate) use self::inside::Inside;
pub(crate) use self::seen::Seen;
use super::tile::MOST_ROWS;

/// Where the numbers of each row are: so many runs of equal length.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Left<'a> {
    /// Rows at equal distances, a single run each.
    Rows {
        /// The first row and all others.
        data: &'a [f32],
        /// The distance of the rows.
        stride: usize,
    },
    /// The windows of a convolution over images with the channels last, a run for each tap.
    Windows(Windows<'a>),
    /// Windows that lie all inside their images.
    Inside(Inside<'a>),
    /// The same, of few numbers each, which are runs: they are taken together as a single run, whose numbers are apart.
    Taps(Inside<'a>),
}

/// The windows of a convolution, one a row, in the order of the output's pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows<'a> {
    /// The images.
    pub(crate) data: &'a [f32],
    /// The height and width of an image.
    pub(crate) input: [usize; 2],
    /// The distance of two pixels of the input.
    pub(crate) pixel: usize,
    /// The height and width of the output.
    pub(crate) output: [usize; 2],
    /// The height and width of the window.
    pub(crate) kernel: [usize; 2],
    /// The steps of the window.
    pub(crate) stride: [usize; 2],
    /// The distances between taps.
    pub(crate) dilation: [usize; 2],
    /// The padding above and on the left.
    pub(crate) before: [usize; 2],
    /// What is read where there is no input: as many zeros as a pixel has numbers.
    pub(crate) zeros: &'a [f32],
    /// The frames of volumes; one, if they are images.
    pub(crate) frames: Axis,
}

/// What windows see along an axis: of the frames of a volume, each of which is an image that they see in the same way, or of the lines of one,
/// which are its frames here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Axis {
    /// The frames of a volume.
    pub(crate) input: usize,
    /// The frames of the output.
    pub(crate) output: usize,
    /// The frames that a window sees.
    pub(crate) kernel: usize,
    /// The step of the window from frame to frame.
    pub(crate) stride: usize,
    /// The distance between the frames that it sees.
    pub(crate) dilation: usize,
    /// The padding before the first frame.
    pub(crate) before: usize,
}

impl Axis {
    /// That of an image among volumes.
    pub(crate) const ONE: Self = Self { input: 1, output: 1, kernel: 1, stride: 1, dilation: 1, before: 0 };

    /// The frame that a window sees with a tap, if it is there.
    pub(super) fn seen(&self, frame: usize, tap: usize) -> Option<usize> {
        (frame * self.stride + tap * self.dilation).checked_sub(self.before).filter(|seen| *seen < self.input)
    }

    /// The taps with which a window sees frames: of one that sees none, the first.
    pub(super) fn taps(&self, frame: usize) -> Range<usize> {
        let sees = |tap: &usize| self.seen(frame, *tap).is_some();
        let first = (0..self.kernel).find(sees).unwrap_or(0);
        first..(0..self.kernel).rfind(sees).unwrap_or(0) + 1
    }

    /// The frames from the first to the last that windows of some frames see.
    pub(super) fn all_seen(&self, frames: &Range<usize>) -> Range<usize> {
        let reached = self.reached(frames);
        let start = reached.start.saturating_sub(self.before).min(self.input);
        start..reached.end.saturating_sub(self.before).clamp(start, self.input)
    }

    /// The same with what is around the frames, counted from the first that is.
    pub(super) fn reached(&self, frames: &Range<usize>) -> Range<usize> {
        let Self { kernel, stride, dilation, .. } = *self;
        frames.start * stride..(frames.end.max(1) - 1) * stride + (kernel - 1) * dilation + 1
    }
}

impl<'a> From<Windows<'a>> for Left<'a> {
    /// Windows where they lie: rows, where each is one pixel and these follow each other.
    fn from(windows: Windows<'a>) -> Self {
        let Windows { data, input, pixel, output, kernel, stride, before, frames, .. } = windows;
        let is_one = [kernel, stride] == [[1; 2]; 2] && [frames.kernel, frames.stride] == [1; 2];
        let is_all = before == [0; 2] && frames.before == 0 && input == output && frames.input == frames.output;
        if is_one && is_all { Left::Rows { data, stride: pixel } } else { Left::Windows(windows) }
    }
}

impl Left<'_> {
    /// The runs of a row.
    pub(crate) fn runs(&self) -> usize {
        match self {
            Left::Rows { .. } | Left::Taps(_) => 1,
            Left::Inside(inside) => inside.places.len(),
            Left::Windows(windows) => windows.runs(),
        }
    }

    /// The pointers to each row: one for each run, unless the others are found from it.
    pub(crate) fn pointers(&self) -> usize {
        match self {
            Left::Rows { .. } | Left::Inside(_) | Left::Taps(_) => 1,
            Left::Windows(_) => self.runs(),
        }
    }

    /// What a tile, whose rows begin at these places, sees of a step: the runs in which any row has more than padding.
    pub(crate) fn seen(&self, table: &[*const f32], rows: Range<usize>, step: &Range<usize>) -> Seen {
        match self {
            Left::Rows { .. } | Left::Taps(_) => Seen::all(1, step),
            Left::Inside(inside) => inside.seen(rows, step),
            Left::Windows(windows) => Seen::of(self.runs(), step, |run| windows.sees(table, run, rows.len())),
        }
    }

    /// Whether the first `len` numbers of every run of the first `rows` rows can be read.
    pub(crate) fn covers(&self, rows: usize, len: usize) -> bool {
        match self {
            Left::Inside(inside) => inside.covers(rows, len),
            Left::Taps(inside) => inside.places.len() == len && inside.covers(rows, 1),
            Left::Rows { data, stride } => rows == 0 || (rows - 1) * stride + len <= data.len(),
            Left::Windows(windows) => {
                let (Windows { data, pixel, zeros, .. }, pixels) = (*windows, windows.all_pixels(rows));
                zeros.len() >= len && (pixels == 0 || (pixels - 1) * pixel + len <= data.len())
            }
        }
    }

    /// Writes where the runs of some rows, at most [`MOST_ROWS`], begin: run after run, that many places for each.
    pub(crate) fn fill(&self, rows: Range<usize>, table: &mut [*const f32]) {
        match self {
            Left::Rows { data, stride } => {
                let mut from = data.as_ptr().wrapping_add(rows.start * stride);
                for place in &mut table[..rows.len()] {
                    *place = from;
                    from = from.wrapping_add(*stride);
                }
            }
            Left::Windows(windows) => windows.fill(rows, windows.data.as_ptr(), windows.pixel, table),
            Left::Inside(inside) | Left::Taps(inside) => inside.fill(rows, table),
        }
    }

    /// Whether windows of some rows, one at least, reach so far that other rows of their images see mostly the same.
    pub(crate) fn reaches_far(&self, rows: Range<usize>) -> bool {
        /// How many times as many pixels as rows step over.
        const FAR: usize = 3;
        let Left::Windows(windows) = self else { return false };
        let [down, across] = windows.stride;
        let stepped = rows.len() * down * across;
        stepped > 0 && windows.pixels(rows).len() > FAR * stepped
    }

    /// Whether rows are so far apart that they displace each other in the cache, where a line's place is its address
    /// modulo a small power of 2.
    pub(crate) fn collides(&self) -> bool {
        /// The bytes after which places in the first-level cache repeat.
        const REPEAT: usize = 4096;
        let distance = match self {
            Left::Rows { stride, .. } => *stride,
            Left::Windows(windows) => windows.stride[1] * windows.pixel,
            Left::Inside(_) | Left::Taps(_) => return false,
        };
        (distance * size_of::<f32>()).is_multiple_of(REPEAT)
    }
}

impl Windows<'_> {
    /// Whether any of so many rows, which begin at these places, has more than padding in a run.
    fn sees(&self, table: &[*const f32], run: usize, rows: usize) -> bool {
        let zeros = self.zeros.as_ptr();
        table[run * MOST_ROWS..][..rows].iter().any(|place| *place != zeros)
    }

    /// As [`Left::fill`], in images that begin at `base` and have pixels at a distance of `pixel`.
    pub(crate) fn fill(&self, rows: Range<usize>, base: *const f32, pixel: usize, table: &mut [*const f32]) {
        let ([height, width], [lines, columns], frames) = (self.input, self.kernel, self.frames);
        let area = height * width;
        let reach = [(lines - 1) * self.dilation[0], (columns - 1) * self.dilation[1]];
        let depth = (frames.kernel - 1) * frames.dilation;
        // Where the windows begin: their corners, and the places of these in memory.
        let (mut corners, mut places) = ([[0; 3]; MOST_ROWS], [base; MOST_ROWS]);
        let count = rows.len();
        let (image, [y, x]) = self.corner(rows.start);
        let (mut image, mut left) = (image, rows.start % self.output[1]);
        let (mut frame, mut start) = self.first_frame(image);
        let mut corner = [frame, y, x];
        let mut inside = true;
        for (to, place) in corners.iter_mut().zip(&mut places).take(count) {
            let [z, y, x] = corner;
            let pixels = start.wrapping_add(y.wrapping_mul(width)).wrapping_add(x);
            (*to, *place) = (corner, base.wrapping_add(pixels.wrapping_mul(pixel)));
            inside &= y < height && x < width && y + reach[0] < height && x + reach[1] < width;
            inside &= z < frames.input && z + depth < frames.input;
            corner[2] = corner[2].wrapping_add(self.stride[1]);
            left += 1;
            if left == self.output[1] {
                // The next line, or the next image.
                left = 0;
                corner = [z, y.wrapping_add(self.stride[0]), 0usize.wrapping_sub(self.before[1])];
                if y.wrapping_add(self.before[0]) / self.stride[0] + 1 == self.output[0] {
                    image += 1;
                    (frame, start) = self.first_frame(image);
                    corner = [frame, 0usize.wrapping_sub(self.before[0]), corner[2]];
                }
            }
        }
        let taps = (0..frames.kernel)
            .flat_map(|frame| (0..lines).map(move |line| [frame, line]))
            .flat_map(|[frame, line]| (0..columns).map(move |column| [frame, line, column]));
        for ([frame, line, column], table) in taps.zip(table.chunks_exact_mut(MOST_ROWS)) {
            let [i, j, k] = [frame * frames.dilation, line * self.dilation[0], column * self.dilation[1]];
            let distance = (i * area + j * width + k) * pixel;
            if inside {
                table.iter_mut().zip(&places).for_each(|(to, place)| *to = place.wrapping_add(distance));
                continue;
            }
            for ((to, place), [z, y, x]) in table.iter_mut().zip(&places).zip(&corners).take(count) {
                let inside = (y.wrapping_add(j) < height) & (x.wrapping_add(k) < width);
                let inside = inside & (z.wrapping_add(i) < frames.input);
                *to = if inside { place.wrapping_add(distance) } else { self.zeros.as_ptr() };
            }
        }
    }

    /// The first frame that windows see for an image of the output, and its first pixel among those of all volumes; a frame before the
    /// volume wraps around to one far behind it.
    fn first_frame(&self, image: usize) -> (usize, usize) {
        let Axis { input, output, stride, before, .. } = self.frames;
        let frame = (image % output * stride).wrapping_sub(before);
        (frame, (image / output * input).wrapping_add(frame).wrapping_mul(self.input[0] * self.input[1]))
    }

    /// Whether no window sees padding.
    pub(crate) fn are_inside(&self) -> bool {
        let Self { input, output, kernel, stride, dilation, before, frames, .. } = *self;
        let fits = |input: usize, output: usize, kernel: usize, stride: usize, dilation: usize| {
            (output.max(1) - 1) * stride + (kernel - 1) * dilation < input
        };
        before == [0; 2]
            && frames.before == 0
            && (0..2).all(|axis| fits(input[axis], output[axis], kernel[axis], stride[axis], dilation[axis]))
            && fits(frames.input, frames.output, frames.kernel, frames.stride, frames.dilation)
    }

    /// The taps of a window, each of which is a run.
    pub(crate) fn runs(&self) -> usize {
        self.frames.kernel * self.kernel[0] * self.kernel[1]
    }

    /// How many lines of the output at the top and at the bottom of an image see padding there.
    pub(crate) fn lines_beyond(&self) -> [usize; 2] {
        let Self { input: [input, _], output: [height, _], kernel, stride, dilation, before, .. } = *self;
        let inside = (input + before[0]).saturating_sub((kernel[0] - 1) * dilation[0]).div_ceil(stride[0]);
        [before[0].div_ceil(stride[0]).min(height), height.saturating_sub(inside)]
    }

    /// The image of a row, which is one of the output's, and where its window begins; a place before the image wraps around to one far behind it.
    pub(crate) fn corner(&self, row: usize) -> (usize, [usize; 2]) {
        let area = self.output[0] * self.output[1];
        let place = [row % area / self.output[1], row % self.output[1]];
        (row / area, std::array::from_fn(|i| (place[i] * self.stride[i]).wrapping_sub(self.before[i])))
    }

    /// The pixels of all images, or volumes, of so many rows.
    pub(crate) fn all_pixels(&self, rows: usize) -> usize {
        let Self { input, output, frames, .. } = self;
        rows.div_ceil((frames.output * output[0] * output[1]).max(1)) * frames.input * input[0] * input[1]
    }

    /// The pixels of the input that some rows' windows lie in, line by line.
    pub(crate) fn pixels(&self, rows: Range<usize>) -> Range<usize> {
        let [height, width] = self.input;
        let ((first, [top, _]), (last, [bottom, _])) = (self.corner(rows.start), self.corner(rows.end - 1));
        let Axis { input, output, .. } = self.frames;
        if self.frames != Axis::ONE {
            // All of the volumes.
            return first / output * input * height * width..(last / output + 1) * input * height * width;
        }
        let top = if top < height { top } else { 0 };
        let bottom = bottom.wrapping_add((self.kernel[0] - 1) * self.dilation[0] + 1).min(height);
        (first * height + top) * width..(last * height + bottom) * width
    }
}
