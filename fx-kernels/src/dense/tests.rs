//! Every level and many shapes, against the definitions in f64.

mod chains;
mod compact;
mod depthwise;
mod few;
mod grouped;
mod half_floats;
mod matrix_unit;
mod padding;
mod panels;
mod pieces;
mod quantized;
mod transposed;
mod two_pixels;
mod unpacked;
mod volumes;
mod winograd;
mod words;

use std::ops::Range;

use super::winograd::Winograd;
use super::*;
use crate::elementwise::Unary;
use crate::gemm::Matrix;
use crate::simd::MatrixUnit;
use crate::{Level, Rounded};

pub(super) fn numbers(len: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (f64::from(state >> 8) / f64::from(1 << 24) - 0.5) as f32
        })
        .collect()
}

/// The same with one thread, and with more than most machines of tests have.
pub(super) fn of_threads<R: Send>(run: impl Fn() -> R + Sync) -> [R; 2] {
    [1, 8].map(|threads| {
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
        pool.install(&run)
    })
}

#[track_caller]
pub(super) fn close(got: f32, want: f64, scale: usize, what: &str) {
    assert!((f64::from(got) - want).abs() < 1e-6 * (scale as f64).sqrt() + 1e-6, "{what}: {got}, not {want}");
}

/// What an operand of a product counts as.
fn rounded(x: &[f32], format: Format) -> Vec<f32> {
    let to = |x: &f32| match format {
        Format::F32 => *x,
        Format::Bf16 => half::bf16::from_f32(*x).to_f32(),
        Format::F16 => half::f16::from_f32(*x).to_f32(),
        Format::Int8 => x.round(),
    };
    x.iter().map(to).collect()
}

/// What follows a product in one of eight cases, of a residual with rows so far apart.
pub(super) fn following<'a>(case: usize, bias: &'a [f32], residual: &'a [f32], stride: usize) -> Epilogue<'a> {
    Epilogue {
        bias: (case & 1 > 0).then_some(bias),
        residual: (case & 2 > 0).then_some(Residual { data: residual, stride }),
        accumulate: case & 4 > 0,
        activation: match case {
            0 => None,
            1 | 5 => Some(Unary::Relu),
            2 => Some(Unary::Clamp(-0.1, 0.2)),
            3 | 6 => Some(Unary::Sigmoid),
            _ => Some(Unary::Hardswish),
        },
    }
}

/// What that makes of a sum, where 0.25 was before.
pub(super) fn followed(sum: f64, case: usize, bias: f32, residual: f32) -> f64 {
    let mut sum = sum + if case & 1 > 0 { f64::from(bias) } else { 0.0 };
    sum += if case & 2 > 0 { f64::from(residual) } else { 0.0 };
    sum += if case & 4 > 0 { 0.25 } else { 0.0 };
    match case {
        0 => sum,
        1 | 5 => sum.max(0.0),
        2 => sum.clamp(-0.1, 0.2),
        3 | 6 => 1.0 / (1.0 + (-sum).exp()),
        _ => sum * (sum + 3.0).clamp(0.0, 6.0) / 6.0,
    }
}

#[test]
fn linear_layers() {
    let sizes =
        [(1, 1, 1), (1, 33, 70), (1, 1500, 700), (3, 16, 5), (6, 47, 9), (14, 32, 64), (29, 65, 200), (57, 100, 401)];
    for (m, n, k) in sizes.into_iter().chain([(2, 8, 0)]) {
        let (x, w, bias, residual) =
            (numbers(m * (k + 3), 1), numbers(n * k, 2), numbers(n, 3), numbers(m * (n + 1), 4));
        for level in Level::available() {
            let layer = PackedLinear::at(level, Weight::Numbers(&w), [n, k], Algorithm::Direct, Format::F32);
            for case in 0..8 {
                let epilogue = following(case, &bias, &residual, n + 1);
                let mut out = vec![0.25; m * (n + 2)];
                layer.run(&mut out, n + 2, &x, k + 3, m, &epilogue);
                for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    let want = followed(
                        (0..k).map(|p| f64::from(x[i * (k + 3) + p]) * f64::from(w[j * k + p])).sum::<f64>(),
                        case,
                        bias[j],
                        residual[i * (n + 1) + j],
                    );
                    close(out[i * (n + 2) + j], want, k, &format!("{level:?} {m}x{n}x{k} case {case} at {i}, {j}"));
                }
                assert!(out.chunks(n + 2).all(|row| row[n..] == [0.25; 2]), "a gap was written");
            }
        }
    }
}

