//! Products of numbers that are sums of three bf16, by the model of a matrix unit on every machine that has the vectors, and by the
//! processor's own if it has one: against the definition in f64.

use super::matrix_unit::{Choices, on_each};
use super::unpacked::products;
use super::*;
use crate::simd::has_pairs;

const LEVEL: Level = Level::Avx512;

/// Channels that fill registers, or parts of them, in one chunk and in several.
const CHANNELS: [usize; 9] = [32, 64, 16, 18, 40, 160, 200, 34, 258];

fn linear(weight: &[f32], [outputs, inputs]: [usize; 2]) -> PackedLinear {
    PackedLinear::at(LEVEL, Weight::Numbers(weight), [outputs, inputs], Algorithm::Bf16x6, Format::F32)
}

#[test]
fn linear_layers_in_pieces() {
    let mut choices = Choices(5);
    for case in 0..40 {
        let (m, n) = (choices.below(90) + 2, choices.of(&[1, 16, 17, 32, 33, 70, 100]));
        // An odd number of inputs is not split.
        let k = if case == 0 { 33 } else { choices.of(&CHANNELS) };
        if !has_pairs(LEVEL) {
            continue;
        }
        let (x, w, bias) = (numbers(m * (k + 3), 1), numbers(n * k, 2), numbers(n, 3));
        let residual = numbers(m * (n + 1), 4);
        let epilogue = following(case % 8, &bias, &residual, n + 1);
        let layer = linear(&w, [n, k]);
        let (units, vectors) = on_each(|| {
            let mut out = vec![0.25; m * (n + 2)];
            layer.run(&mut out, n + 2, &x, k + 3, m, &epilogue);
            assert!(out.chunks(n + 2).all(|row| row[n..] == [0.25; 2]), "a gap was written");
            out
        });
        for out in units.iter().chain([&vectors]) {
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let terms = (0..k).map(|i| f64::from(x[row * (k + 3) + i]) * f64::from(w[column * k + i]));
                let want = followed(terms.sum(), case % 8, bias[column], residual[row * (n + 1) + column]);
                close(out[row * (n + 2) + column], want, k, &format!("{m}x{n}x{k} case {case} at {row}, {column}"));
            }
        }
    }
}

/// More rows than are multiplied with a chunk at a time, and rows so long that a part of them is multiplied with all panels.
#[test]
fn many_rows_and_long_ones_in_pieces() {
    if !has_pairs(LEVEL) {
        return;
    }
    for [m, n, k] in [[1100, 20, 64], [64, 40, 4200]] {
        let (x, w) = (numbers(m * k, 1), numbers(n * k, 2));
        let run = |algorithm| {
            let layer = PackedLinear::at(LEVEL, Weight::Numbers(&w), [n, k], algorithm, Format::F32);
            on_each(|| {
                let mut out = vec![0.0; m * n];
                layer.run(&mut out, n, &x, k, m, &Epilogue::default());
                out
            })
        };
        let (want, (units, _)) = (run(Algorithm::Direct).1, run(Algorithm::Bf16x6));
        for out in units {
            for (index, (got, want)) in out.iter().zip(&want).enumerate() {
                close(*got, f64::from(*want), k, &format!("{m}x{n}x{k} at {index}"));
            }
        }
    }
}

#[test]
fn convolutions_in_pieces() {
    let mut choices = Choices(3);
    for case in 0..60 {
        let groups = choices.of(&[1, 1, 1, 2, 3]);
        let (inputs, outputs) = (groups * choices.of(&CHANNELS[..5]), groups * choices.of(&[5, 16, 33, 64]));
        let mut two = |values: &[usize]| [0; 2].map(|_| choices.of(values));
        let shape = ConvShape {
            kernel: two(&[1, 2, 3, 5]),
            stride: two(&[1, 1, 2, 3]),
            dilation: two(&[1, 1, 2]),
            before: two(&[0, 1, 2]),
            after: two(&[0, 1, 3]),
            groups,
            ..ConvShape::pointwise(inputs, outputs)
        };
        let (size, batch) = ([9 + choices.below(5), 9 + choices.below(30)], choices.of(&[1, 1, 2]));
        if !has_pairs(LEVEL) {
            continue;
        }
        let x = numbers(batch * size[0] * size[1] * inputs, 1);
        let row = inputs / groups * shape.kernel[0] * shape.kernel[1];
        let (w, bias) = (numbers(outputs * row, 2), numbers(outputs, 3));
        let want = definition(&x, &w, &shape, batch, size, inputs);
        let residual = numbers(want.len(), 4);
        let epilogue = following(case % 8, &bias, &residual, outputs);
        let conv = PackedConv::at(LEVEL, Weight::Numbers(&w), shape, Algorithm::Bf16x6, Format::F32);
        let (units, vectors) = on_each(|| {
            let mut out = vec![0.25; want.len()];
            conv.run(&mut out, outputs, &Images::pixels(&x, batch, size, inputs), &epilogue);
            out
        });
        for out in units.iter().chain([&vectors]) {
            for (index, (got, want)) in out.iter().zip(&want).enumerate() {
                let want = followed(*want, case % 8, bias[index % outputs], residual[index]);
                close(*got, want, row, &format!("{batch}x{size:?} {shape:?} case {case} at {index}"));
            }
        }
    }
}

