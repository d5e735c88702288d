//! Windows that lie all inside their images, for what is around these was copied with them.

use std::ops::Range;

use super::{Axis, Seen};

/// The windows of a convolution, one a row, in the order of the output's pixels: runs at the same places of each. Numbers may be of less
/// than four bytes, so that a window begins at any byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inside<'a> {
    /// The images.
    pub(crate) data: &'a [f32],
    /// The height and width of the output.
    pub(crate) output: [usize; 2],
    /// From one window to that of the next frame, of the next line, and to the next one, in bytes.
    pub(crate) steps: [usize; 3],
    /// Where the runs of a window are, from its beginning on.
    pub(crate) places: &'a [usize],
    /// What windows see of frames and of lines, as many runs of each. What is around these is in the data.
    pub(crate) axes: [Axis; 2],
    /// The frame and the line of the output that the first row is of.
    pub(crate) first: [usize; 2],
}

impl Inside<'_> {
    /// Where the window of a row begins, in bytes.
    fn start(&self, row: usize) -> usize {
        let ([height, width], [frame, down, across]) = (self.output, self.steps);
        let line = row / width;
        line / height * frame + line % height * down + row % width * across
    }

    /// Whether the first `len` numbers of every run of the first `rows` rows can be read.
    pub(super) fn covers(&self, rows: usize, len: usize) -> bool {
        let reach = self.places.iter().max().map_or(0, |reach| size_of::<f32>() * (reach + len));
        rows == 0 || self.start(rows - 1) + reach <= size_of_val(self.data)
    }

    /// Writes where some rows begin.
    pub(super) fn fill(&self, rows: Range<usize>, table: &mut [*const f32]) {
        let ([height, width], [_, down, across]) = (self.output, self.steps);
        let mut place = self.start(rows.start);
        // What is left of the line, and the lines that are left of the frame: without a division for each.
        let (mut left, mut lines) = (width - rows.start % width, height - rows.start / width % height);
        for (row, to) in rows.zip(table) {
            *to = self.data.as_ptr().wrapping_byte_add(place);
            (place, left) = (place + across, left - 1);
            if left == 0 {
                (left, lines) = (width, lines - 1);
                place = (place + down).wrapping_sub(width * across);
                if lines == 0 {
                    (place, lines) = (self.start(row + 1), height);
                }
            }
        }
    }

    /// What some rows see of a step: the runs of those frames and lines that any of them sees.
    pub(super) fn seen(&self, rows: Range<usize>, step: &Range<usize>) -> Seen {
        let [height, width] = self.output;
        let [deep, high] = self.axes;
        let runs = self.places.len() / (deep.kernel * high.kernel);
        let [first, last] = [rows.start / width, (rows.end - 1) / width].map(|line| {
            let lines = high.taps(self.first[1] + line % height);
            (self.first[0] + line / height, lines)
        });
        // Lines follow each other within a frame.
        let lines = if first.0 == last.0 {
            first.1.start.min(last.1.start)..first.1.end.max(last.1.end)
        } else {
            0..high.kernel
        };
        let [first, last] = [deep.taps(first.0), deep.taps(last.0)];
        let frames = first.start.min(last.start)..first.end.max(last.end);
        if [&frames, &lines] == [&(0..deep.kernel), &(0..high.kernel)] {
            return Seen::all(self.places.len(), step);
        }
        Seen::of(self.places.len(), step, |run| {
            let line = run / runs;
            frames.contains(&(line / high.kernel)) && lines.contains(&(line % high.kernel))
        })
    }
}
