//! Images as operands, with the channels last or first.

use std::ops::Range;

use crate::memory::scratch;
use crate::threads::for_each_piece;

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
        let size = [lines.len(), self.size[1]];
        let size = [0, 1].map(|i| size[i] + padding[i][0] + padding[i][1]);
        let line = size[1] * channels;
        let len = self.batch * size[0] * line;
        scratch(len + line, |copy| {
            for_each_piece(&mut copy[..len], line, 4 * len, |index, line| {
                let (image, y) = (index / size[0], (index % size[0]).wrapping_sub(padding[0][0]));
                let (before, after) = (padding[1][0] * channels, padding[1][1] * channels);
                if y < lines.len() {
                    let end = line.len() - after;
                    line[..before].fill(0.0);
                    self.copy_line(image, lines.start + y, channels, &mut line[before..end]);
                    line[end..].fill(0.0);
                } else {
                    line.fill(0.0);
                }
            });
            copy[len..].fill(0.0);
            f(&Images::pixels(copy, self.batch, size, channels));
        });
    }

    /// Copies a line of an image, channels last.
    fn copy_line(&self, image: usize, y: usize, channels: usize, out: &mut [f32]) {
        let [height, width] = self.size;
        match self.layout {
            Layout::Pixels { distance } => {
                let first = (image * height + y) * width * distance;
                if distance == channels {
                    out.copy_from_slice(&self.data[first..first + width * channels]);
                    return;
                }
                for (from, to) in self.data[first..].chunks(distance).zip(out.chunks_exact_mut(channels)) {
                    to.copy_from_slice(&from[..channels]);
                }
            }
            Layout::Planes => {
                for channel in 0..channels {
                    let first = ((image * channels + channel) * height + y) * width;
                    let places = out[channel..].iter_mut().step_by(channels);
                    places.zip(&self.data[first..first + width]).for_each(|(to, &x)| *to = x);
                }
            }
        }
    }
}
