//! Some lines of some frames with what is around them, as words.

use std::ops::Range;

use super::super::block::Rows;
use super::super::images::{Images, Layout};
use super::super::product::Written;
use super::PaddedConv;
use crate::copy::{copy, transpose_filled};
use crate::memory::scratch;
use crate::threads::for_each_piece;

/// Lines of frames, and what is around them that windows see.
pub(super) struct Part {
    pub(super) frames: Range<usize>,
    pub(super) lines: Range<usize>,
    pub(super) width: usize,
    /// The frames before and after, what is above and below, and on the left and on the right.
    pub(super) around: [[usize; 2]; 3],
}

impl Part {
    /// The frames, lines and pixels of a line with what is around.
    pub(super) fn size(&self) -> [usize; 3] {
        let inner = [self.frames.len(), self.lines.len(), self.width];
        [0, 1, 2].map(|axis| inner[axis] + self.around[axis].iter().sum::<usize>())
    }

    /// Some of the frames and of the lines, counted with what is around.
    pub(super) fn part(&self, frames: &Range<usize>, lines: &Range<usize>) -> Self {
        let cut = |inner: &Range<usize>, [before, _]: [usize; 2], some: &Range<usize>| {
            let at = |place: usize| inner.start + place.saturating_sub(before).min(inner.len());
            let own = at(some.start)..at(some.end);
            let before = before.saturating_sub(some.start).min(some.len());
            let around = [before, some.len() - before - own.len()];
            (own, around)
        };
        let (frames, across) = cut(&self.frames, self.around[0], frames);
        let (lines, down) = cut(&self.lines, self.around[1], lines);
        Self { frames, lines, width: self.width, around: [across, down, self.around[2]] }
    }
}

impl PaddedConv {
    /// Writes lines of images with what is around them as lines of words, so many words apart.
    pub(super) fn write<'i>(
        &self,
        words: &mut [f32],
        pitch: usize,
        part: &Part,
        image: impl Fn(usize) -> Images<'i> + Sync,
        written: Written<'_>,
    ) {
        let Part { frames, lines, around: [[front, _], [above, _], [left, _]], .. } = part;
        let [_, height, width] = part.size();
        let (rounding, padding) = (written.rounding(self.level, self.packing), written.padding(self.packing));
        // What are words already are not rounded.
        let (numbers, outside) = if written.left { (self.packing.numbers(), padding) } else { (1, 0.0) };
        let (inputs, channels) = (self.shape.frame.inputs / numbers, self.channels / numbers);
        let inside = left * channels..(left + part.width) * channels;
        let work = 16 * words.len();
        for_each_piece(words, pitch, work, |index, words| {
            let (frame, y) = ((index / height).wrapping_sub(*front), (index % height).wrapping_sub(*above));
            if frame >= frames.len() || y >= lines.len() {
                return words.fill(padding);
            }
            let image = image(frames.start + frame);
            let [_, line, pixel, channel] = image.strides(inputs);
            let data = &image.data[(lines.start + y) * line..];
            let is_whole = image.layout == Layout::Pixels { distance: channels } && inputs == channels;
            let in_word = rounding.numbers();
            if is_whole && channels.is_multiple_of(in_word) {
                let (start, end) = (inside.start / in_word, inside.end / in_word);
                let data = &data[..inside.len()];
                words[..start].fill(padding);
                words[end..].fill(padding);
                let to = &mut words[start..end];
                return Rows { data, stride: data.len(), width: data.len(), rounding }.take(to, end - start);
            }
            scratch(width * channels, |numbers| {
                numbers[..inside.start].fill(outside);
                numbers[inside.end..].fill(outside);
                let to = &mut numbers[inside.clone()];
                match image.layout {
                    Layout::Planes => transpose_filled(to, channels, data, channel, [inputs, part.width]),
                    Layout::Pixels { .. } if is_whole => to.copy_from_slice(&data[..to.len()]),
                    Layout::Pixels { .. } => {
                        to.fill(0.0);
                        copy(to, &[channels, 1], data, &[pixel, channel], &[part.width, inputs]);
                    }
                }
                let width = numbers.len();
                Rows { data: numbers, stride: width, width, rounding }.take(words, pitch);
            });
        });
    }
}
