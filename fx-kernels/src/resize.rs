//! Images made larger or smaller by linear interpolation, with the channels last.

use crate::memory::scratch;
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::for_each_piece;

/// Where an element lies among those of the input: between two of them, and how far it is from the first to the second.
pub type Between = (usize, usize, f32);

/// Writes images of `rows` by `columns` pixels whose channels are neighbours in memory, each between two rows and two columns of
/// images of `size`.
///
/// ```
/// // A row of two pixels with one channel, and what lies between them.
/// let mut out = [0.0; 3];
/// fx_kernels::resize::bilinear(&mut out, &[1.0, 3.0], [1, 2], 1, &[(0, 0, 0.0)], &[(0, 1, 0.0), (0, 1, 0.5), (0, 1, 1.0)]);
/// assert_eq!(out, [1.0, 2.0, 3.0]);
/// ```
///
/// # Panics
/// If a row or a column lies outside the image, or lengths do not fit.
pub fn bilinear(out: &mut [f32], x: &[f32], size: [usize; 2], channels: usize, rows: &[Between], columns: &[Between]) {
    bilinear_at(Level::detect(), out, x, size, channels, rows, columns);
}

/// As [`bilinear`], with instructions of the given level.
fn bilinear_at(
    level: Level,
    out: &mut [f32],
    x: &[f32],
    [height, width]: [usize; 2],
    channels: usize,
    rows: &[Between],
    columns: &[Between],
) {
    let (line, image) = (width * channels, height * width * channels);
    let (wide, work) = (columns.len() * channels, 8 * out.len());
    for_each_piece(out, wide, work, |index, out| {
        let (image, row) = (&x[index / rows.len() * image..][..image], rows[index % rows.len()]);
        scratch(line, |between| {
            dispatch(level, Mix { out: between, x: image, run: line, places: &[row] });
            dispatch(level, Mix { out, x: between, run: channels, places: columns });
        });
    });
}

/// Runs of elements, each between two runs of the input.
struct Mix<'a> {
    out: &'a mut [f32],
    x: &'a [f32],
    run: usize,
    places: &'a [Between],
}

impl Kernel for Mix<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Self { out, x, run, places } = self;
        for (out, &(low, high, weight)) in out.chunks_exact_mut(run).zip(places) {
            let (low, high) = (&x[low * run..(low + 1) * run], &x[high * run..(high + 1) * run]);
            if run < V::LANES {
                for (out, (low, high)) in out.iter_mut().zip(low.iter().zip(high)) {
                    *out = low * (1.0 - weight) + high * weight;
                }
                continue;
            }
            let (left, right) = (V::splat(1.0 - weight), V::splat(weight));
            // The last vector begins where it ends with the run.
            let last = run - V::LANES;
            for at in (0..last).step_by(V::LANES).chain([last]) {
                let mixed = V::load(&low[at..]) * left + V::load(&high[at..]) * right;
                mixed.store(&mut out[at..]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_levels_agree_with_the_definition() {
        let (batch, size) = (2, [3, 4]);
        let rows = [(0, 0, 0.0), (0, 1, 0.25), (1, 2, 0.5), (2, 2, 0.75), (2, 0, 1.0)];
        let columns = [(3, 0, 0.125), (1, 2, 0.5), (0, 3, 0.0)];
        for channels in [1, 3, 4, 16, 21, 64, 100] {
            let x: Vec<f32> = (0..batch * 12 * channels).map(|i| (i * 37 % 101) as f32 / 8.0).collect();
            let mut want = Vec::new();
            for n in 0..batch {
                for &(top, bottom, down) in &rows {
                    for &(left, right, along) in &columns {
                        for c in 0..channels {
                            let at = |y: usize, column: usize| x[((n * 3 + y) * 4 + column) * channels + c];
                            let column = |column| at(top, column) * (1.0 - down) + at(bottom, column) * down;
                            want.push(column(left) * (1.0 - along) + column(right) * along);
                        }
                    }
                }
            }
            for level in Level::available() {
                let mut out = vec![f32::NAN; want.len()];
                bilinear_at(level, &mut out, &x, size, channels, &rows, &columns);
                let close = out.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-5);
                assert!(close, "{level:?} {channels}: {out:?} {want:?}");
            }
        }
    }
}
