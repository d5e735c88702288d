//! Products of whole numbers, against their definition in f64.

use super::*;
use crate::Quantization;

/// Bytes without a sign and with one, and numbers of seven bits, all with something else than 0 for 0 but the last ones.
pub(super) const RANGES: [Quantization; 4] = [
    Quantization { scale: 0.004, zero_point: 117, min: 0, max: 255 },
    Quantization { scale: 0.006, zero_point: -20, min: -128, max: 127 },
    Quantization { scale: 0.008, zero_point: 58, min: 0, max: 127 },
    Quantization { scale: 0.003, zero_point: 0, min: 0, max: 255 },
];

pub(super) fn bytes(len: usize, seed: u32) -> Vec<i8> {
    numbers(len, seed).into_iter().map(|x| (x * 255.9).round() as i8).collect()
}

pub(super) fn scales(len: usize) -> Vec<f32> {
    numbers(len, 9).into_iter().map(|x| (x + 0.6) / 64.0).collect()
}

/// What a number stands for once it is rounded.
pub(super) fn rounded(x: f32, range: Quantization) -> f64 {
    let whole = (x * (1.0 / range.scale)).round_ties_even() + range.zero_point as f32;
    f64::from((whole.clamp(range.min as f32, range.max as f32) - range.zero_point as f32) * range.scale)
}

#[test]
fn linear_layers_of_bytes() {
    // The last ones are filled up to fours.
    let most = [(1, 1, 4), (1, 33, 72), (2, 8, 0), (3, 16, 5), (13, 70, 64), (29, 65, 200), (40, 48, 1700), (5, 9, 6)];
    let sizes = most.into_iter().chain([(1, 40, 415), (37, 33, 17), (20, 48, 1602)]);
    for ((m, n, k), range) in sizes.flat_map(|size| RANGES.map(|range| (size, range))) {
        let (x, w, scales) = (numbers(m * (k + 3), 1), bytes(n * k, 2), scales(n));
        let (bias, residual) = (numbers(n, 3), numbers(m * (n + 1), 4));
        for level in Level::available() {
            let layer = QuantizedLinear::at(level, Bytes { weight: &w, scales: &scales, bits: range.bits() }, k);
            for case in 0..8 {
                let epilogue = following(case, &bias, &residual, n + 1);
                let mut out = vec![0.25; m * (n + 2)];
                layer.run(&mut out, n + 2, &x, k + 3, m, range, &epilogue);
                for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    let product = |p: usize| rounded(x[i * (k + 3) + p], range) * f64::from(w[j * k + p]);
                    let sum = (0..k).map(product).sum::<f64>() * f64::from(scales[j]);
                    let want = followed(sum, case, bias[j], residual[i * (n + 1) + j]);
                    close(out[i * (n + 2) + j], want, 4 * k, &format!("{level:?} {m}x{n}x{k} case {case} at {i}, {j}"));
                }
                assert!(out.chunks(n + 2).all(|row| row[n..] == [0.25; 2]), "a gap was written");
            }
        }
    }
}