/// What a row gives does not depend on those beside it: on how many tiles go down a few panels together, in one step and in two.
#[test]
fn rows_of_many_tiles() {
    let rows = 100;
    for (outputs, inputs) in [(1000, 600), (601, 800)] {
        let (x, w) = (numbers(rows * inputs, 1), numbers(outputs * inputs, 2));
        let (bias, residual) = (numbers(outputs, 3), numbers(rows * outputs, 4));
        for level in Level::available() {
            let layer = PackedLinear::at(level, Weight::Numbers(&w), [outputs, inputs], Algorithm::Direct, Format::F32);
            let run = |some: usize| {
                let mut out = vec![0.25; rows * outputs];
                for first in (0..rows).step_by(some) {
                    let (count, residual) = (some.min(rows - first), &residual[first * outputs..]);
                    let out = &mut out[first * outputs..][..count * outputs];
                    let x = &x[first * inputs..][..count * inputs];
                    layer.run(out, outputs, x, inputs, count, &following(7, &bias, residual, outputs));
                }
                out
            };
            assert!(run(rows) == run(7), "{level:?} {inputs} to {outputs}");
        }
    }
}

/// The same from the last weights to the first: of pieces of some panels, a panel that is not full, and rows that are widened for.
#[test]
fn weights_backwards() {
    let (outputs, inputs) = (333, 700);
    let (x, w, bias) = (numbers(3 * inputs, 1), numbers(outputs * inputs, 2), numbers(outputs, 3));
    let epilogue = Epilogue { bias: Some(&bias), ..Epilogue::default() };
    let all = |level| [Format::F32, Format::Bf16, Format::F16].map(|format| (level, format));
    for ((level, format), rows) in Level::available().flat_map(all).flat_map(|of| [1, 3].map(|rows| (of, rows))) {
        let layer = PackedLinear::at(level, Weight::Numbers(&w), [outputs, inputs], Algorithm::Direct, format);
        let layer = layer.cached();
        let [mut forwards, mut backwards] = [vec![0.25; rows * outputs], vec![0.75; rows * outputs]];
        layer.run(&mut forwards, outputs, &x, inputs, rows, &epilogue);
        layer.run_rows(&mut backwards, &x, rows, &epilogue, true);
        assert!(forwards == backwards, "{level:?} {format:?} {rows}");
    }
}

/// Rounding errors of a sum grow with the length of its chains, not with its own.
#[test]
fn long_sums_are_accurate() {
    let (n, k) = (20, 24 * 768);
    let positive = |len: usize, seed: u32| numbers(len, seed).into_iter().map(|x| x + 0.5).collect::<Vec<_>>();
    let w = positive(n * k, 2);
    for (level, m) in Level::available().flat_map(|level| [(level, 1), (level, 14)]) {
        let x = positive(m * k, 1);
        let mut out = vec![0.0; m * n];
        PackedLinear::at(level, Weight::Numbers(&w), [n, k], Algorithm::Direct, Format::F32).run(
            &mut out,
            n,
            &x,
            k,
            m,
            &Epilogue::default(),
        );
        let sum = |i: usize, j: usize| (0..k).map(|p| f64::from(x[i * k + p]) * f64::from(w[j * k + p])).sum::<f64>();
        let error = |index: usize| f64::from(out[index]) / sum(index / n, index % n) - 1.0;
        let square = (0..m * n).map(|index| error(index).powi(2)).sum::<f64>() / (m * n) as f64;
        assert!(square.sqrt() < 1e-6, "{level:?}, {m} rows: {:e}", square.sqrt());
    }
}

/// Images whose pixels are so far apart with the channels first.
fn planes(x: &[f32], batch: usize, input: [usize; 2], channels: usize, pixel: usize) -> Vec<f32> {
    let area = input[0] * input[1];
    (0..batch * channels * area)
        .map(|i| (i / area, i % area))
        .map(|(plane, i)| (plane / channels * area + i, plane % channels))
        .map(|(place, channel)| x[place * pixel + channel])
        .collect()
}

