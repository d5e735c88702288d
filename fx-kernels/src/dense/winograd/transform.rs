//! The transforms of Winograd's algorithm for windows of three: of weights, of pixels before the products, and of sums after
//! them, for tiles of some sizes. Both dimensions are transformed one after the other.

use std::ops::Range;

use super::super::left::Windows;
use crate::simd::{Kernel, Vector};

/// The transforms along one dimension for tiles of `M` pixels, which are computed from `N = M + 2`.
///
/// They come from polynomials' values at `N - 1` points and at infinity. Products of values are values of the product.
pub(super) trait Transform<const M: usize, const N: usize> {
    /// The weights' taps as sums of transformed weights: their places, with factors.
    const TAPS: [&'static [(usize, f32)]; 3];

    /// Of weights.
    fn weights<V: Vector<Elem = f32>>(taps: [V; 3]) -> [V; N];
    /// Of pixels.
    fn enter<V: Vector<Elem = f32>>(x: [V; N]) -> [V; N];
    /// Of sums.
    fn leave<V: Vector<Elem = f32>>(x: [V; N]) -> [V; M];
}

/// Tiles of every size that there are transforms for.
pub(super) struct Tiles;

/// At 0, 1 and -1.
impl Transform<2, 4> for Tiles {
    const TAPS: [&'static [(usize, f32)]; 3] = [&[(0, 1.0)], &[(1, 1.0), (2, -1.0)], &[(3, 1.0)]];

    #[inline(always)]
    fn weights<V: Vector<Elem = f32>>(taps: [V; 3]) -> [V; 4] {
        let half = V::splat(0.5);
        let (outer, inner) = ((taps[0] + taps[2]) * half, taps[1] * half);
        [taps[0], outer + inner, outer - inner, taps[2]]
    }

    #[inline(always)]
    fn enter<V: Vector<Elem = f32>>(x: [V; 4]) -> [V; 4] {
        [x[0] - x[2], x[1] + x[2], x[2] - x[1], x[1] - x[3]]
    }

    #[inline(always)]
    fn leave<V: Vector<Elem = f32>>(x: [V; 4]) -> [V; 2] {
        [x[0] + x[1] + x[2], x[1] - x[2] - x[3]]
    }
}

/// The root of 2, and half of it.
const ROOT: f32 = std::f32::consts::SQRT_2;
const HALF_ROOT: f32 = std::f32::consts::FRAC_1_SQRT_2;

/// At 0, at plus and minus the root of 1/2, and of 2: their powers are all near 1, and so rounding errors stay small.
impl Transform<4, 6> for Tiles {
    const TAPS: [&'static [(usize, f32)]; 3] =
        [&[(0, 1.0)], &[(1, -1.5 * HALF_ROOT), (2, 1.5 * HALF_ROOT)], &[(5, 1.0)]];

    #[inline(always)]
    fn weights<V: Vector<Elem = f32>>(taps: [V; 3]) -> [V; 6] {
        let times = |x: V, factor: f32| x * V::splat(factor);
        let near = taps[2].mul_add(V::splat(0.5), taps[0]);
        let far = taps[2].mul_add(V::splat(2.0), taps[0]);
        let (near, near_odd) = (times(near, -2.0 / 3.0), times(taps[1], -2.0 / 3.0 * HALF_ROOT));
        let (far, far_odd) = (times(far, 1.0 / 6.0), times(taps[1], 1.0 / 6.0 * ROOT));
        [taps[0], near + near_odd, near - near_odd, far + far_odd, far - far_odd, taps[2]]
    }

    #[inline(always)]
    fn enter<V: Vector<Elem = f32>>(x: [V; 6]) -> [V; 6] {
        let add = |x: V, factor: f32, y: V| x.mul_add(V::splat(factor), y);
        let (near, near_odd) = (add(x[2], -2.0, x[4]), add(x[1], -2.0, x[3]));
        let (far, far_odd) = (add(x[2], -0.5, x[4]), add(x[1], -0.5, x[3]));
        [
            add(x[2], -2.5, x[0] + x[4]),
            add(near_odd, HALF_ROOT, near),
            add(near_odd, -HALF_ROOT, near),
            add(far_odd, ROOT, far),
            add(far_odd, -ROOT, far),
            add(x[3], -2.5, x[1] + x[5]),
        ]
    }

    #[inline(always)]
    fn leave<V: Vector<Elem = f32>>(x: [V; 6]) -> [V; 4] {
        let add = |x: V, factor: f32, y: V| x.mul_add(V::splat(factor), y);
        let (near, near_odd) = (x[1] + x[2], x[1] - x[2]);
        let (far, far_odd) = (x[3] + x[4], x[3] - x[4]);
        [
            x[0] + near + far,
            add(near_odd, HALF_ROOT, far_odd * V::splat(ROOT)),
            add(near, 0.5, far * V::splat(2.0)),
            add(near_odd, 0.5 * HALF_ROOT, add(far_odd, 2.0 * ROOT, x[5])),
        ]
    }
}

/// Transforms the weights of some outputs, and gives whether what comes out is finite.
pub(super) struct Weights<'a, 'b, const M: usize, const N: usize> {
    /// Nine rows for each input, with a column for each output.
    pub(super) taps: &'a [f32],
    /// Where the `N * N` matrices begin, with a row for each input.
    pub(super) places: &'a mut [&'b mut [f32]],
    pub(super) outputs: usize,
}

impl<const M: usize, const N: usize> Kernel for Weights<'_, '_, M, N>
where
    Tiles: Transform<M, N>,
{
    type Elem = f32;
    type Output = bool;

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn run<V: Vector<Elem = f32>>(self) -> bool {
        let (outputs, mut doubt) = (self.outputs, V::zero());
        assert!(self.places.len() == N * N && outputs.is_multiple_of(V::LANES));
        for (input, taps) in self.taps.chunks_exact(9 * outputs).enumerate() {
            for first in (0..outputs).step_by(V::LANES) {
                let mut lines = [[V::zero(); N]; 3];
                for i in 0..3 {
                    let line = &taps[3 * i * outputs + first..];
                    lines[i] =
                        Tiles::weights([V::load(line), V::load(&line[outputs..]), V::load(&line[2 * outputs..])]);
                }
                for j in 0..N {
                    let column: [V; N] = Tiles::weights([lines[0][j], lines[1][j], lines[2][j]]);
                    for i in 0..N {
                        doubt = column[i].mul_add(V::zero(), doubt);
                        column[i].store(&mut self.places[N * i + j][input * outputs + first..]);
                    }
                }
            }
        }
        doubt.sum() == 0.0
    }
}

/// Where the pixels of a tile of the input are, each with as many numbers as there are channels.
#[inline(always)]
pub(super) fn pixels<const N: usize>(windows: &Windows<'_>, tile: usize) -> [[*const f32; N]; N] {
    let ([height, width], (image, [top, left])) = (windows.input, windows.corner(tile));
    let mut pixels = [[windows.zeros.as_ptr(); N]; N];
    for (i, pixels) in pixels.iter_mut().enumerate() {
        let y = top.wrapping_add(i);
        if y >= height {
            continue;
        }
        let line = windows.data.as_ptr().wrapping_add((image * height + y) * width * windows.pixel);
        for (j, pixel) in pixels.iter_mut().enumerate() {
            let x = left.wrapping_add(j);
            if x < width {
                *pixel = line.wrapping_add(x * windows.pixel);
            }
        }
    }
    pixels
}

/// Transforms tiles of the input, one row for each: a number for each place and channel.
pub(super) struct Enter<'a, const M: usize, const N: usize> {
    pub(super) windows: &'a Windows<'a>,
    pub(super) tiles: Range<usize>,
    pub(super) channels: usize,
    pub(super) to: &'a mut [f32],
    /// The numbers between two rows.
    pub(super) gap: usize,
}

impl<const M: usize, const N: usize> Kernel for Enter<'_, M, N>
where
    Tiles: Transform<M, N>,
{
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn run<V: Vector<Elem = f32>>(self) {
        let Enter { windows, tiles, channels, to, gap } = self;
        let stride = N * N * channels + gap;
        assert!(to.len() >= tiles.len() * stride && channels.is_multiple_of(V::LANES));
        for (index, tile) in tiles.enumerate() {
            let pixels = pixels::<N>(windows, tile);
            let row = to[index * stride..].as_mut_ptr();
            for channel in (0..channels).step_by(V::LANES) {
                let mut lines = [[V::zero(); N]; N];
                for i in 0..N {
                    for j in 0..N {
                        // SAFETY: the pixels have so many channels.
                        lines[i][j] = unsafe { V::load_at(pixels[i][j].add(channel)) };
                    }
                    lines[i] = Tiles::enter(lines[i]);
                }
                for j in 0..N {
                    let mut column = [V::zero(); N];
                    for i in 0..N {
                        column[i] = lines[i][j];
                    }
                    let column = Tiles::enter(column);
                    for i in 0..N {
                        // SAFETY: the row is so long (seen above).
                        unsafe { column[i].store_at(row.add((N * i + j) * channels + channel)) };
                    }
                }
            }
        }
    }
}

/// The pixels of a tile for a vector of channels, from sums for each place and channel.
///
/// # Safety
/// There must be as many sums.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
pub(super) unsafe fn leave<V: Vector<Elem = f32>, const M: usize, const N: usize>(
    sums: *const f32,
    channels: usize,
) -> [[V; M]; M]
where
    Tiles: Transform<M, N>,
{
    let mut lines = [[V::zero(); N]; M];
    for j in 0..N {
        let mut column = [V::zero(); N];
        for i in 0..N {
            // SAFETY: the caller's promise.
            column[i] = unsafe { V::load_at(sums.add((N * i + j) * channels)) };
        }
        let column = Tiles::leave(column);
        for i in 0..M {
            lines[i][j] = column[i];
        }
    }
    let mut pixels = [[V::zero(); M]; M];
    for i in 0..M {
        pixels[i] = Tiles::leave(lines[i]);
    }
    pixels
}
