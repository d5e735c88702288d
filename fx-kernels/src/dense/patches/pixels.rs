//! Lines of images pixel by pixel.

use crate::simd::{Kernel, Level, Vector, dispatch};

/// Numbers of a line of an image: how many channels there are, and how far apart those of neighbouring pixels and channels are.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) data: &'a [f32],
    pub(super) inputs: usize,
    pub(super) pixel: usize,
    pub(super) channel: usize,
}

impl Line<'_> {
    /// Writes as many pixels as there is room for, each filled up with zeros to so many channels.
    ///
    /// # Panics
    /// If a number lies outside the data.
    pub(super) fn write(self, level: Level, to: &mut [f32], channels: usize) {
        let Self { data, inputs, pixel, channel } = self;
        assert!(inputs <= channels, "{inputs} channels do not fit {channels}");
        let count = to.len() / channels.max(1);
        let (Some(last), Some(most)) = (count.checked_sub(1), inputs.checked_sub(1)) else { return to.fill(0.0) };
        assert!(last * pixel + most * channel < data.len(), "a number lies outside");
        if [pixel, channel] == [channels, 1] && inputs == channels {
            return to.copy_from_slice(&data[..to.len()]);
        }
        dispatch(level, Joined { line: self, to, channels });
    }
}

/// See [`Line::write`], which has seen that all numbers are there.
struct Joined<'a> {
    line: Line<'a>,
    to: &'a mut [f32],
    channels: usize,
}

impl Kernel for Joined<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Line { data, inputs, pixel, channel } = self.line;
        match [pixel, self.channels, inputs] {
            [1, 2, 1] => self.planes::<2, 1>(),
            [1, 2, 2] => self.planes::<2, 2>(),
            [1, 3, 3] => self.planes::<3, 3>(),
            [1, 4, 1] => self.planes::<4, 1>(),
            [1, 4, 3] => self.planes::<4, 3>(),
            [1, 4, 4] => self.planes::<4, 4>(),
            _ => {
                for (x, to) in self.to.chunks_exact_mut(self.channels).enumerate() {
                    let numbers = data[x * pixel..].iter().step_by(channel).take(inputs);
                    to[inputs..].fill(0.0);
                    to.iter_mut().zip(numbers).for_each(|(to, number)| *to = *number);
                }
            }
        }
    }
}

impl Joined<'_> {
    /// Of channels whose pixels are neighbours; loops over constants become vectors.
    #[inline(always)]
    fn planes<const CHANNELS: usize, const INPUTS: usize>(self) {
        let Self { line: Line { data, channel, .. }, to, .. } = self;
        let count = to.len() / CHANNELS;
        let (from, to) = (data.as_ptr(), to.as_mut_ptr());
        for x in 0..count {
            for index in 0..CHANNELS {
                // SAFETY: the data has the pixels of all channels (seen by `write`), and there is room for so many pixels.
                unsafe {
                    let number = if index < INPUTS { *from.add(index * channel + x) } else { 0.0 };
                    *to.add(x * CHANNELS + index) = number;
                }
            }
        }
    }
}