/// A convolution by its definition.
fn definition(x: &[f32], w: &[f32], shape: &ConvShape, batch: usize, input: [usize; 2], pixel: usize) -> Vec<f64> {
    let output = shape.output(input);
    let (channels, filters) = (shape.inputs / shape.groups, shape.outputs / shape.groups);
    let mut out = Vec::new();
    for place in 0..batch * output[0] * output[1] {
        let (image, place) = (place / (output[0] * output[1]), place % (output[0] * output[1]));
        let (oy, ox) = (place / output[1], place % output[1]);
        for filter in 0..shape.outputs {
            let mut sum = 0.0;
            for (ky, kx) in (0..shape.kernel[0]).flat_map(|ky| (0..shape.kernel[1]).map(move |kx| (ky, kx))) {
                let y = (oy * shape.stride[0] + ky * shape.dilation[0]).wrapping_sub(shape.before[0]);
                let x0 = (ox * shape.stride[1] + kx * shape.dilation[1]).wrapping_sub(shape.before[1]);
                if y >= input[0] || x0 >= input[1] {
                    continue;
                }
                for c in 0..channels {
                    let from = ((image * input[0] + y) * input[1] + x0) * pixel + filter / filters * channels + c;
                    let weight = ((filter * channels + c) * shape.kernel[0] + ky) * shape.kernel[1] + kx;
                    sum += f64::from(x[from]) * f64::from(w[weight]);
                }
            }
            out.push(sum);
        }
    }
    out
}

#[test]
fn convolutions() {
    let plain = ConvShape {
        inputs: 5,
        outputs: 7,
        kernel: [3; 2],
        stride: [1; 2],
        dilation: [1; 2],
        before: [1; 2],
        after: [1; 2],
        groups: 1,
    };
    let shapes = [
        plain,
        ConvShape { kernel: [1; 2], before: [0; 2], after: [0; 2], outputs: 70, ..plain },
        ConvShape { stride: [2; 2], outputs: 33, ..plain },
        ConvShape { kernel: [1, 5], before: [0, 4], after: [0, 1], dilation: [1, 2], ..plain },
        ConvShape { inputs: 6, outputs: 4, groups: 2, ..plain },
        ConvShape { inputs: 6, outputs: 6, groups: 6, stride: [2, 1], ..plain },
        ConvShape { inputs: 51, outputs: 51, groups: 51, dilation: [1, 2], ..plain },
        ConvShape { inputs: 4, outputs: 8, groups: 4, ..plain },
        ConvShape { inputs: 3, outputs: 16, kernel: [7; 2], stride: [2; 2], before: [3; 2], after: [3; 2], ..plain },
        // Few channels: without padding, along lines, and with more taps than are summed up in a chain.
        ConvShape { inputs: 3, kernel: [3, 2], dilation: [2, 3], before: [0; 2], after: [0; 2], ..plain },
        ConvShape { inputs: 1, outputs: 17, kernel: [5, 1], before: [2, 0], after: [2, 0], ..plain },
        ConvShape { inputs: 16, outputs: 40, kernel: [7; 2], before: [3; 2], after: [3; 2], ..plain },
        ConvShape { inputs: 80, outputs: 40, dilation: [2; 2], ..plain },
        ConvShape { inputs: 300, outputs: 20, kernel: [2, 2], before: [0; 2], ..plain },
        // Taps that meet padding only: all but one, some in steps of a run, and all.
        ConvShape { inputs: 40, outputs: 40, dilation: [20; 2], before: [20; 2], after: [20; 2], ..plain },
        ConvShape { inputs: 800, dilation: [6; 2], before: [6; 2], after: [6; 2], ..plain },
        ConvShape { inputs: 36, kernel: [2; 2], dilation: [30; 2], before: [15; 2], after: [15; 2], ..plain },
        ConvShape { inputs: 48, outputs: 32, ..plain },
        ConvShape { inputs: 32, outputs: 80, before: [0, 2], after: [2, 0], ..plain },
    ];
    for (case, shape) in shapes.into_iter().enumerate() {
        let (batch, input, pixel) = (2, [9, 8], shape.inputs + case % 2);
        let taps = shape.kernel[0] * shape.kernel[1];
        let x = numbers(batch * input[0] * input[1] * pixel, 1);
        let w = numbers(shape.outputs * shape.inputs / shape.groups * taps, 2);
        let want = definition(&x, &w, &shape, batch, input, pixel);
        let planes = planes(&x, batch, input, shape.inputs, pixel);
        let algorithms = [Algorithm::Direct, Algorithm::Winograd2, Algorithm::Winograd4];
        for (level, algorithm) in Level::available().flat_map(|level| algorithms.map(|algorithm| (level, algorithm))) {
            let conv = PackedConv::at(level, Weight::Numbers(&w), shape, algorithm, Format::F32);
            // What the transforms are made for.
            let fits = shape.kernel == [3; 2]
                && shape.stride == [1; 2]
                && shape.inputs.min(shape.outputs) / shape.groups >= 16;
            assert_eq!(conv.algorithm(1), if fits { algorithm } else { Algorithm::Direct });
            let mut out = vec![0.0; want.len()];
            let images = Images { layout: Layout::Pixels { distance: pixel }, ..Images::planes(&x, batch, input) };
            conv.run(&mut out, shape.outputs, &images, &Epilogue::default());
            for (i, (got, want)) in out.iter().zip(&want).enumerate() {
                close(*got, *want, shape.inputs * taps, &format!("{level:?} {algorithm:?} case {case} at {i}"));
            }
            let mut again = vec![0.0; want.len()];
            conv.run(&mut again, shape.outputs, &Images::planes(&planes, batch, input), &Epilogue::default());
            assert!(out == again, "{level:?} case {case}: images with the channels first give another result");
        }
    }
}

