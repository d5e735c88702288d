//! Against the definition in f64, at every level.

use std::ops::Range;

use super::*;
use crate::Level;
use crate::dense::panels::Matrices;
use crate::dense::tests::{close, followed, following, numbers};
use crate::dense::{Algorithm, Format, PackedLinear, Weight};
use crate::simd::MatrixUnit;

/// The right operand `w^T`, packed.
fn packed(level: Level, w: &[f32], [columns, inner]: [usize; 2]) -> Panels {
    let rows: Vec<usize> = (0..inner).collect();
    let weight = Weight::Numbers(w);
    Panels::new(
        (level, Packing::Single),
        &Matrices { weight, groups: 1, distance: 0, rows: &rows, columns, step: inner },
    )
}

/// The product by the algorithm, whether it is faster or not: the same whether rows that collide are copied or not, and with pairs of
/// panels one by one or together.
fn run(out: &mut [f32], stride: usize, x: &[f32], distance: usize, product: &Product<'_>) {
    assert!(out.len() >= (product.rows - 1) * stride + product.panels.columns());
    let mut same = out.to_vec();
    for (caches, out) in [((1, 0), &mut *out), ((usize::MAX, 1 << 24), &mut same)] {
        // SAFETY: there is room for the result (just seen), and the tests' operands are as large as they say.
        unsafe { Strassen { product, data: x, stride: distance, caches }.run(&Shared(out.as_mut_ptr()), stride) };
    }
    assert!(out.iter().zip(&same).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()));
}

fn dot(x: &[f32], w: &[f32]) -> f64 {
    x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum()
}

/// An even and an odd number of rows, several blocks, rows that collide and do not, halves that are no multiple of a vector or
/// longer than a step, and columns that fill panels and do not: with all that follows.
#[test]
fn products() {
    for (m, n, k, gap) in [(27, 64, 40, 0), (54, 150, 66, 3), (301, 70, 34, 1), (30, 128, 1602, 0), (29, 65, 1024, 0)] {
        let (x, w, bias) = (numbers(m * (k + gap), 1), numbers(n * k, 2), numbers(n, 3));
        let residual = numbers(m * (n + 1), 4);
        let sums: Vec<_> = (0..m * n).map(|i| dot(&x[i / n * (k + gap)..][..k], &w[i % n * k..][..k])).collect();
        for (level, case) in Level::available().flat_map(|level| (0..8).map(move |case| (level, case))) {
            let (panels, epilogue) = (packed(level, &w, [n, k]), following(case, &bias, &residual, n + 1));
            let left = Left::Rows { data: &x, stride: k + gap };
            let mut out = vec![0.25; m * (n + 2)];
            run(&mut out, n + 2, &x, k + gap, &Product::new(left, m, &panels, &epilogue));
            for (i, sum) in sums.iter().enumerate() {
                let (row, column) = (i / n, i % n);
                let want = followed(*sum, case, bias[column], residual[row * (n + 1) + column]);
                let what = format!("{level:?} {m}x{n}x{k} case {case} at {row}, {column}");
                close(out[row * (n + 2) + column], want, 4 * k, &what);
            }
            assert!(out.chunks(n + 2).all(|row| row[n..] == [0.25; 2]), "a gap was written");
        }
    }
}

/// What the thread's memory held before is no part of the result, also where the lower half has a row less.
#[test]
fn memory_of_before() {
    let (m, n, k) = (27, 64, 40);
    let (x, w) = (numbers(m * k, 1), numbers(n * k, 2));
    for level in Level::available() {
        let panels = packed(level, &w, [n, k]);
        let [with_zeros, with_nan] = [0.0, f32::NAN].map(|before| {
            scratch(1 << 16, |memory| memory.fill(before));
            let (left, mut out) = (Left::Rows { data: &x, stride: k }, vec![0.25; m * n]);
            run(&mut out, n, &x, k, &Product::new(left, m, &panels, &Epilogue::default()));
            out
        });
        assert!(with_zeros == with_nan, "{level:?}");
    }
}

