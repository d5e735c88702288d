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

    /// Lends some lines of the images, from the first one on if there are several, with the channels last: themselves, with what follows
    /// then, or a copy.
    pub(crate) fn with_pixels(&self, channels: usize, lines: Range<usize>, f: impl FnOnce(&Images<'_>)) {
        match self.layout {
            Layout::Pixels { .. } if lines.start == 0 && (self.batch > 1 || lines.end == self.size[0]) => f(self),
            Layout::Pixels { distance } if self.batch == 1 => {
                let start = lines.start * self.size[1] * distance;
                let data = &self.data[start.min(self.data.len())..];
                f(&Images { data, size: [lines.len(), self.size[1]], ..*self });
            }
            _ => self.with_copy(channels, [[0; 2]; 2], lines, Layout::Pixels { distance: channels }, f),
        }
    }

    /// Lends some lines of one image with zeros around, above and below, on the left and on the right: itself, or a copy in the
    /// same order without gaps.
    pub(crate) fn with_padding(
        &self,
        channels: usize,
        padding: [[usize; 2]; 2],
        lines: Range<usize>,
        f: impl FnOnce(&Images<'_>),
    ) {
        if padding == [[0; 2]; 2] && lines == (0..self.size[0]) {
            return f(self);
        }
        let layout = match self.layout {
            Layout::Pixels { .. } => Layout::Pixels { distance: channels },
            Layout::Planes => Layout::Planes,
        };
        self.with_copy(channels, padding, lines, layout, f);
    }

    /// Lends a copy of some lines in an order, without gaps, with zeros around.
    fn with_copy(
        &self,
        channels: usize,
        padding: [[usize; 2]; 2],
        lines: Range<usize>,
        layout: Layout,
        f: impl FnOnce(&Images<'_>),
    ) {
        let inner = [lines.len(), self.size[1]];
        let size = [0, 1].map(|i| inner[i] + padding[i][0] + padding[i][1]);
        let [_, step, ..] = self.strides(channels);
        let data = &self.data[(lines.start * step).min(self.data.len())..];
        scratch(self.batch * channels * size[0] * size[1], |padded| {
            let width = if layout == Layout::Planes { 1 } else { channels };
            let (before, after) = (padding[1][0] * width, padding[1][1] * width);
            for (y, line) in padded.chunks_exact_mut((size[1] * width).max(1)).enumerate() {
                if (y % size[0]).wrapping_sub(padding[0][0]) < lines.len() {
                    let end = line.len() - after;
                    line[..before].fill(0.0);
                    line[end..].fill(0.0);
                } else {
                    line.fill(0.0);
                }
            }
            let to = Images { data: padded, batch: self.batch, size, layout }.strides(channels);
            let first = (padding[0][0] * to[1] + padding[1][0] * to[2]).min(padded.len());
            let shape = [self.batch, inner[0], inner[1], channels];
            copy(&mut padded[first..], &to, data, &self.strides(channels), &shape);
            f(&Images { data: padded, batch: self.batch, size, layout });
        });
    }

    /// From one image, line, pixel and channel to the next.
    pub(crate) fn strides(&self, channels: usize) -> [usize; 4] {
        let [height, width] = self.size;
        match self.layout {
            Layout::Pixels { distance } => [height * width * distance, width * distance, distance, 1],
            Layout::Planes => [channels * height * width, width, 1, height * width],
        }
    }
}
