//! Rows that are multiplied with several panels at once.

use super::*;

/// Taps that meet padding only are passed over in every panel, for a single row and for tiles of many.
#[test]
fn panels_side_by_side() {
    let window = |inputs, outputs| ConvShape {
        kernel: [3; 2],
        before: [1; 2],
        after: [1; 2],
        ..ConvShape::pointwise(inputs, outputs)
    };
    let far = ConvShape { dilation: [13; 2], before: [13; 2], after: [13; 2], ..window(18, 140) };
    for (shape, input) in [(window(40, 600), [1, 1]), (window(18, 140), [24, 25]), (far, [24, 25])] {
        let x = numbers(input[0] * input[1] * shape.inputs, 1);
        let w = numbers(shape.outputs * shape.inputs * 9, 2);
        let want = definition(&x, &w, &shape, 1, input, shape.inputs);
        for level in Level::available() {
            let conv = PackedConv::at(level, Weight::Numbers(&w), shape, Algorithm::Direct, Format::F32);
            let mut out = vec![0.0; want.len()];
            conv.run(&mut out, shape.outputs, &Images::pixels(&x, 1, input, shape.inputs), &Epilogue::default());
            for (i, (got, want)) in out.iter().zip(&want).enumerate() {
                close(*got, *want, shape.inputs * 9, &format!("{level:?} {input:?} at {i}"));
            }
        }
    }
}

/// Rows enough for narrow panels that stay in the cache to go together, of which each step is added to the ones before.
#[test]
fn panels_step_by_step() {
    let (m, n, k) = (211, 90, 1700);
    let (x, w, bias, residual) = (numbers(m * k, 1), numbers(n * k, 2), numbers(n, 3), numbers(m * n, 4));
    let sum = |i: usize, j: usize| (0..k).map(|p| f64::from(x[i * k + p]) * f64::from(w[j * k + p])).sum::<f64>();
    let sums: Vec<f64> = (0..m * n).map(|index| sum(index / n, index % n)).collect();
    for (level, case) in Level::available().flat_map(|level| (0..8).map(move |case| (level, case))) {
        let layer = PackedLinear::at(level, Weight::Numbers(&w), [n, k], Algorithm::Direct, Format::F32);
        let mut out = vec![0.25; m * n];
        layer.run(&mut out, n, &x, k, m, &following(case, &bias, &residual, n));
        for (i, (got, sum)) in out.iter().zip(&sums).enumerate() {
            close(*got, followed(*sum, case, bias[i % n], residual[i]), k, &format!("{level:?} case {case} at {i}"));
        }
    }
}

/// The same of windows, whose runs are in several steps, and of their bytes, which tiles go together for where a step has all runs.
#[test]
fn runs_step_by_step() {
    let (input, range) = ([17, 13], quantized::RANGES[0]);
    for (inputs, outputs, before) in [(100, 70, 1), (400, 40, 0), (400, 40, 1), (40, 200, 1)] {
        let around = [before; 2];
        let shape =
            ConvShape { kernel: [3; 2], before: around, after: around, ..ConvShape::pointwise(inputs, outputs) };
        let (x, w) = (numbers(input[0] * input[1] * inputs, 1), quantized::bytes(outputs * inputs * 9, 2));
        let (scales, rounded) = (quantized::scales(outputs), |x: &f32| quantized::rounded(*x, range) as f32);
        let images = Images::pixels(&x, 1, input, inputs);
        let numbers: Vec<f32> = w.iter().map(|x| f32::from(*x) / 256.0).collect();
        let want = definition(&x, &numbers, &shape, 1, input, inputs);
        let whole: Vec<f32> = x.iter().map(rounded).collect();
        let scaled: Vec<f32> = w.iter().enumerate().map(|(i, x)| f32::from(*x) * scales[i / (9 * inputs)]).collect();
        let want_whole = definition(&whole, &scaled, &shape, 1, input, inputs);
        for level in Level::available() {
            let mut out = vec![0.0; want.len()];
            let conv = PackedConv::at(level, Weight::Numbers(&numbers), shape, Algorithm::Direct, Format::F32);
            conv.run(&mut out, outputs, &images, &Epilogue::default());
            for (i, (got, want)) in out.iter().zip(&want).enumerate() {
                close(*got, *want, inputs * 9, &format!("{level:?} {shape:?} at {i}"));
            }
            let conv = QuantizedConv::at(level, Bytes { weight: &w, scales: &scales, bits: range.bits() }, shape);
            conv.run(&mut out, outputs, &images, range, &Epilogue::default());
            for (i, (got, want)) in out.iter().zip(&want_whole).enumerate() {
                close(*got, *want, 36 * inputs, &format!("{level:?} bytes, {shape:?} at {i}"));
            }
        }
    }
}

/// Half floats, of which the panels of a set are widened together.
#[test]
fn halves_step_by_step() {
    let (m, n, k) = (211, 90, 1700);
    let (x, w, bias, residual) = (numbers(m * k, 1), numbers(n * k, 2), numbers(n, 3), numbers(m * n, 4));
    for format in [Format::Bf16, Format::F16] {
        let rounded = rounded(&w, format);
        for level in Level::available() {
            let [halves, wide] = [(&w, format), (&rounded, Format::F32)].map(|(w, format)| {
                let layer = PackedLinear::at(level, Weight::Numbers(w), [n, k], Algorithm::Direct, format);
                let mut out = vec![0.25; m * n];
                layer.run(&mut out, n, &x, k, m, &following(7, &bias, &residual, n));
                out
            });
            // Where the processor multiplies pairs, the other operand is rounded too.
            let most = if format == Format::Bf16 && crate::simd::has_pairs(level) { 0.05 } else { 1e-4 };
            for (i, (got, want)) in halves.iter().zip(&wide).enumerate() {
                assert!((got - want).abs() < most, "{level:?} {format:?} at {i}: {got}, not {want}");
            }
        }
    }
}
