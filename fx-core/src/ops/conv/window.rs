//! How a window of taps goes over a box of three spatial dimensions, and the image as a matrix of its columns.

use std::ops::Range;

use fx_kernels::threads::for_each_piece;

use crate::tensor::{Dims, Tensor, view};

/// One value for each of `N` dimensions as one for each of three, the missing ones in front.
pub(crate) fn lift<const N: usize>(values: [usize; N], missing: usize) -> [usize; 3] {
    std::array::from_fn(|i| (i + N).checked_sub(3).map_or(missing, |i| values[i]))
}

/// The input with a batch dimension, and whether it had none.
pub(super) fn unbatched(x: &Tensor, spatial: usize) -> (Tensor, bool) {
    let missing = x.ndim() == spatial + 1;
    (if missing { view::unsqueeze(x, 0) } else { x.clone() }, missing)
}

/// The sizes of a walk of windows over one channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    pub(crate) input: [usize; 3],
    pub(crate) output: [usize; 3],
    pub(crate) kernel: [usize; 3],
    pub(crate) stride: [usize; 3],
    pub(crate) dilation: [usize; 3],
    /// How far the first window begins before the input.
    pub(crate) before: [usize; 3],
}

impl Plane {
    /// The elements of one channel of the input.
    pub(crate) fn inputs(&self) -> usize {
        self.input.iter().product()
    }

    /// The elements of one channel of the output.
    pub(crate) fn outputs(&self) -> usize {
        self.output.iter().product()
    }

    /// The elements of a window.
    pub(crate) fn taps(&self) -> usize {
        self.kernel.iter().product()
    }

    /// A tap's place in each dimension.
    pub(crate) fn tap(&self, index: usize) -> [usize; 3] {
        let [_, h, w] = self.kernel;
        [index / (h * w), index / w % h, index % w]
    }

    /// The place in the input that a tap of a window looks at.
    pub(crate) fn source(&self, dim: usize, window: usize, tap: usize) -> Option<usize> {
        let place = (window * self.stride[dim] + tap * self.dilation[dim]).checked_sub(self.before[dim])?;
        (place < self.input[dim]).then_some(place)
    }

    /// The windows of a dimension whose tap lies in the input.
    pub(crate) fn inside(&self, dim: usize, tap: usize) -> Range<usize> {
        let (shift, stride) = (tap * self.dilation[dim], self.stride[dim]);
        let start = self.before[dim].saturating_sub(shift).div_ceil(stride);
        let stop = (self.input[dim] + self.before[dim]).saturating_sub(shift).div_ceil(stride);
        start.min(self.output[dim])..stop.clamp(start.min(self.output[dim]), self.output[dim])
    }

    /// Calls `f` for each row of windows of which a tap lies in the input: the range in a channel's output, and the
    /// place in a channel's input of the first.
    pub(crate) fn rows(&self, tap: [usize; 3], mut f: impl FnMut(Range<usize>, usize)) {
        self.some_rows(tap, 0..self.output[1], &mut f);
    }

    /// As [`Plane::rows`], of the rows of `block` alone; ranges are counted from its first. Compiled once for all functions.
    fn some_rows(&self, [d, h, w]: [usize; 3], block: Range<usize>, f: &mut dyn FnMut(Range<usize>, usize)) {
        let columns = self.inside(2, w);
        if columns.is_empty() {
            return;
        }
        let first = columns.start * self.stride[2] + w * self.dilation[2] - self.before[2];
        for z in self.inside(0, d) {
            let rows = self.inside(1, h);
            for y in rows.start.max(block.start)..rows.end.min(block.end) {
                let (Some(from_z), Some(from_y)) = (self.source(0, z, d), self.source(1, y, h)) else { continue };
                let out = (z * block.len() + y - block.start) * self.output[2];
                f(out + columns.start..out + columns.end, (from_z * self.input[1] + from_y) * self.input[2] + first);
            }
        }
    }

    /// Writes what each tap of each channel sees into a row of `columns`, the windows of `block` side by side.
    pub(crate) fn columns<T: Copy + Default + Send + Sync>(&self, x: &[T], block: Range<usize>, columns: &mut [T]) {
        let (inputs, taps, step) = (self.inputs(), self.taps(), self.stride[2]);
        let work = columns.len() * 4;
        let width = self.output[0] * block.len() * self.output[2];
        for_each_piece(columns, width, work, |row, out| {
            let channel = &x[row / taps * inputs..][..inputs];
            let mut done = 0;
            self.some_rows(self.tap(row % taps), block.clone(), &mut |range, first| {
                out[done..range.start].fill(T::default());
                done = range.end;
                let out = &mut out[range];
                if step == 1 {
                    out.copy_from_slice(&channel[first..first + out.len()]);
                } else {
                    out.iter_mut().zip(channel[first..].iter().step_by(step)).for_each(|(out, &x)| *out = x);
                }
            });
            out[done..].fill(T::default());
        });
    }

    /// Whether a window is one element and windows are the elements.
    pub(crate) fn is_pointwise(&self) -> bool {
        self.kernel == [1; 3] && self.stride == [1; 3] && self.before == [0; 3] && self.input == self.output
    }
}

/// The shape of a result: with or without the batch.
pub(super) fn result_shape(batch: usize, channels: usize, spatial: &[usize], unbatched: bool) -> Dims {
    let mut shape = Dims::new();
    if !unbatched {
        shape.push(batch);
    }
    shape.push(channels);
    shape.extend_from_slice(spatial);
    shape
}
