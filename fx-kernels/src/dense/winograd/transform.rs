//! The transforms of Winograd's algorithm for windows of three: of weights, of pixels before the products, and of sums after
//! them, for tiles of some sizes. Both dimensions are transformed one after the other; windows of a single line have one.

use std::ops::Range;

use super::super::left::Windows;
use super::grid::{Grid, first_of};
use crate::memory::prefetch;
use crate::simd::{Kernel, Vector};

/// The transforms along one dimension for tiles of `M` pixels, which are computed from `N = M + 2`.
///
/// They come from polynomials' values at `N - 1` points and at infinity. Products of values are values of the product.
pub(super) trait Transform<const M: usize, const N: usize> {
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

/// The taps of a window of three a side, or the places or pixels of a tile: windows, and with them tiles, are squares or a single line.
#[inline(always)]
pub(super) const fn all(side: usize, square: bool) -> usize {
    if square { side * side } else { side }
}

/// The lines that these are on.
#[inline(always)]
const fn lines(side: usize, square: bool) -> usize {
    if square { side } else { 1 }
}

/// The number of the place in a line and column: columns come one after the other.
#[inline(always)]
const fn number<const N: usize, const SQUARE: bool>(line: usize, column: usize) -> usize {
    lines(N, SQUARE) * column + line
}

/// Transforms taps.
pub(super) struct Taps<'a, 'b, const M: usize, const N: usize, const SQUARE: bool> {
    /// A row for each input and tap, with so many columns.
    pub(super) taps: &'a [f32],
    pub(super) width: usize,
    /// A matrix for each place, with a row for each input.
    pub(super) places: &'a mut [&'b mut [f32]],
}

impl<const M: usize, const N: usize, const SQUARE: bool> Kernel for Taps<'_, '_, M, N, SQUARE>
where
    Tiles: Transform<M, N>,
{
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn run<V: Vector<Elem = f32>>(self) {
        let Taps { taps, width, places } = self;
        let count = const { all(3, SQUARE) };
        let len = taps.len() / count;
        assert!(places.len() == all(N, SQUARE) && width.is_multiple_of(V::LANES) && len.is_multiple_of(width));
        let mut to = [[std::ptr::null_mut(); N]; N];
        for i in 0..lines(N, SQUARE) {
            for j in 0..N {
                to[i][j] = places[number::<N, SQUARE>(i, j)][..len].as_mut_ptr();
            }
        }
        for first in (0..len).step_by(width) {
            for place in (first..first + width).step_by(V::LANES) {
                let mut transformed = [[V::zero(); N]; 3];
                for i in 0..lines(3, SQUARE) {
                    let row = (count - 1) * first + 3 * i * width + place;
                    // SAFETY: there are so many rows for each input, and `place` is one of the first of them.
                    let tap = |j: usize| unsafe { V::load_at(taps.as_ptr().add(row + j * width)) };
                    transformed[i] = Tiles::weights([tap(0), tap(1), tap(2)]);
                }
                for j in 0..N {
                    let mut column = [transformed[0][j]; N];
                    if SQUARE {
                        column = Tiles::weights([transformed[0][j], transformed[1][j], transformed[2][j]]);
                    }
                    for i in 0..lines(N, SQUARE) {
                        // SAFETY: the matrices have so many numbers (seen above).
                        unsafe { column[i].store_at(to[i][j].add(place)) };
                    }
                }
            }
        }
    }
}

/// Where the pixels of a tile of the input are, each with as many numbers as there are channels.
#[inline(always)]
pub(super) fn pixels<const N: usize, const SQUARE: bool>(
    windows: &Windows<'_>,
    grid: &Grid,
    tile: usize,
) -> [[*const f32; N]; N] {
    let ([height, width], [above, before], steps) = (windows.input, windows.before, windows.dilation);
    let (image, [top, left]) = grid.corner(tile);
    let mut pixels = [[windows.zeros.as_ptr(); N]; N];
    for (i, pixels) in pixels.iter_mut().enumerate().take(lines(N, SQUARE)) {
        // A place before the image wraps around to one far behind it.
        let y = (top + i * steps[0]).wrapping_sub(above);
        if y >= height {
            continue;
        }
        let first = first_of(image * height + y, width, grid.seen_apart());
        let line = windows.data.as_ptr().wrapping_add(first * windows.pixel);
        for (j, pixel) in pixels.iter_mut().enumerate() {
            let x = (left + j * steps[1]).wrapping_sub(before);
            if x < width + grid.beyond() {
                *pixel = line.wrapping_add(x * grid.seen_apart() * windows.pixel);
            }
        }
    }
    pixels
}