/// Some rows are multiplied by themselves, and multiples of them.
fn rows(x: &[f32], k: usize, factors: impl Fn(usize) -> f32) -> Vec<f32> {
    x.iter().enumerate().map(|(i, x)| x * factors(i / k)).collect()
}

/// A row's errors are as large as its numbers, whatever rows are beside it; zeros give zeros.
#[test]
fn rows_of_any_size() {
    let (m, n, k) = (60, 128, 64);
    let (x, w) = (numbers(m * k, 1), numbers(n * k, 2));
    let factor = |row: usize| [1.0, 1e30, 1e-30, 0.0, 1e-44, 3e4][row % 7 % 6];
    let x = rows(&x, k, factor);
    for level in Level::available() {
        let panels = packed(level, &w, [n, k]);
        let (left, mut out) = (Left::Rows { data: &x, stride: k }, vec![0.25; m * n]);
        run(&mut out, n, &x, k, &Product::new(left, m, &panels, &Epilogue::default()));
        for (i, got) in out.iter().enumerate() {
            let (row, want) = (i / n, dot(&x[i / n * k..][..k], &w[i % n * k..][..k]));
            let most = x[row * k..][..k].iter().fold(0.0, |most: f32, x| most.max(x.abs()));
            // Numbers that are not normal are rounded more.
            let within = 1e-5 * f64::from(most) + f64::from(f32::from_bits(64));
            let error = (f64::from(*got) - want).abs();
            assert!(if most == 0.0 { *got == 0.0 } else { error < within }, "{level:?} at {row}: {got}, not {want}");
        }
    }
}

/// A function gives what it gives of the numbers without it, whether they are written before or not, also of some that are not
/// finite.
#[test]
fn functions_are_applied_once() {
    let (m, n, k) = (41, 140, 64);
    let (mut x, w, bias) = (numbers(m * k, 1), numbers(n * k, 2), numbers(n, 3));
    x[3 * k + 5] = f32::INFINITY;
    for level in Level::available() {
        let panels = packed(level, &w, [n, k]);
        let product = |activation| {
            let epilogue = Epilogue { bias: Some(&bias), activation, ..Epilogue::default() };
            let (left, mut out) = (Left::Rows { data: &x, stride: k }, vec![0.25; m * n]);
            run(&mut out, n, &x, k, &Product::new(left, m, &panels, &epilogue));
            out
        };
        for function in [Unary::Gelu, Unary::GeluTanh, Unary::Silu, Unary::Sigmoid] {
            let mut want = product(None);
            // SAFETY: the rows are this test's.
            unsafe { run_rows(level, function, want.as_mut_ptr(), m, n, n) };
            let got = product(Some(function));
            let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            assert!(got.iter().zip(&want).all(same), "{level:?} {function:?}");
        }
    }
}

/// What is not finite, or overflows on the way, is as by the definition, and stays in its row and column.
#[test]
fn what_is_not_finite() {
    let (m, n, k) = (40, 140, 32);
    for (level, case) in Level::available().flat_map(|level| (0..8).map(move |case| (level, case))) {
        let (mut x, mut w) = (numbers(m * k, 1), numbers(n * k, 2));
        (x[3 * k + 5], x[25 * k + 20], x[39 * k]) = (f32::INFINITY, f32::NAN, f32::NEG_INFINITY);
        (w[7 * k + 3], w[90 * k + 1], w[139 * k + 2]) = (f32::NAN, f32::INFINITY, 3e38);
        x[17 * k..18 * k].fill(3e38);
        let (bias, residual) = (numbers(n, 3), numbers(m * n, 4));
        let (panels, epilogue) = (packed(level, &w, [n, k]), following(case, &bias, &residual, n));
        let product = Product::new(Left::Rows { data: &x, stride: k }, m, &panels, &epilogue);
        let [mut out, mut want] = [vec![0.25; m * n], vec![0.25; m * n]];
        run(&mut out, n, &x, k, &product);
        product.run(&mut want, n);
        for (i, (got, want)) in out.iter().zip(&want).enumerate() {
            let close = (got - want).abs() < 1e-5 * want.abs().max(1.0);
            assert!(
                close || got == want || got.is_nan() && want.is_nan(),
                "{level:?} {case} at {i}: {got}, not {want}"
            );
        }
        assert!(out.iter().filter(|x| x.is_finite()).count() > m * n / 2);
    }
}