/// Larger tiles where there are many, or few weights.
#[test]
fn algorithms() {
    let window = |channels| ConvShape {
        kernel: [3; 2],
        before: [1; 2],
        after: [1; 2],
        ..ConvShape::pointwise(channels, channels)
    };
    // Where products take little time beside making weights of taps, the fewer of these are faster.
    let of_few = if Winograd::making(Level::detect()) > 4 { Algorithm::Winograd2 } else { Algorithm::Winograd4 };
    for (channels, images, side, algorithm) in [
        (64, 1, 56, Algorithm::Winograd4),
        (256, 1, 14, Algorithm::Winograd4),
        (512, 1, 7, of_few),
        (256, 8, 14, Algorithm::Winograd4),
        (512, 1, 3, Algorithm::Direct),
        (16, 1, 8, Algorithm::Winograd4),
        (16, 1, 2, Algorithm::Direct),
        (24, 1, 56, Algorithm::Winograd4),
        (15, 1, 56, Algorithm::Direct),
    ] {
        let got = MatrixUnit::with(None, || window(channels).algorithm(images, [side; 2], Format::F32));
        assert_eq!(got, algorithm, "{images}x{side}x{channels}");
    }
    // Of a few tiles the weights of many groups take longer to make, and panels of a group that are half empty to be multiplied with.
    for (group, groups, images, side, algorithm) in [
        (24, 14, 8, 14, Algorithm::Winograd4),
        (24, 37, 1, 7, Algorithm::Direct),
        (16, 32, 1, 7, Algorithm::Direct),
        (32, 32, 8, 7, Algorithm::Winograd4),
        (8, 32, 8, 28, Algorithm::Direct),
    ] {
        let shape = ConvShape { groups, ..window(group * groups) };
        let got = MatrixUnit::with(None, || shape.algorithm(images, [side; 2], Format::F32));
        assert_eq!(got, algorithm, "{images}x{side}, {groups} groups of {group}");
    }
    // Taps that are apart leave no fewer products, as long as every so many pixels fill tiles. What windows see beyond the image costs nothing, and what
    // all tiles of many channels take is more than a cache holds.
    for (inputs, outputs, dilation, side, algorithm) in [
        (256, 256, 2, 32, Algorithm::Winograd4),
        (512, 512, 4, 32, Algorithm::Winograd4),
        (2048, 256, 12, 32, Algorithm::Direct),
        (2048, 256, 24, 32, Algorithm::Direct),
        (64, 64, 30, 32, Algorithm::Direct),
    ] {
        let around = [dilation; 2];
        let shape = ConvShape { inputs, before: around, after: around, dilation: around, ..window(outputs) };
        let got = MatrixUnit::with(None, || shape.algorithm(1, [side; 2], Format::F32));
        assert_eq!(got, algorithm, "{inputs} to {outputs}, {dilation} apart");
    }
    // What is read and written for windows along lines of few channels takes as long as the products; tiles of few pixels are for nothing.
    for (channels, length, taps, algorithm) in [
        (16, 4000, 3, Algorithm::Direct),
        (24, 4000, 3, Algorithm::WinogradLine),
        (256, 200, 3, Algorithm::WinogradLine),
        (256, 17, 3, Algorithm::Direct),
        (192, 17, 7, Algorithm::Direct),
        (192, 400, 7, Algorithm::Winograd4),
    ] {
        for turn in [|[y, x]: [usize; 2]| [y, x], |[y, x]: [usize; 2]| [x, y]] {
            let around = turn([0, taps / 2]);
            let shape = ConvShape { kernel: turn([1, taps]), before: around, after: around, ..window(channels) };
            let got = MatrixUnit::with(None, || shape.algorithm(1, turn([1, length]), Format::F32));
            assert_eq!(got, algorithm, "{taps} taps of {channels} along {length}: {shape:?}");
        }
    }
    let strided = |unit| {
        MatrixUnit::with(unit, || ConvShape { stride: [2; 2], ..window(128) }.algorithm(8, [56; 2], Format::F32))
    };
    assert_eq!(strided(None), Algorithm::Direct);
    // Pairs are multiplied at twice the rate, by a matrix unit at eight times.
    let pairs = crate::simd::has_pairs(Level::detect());
    let in_pieces = if pairs { Algorithm::Bf16x6 } else { Algorithm::Direct };
    assert_eq!(strided(Some(MatrixUnit::Model)), in_pieces);
    for (side, with_pairs, without) in
        [(7, Algorithm::Direct, of_few), (56, Algorithm::Winograd4, Algorithm::Winograd4)]
    {
        let algorithm = |unit, otherwise| {
            let want = if pairs { otherwise } else { without };
            let got = MatrixUnit::with(unit, || window(256).algorithm(1, [side; 2], Format::Bf16));
            assert_eq!(got, want, "{side}, {unit:?}");
        };
        algorithm(None, with_pairs);
        algorithm(Some(MatrixUnit::Model), Algorithm::Direct);
    }
    // Frames of volumes are transformed once for all windows that see them; where there are few tiles, pairs are faster.
    for (channels, size, with_pairs) in [(16, [32, 64, 64], Algorithm::Winograd4), (512, [1, 7, 7], Algorithm::Direct)]
    {
        let shape = VolumeShape { frame: window(channels), depth: 3, stride: 1, dilation: 1, before: 1, after: 1 };
        let algorithm = |format| MatrixUnit::with(None, || shape.algorithm(1, size, format));
        assert_eq!(algorithm(Format::Bf16), if pairs { with_pairs } else { algorithm(Format::F32) }, "{size:?}");
    }
    // Windows of few channels are multiplied in pairs too, but are copied first, unless they fill half of a unit's registers.
    for (unit, otherwise) in [(None, Algorithm::Winograd4), (Some(MatrixUnit::Model), Algorithm::Direct)] {
        let want = if pairs { otherwise } else { Algorithm::Winograd4 };
        let got = MatrixUnit::with(unit, || window(16).algorithm(1, [8; 2], Format::Bf16));
        assert_eq!(got, want, "{unit:?}");
    }
}