/// Transforms tiles of the input, one row for each: a number for each place and channel. If it asks, it does so for the next tile's
/// pixels, which takes time where they are in the second-level cache. There are as many channels as a vector has lanes at least; the last vector
/// may begin within the one before.
pub(super) struct Enter<'a, const M: usize, const N: usize, const SQUARE: bool, const ASKS: bool> {
    pub(super) windows: &'a Windows<'a>,
    pub(super) grid: &'a Grid,
    pub(super) tiles: Range<usize>,
    pub(super) channels: Range<usize>,
    pub(super) to: &'a mut [f32],
    /// The numbers between two rows.
    pub(super) gap: usize,
}

impl<const M: usize, const N: usize, const SQUARE: bool, const ASKS: bool> Kernel for Enter<'_, M, N, SQUARE, ASKS>
where
    Tiles: Transform<M, N>,
{
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn run<V: Vector<Elem = f32>>(self) {
        let Enter { windows, grid, tiles, channels: Range { start: first, end }, to, gap } = self;
        let channels = end - first;
        let next = M * windows.dilation[1] * grid.seen_apart() * windows.pixel;
        let stride = all(N, SQUARE) * channels + gap;
        assert!(to.len() >= tiles.len() * stride && channels >= V::LANES);
        for (index, tile) in tiles.enumerate() {
            let pixels = pixels::<N, SQUARE>(windows, grid, tile);
            let row = to[index * stride..].as_mut_ptr();
            for channel in (0..channels).step_by(V::LANES).map(|channel| channel.min(channels - V::LANES)) {
                let mut entered = [[V::zero(); N]; N];
                for i in 0..lines(N, SQUARE) {
                    for j in 0..N {
                        // SAFETY: the pixels have so many channels.
                        entered[i][j] = unsafe { V::load_at(pixels[i][j].add(first + channel)) };
                        if ASKS && j >= N - M {
                            prefetch(pixels[i][j].wrapping_add(next + first + channel));
                        }
                    }
                    entered[i] = Tiles::enter(entered[i]);
                }
                for j in 0..N {
                    let mut column = [V::zero(); N];
                    for i in 0..lines(N, SQUARE) {
                        column[i] = entered[i][j];
                    }
                    if SQUARE {
                        column = Tiles::enter(column);
                    }
                    for i in 0..lines(N, SQUARE) {
                        // SAFETY: the row is so long (seen above).
                        unsafe { column[i].store_at(row.add(number::<N, SQUARE>(i, j) * channels + channel)) };
                    }
                }
            }
        }
    }
}

/// The pixels of a tile for a vector of channels, from sums for each place and channel: those of a single line are the first ones.
///
/// # Safety
/// There must be as many sums.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
pub(super) unsafe fn leave<V: Vector<Elem = f32>, const M: usize, const N: usize, const SQUARE: bool>(
    sums: *const f32,
    channels: usize,
) -> [[V; M]; M]
where
    Tiles: Transform<M, N>,
{
    let mut left = [[V::zero(); N]; M];
    for j in 0..N {
        let mut column = [V::zero(); N];
        for i in 0..lines(N, SQUARE) {
            // SAFETY: the caller's promise.
            column[i] = unsafe { V::load_at(sums.add(number::<N, SQUARE>(i, j) * channels)) };
        }
        let column = if SQUARE { Tiles::leave(column) } else { [column[0]; M] };
        for i in 0..lines(M, SQUARE) {
            left[i][j] = column[i];
        }
    }
    let mut pixels = [[V::zero(); M]; M];
    for i in 0..lines(M, SQUARE) {
        pixels[i] = Tiles::leave(left[i]);
    }
    pixels
}
