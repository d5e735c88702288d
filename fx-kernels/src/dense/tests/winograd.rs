//! Winograd's algorithm against the direct one, and against the definition.

use super::*;

/// What follows, gaps between pixels, infinities and NaN, as by the definition.
#[test]
fn winograd_is_as_direct() {
    // Weights that are kept for the smaller tiles, and such as are transformed in several steps for two panels.
    for (inputs, outputs) in [(48, 32), (272, 48)] {
        winograd_as_direct(inputs, outputs);
    }
}

fn winograd_as_direct(inputs: usize, outputs: usize) {
    let (batch, input, stride) = (2, [9, 8], outputs + 3);
    let shape = ConvShape { kernel: [3; 2], before: [1; 2], after: [1; 2], ..ConvShape::pointwise(inputs, outputs) };
    let (w, bias) = (numbers(inputs * outputs * 9, 2), numbers(outputs, 3));
    let mut x = numbers(batch * input[0] * input[1] * inputs, 1);
    for (finite, (level, case)) in
        [true, false].into_iter().flat_map(|f| Level::available().flat_map(move |l| (0..8).map(move |c| (f, (l, c)))))
    {
        if !finite {
            (x[inputs * 20 + 5], x[inputs * 60 + 7], x[inputs * 99]) = (f32::INFINITY, f32::NAN, f32::NEG_INFINITY);
        }
        let pixels = batch * input[0] * input[1];
        let residual = numbers(pixels * outputs, 4);
        let epilogue = following(case, &bias, &residual, outputs);
        let run = |algorithm: Algorithm| {
            let conv = PackedConv::at(level, Weight::Numbers(&w), shape, algorithm, Format::F32);
            assert_eq!(conv.algorithm(1), algorithm);
            let mut out = vec![0.25; pixels * stride];
            conv.run(&mut out, stride, &Images::pixels(&x, batch, input, inputs), &epilogue);
            out
        };
        let direct = run(Algorithm::Direct);
        for algorithm in [Algorithm::Winograd2, Algorithm::Winograd4] {
            let winograd = run(algorithm);
            for (i, (got, want)) in winograd.iter().zip(&direct).enumerate() {
                let same =
                    got == want || got.is_nan() && want.is_nan() || (got - want).abs() < 1e-5 * (inputs as f32 / 48.0);
                assert!(same, "{algorithm:?} {level:?} case {case}, finite {finite}, at {i}: {got}, not {want}");
            }
            assert!(finite || case % 4 > 0 || winograd.iter().any(|x| x.is_infinite()));
        }
    }
    for algorithm in [Algorithm::Winograd2, Algorithm::Winograd4] {
        let overflowing =
            PackedConv::with(Weight::Numbers(&vec![f32::MAX; inputs * outputs * 9]), shape, algorithm, Format::F32);
        assert_eq!(overflowing.algorithm(1), Algorithm::Direct);
    }
}

/// Rounding errors relative to the sums, root mean square: those of the larger tiles are about three times the direct
/// algorithm's.
#[test]
fn winograd_is_accurate() {
    let (input, channels) = ([12, 11], 256);
    let shape = ConvShape { kernel: [3; 2], before: [1; 2], after: [1; 2], ..ConvShape::pointwise(channels, 32) };
    let (x, w) = (numbers(input[0] * input[1] * channels, 1), numbers(32 * channels * 9, 2));
    let want = definition(&x, &w, &shape, 1, input, channels);
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    for level in Level::available() {
        for (algorithm, most) in
            [(Algorithm::Direct, 1.0e-6), (Algorithm::Winograd2, 1.0e-6), (Algorithm::Winograd4, 2.0e-6)]
        {
            let mut out = vec![0.0; want.len()];
            let conv = PackedConv::at(level, Weight::Numbers(&w), shape, algorithm, Format::F32);
            conv.run(&mut out, 32, &Images::pixels(&x, 1, input, channels), &Epilogue::default());
            let errors: Vec<f64> = out.iter().zip(&want).map(|(got, want)| f64::from(*got) - want).collect();
            let error = norm(&errors) / norm(&want);
            println!("{algorithm:?} at {level:?}: {error:e}");
            assert!(error < most, "{algorithm:?} at {level:?}: {error:e}");
        }
    }
}

/// A tile's sums are the same in a part of any size.
#[test]
fn threads_change_no_tile() {
    let shape = ConvShape { kernel: [3; 2], before: [1; 2], after: [1; 2], ..ConvShape::pointwise(64, 64) };
    let weight = numbers(64 * 64 * 9, 2);
    for (level, algorithm) in
        Level::available().flat_map(|level| [Algorithm::Winograd2, Algorithm::Winograd4].map(|way| (level, way)))
    {
        let conv = PackedConv::at(level, Weight::Numbers(&weight), shape, algorithm, Format::F32);
        for size in [[2, 2], [2, 7], [6, 6], [8, 9]] {
            let x = numbers(2 * size[0] * size[1] * 64, 1);
            let [one, many] = of_threads(|| {
                let mut out = vec![0.0; x.len()];
                conv.run(&mut out, 64, &Images::pixels(&x, 2, size, 64), &Epilogue::default());
                out
            });
            assert_eq!(one, many, "{level:?} {algorithm:?} of {size:?}");
        }
    }
}
