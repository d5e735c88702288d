//! Products with few rows: nothing is packed, the right operand is read once.

use super::Matrix;
use crate::memory::{LINE, prefetch_far};
use crate::simd::{Element, Kernel, Level, Vector, dispatch};
use crate::threads::{Shared, for_each, num_threads};

/// The bytes of a column that is no longer than a page.
const SHORT: usize = 4096;

/// Computes a product, with rows of `c` that are `stride` apart and checked to fit.
pub(super) fn rows<T: Element>(
    level: Level,
    c: &mut [T],
    stride: usize,
    accumulate: bool,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
) {
    /// Columns a task: of columns that each lie in one piece, and of rows that do.
    const COLUMNS: usize = 256;
    const LONG: usize = 2048;
    let (m, n, k) = (a.rows, b.cols, a.cols);
    let rows: Vec<T> = (0..m).flat_map(|i| (0..k).map(move |p| a.data[i * a.row_stride + p * a.col_stride])).collect();
    let are_lines = b.row_stride != 1 && b.col_stride == 1;
    let columns = if are_lines { n.div_ceil(num_threads()).clamp(COLUMNS, LONG) } else { COLUMNS };
    let c = Shared(c.as_mut_ptr());
    for_each(n.div_ceil(columns), 2 * m * n * k, |task| {
        let (start, stop) = (task * columns, n.min((task + 1) * columns));
        // SAFETY: tasks write disjoint columns of `c`, which holds `m` rows of `n` elements `stride` apart.
        let out = |i: usize| unsafe { std::slice::from_raw_parts_mut(c.at(i * stride + start), stop - start) };
        if !accumulate {
            (0..m).for_each(|i| out(i).fill(T::ZERO));
        }
        let first = &b.data[start * b.col_stride..];
        if are_lines {
            let lines = (first, b.row_stride);
            match m {
                1 => dispatch(level, Lines { out: [out(0)], rows: &rows, lines }),
                2 => dispatch(level, Lines { out: [out(0), out(1)], rows: &rows, lines }),
                _ => dispatch(level, Lines { out: [out(0), out(1), out(2)], rows: &rows, lines }),
            }
            return;
        }
        for i in 0..m {
            let (out, row) = (out(i), &rows[i * k..(i + 1) * k]);
            if b.row_stride == 1 {
                dispatch(level, Dots { out, row, columns: first, stride: b.col_stride });
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
    // Streams that end within a page are not foreseen: the lines of as many columns after these are asked for, each once.
    let (is_short, line) = (size_of_val(row) <= SHORT, LINE * size_of::<f32>() / size_of::<V::Elem>());
    let mut sums = [[V::zero(); PARTS]; COUNT];
    let step = PARTS * V::LANES;
    let whole = row.len() - row.len() % step;
    for first in (0..whole).step_by(step) {
        if is_short {
            for at in (first..first + step).step_by(line) {
                for j in 0..COUNT {
                    prefetch_far(columns[j].as_ptr().wrapping_add(at + COUNT * row.len()).cast());
                }
            }
        }
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

/// Adds lines that are so far apart, each times a number of each row; a few at a time, so that sums are read and written less often.
struct Lines<'a, T, const ROWS: usize> {
    out: [&'a mut [T]; ROWS],
    rows: &'a [T],
    lines: (&'a [T], usize),
}

impl<T: Element, const ROWS: usize> Kernel for Lines<'_, T, ROWS> {
    type Elem = T;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = T>>(mut self) {
        const FEW: usize = 4;
        let (len, inner) = (self.out[0].len(), self.rows.len() / ROWS);
        let (data, stride) = self.lines;
        let line = |p: usize| &data[p * stride..p * stride + len];
        let whole = inner - inner % FEW;
        for p in (0..whole).step_by(FEW) {
            self.add::<V, FEW>(p, [line(p), line(p + 1), line(p + 2), line(p + 3)]);
        }
        for p in whole..inner {
            self.add::<V, 1>(p, [line(p)]);
        }
    }
}

impl<T: Element, const ROWS: usize> Lines<'_, T, ROWS> {
    /// Adds lines from the `p`th on.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn add<V: Vector<Elem = T>, const COUNT: usize>(&mut self, p: usize, lines: [&[T]; COUNT]) {
        let (len, inner) = (self.out[0].len(), self.rows.len() / ROWS);
        let mut numbers = [[V::zero(); COUNT]; ROWS];
        for i in 0..ROWS {
            for q in 0..COUNT {
                numbers[i][q] = V::splat(self.rows[i * inner + p + q]);
            }
        }
        let whole = len - len % V::LANES;
        for at in (0..whole).step_by(V::LANES) {
            let mut y = [V::zero(); COUNT];
            for q in 0..COUNT {
                y[q] = V::load(&lines[q][at..]);
            }
            for i in 0..ROWS {
                let mut sum = V::load(&self.out[i][at..]);
                for q in 0..COUNT {
                    sum = numbers[i][q].mul_add(y[q], sum);
                }
                sum.store(&mut self.out[i][at..]);
            }
        }
        for i in 0..ROWS {
            let mut sum = V::load_part(&self.out[i][whole..]);
            for q in 0..COUNT {
                sum = numbers[i][q].mul_add(V::load_part(&lines[q][whole..]), sum);
            }
            sum.store_part(&mut self.out[i][whole..]);
        }
    }
}
