//! Weights in half floats.

use super::*;

/// Half floats are rounded once, and the sums are in f32.
#[test]
fn weights_in_half_floats() {
    let both = |level| [Format::Bf16, Format::F16].map(|format| (level, format));
    for (level, format) in Level::available().flat_map(both) {
        let left = if format == Format::Bf16 && crate::simd::has_pairs(level) { format } else { Format::F32 };
        for (m, n, k) in [
            (1, 33, 70),
            (1, 1500, 700),
            (3, 16, 6),
            (14, 32, 64),
            (29, 65, 202),
            (57, 101, 1602),
            (2, 8, 0),
            (4, 9, 5),
            (1, 40, 415),
            (37, 33, 17),
            (70, 48, 1601),
        ] {
            let (x, w, bias) = (numbers(m * k, 1), numbers(n * k, 2), numbers(n, 3));
            let layer = PackedLinear::at(level, Weight::Numbers(&w), [n, k], Algorithm::Direct, format);
            // Rows of an odd number are filled up for pairs.
            let is_kept = k % 2 == 0 || k > 16 && left == Format::Bf16;
            assert_eq!(layer.format(), if is_kept { format } else { Format::F32 });
            let (left, right) = if is_kept { (left, format) } else { (Format::F32, Format::F32) };
            let (x_kept, w_kept) = (rounded(&x, left), rounded(&w, right));
            let mut out = vec![0.25; m * n];
            layer.run(&mut out, n, &x, k, m, &following(5, &bias, &[], 0));
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let sum = (0..k).map(|p| f64::from(x_kept[i * k + p]) * f64::from(w_kept[j * k + p])).sum::<f64>();
                let what = format!("{level:?} {format:?} {m}x{n}x{k} at {i}, {j}");
                close(out[i * n + j], followed(sum, 5, bias[j], 0.0), k, &what);
            }
        }
        let plain = ConvShape { kernel: [3; 2], before: [1; 2], after: [1; 2], ..ConvShape::pointwise(34, 40) };
        for (case, shape) in [
            plain,
            ConvShape { stride: [2; 2], ..ConvShape::pointwise(34, 7) },
            ConvShape { stride: [1, 2], dilation: [2, 1], ..plain },
            ConvShape { inputs: 512, outputs: 20, ..plain },
            ConvShape { groups: 2, ..plain },
            ConvShape { groups: 17, outputs: 34, ..plain },
            // Few channels.
            ConvShape { kernel: [7; 2], stride: [2; 2], before: [3; 2], after: [2, 3], ..ConvShape::pointwise(3, 20) },
            ConvShape { inputs: 11, stride: [1, 2], dilation: [2, 1], ..plain },
            ConvShape { inputs: 16, outputs: 33, dilation: [1, 2], before: [0, 4], after: [1, 0], ..plain },
            ConvShape { inputs: 5, kernel: [1, 9], before: [0, 4], after: [0, 4], ..plain },
            ConvShape {
                inputs: 9,
                outputs: 70,
                kernel: [4, 1],
                dilation: [3, 1],
                before: [5, 0],
                after: [4, 0],
                ..plain
            },
            ConvShape { inputs: 16, outputs: 16, kernel: [7; 2], before: [3; 2], after: [3; 2], ..plain },
            // Too few.
            ConvShape { inputs: 1, outputs: 16, ..plain },
        ]
        .into_iter()
        .enumerate()
        {
            let (batch, input, taps) = (2, [9, 8], shape.kernel[0] * shape.kernel[1]);
            let x = numbers(batch * input[0] * input[1] * shape.inputs, 1);
            let w = numbers(shape.outputs * shape.inputs / shape.groups * taps, 2);
            let conv = PackedConv::at(level, Weight::Numbers(&w), shape, Algorithm::Direct, format);
            // Few channels are kept in pairs, whatever their number.
            let kept = match case {
                0..6 => shape.inputs / shape.groups % 2 == 0,
                6..12 => left == Format::Bf16,
                _ => false,
            };
            assert_eq!(conv.format(), if kept { format } else { Format::F32 });
            let (left, right) = if kept { (left, format) } else { (Format::F32, Format::F32) };
            let want = definition(&rounded(&x, left), &rounded(&w, right), &shape, batch, input, shape.inputs);
            let mut out = vec![0.0; want.len()];
            let images = Images::pixels(&x, batch, input, shape.inputs);
            conv.run(&mut out, shape.outputs, &images, &Epilogue::default());
            for (i, (got, want)) in out.iter().zip(&want).enumerate() {
                close(*got, *want, shape.inputs * taps, &format!("{level:?} {format:?} case {case} at {i}"));
            }
            let mut again = vec![0.0; want.len()];
            let planes = planes(&x, batch, input, shape.inputs, shape.inputs);
            conv.run(&mut again, shape.outputs, &Images::planes(&planes, batch, input), &Epilogue::default());
            assert!(out == again, "{level:?} {format:?} case {case}: channels first give another result");
        }
    }
    let large = PackedLinear::from_matrix(Matrix::rows(&[1e5, 1.0], 2, 1), Algorithm::Direct, Format::F16);
    assert_eq!(large.format(), Format::F32, "a weight that f16 has no number for is kept");
}