#[test]
fn volumes_in_pieces() {
    if !has_pairs(LEVEL) {
        return;
    }
    let frame = ConvShape { kernel: [3, 2], before: [1; 2], after: [1; 2], ..ConvShape::pointwise(48, 40) };
    for (depth, stride, dilation, [before, after]) in [(3, 1, 1, [1, 1]), (2, 2, 1, [0, 1]), (3, 1, 2, [3, 0])] {
        let shape = VolumeShape { frame, depth, stride, dilation, before, after };
        let (batch, size) = (2, [6, 5, 20]);
        let x = numbers(batch * size.iter().product::<usize>() * frame.inputs, 1);
        let w = numbers(frame.outputs * frame.inputs * depth * 6, 2);
        let run = |algorithm| {
            let conv = VolumeConv::at(LEVEL, Weight::Numbers(&w), shape, algorithm, Format::F32);
            on_each(|| {
                let mut out = vec![0.0; batch * shape.output(size).iter().product::<usize>() * frame.outputs];
                conv.run(&mut out, &x, batch, size, &Epilogue::default());
                out
            })
        };
        let (want, (units, _)) = (run(Algorithm::Direct).1, run(Algorithm::Bf16x6));
        for out in units {
            for (index, (got, want)) in out.iter().zip(&want).enumerate() {
                close(*got, f64::from(*want), 6 * depth * frame.inputs, &format!("{shape:?} at {index}"));
            }
        }
    }
}

/// Rounding errors are no larger than those of the direct algorithm.
#[test]
fn pieces_are_accurate() {
    if !has_pairs(LEVEL) {
        return;
    }
    let (m, n, k) = (40, 48, 1536);
    let (x, w) = (numbers(m * k, 1), numbers(n * k, 2));
    let errors = |out: &[f32]| {
        let error = |index: usize| {
            let (row, column) = (index / n, index % n);
            let terms = (0..k).map(|i| f64::from(x[row * k + i]) * f64::from(w[column * k + i]));
            f64::from(out[index]) - terms.sum::<f64>()
        };
        (0..m * n).map(|index| error(index).powi(2)).sum::<f64>().sqrt()
    };
    let layer = linear(&w, [n, k]);
    let (units, vectors) = on_each(|| {
        let mut out = vec![0.0; m * n];
        layer.run(&mut out, n, &x, k, m, &Epilogue::default());
        out
    });
    let most = errors(&vectors);
    for out in units {
        assert!(errors(&out) < most, "{} is more than {most}", errors(&out));
    }
}

/// What is not finite, or too large to be split, gives what the definition does, and changes nothing else.
#[test]
fn pieces_of_what_is_not_finite() {
    if !has_pairs(LEVEL) {
        return;
    }
    let (m, n, k) = (35, 40, 64);
    let (mut x, mut w) = (numbers(m * k, 1), numbers(n * k, 2));
    x[3 * k + 5] = f32::INFINITY;
    x[7 * k + 9] = f32::NAN;
    (x[9 * k], x[9 * k + 1]) = (f32::INFINITY, f32::NEG_INFINITY);
    x[20 * k + 63] = -f32::MAX;
    x[21 * k + 2] = 3e38;
    x[34 * k..].fill(0.0);
    x[34 * k + 1] = f32::MIN_POSITIVE / 8.0;
    w[4 * k + 5] = 0.0;
    w[11 * k + 40] = f32::NEG_INFINITY;
    w[12 * k + 41] = f32::NAN;
    w[13 * k + 42] = f32::MAX;
    let layer = linear(&w, [n, k]);
    let (units, _) = on_each(|| {
        let mut out = vec![0.0; m * n];
        layer.run(&mut out, n, &x, k, m, &Epilogue::default());
        out
    });
    let unpacked = products([m, k, n], (&x, k), &w, n, &Epilogue::default());
    assert!(unpacked.len() >= 2, "units read both layouts");
    for out in units.into_iter().chain(unpacked) {
        for (index, got) in out.iter().enumerate() {
            let (row, column) = (index / n, index % n);
            let want: f64 = (0..k).map(|i| f64::from(x[row * k + i]) * f64::from(w[column * k + i])).sum();
            let is_close = (f64::from(*got) - want).abs() <= 1e-5 * want.abs().max(1.0);
            let is_same = got.is_nan() && want.is_nan() || f64::from(*got) == want;
            let overflows = want.abs() > f64::from(f32::MAX) && got.abs() == f32::INFINITY;
            assert!(is_close || is_same || overflows, "{row}, {column}: {got}, not {want}");
        }
    }
}

/// Where there are rows, columns and numbers enough a matrix unit that splits numbers is faster than vectors.
#[test]
fn products_in_pieces() {
    let pairs = has_pairs(Level::detect());
    for (rows, inputs, outputs, is_faster) in [
        (128, 768, 768, true),
        (512, 768, 768, true),
        (196, 1024, 256, true),
        (128, 769, 768, false),
        (3136, 64, 256, false),
        (32, 768, 768, false),
        (64, 17768, 512, false),
        (1, 768, 768, false),
    ] {
        let read = |_: Range<usize>, numbers: &mut [f32]| numbers.fill(0.0);
        let layer = PackedLinear::with(Weight::Rows(&read), outputs, inputs, Algorithm::Strassen, Format::F32);
        let algorithm = MatrixUnit::with(Some(MatrixUnit::Model), || layer.algorithm(rows));
        assert_eq!(algorithm == Algorithm::Bf16x6, is_faster && pairs, "{rows}x{inputs}x{outputs}");
    }
}

/// What it gives does not depend on the number of threads.
#[test]
fn threads_change_no_piece() {
    let (m, n, k) = (300, 200, 256);
    let (x, w) = (numbers(m * k, 1), numbers(n * k, 2));
    let layer = PackedLinear::with(Weight::Numbers(&w), n, k, Algorithm::Strassen, Format::F32);
    let run = || {
        let mut out = vec![0.0; m * n];
        layer.run(&mut out, n, &x, k, m, &Epilogue::default());
        out
    };
    assert!(crate::threads::alone(run) == run());
}
