//! Images as operands, with the channels last or first.

use std::ops::Range;

use crate::copy::copy;
use crate::memory::scratch;

/// A batch of images of one size.
#[derive(Clone, Copy, Debug)]
pub struct Images<'a> {
    /// The numbers.
    pub data: &'a [f32],
    /// How many images there are.
    pub batch: usize,
    /// Their height and width.
    pub size: [usize; 2],
    /// The order of the numbers.
    pub layout: Layout,
}

/// The order of an image's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Pixel by pixel, with the channels last.
    Pixels {
        /// From one pixel to the next: as many numbers as there are channels, or more.
        distance: usize,
    },
    /// Channel by channel, as PyTorch's tensors are without a memory format.
    Planes,
}

impl<'a> Images<'a> {
    /// Images with the channels last, without gaps.
    pub fn pixels(data: &'a [f32], batch: usize, size: [usize; 2], channels: usize) -> Self {
        Self { data, batch, size, layout: Layout::Pixels { distance: channels } }
    }

    /// Images with the channels first, without gaps; `data` holds nothing else.
    pub fn planes(data: &'a [f32], batch: usize, size: [usize; 2]) -> Self {
        Self { data, batch, size, layout: Layout::Planes }
    }

    /// One of the images.
    pub(crate) fn one(&self, index: usize) -> Self {
        let Layout::Pixels { distance } = self.layout else {
            let len = self.data.len() / self.batch.max(1);
            return Self { data: &self.data[index * len..(index + 1) * len], batch: 1, ..*self };
        };
        let first = index * self.size[0] * self.size[1] * distance;
        Self { data: &self.data[first.min(self.data.len())..], batch: 1, ..*self }
    }

    /// Lends some lines of the images, all of them if there are several, with the channels last: themselves, or a copy.
    pub(crate) fn with_pixels(&self, channels: usize, lines: Range<usize>, f: impl FnOnce(&Images<'_>)) {
        match self.layout {
            Layout::Pixels { .. } if lines == (0..self.size[0]) => f(self),
            Layout::Pixels { distance } if self.batch == 1 => {
                let start = lines.start * self.size[1] * distance;
                let data = &self.data[start.min(self.data.len())..];
                f(&Images { data, size: [lines.len(), self.size[1]], ..*self });
            }
            _ => self.with_padding(channels, [[0; 2]; 2], lines, f),
        }
    }

    /// Lends a copy of some lines with the channels last, and with zeros around: above and below, on the left and on the
    /// right.
    ///
    /// The copy is followed by as many zeros as are in a padded line, so that a window's line may be read as one run.
    pub(crate) fn with_padding(
        &self,
        channels: usize,
        padding: [[usize; 2]; 2],
        lines: Range<usize>,
        f: impl FnOnce(&Images<'_>),
    ) {
        let inner = [lines.len(), self.size[1]];
        let size = [0, 1].map(|i| inner[i] + padding[i][0] + padding[i][1]);
        let line = size[1] * channels;
        let len = self.batch * size[0] * line;
        let [image, step, pixel, channel] = self.strides(channels);
        let data = &self.data[(lines.start * step).min(self.data.len())..];
        scratch(len + line, |padded| {
            let (before, after) = (padding[1][0] * channels, padding[1][1] * channels);
            for (y, line) in padded.chunks_exact_mut(line.max(1)).enumerate() {
                let end = line.len() - after;
                if y < self.batch * size[0] && (y % size[0]).wrapping_sub(padding[0][0]) < lines.len() {
                    line[..before].fill(0.0);
                    line[end..].fill(0.0);
                } else {
                    line.fill(0.0);
                }
            }
            let (first, shape) = ((padding[0][0] * line + before).min(len), [self.batch, inner[0], inner[1], channels]);
            copy(
                &mut padded[first..],
                &[size[0] * line, line, channels, 1],
                data,
                &[image, step, pixel, channel],
                &shape,
            );
            f(&Images::pixels(padded, self.batch, size, channels));
        });
    }

    /// From one image, line, pixel and channel to the next.
    fn strides(&self, channels: usize) -> [usize; 4] {
        let [height, width] = self.size;
        match self.layout {
            Layout::Pixels { distance } => [height * width * distance, width * distance, distance, 1],
            Layout::Planes => [channels * height * width, width, 1, height * width],
        }
    }
}