#[test]
fn pooling() {
    let (batch, size) = (2, [7, 9]);
    for (kernel, stride, dilation, before, output) in [
        ([3, 3], [2, 2], [1, 1], [1, 1], [4, 5]),
        ([2, 3], [2, 3], [1, 1], [0, 1], [4, 4]),
        ([2, 2], [1, 1], [3, 2], [1, 0], [5, 7]),
        ([7, 9], [1, 1], [1, 1], [0, 0], [1, 1]),
        // All inside, and one pixel wide.
        ([2, 2], [2, 2], [1, 1], [0, 0], [3, 4]),
        ([3, 1], [2, 1], [1, 1], [1, 0], [4, 9]),
        ([2, 1], [3, 1], [2, 1], [0, 0], [2, 9]),
        // The first line sees nothing.
        ([2, 2], [2, 3], [1, 1], [2, 0], [4, 3]),
    ] {
        let rows = batch * output[0] * output[1];
        // So many that they are pooled in parts, and so few that they are all in a vector.
        for (level, channels) in Level::available().flat_map(|level| [3, 37, 450].map(|channels| (level, channels))) {
            let shape = PoolShape { channels, kernel, stride, dilation, before, after: before, output };
            let x = numbers(batch * size[0] * size[1] * channels, 1);
            let images = Images::pixels(&x, batch, size, channels);
            let mut got = vec![vec![0.0; rows * channels]; 4];
            Pool::max(shape).run_at(level, &mut got[0], channels, &images, Words::default());
            for (i, divisor) in [Divisor::Inside, Divisor::Padded, Divisor::Fixed(3.0)].into_iter().enumerate() {
                Pool::avg(shape, divisor).run_at(level, &mut got[i + 1], channels, &images, Words::default());
            }
            for (row, c) in (0..rows).flat_map(|row| (0..channels).map(move |c| (row, c))) {
                let (image, oy, ox) = (row / (output[0] * output[1]), row / output[1] % output[0], row % output[1]);
                let (mut most, mut sum, mut inside, mut padded) = (f64::NEG_INFINITY, 0.0, 0_u32, 0_u32);
                for (ky, kx) in (0..kernel[0]).flat_map(|ky| (0..kernel[1]).map(move |kx| (ky, kx))) {
                    let (y, x0) = (oy * stride[0] + ky * dilation[0], ox * stride[1] + kx * dilation[1]);
                    padded += u32::from(y < size[0] + 2 * before[0] && x0 < size[1] + 2 * before[1]);
                    let (y, x0) = (y.wrapping_sub(before[0]), x0.wrapping_sub(before[1]));
                    if y < size[0] && x0 < size[1] {
                        let number = f64::from(x[((image * size[0] + y) * size[1] + x0) * channels + c]);
                        (most, sum, inside) = (most.max(number), sum + number, inside + 1);
                    }
                }
                let want = [most, sum / f64::from(inside), sum / f64::from(padded), sum / 3.0];
                for (i, want) in want.into_iter().enumerate() {
                    let got = got[i][row * channels + c];
                    // A window that sees nothing.
                    if inside > 0 || want.is_finite() {
                        close(got, want, 9, &format!("{level:?} {shape:?} case {i} at {row}, {c}"));
                    } else {
                        assert!(
                            f64::from(got) == want || got.is_nan() && want.is_nan(),
                            "{level:?} {shape:?} case {i}"
                        );
                    }
                }
            }
        }
    }
}