/// What lies between rows of an odd number of inputs, or follows the last one, is not multiplied, and a row's sums are its own: by vectors and
/// by units, with any number of threads.
#[test]
fn rows_that_are_filled_up() {
    let (m, n, k, stride) = (50, 40, 33, 34);
    let w = numbers(n * k, 2);
    for level in Level::available() {
        let layer = PackedLinear::at(level, Weight::Numbers(&w), [n, k], Algorithm::Direct, Format::Bf16);
        assert_eq!((layer.inputs(), layer.reads_words()), (k, false));
        let mut x = numbers(m * stride - 1, 1);
        let run = |x: &[f32], unit| {
            of_threads(|| {
                let mut out = vec![0.0; m * n];
                MatrixUnit::with(unit, || layer.run(&mut out, n, x, stride, m, &Epilogue::default()));
                out
            })
        };
        let [vectors, units] = [None, Some(MatrixUnit::Model)].map(|unit| run(&x, unit));
        (k..x.len()).step_by(stride).for_each(|gap| x[gap] = f32::NAN);
        x[3 * stride + 5] = f32::INFINITY;
        for (unit, finite) in [(None, vectors), (Some(MatrixUnit::Model), units)] {
            let [one, many] = run(&x, unit);
            let same = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same(&one, &many) && same(&finite[0], &finite[1]), "{level:?} {unit:?}: threads change it");
            for (row, (got, want)) in one.chunks_exact(n).zip(finite[0].chunks_exact(n)).enumerate() {
                match row {
                    3 => assert!(got.iter().all(|x| x.is_infinite()), "{level:?} {unit:?}: {got:?}"),
                    _ => assert_eq!(got, want, "{level:?} {unit:?}: row {row}"),
                }
            }
        }
    }
}

/// What is no number is in the sums of its windows only, wherever they are copied to.
#[test]
fn few_channels_do_not_spread_what_is_no_number() {
    let (size, shape) = ([6, 7], ConvShape { kernel: [3; 2], ..ConvShape::pointwise(3, 40) });
    let w = vec![1.0; shape.outputs * 27];
    for (level, place) in Level::available().flat_map(|level| (0..size[0] * size[1]).map(move |place| (level, place))) {
        let mut x = numbers(size[0] * size[1] * 3, 1);
        x[3 * place..3 * place + 3].fill(f32::NAN);
        for unit in [None, Some(MatrixUnit::Model)] {
            let mut out = vec![0.0; 4 * 5 * 40];
            MatrixUnit::with(unit, || {
                let conv = PackedConv::at(level, Weight::Numbers(&w), shape, Algorithm::Direct, Format::Bf16);
                conv.run(&mut out, 40, &Images::pixels(&x, 1, size, 3), &Epilogue::default());
            });
            for (row, got) in out.chunks_exact(40).enumerate() {
                let [y, x] = [row / 5, row % 5];
                let has = (y..y + 3).contains(&(place / size[1])) && (x..x + 3).contains(&(place % size[1]));
                assert!(got.iter().all(|got| got.is_nan() == has), "{level:?}, {unit:?}, {place}: row {row}");
            }
        }
    }
}

/// Functions of sums that become pairs need fewer digits: they are as near as what is lost then.
#[test]
fn functions_of_sums_that_are_rounded() {
    let functions = [Unary::Silu, Unary::Gelu, Unary::GeluTanh, Unary::Hardswish, Unary::Sigmoid];
    for (level, function) in Level::available().flat_map(|level| functions.map(|function| (level, function))) {
        // Panels that are full, one vector wide or neither, and more steps than go down a panel at once.
        for (m, n, k) in [(1, 64, 34), (13, 96, 40), (70, 40, 24), (29, 16, 12), (40, 54, 1700), (3, 18, 8)] {
            let (x, w, bias, residual) = (numbers(m * k, 1), numbers(n * k, 2), numbers(n, 3), numbers(m * n, 4));
            let layer = PackedLinear::at(level, Weight::Numbers(&w), [n, k], Algorithm::Direct, Format::Bf16);
            if !layer.writes_words(Rounded::Pairs) {
                continue;
            }
            let residual = Some(Residual { data: &residual, stride: n });
            let epilogue = Epilogue { bias: Some(&bias), residual, activation: Some(function), ..Epilogue::default() };
            let mut want = vec![0.0; m * n];
            layer.run(&mut want, n, &x, k, m, &epilogue);
            let words = Words::default().writing(Rounded::Pairs);
            let mut got = vec![0.0; m * n / 2];
            layer.run_words(&mut got, n / 2, &x, k, m, words, &epilogue);
            let got = got.iter().flat_map(|word| words::halves(*word));
            for (index, (got, want)) in got.zip(&want).enumerate() {
                let is_near = (got - want).abs() <= (1.0 / 256.0 + 1.3e-3) * want.abs() + 1e-6;
                assert!(is_near, "{level:?} {function} {m}x{n}x{k} at {index}: {got}, not {want}");
            }
        }
    }
}