#[test]
fn convolutions_of_bytes() {
    let one = ConvShape::pointwise(32, 40);
    let shapes = [
        one,
        ConvShape { stride: [2; 2], ..one },
        ConvShape::pointwise(34, 21),
        ConvShape::pointwise(29, 40),
        ConvShape { groups: 2, ..ConvShape::pointwise(42, 42) },
        ConvShape { kernel: [3; 2], before: [1; 2], after: [1; 2], ..one },
        ConvShape { kernel: [3, 2], stride: [2, 1], before: [0, 1], after: [2, 0], dilation: [1, 2], ..one },
        ConvShape { kernel: [3; 2], before: [1; 2], after: [1; 2], groups: 4, ..one },
        ConvShape { before: [1; 2], after: [1; 2], ..one },
        // Not in fours.
        ConvShape { kernel: [3; 2], before: [1; 2], after: [1; 2], ..ConvShape::pointwise(18, 5) },
        // On their own.
        ConvShape { kernel: [3; 2], before: [1; 2], after: [1; 2], groups: 20, ..ConvShape::pointwise(20, 20) },
        // Groups that are taken together: four and two, of fewer channels than a word has, and of which some are left.
        ConvShape { kernel: [3; 2], before: [1; 2], after: [1; 2], groups: 8, ..ConvShape::pointwise(32, 32) },
        ConvShape { kernel: [3, 1], before: [1, 0], after: [1, 0], groups: 4, ..ConvShape::pointwise(48, 32) },
        ConvShape { kernel: [3; 2], stride: [2; 2], groups: 12, ..ConvShape::pointwise(24, 48) },
        ConvShape { kernel: [3; 2], groups: 3, ..ConvShape::pointwise(24, 18) },
        // Few channels.
        ConvShape { kernel: [5, 3], stride: [2; 2], before: [2, 1], after: [2, 1], ..ConvShape::pointwise(3, 9) },
        ConvShape { kernel: [2, 5], before: [0, 3], after: [1, 1], dilation: [2, 1], ..ConvShape::pointwise(11, 33) },
        ConvShape { kernel: [1, 3], dilation: [1, 2], ..ConvShape::pointwise(2, 6) },
    ];
    // Taps so far apart that some tiles of a line see padding where others do not.
    let apart = [[1, 13], [0, 13]].map(|before| {
        let plain = ConvShape::pointwise(1600, 9);
        (ConvShape { kernel: [3; 2], dilation: [1, 13], before, after: [1, 13], ..plain }, [2, 29])
    });
    let all = shapes.into_iter().map(|shape| (shape, [6, 7])).chain(apart);
    let batch = 2;
    for ((shape, input), range) in all.flat_map(|sizes| RANGES.map(|range| (sizes, range))) {
        let taps = shape.kernel[0] * shape.kernel[1];
        let (w, scales) = (bytes(shape.outputs * shape.inputs / shape.groups * taps, 2), scales(shape.outputs));
        let x = numbers(batch * input[0] * input[1] * shape.inputs, 1);
        let bias = numbers(shape.outputs, 3);
        let x_rounded: Vec<f32> = x.iter().map(|x| rounded(*x, range) as f32).collect();
        let row = w.len() / shape.outputs;
        let w_scaled: Vec<f32> = (0..w.len()).map(|index| f32::from(w[index]) * scales[index / row]).collect();
        let want = definition(&x_rounded, &w_scaled, &shape, batch, input, shape.inputs);
        for level in Level::available() {
            let conv = QuantizedConv::at(level, Bytes { weight: &w, scales: &scales, bits: range.bits() }, shape);
            let mut out = vec![0.0; want.len()];
            let epilogue = Epilogue { bias: Some(&bias), activation: Some(Unary::Relu), ..Epilogue::default() };
            conv.run(&mut out, shape.outputs, &Images::pixels(&x, batch, input, shape.inputs), range, &epilogue);
            for (index, (got, want)) in out.iter().zip(&want).enumerate() {
                let want = (want + f64::from(bias[index % shape.outputs])).max(0.0);
                close(*got, want, 4 * row, &format!("{level:?} {shape:?} at {index}"));
            }
        }
    }
}

/// Images of channels on their own that are rounded some lines at a time.
#[test]
fn channels_on_their_own_in_bands() {
    let (channels, batch, size) = (30, 2, [71, 40]);
    let shape = ConvShape {
        kernel: [3; 2],
        stride: [2, 1],
        before: [1; 2],
        after: [1; 2],
        groups: channels,
        ..ConvShape::pointwise(channels, channels)
    };
    let (w, scales, bias) = (bytes(channels * 9, 2), scales(channels), numbers(channels, 3));
    let x = numbers(batch * size[0] * size[1] * channels, 1);
    let x_rounded: Vec<f32> = x.iter().map(|x| rounded(*x, RANGES[0]) as f32).collect();
    let w_scaled: Vec<f32> = (0..w.len()).map(|index| f32::from(w[index]) * scales[index / 9]).collect();
    let want = definition(&x_rounded, &w_scaled, &shape, batch, size, channels);
    let residual = numbers(want.len(), 4);
    for level in Level::available() {
        let conv = QuantizedConv::at(level, Bytes { weight: &w, scales: &scales, bits: 8 }, shape);
        for case in [2, 7] {
            let mut out = vec![0.25; want.len()];
            let epilogue = following(case, &bias, &residual, channels);
            conv.run(&mut out, channels, &Images::pixels(&x, batch, size, channels), RANGES[0], &epilogue);
            for (index, (got, want)) in out.iter().zip(&want).enumerate() {
                let want = followed(*want, case, bias[index % channels], residual[index]);
                close(*got, want, 36, &format!("{level:?} at {index}"));
            }
        }
    }
}

/// What is no number is written as 0, and what is too large as the largest.
#[test]
fn what_is_not_in_the_range() {
    for range in RANGES {
        not_in_the_range(range);
    }
}

fn not_in_the_range(range: Quantization) {
    let x = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30];
    let one = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
    for level in Level::available() {
        let layer = QuantizedLinear::at(level, Bytes { weight: &one, scales: &[1.0; 4], bits: range.bits() }, 4);
        let mut out = [0.0; 4];
        layer.run(&mut out, 4, &x, 4, 1, range, &Epilogue::default());
        let want = [0, range.max, range.min, range.max].map(|whole| (whole - range.zero_point) as f32 * range.scale);
        for (got, want) in out.into_iter().zip(want) {
            assert!((got - want).abs() < 1e-5, "{level:?}: {got}, not {want}");
        }
    }
}
