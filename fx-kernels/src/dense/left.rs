//! The left operand of a product where it lies in memory: rows of a matrix, or the windows of a convolution.

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
}

impl Left<'_> {
    /// The runs of a row.
    pub(crate) fn runs(&self) -> usize {
        match self {
            Left::Rows { .. } => 1,
            Left::Windows(windows) => windows.kernel[0] * windows.kernel[1],
        }
    }

    /// Whether the first `len` numbers of every run of the first `rows` rows can be read.
    pub(crate) fn covers(&self, rows: usize, len: usize) -> bool {
        match self {
            Left::Rows { data, stride } => rows == 0 || (rows - 1) * stride + len <= data.len(),
            Left::Windows(windows) => {
                let Windows { data, input: [height, width], pixel, output, zeros, .. } = *windows;
                let pixels = rows.div_ceil((output[0] * output[1]).max(1)) * height * width;
                zeros.len() >= len && (pixels == 0 || (pixels - 1) * pixel + len <= data.len())
            }
        }
    }

    /// Writes where the runs of rows `first..first + rows` begin: run after run, [`MOST_ROWS`] places for each.
    pub(crate) fn fill(&self, first: usize, rows: usize, table: &mut [*const f32]) {
        match self {
            Left::Rows { data, stride } => {
                for (i, place) in table[..rows].iter_mut().enumerate() {
                    *place = data.as_ptr().wrapping_add((first + i) * stride);
                }
            }
            Left::Windows(windows) => (0..rows).for_each(|i| windows.fill(first + i, &mut table[i..])),
        }
    }
}

impl Windows<'_> {
    /// Writes where the taps of a window are, [`MOST_ROWS`] places apart.
    fn fill(&self, row: usize, table: &mut [*const f32]) {
        let [height, width] = self.input;
        let area = self.output[0] * self.output[1];
        let (image, place) = (row / area, row % area);
        let image = self.data.as_ptr().wrapping_add(image * height * width * self.pixel);
        // A place before the image wraps around to one far behind it.
        let y = (place / self.output[1] * self.stride[0]).wrapping_sub(self.before[0]);
        let x = (place % self.output[1] * self.stride[1]).wrapping_sub(self.before[1]);
        let mut places = table.iter_mut().step_by(MOST_ROWS);
        for i in 0..self.kernel[0] {
            let y = y.wrapping_add(i * self.dilation[0]);
            let line = image.wrapping_add(y.wrapping_mul(width * self.pixel));
            for (j, place) in (0..self.kernel[1]).zip(&mut places) {
                let x = x.wrapping_add(j * self.dilation[1]);
                *place = if y < height && x < width { line.wrapping_add(x * self.pixel) } else { self.zeros.as_ptr() };
            }
        }
    }
}