/// What is between pixels is not read, and stays as it is.
#[test]
fn pooling_with_gaps() {
    let (size, channels, output) = ([6, 8], 70, [3, 4]);
    let x = numbers(size[0] * size[1] * channels, 1);
    let gapped: Vec<f32> = x.chunks_exact(channels).flat_map(|x| [x, &[f32::NAN; 5]].concat()).collect();
    for (kernel, before) in [([2, 2], [0, 0]), ([3, 3], [1, 1])] {
        let shape = PoolShape { channels, kernel, stride: [2; 2], dilation: [1; 2], before, after: before, output };
        for (level, pool) in Level::available()
            .flat_map(|level| [Pool::max(shape), Pool::avg(shape, Divisor::Inside)].map(|pool| (level, pool)))
        {
            let mut want = vec![0.0; output[0] * output[1] * channels];
            pool.run_at(level, &mut want, channels, &Images::pixels(&x, 1, size, channels), Words::default());
            let mut got = vec![7.0; output[0] * output[1] * (channels + 3)];
            let layout = Layout::Pixels { distance: channels + 5 };
            let images = Images { data: &gapped, batch: 1, size, layout };
            pool.run_at(level, &mut got, channels + 3, &images, Words::default());
            for (got, want) in got.chunks_exact(channels + 3).zip(want.chunks_exact(channels)) {
                assert_eq!((&got[..channels], &got[channels..]), (want, &[7.0; 3][..]), "{level:?} {shape:?}");
            }
        }
    }
}

