//! Products with few rows: nothing is packed, the right operand is read once.

use super::Matrix;
use crate::simd::{Element, Kernel, Level, Vector, dispatch};
use crate::threads::{Shared, for_each};

/// Computes a product, with rows of `c` that are `stride` apart and checked to fit.
pub(super) fn rows<T: Element>(
    level: Level,
    c: &mut [T],
    stride: usize,
    accumulate: bool,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
) {
    /// Columns a task.
    const COLUMNS: usize = 256;
    let (m, n, k) = (a.rows, b.cols, a.cols);
    let rows: Vec<T> = (0..m).flat_map(|i| (0..k).map(move |p| a.data[i * a.row_stride + p * a.col_stride])).collect();
    let c = Shared(c.as_mut_ptr());
    for_each(n.div_ceil(COLUMNS), 2 * m * n * k, |task| {
        let (start, stop) = (task * COLUMNS, n.min((task + 1) * COLUMNS));
        for i in 0..m {
            let row = &rows[i * k..(i + 1) * k];
            // SAFETY: tasks write disjoint columns of `c`, which holds `m` rows of `n` elements `stride` apart.
            let out = unsafe { std::slice::from_raw_parts_mut(c.at(i * stride + start), stop - start) };
            if !accumulate {
                out.fill(T::ZERO);
            }
            let first = &b.data[start * b.col_stride..];
            if b.row_stride == 1 {
                dispatch(level, Dots { out, row, columns: first, stride: b.col_stride });
            } else if b.col_stride == 1 {
                dispatch(level, Lines { out, row, lines: first, stride: b.row_stride });
            } else {
                let place = |p: usize, j: usize| p * b.row_stride + j * b.col_stride;
                let columns: Vec<T> = (0..out.len() * k).map(|i| first[place(i % k, i / k)]).collect();
                dispatch(level, Dots { out, row, columns: &columns, stride: k });
            }
        }
    });
}

/// Adds the products of a row with columns, each of which lies in one piece.
struct Dots<'a, T> {
    out: &'a mut [T],
    row: &'a [T],
    columns: &'a [T],
    stride: usize,
}

impl<T: Element> Kernel for Dots<'_, T> {
    type Elem = T;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = T>>(self) {
        let Dots { out, row, columns, stride } = self;
        let column = |j: usize| &columns[j * stride..j * stride + row.len()];
        let (fours, rest) = out.as_chunks_mut::<4>();
        let count = 4 * fours.len();
        for (i, out) in fours.iter_mut().enumerate() {
            dots::<V, 4>(out, row, std::array::from_fn(|j| column(4 * i + j)));
        }
        for (i, out) in rest.iter_mut().enumerate() {
            dots::<V, 1>(std::array::from_mut(out), row, [column(count + i)]);
        }
    }
}

/// Adds the products of a row with some columns: each in parts, so that sums do not wait for each other.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
fn dots<V: Vector, const COUNT: usize>(out: &mut [V::Elem; COUNT], row: &[V::Elem], columns: [&[V::Elem]; COUNT]) {
    const PARTS: usize = 4;
    let mut sums = [[V::zero(); PARTS]; COUNT];
    let step = PARTS * V::LANES;
    let whole = row.len() - row.len() % step;
    for first in (0..whole).step_by(step) {
        for part in 0..PARTS {
            let at = first + part * V::LANES;
            let x = V::load(&row[at..]);
            for j in 0..COUNT {
                sums[j][part] = x.mul_add(V::load(&columns[j][at..]), sums[j][part]);
            }
        }
    }
    for at in (whole..row.len()).step_by(V::LANES) {
        let x = V::load_part(&row[at..]);
        for j in 0..COUNT {
            sums[j][0] = x.mul_add(V::load_part(&columns[j][at..row.len()]), sums[j][0]);
        }
    }
    for j in 0..COUNT {
        let [a, b, c, d] = sums[j];
        out[j] = out[j] + ((a + b) + (c + d)).sum();
    }
}

/// Adds lines, each times a number of a row.
struct Lines<'a, T> {
    out: &'a mut [T],
    row: &'a [T],
    lines: &'a [T],
    stride: usize,
}

impl<T: Element> Kernel for Lines<'_, T> {
    type Elem = T;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = T>>(self) {
        let Lines { out, row, lines, stride } = self;
        for (p, &x) in row.iter().enumerate() {
            let line = &lines[p * stride..p * stride + out.len()];
            let (mut whole, ys) = (out.chunks_exact_mut(V::LANES), line.chunks_exact(V::LANES));
            let rest = ys.remainder();
            for (out, y) in whole.by_ref().zip(ys) {
                V::splat(x).mul_add(V::load(y), V::load(out)).store(out);
            }
            let out = whole.into_remainder();
            V::splat(x).mul_add(V::load_part(rest), V::load_part(out)).store_part(out);
        }
    }
}