/// Rounding errors are two to three times those of the direct algorithm.
#[test]
fn errors_are_small() {
    for (m, n, k, most) in [(128, 384, 768, 2.2), (256, 384, 2048, 3.0)] {
        let (x, w) = (numbers(m * k, 1), numbers(n * k, 2));
        // The first and the last rows: those of the upper half, and of the lower.
        let some: Vec<_> = (0..4 * n).chain((m - 4) * n..m * n).collect();
        let sums: Vec<_> = some.iter().map(|i| dot(&x[i / n * k..][..k], &w[i % n * k..][..k])).collect();
        let square = sums.iter().map(|sum| sum * sum).sum::<f64>();
        // Narrow panels are multiplied faster directly where the inner dimension is short.
        let levels = Level::available().filter(|level| k > 768 || !packed(*level, &w, [n, k]).is_narrow());
        for level in levels {
            let error = |algorithm: Algorithm| {
                let layer = PackedLinear::at(level, Weight::Numbers(&w), [n, k], algorithm, Format::F32);
                assert_eq!(layer.algorithm(m), algorithm);
                let mut out = vec![0.0; m * n];
                layer.run(&mut out, n, &x, k, m, &Epilogue::default());
                let errors = some.iter().zip(&sums).map(|(i, sum)| (f64::from(out[*i]) - sum).powi(2));
                (errors.sum::<f64>() / square).sqrt()
            };
            let [direct, strassen] =
                [Algorithm::Direct, Algorithm::Strassen].map(|by| MatrixUnit::with(None, || error(by)));
            println!("{level:?}, {k} inputs: {direct:.1e} directly, {strassen:.1e} by Strassen");
            assert!(direct < 1e-6 && strassen < most * direct, "{level:?} {k}: {strassen:e}, direct {direct:e}");
        }
    }
}

/// Where there are few rows, a short or odd inner dimension or few columns, the definition is faster; a longer one is short where
/// panels are narrow.
#[test]
fn algorithms() {
    let is_narrow = packed(Level::detect(), &[0.0], [1, 1]).is_narrow();
    let of_wide = if is_narrow { Algorithm::Direct } else { Algorithm::Strassen };
    let of_far = if maker() == Maker::Intel { Algorithm::Direct } else { of_wide };
    for (rows, inputs, outputs, algorithm) in [
        (128, 768, 768, of_wide),
        (128, 768, 50257, of_wide),
        (128, 3072, 768, Algorithm::Strassen),
        (1000, 2048, 4096, Algorithm::Strassen),
        (1000, 2048, 512, of_far),
        (1000, 512, 2048, of_wide),
        (128, 384, 384, of_wide),
        (96, 768, 768, of_wide),
        (64, 768, 768, Algorithm::Direct),
        // Columns that make no pair.
        (196, 336, 336, Algorithm::Direct),
        (196, 888, 888, Algorithm::Direct),
        (784, 512, 128, Algorithm::Direct),
        (128, 769, 768, Algorithm::Direct),
        (128, 768, 10, Algorithm::Direct),
        (128, 64, 1024, Algorithm::Direct),
        (32, 768, 768, Algorithm::Direct),
        (1, 768, 768, Algorithm::Direct),
        (64, 17768, 512, Algorithm::Direct),
    ] {
        let read = |_: Range<usize>, numbers: &mut [f32]| numbers.fill(0.0);
        let layer = PackedLinear::with(Weight::Rows(&read), outputs, inputs, Algorithm::Strassen, Format::F32);
        let got = MatrixUnit::with(None, || layer.algorithm(rows));
        assert_eq!(got, algorithm, "{rows}x{inputs}x{outputs}");
    }
}