/// A weight that is read row by row as it is packed is the same as one in memory.
#[test]
fn weights_that_are_read() {
    let x = numbers(2 * 16 * 16 * 64, 1);
    let three = ConvShape { kernel: [3; 2], before: [1; 2], after: [1; 2], ..ConvShape::pointwise(64, 48) };
    let shapes = [
        three,
        ConvShape::pointwise(64, 70),
        ConvShape { groups: 2, ..three },
        ConvShape { groups: 64, outputs: 64, ..three },
        ConvShape { inputs: 3, ..three },
    ];
    let ways = [Algorithm::Direct, Algorithm::Winograd2, Algorithm::Winograd4]
        .into_iter()
        .flat_map(|algorithm| [Format::F32, Format::Bf16, Format::F16].map(|format| (algorithm, format)));
    for ((algorithm, format), shape) in ways.flat_map(|way| shapes.map(|shape| (way, shape))) {
        let len = shape.inputs / shape.groups * shape.kernel[0] * shape.kernel[1];
        let w = numbers(shape.outputs * len, 2);
        let read = |rows: Range<usize>, to: &mut [f32]| to.copy_from_slice(&w[rows.start * len..rows.end * len]);
        let both = [Weight::Numbers(&w), Weight::Rows(&read)].map(|weight| {
            let conv = PackedConv::with(weight, shape, algorithm, format);
            let mut out = vec![0.0; 2 * 16 * 16 * shape.outputs];
            let images = Images::pixels(&x, 2, [16; 2], shape.inputs);
            conv.run(&mut out, shape.outputs, &images, &Epilogue::default());
            (out, conv.algorithm(1), conv.format())
        });
        assert!(both[0] == both[1], "{algorithm:?} {format:?} {shape:?}");
        let both = [Weight::Numbers(&w), Weight::Rows(&read)].map(|weight| {
            let layer = PackedLinear::with(weight, shape.outputs, len, Algorithm::Strassen, format);
            let mut out = vec![0.0; 3 * shape.outputs];
            layer.run(&mut out, shape.outputs, &x, len, 3, &Epilogue::default());
            (out, layer.format())
        });
        assert!(both[0] == both[1], "{format:?} {} by {len}", shape.outputs);
    }
}

/// Rows so long that few are read at a time, in numbers that fill panels or do not.
#[test]
fn long_rows_are_read_in_parts() {
    for (outputs, inputs) in [(70, 20_000), (32, 9001), (5, 140_000)] {
        let (x, w) = (numbers(inputs, 1), numbers(outputs * inputs, 2));
        let most = std::sync::atomic::AtomicUsize::new(0);
        let read = |rows: Range<usize>, to: &mut [f32]| {
            most.fetch_max(rows.len(), std::sync::atomic::Ordering::Relaxed);
            to.copy_from_slice(&w[rows.start * inputs..rows.end * inputs]);
        };
        for format in [Format::F32, Format::Bf16] {
            let both = [Weight::Numbers(&w), Weight::Rows(&read)].map(|weight| {
                let layer = PackedLinear::with(weight, outputs, inputs, Algorithm::Direct, format);
                let mut out = vec![0.0; outputs];
                layer.run(&mut out, outputs, &x, inputs, 1, &Epilogue::default());
                out
            });
            assert!(both[0] == both[1], "{format:?} {outputs} by {inputs}");
        }
        assert!(most.into_inner() < 24, "{outputs} by {inputs}");
    }
}

/// Tiles that share a step bring in each line of what comes next once, or one of each pair; of some, each has pairs of its own.
#[test]
fn tiles_share_what_comes_next() {
    use std::collections::BTreeSet;

    use super::product::far;
    use crate::memory::LINE;
    for width in [LINE, 2 * LINE] {
        let lines = tile::UNROLL * width / LINE;
        let panel = vec![0.0; 64 * LINE];
        let steps = (panel.as_ptr(), 8 * LINE);
        let next = panel[32 * LINE..].as_ptr();
        for of in 2..=lines + 3 {
            let shares: Vec<_> = (0..of).map(|share| far((share, of), steps, next, width)).collect();
            let line = |at: usize| (at - 32 * LINE) / LINE;
            // Who has nothing to bring in asks for its own place.
            let asked = |&&(at, _): &&(usize, usize)| at > 0;
            let asked: Vec<_> = shares.iter().filter(asked).map(|&(a, b)| [line(a), line(b)]).collect();
            let all: BTreeSet<_> = asked.iter().flatten().copied().collect();
            let pairs: BTreeSet<_> = all.iter().map(|line| line / 2).collect();
            assert_eq!(pairs, (0..lines / 2).collect(), "{of} tiles, {lines} lines");
            if of >= lines / 2 {
                assert_eq!(all.len(), lines, "{of} tiles, {lines} lines");
            }
            if (lines / 2..lines).contains(&of) {
                assert!(asked.iter().all(|[a, b]| a / 2 == b / 2), "{of} tiles share pairs: {asked:?}");
            }
        }
    }
}
