//! Images and volumes made larger or smaller, with the channels last.

use crate::memory::scratch;
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::for_each_piece;

/// What an element is made of: others along its dimension, and their weights.
pub type Taps<const N: usize> = [(usize, f32); N];

/// Resamples volumes of a depth, height and width whose channels are neighbours in memory: frames, rows and columns of the result are
/// sums of such of the input, or are kept. An image is a volume of one frame.
///
/// ```
/// use fx_kernels::resize::resample;
///
/// // A row of two pixels with one channel, and what lies between them.
/// let mut out = [0.0; 3];
/// let columns = [[(0, 1.0), (1, 0.0)], [(0, 0.5), (1, 0.5)], [(0, 0.0), (1, 1.0)]];
/// resample(&mut out, &[1.0, 3.0], [1, 1, 2], 1, [None, None, Some(&columns)]);
/// assert_eq!(out, [1.0, 2.0, 3.0]);
/// ```
///
/// # Panics
/// If a tap lies outside the volume, or lengths do not fit.
pub fn resample<const N: usize>(
    out: &mut [f32],
    x: &[f32],
    size: [usize; 3],
    channels: usize,
    places: [Option<&[Taps<N>]>; 3],
) {
    resample_at(Level::detect(), out, x, size, channels, places);
}

/// As [`resample`], with instructions of the given level.
fn resample_at<const N: usize>(
    level: Level,
    out: &mut [f32],
    x: &[f32],
    [depth, height, width]: [usize; 3],
    channels: usize,
    [frames, rows, columns]: [Option<&[Taps<N>]>; 3],
) {
    let images = Images { level, size: [height, width], channels, rows, columns };
    let Some(frames) = frames else { return images.run(out, x) };
    let frame = height * width * channels;
    let (volume, made) = (depth * frame, frames.len() * images.len());
    // Frame by frame: what lies between stays in the cache.
    for (out, x) in out.chunks_exact_mut(made.max(1)).zip(x.chunks_exact(volume.max(1))) {
        for (out, taps) in out.chunks_exact_mut(images.len()).zip(frames) {
            scratch(frame, |between| {
                let piece = frame.div_ceil(PIECES).max(1);
                for_each_piece(between, piece, 2 * N * frame, |index, out| {
                    dispatch(
                        level,
                        Mix { x: &x[index * piece..], distance: frame, run: out.len(), out, places: &[*taps] },
                    );
                });
                images.run(out, between);
            });
        }
    }
}

/// The parts of a frame that threads share.
const PIECES: usize = 8;

/// The resampling of images.
struct Images<'a, const N: usize> {
    level: Level,
    size: [usize; 2],
    channels: usize,
    rows: Option<&'a [Taps<N>]>,
    columns: Option<&'a [Taps<N>]>,
}

impl<const N: usize> Images<'_, N> {
    /// The height and width of the result.
    fn output(&self) -> [usize; 2] {
        [self.rows.map_or(self.size[0], <[_]>::len), self.columns.map_or(self.size[1], <[_]>::len)]
    }

    /// The numbers of an image of the result.
    fn len(&self) -> usize {
        self.output()[0] * self.output()[1] * self.channels
    }

    fn run(&self, out: &mut [f32], x: &[f32]) {
        let [height, width] = self.output();
        let (line, image) = (self.size[1] * self.channels, self.size[0] * self.size[1] * self.channels);
        let work = 4 * N * out.len();
        for_each_piece(out, width * self.channels, work, |index, out| {
            let (image, row) = (&x[index / height * image..][..image], index % height);
            let mix = |out: &mut [f32]| match self.rows {
                Some(rows) => {
                    dispatch(self.level, Mix { out, x: image, distance: line, run: line, places: &rows[row..=row] });
                }
                None => out.copy_from_slice(&image[row * line..][..line]),
            };
            match self.columns {
                None => mix(out),
                Some(places) => scratch(line, |between| {
                    mix(between);
                    let run = self.channels;
                    dispatch(self.level, Mix { out, x: between, distance: run, run, places });
                }),
            }
        });
    }
}

/// Runs of elements, each the sum of runs of the input, which are so far apart.
struct Mix<'a, const N: usize> {
    out: &'a mut [f32],
    x: &'a [f32],
    distance: usize,
    run: usize,
    places: &'a [Taps<N>],
}

impl<const N: usize> Kernel for Mix<'_, N> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Self { out, x, distance, run, places } = self;
        for (out, taps) in out.chunks_exact_mut(run.max(1)).zip(places) {
            let runs = taps.map(|(place, _)| &x[place * distance..][..run]);
            if run < V::LANES {
                for (at, out) in out.iter_mut().enumerate() {
                    *out = runs[0][at] * taps[0].1;
                    for n in 1..N {
                        *out += runs[n][at] * taps[n].1;
                    }
                }
                continue;
            }
            let weights = taps.map(|(_, weight)| V::splat(weight));
            // The last vector begins where it ends with the run.
            let last = run - V::LANES;
            for at in (0..last).step_by(V::LANES).chain([last]) {
                let mut mixed = V::load(&runs[0][at..]) * weights[0];
                for n in 1..N {
                    mixed = mixed + V::load(&runs[n][at..]) * weights[n];
                }
                mixed.store(&mut out[at..]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some dimension of an array, resampled.
    fn along(x: &[f32], shape: &mut [usize; 5], dim: usize, places: Option<&[Taps<2>]>) -> Vec<f32> {
        let Some(places) = places else { return x.to_vec() };
        let (inner, len): (usize, usize) = (shape[dim + 1..].iter().product(), shape[dim]);
        shape[dim] = places.len();
        let lines = x.chunks_exact(len * inner);
        let sum = |line: &[f32], taps: &Taps<2>, at: usize| taps.iter().map(|(i, w)| line[i * inner + at] * w).sum();
        lines
            .flat_map(|line| places.iter().flat_map(move |taps| (0..inner).map(move |at| sum(line, taps, at))))
            .collect()
    }

    #[test]
    fn all_levels_agree_with_the_definition() {
        let between = |low, high, weight: f32| [(low, 1.0 - weight), (high, weight)];
        let frames = [between(1, 0, 0.75), between(0, 1, 0.5), between(1, 1, 0.0)];
        let rows =
            [between(0, 0, 0.0), between(0, 1, 0.25), between(1, 2, 0.5), between(2, 2, 0.75), between(2, 0, 1.0)];
        let columns = [between(3, 0, 0.125), between(1, 2, 0.5), between(0, 3, 0.0)];
        for (case, channels) in [1, 3, 4, 16, 21, 64, 100].into_iter().enumerate().flat_map(|c| [c; 8]).enumerate() {
            let (kept, channels) = (case % 8, channels.1);
            let size = [2, 3, 4];
            let x: Vec<f32> = (0..2 * 24 * channels).map(|i| (i * 37 % 101) as f32 / 8.0).collect();
            let places = [Some(&frames[..]), Some(&rows[..]), Some(&columns[..])];
            let places: [_; 3] = std::array::from_fn(|i| places[i].filter(|_| kept >> i & 1 == 0));
            let mut shape = [2, size[0], size[1], size[2], channels];
            let want = (0..3).fold(x.clone(), |x, i| along(&x, &mut shape, i + 1, places[i]));
            for level in Level::available() {
                let mut out = vec![f32::NAN; want.len()];
                resample_at(level, &mut out, &x, size, channels, places);
                let close = out.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-5);
                assert!(close, "{level:?} {channels} {kept}: {out:?} {want:?}");
            }
        }
    }
}
