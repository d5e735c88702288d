//! Winograd's algorithm against the direct one, and against the definition.

use super::*;

/// What follows, gaps between pixels, infinities and NaN, as by the definition.
#[test]
fn winograd_is_as_direct() {
    // Weights that are kept for the smaller tiles, and such as are transformed in several steps for two panels.
    for (inputs, outputs) in [(48, 32), (272, 48)] {
        winograd_as_direct(inputs, outputs, 1, [1; 2]);
    }
}

/// Channels that are no whole vectors, groups of them, and groups of several panels.
#[test]
fn winograd_of_any_channels() {
    for (inputs, outputs, groups) in
        [(17, 19, 1), (84, 100, 1), (120, 120, 5), (120, 66, 3), (128, 64, 4), (90, 142, 2)]
    {
        winograd_as_direct(inputs, outputs, groups, [1; 2]);
    }
}

/// Groups of so many tiles that one thread takes a few at a time, of which the last ones are fewer, and several threads share out the tiles.
#[test]
fn winograd_of_sets_of_groups() {
    let (batch, input, [inputs, outputs], groups) = (2, [33, 30], [120, 90], 5);
    let plain = ConvShape { groups, ..ConvShape::pointwise(inputs, outputs) };
    let shape = ConvShape { kernel: [3; 2], before: [1; 2], after: [1; 2], ..plain };
    let pixels = batch * input[0] * input[1];
    let (x, w) = (numbers(pixels * inputs, 1), numbers(inputs / groups * outputs * 9, 2));
    for level in Level::available() {
        let run = |algorithm| {
            let conv = PackedConv::at(level, Weight::Numbers(&w), shape, algorithm, Format::F32);
            of_threads(|| {
                let mut out = vec![0.0; pixels * outputs];
                conv.run(&mut out, outputs, &Images::pixels(&x, batch, input, inputs), &Epilogue::default());
                out
            })
        };
        let [direct, _] = run(Algorithm::Direct);
        for algorithm in [Algorithm::Winograd2, Algorithm::Winograd4] {
            let [one, many] = run(algorithm);
            assert!(one.iter().zip(&direct).all(|(x, y)| (x - y).abs() < 1e-5), "{algorithm:?} {level:?}");
            assert!(one == many, "{algorithm:?} {level:?}: threads change it");
        }
    }
}

/// Windows whose taps are apart, of images of few lines and columns each, of one, and of some that have fewer than others.
#[test]
fn dilated_winograd_is_as_direct() {
    for dilation in [[2; 2], [1, 3], [5, 2], [12, 20]] {
        winograd_as_direct(48, 32, 1, dilation);
    }
}

/// Windows along lines, or columns, of which images have several: of lines that tiles or folded ones fill or not, with padding wider than what windows see and
/// none, and with taps apart; by the definition, also where what is not finite lies beside a window.
#[test]
fn windows_along_lines_are_as_direct() {
    let cases = [
        ((3, 1), [0, 0], [1, 6], ([17, 19], 1)),
        ((3, 1), [1, 1], [3, 8], ([48, 32], 1)),
        ((3, 1), [5, 2], [2, 41], ([272, 48], 1)),
        ((3, 4), [4, 4], [2, 39], ([48, 34], 2)),
        ((3, 9), [18, 0], [1, 31], ([120, 90], 5)),
        ((4, 1), [0, 0], [1, 7], ([17, 19], 1)),
        ((5, 1), [2, 2], [3, 9], ([48, 32], 1)),
        ((7, 1), [3, 3], [2, 40], ([48, 34], 2)),
        ((9, 1), [4, 4], [1, 31], ([272, 48], 1)),
        ((9, 1), [11, 2], [2, 5], ([32, 16], 1)),
        ((7, 3), [18, 0], [1, 50], ([48, 48], 1)),
        ((6, 5), [12, 13], [2, 23], ([16, 32], 1)),
    ];
    let turned = [false, true].into_iter().flat_map(|is_column| cases.map(|case| (is_column, case)));
    for (is_column, ((width, apart), [before, after], input, ([inputs, outputs], groups))) in turned {
        let turn = |[y, x]: [usize; 2]| if is_column { [x, y] } else { [y, x] };
        let (input, kernel, dilation) = (turn(input), turn([1, width]), turn([1, apart]));
        let (before, after) = (turn([0, before]), turn([0, after]));
        let plain = ConvShape { groups, ..ConvShape::pointwise(inputs, outputs) };
        let shape = ConvShape { kernel, dilation, before, after, ..plain };
        let (batch, stride) = (2, outputs + 3);
        let (w, bias) = (numbers(inputs / groups * outputs * width, 2), numbers(outputs, 3));
        let mut x = numbers(batch * input[0] * input[1] * inputs, 1);
        let pixels = batch * shape.output(input).iter().product::<usize>();
        let residual = numbers(pixels * outputs, 4);
        for (finite, (level, case)) in [true, false]
            .into_iter()
            .flat_map(|f| Level::available().flat_map(move |l| (0..8).map(move |c| (f, (l, c)))))
        {
            if !finite {
                (x[5], x[inputs * 6 + 7], x[inputs * 9]) = (f32::INFINITY, f32::NAN, f32::NEG_INFINITY);
            }
            let epilogue = following(case, &bias, &residual, outputs);
            let run = |algorithm: Algorithm| {
                let conv = PackedConv::at(level, Weight::Numbers(&w), shape, algorithm, Format::F32);
                assert_eq!(conv.algorithm(1), algorithm);
                of_threads(|| {
                    let mut out = vec![0.25; pixels * stride];
                    conv.run(&mut out, stride, &Images::pixels(&x, batch, input, inputs), &epilogue);
                    out
                })
            };
            let winograd = if width == 3 { Algorithm::WinogradLine } else { Algorithm::Winograd4 };
            let ([direct, _], [one, many]) = (run(Algorithm::Direct), run(winograd));
            for (i, (got, want)) in one.iter().zip(&direct).enumerate() {
                let near = (got - want).abs() < 1.5e-5 * (inputs as f32 / 48.0).max(1.0);
                let same = got == want || got.is_nan() && want.is_nan() || near;
                assert!(same, "{level:?} {shape:?} case {case}, finite {finite}, at {i}: {got}, not {want}");
            }
            let is_same = one.iter().zip(&many).all(|(one, many)| one.to_bits() == many.to_bits());
            assert!(is_same, "{level:?} {shape:?} case {case}, finite {finite}: threads change it");
        }
    }
}

fn winograd_as_direct(inputs: usize, outputs: usize, groups: usize, dilation: [usize; 2]) {
    let (batch, input, stride) = (2, [9, 8], outputs + 3);
    let (before, plain) = (dilation, ConvShape::pointwise(inputs, outputs));
    let shape = ConvShape { kernel: [3; 2], before, after: before, dilation, groups, ..plain };
    let (w, bias) = (numbers(inputs / groups * outputs * 9, 2), numbers(outputs, 3));
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
                // Functions are up to half again as steep as sums.
                let same = got == want
                    || got.is_nan() && want.is_nan()
                    || (got - want).abs() < 1.5e-5 * (inputs as f32 / 48.0).max(1.0);
                assert!(same, "{algorithm:?} {level:?} case {case}, finite {finite}, at {i}: {got}, not {want}");
            }
            assert!(finite || case % 4 > 0 || winograd.iter().any(|x| x.is_infinite()));
        }
    }
    for algorithm in [Algorithm::Winograd2, Algorithm::Winograd4] {
        let overflowing = PackedConv::with(Weight::Numbers(&vec![f32::MAX; w.len()]), shape, algorithm, Format::F32);
        assert_eq!(overflowing.algorithm(1), Algorithm::Direct);
    }
}

/// Rounding errors relative to the sums, root mean square: those of the larger tiles are about three times the direct
/// algorithm's.
#[test]
fn winograd_is_accurate() {
    let (input, channels) = ([12, 11], 256);
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    for (height, algorithm, most) in [
        (3, Algorithm::Direct, 1.0e-6),
        (3, Algorithm::Winograd2, 1.0e-6),
        (3, Algorithm::Winograd4, 2.0e-6),
        (1, Algorithm::WinogradLine, 1.0e-6),
    ] {
        let (kernel, around) = ([height, 3], [height / 2, 1]);
        let shape = ConvShape { kernel, before: around, after: around, ..ConvShape::pointwise(channels, 32) };
        let (x, w) = (numbers(input[0] * input[1] * channels, 1), numbers(32 * channels * height * 3, 2));
        let want = definition(&x, &w, &shape, 1, input, channels);
        for level in Level::available() {
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

/// A tile's sums are the same in a part of any size, and of any groups.
#[test]
fn threads_change_no_tile() {
    for (channels, groups) in [(64, 1), (120, 5), (192, 4)] {
        let plain = ConvShape { groups, ..ConvShape::pointwise(channels, channels) };
        let shape = ConvShape { kernel: [3; 2], before: [1; 2], after: [1; 2], ..plain };
        let weight = numbers(channels / groups * channels * 9, 2);
        for (level, algorithm) in
            Level::available().flat_map(|level| [Algorithm::Winograd2, Algorithm::Winograd4].map(|way| (level, way)))
        {
            let conv = PackedConv::at(level, Weight::Numbers(&weight), shape, algorithm, Format::F32);
            for size in [[2, 2], [2, 7], [6, 6], [8, 9]] {
                let x = numbers(2 * size[0] * size[1] * channels, 1);
                let [one, many] = of_threads(|| {
                    let mut out = vec![0.0; x.len()];
                    conv.run(&mut out, channels, &Images::pixels(&x, 2, size, channels), &Epilogue::default());
                    out
                });
                assert_eq!(one, many, "{level:?} {algorithm:?} of {size:?}, {groups} groups");
            }
        }
    }
}

/// Frames of volumes, of which windows see several, all, or none, by the definition too where they are not finite: in one part, in parts of
/// a frame's tiles, and of frames.
#[test]
fn volumes_by_winograd() {
    // How many channels, what windows see of the frames, and how large volumes are.
    let all = [
        ([16, 32], (3, 1, 1, [1, 1]), 2, [5, 9, 8]),
        ([48, 48], (3, 2, 1, [1, 1]), 1, [6, 9, 17]),
        ([272, 48], (2, 1, 3, [2, 2]), 2, [4, 5, 6]),
        ([16, 16], (2, 3, 1, [3, 4]), 2, [2, 5, 5]),
        ([32, 16], (3, 1, 1, [0, 0]), 1, [3, 6, 6]),
        ([16, 16], (3, 1, 1, [1, 1]), 1, [700, 4, 3]),
        ([64, 64], (3, 1, 2, [2, 2]), 1, [200, 3, 4]),
    ];
    let in_groups = [([60, 120], (3, 1, 1, [1, 1]), 2, [5, 9, 8]), ([72, 66], (2, 1, 2, [2, 1]), 1, [6, 4, 7])];
    let of_lines = [([32, 48], (3, 1, 1, [1, 1]), 2, [5, 9, 8]), ([48, 16], (2, 2, 1, [0, 1]), 1, [6, 4, 7])];
    let all = all
        .into_iter()
        .map(|case| (3, 1, case))
        .chain(in_groups.into_iter().map(|case| (3, 3, case)))
        .chain(of_lines.into_iter().map(|case| (1, 1, case)));
    for (height, groups, ([inputs, outputs], (depth, stride, dilation, [before, after]), batch, size)) in all {
        let plain = ConvShape { groups, ..ConvShape::pointwise(inputs, outputs) };
        let around = [height / 2, 1];
        let frame = ConvShape { kernel: [height, 3], before: around, after: around, ..plain };
        let shape = VolumeShape { frame, depth, stride, dilation, before, after };
        let (w, bias) = (numbers(inputs / groups * outputs * depth * height * 3, 2), numbers(outputs, 3));
        let mut x = numbers(batch * size.iter().product::<usize>() * inputs, 1);
        for (finite, level) in [true, false].into_iter().flat_map(|f| Level::available().map(move |l| (f, l))) {
            if !finite {
                (x[5], x[inputs * 30 + 7], x[inputs * 35]) = (f32::INFINITY, f32::NAN, f32::NEG_INFINITY);
            }
            let len = batch * shape.output(size).iter().product::<usize>() * outputs;
            let residual = numbers(len, 4);
            let epilogue = following(if finite { 7 } else { 3 }, &bias, &residual, outputs);
            let run = |algorithm: Algorithm| {
                let conv = VolumeConv::at(level, Weight::Numbers(&w), shape, algorithm, Format::F32);
                assert_eq!(conv.algorithm(1), algorithm);
                of_threads(|| {
                    let mut out = vec![0.25; len];
                    conv.run(&mut out, &x, batch, size, &epilogue);
                    out
                })
            };
            let [direct, _] = run(Algorithm::Direct);
            let tiles = match height {
                1 => &[Algorithm::WinogradLine][..],
                _ => &[Algorithm::Winograd2, Algorithm::Winograd4],
            };
            for &algorithm in tiles {
                let [one, many] = run(algorithm);
                for (i, (got, want)) in one.iter().zip(&direct).enumerate() {
                    let near = (got - want).abs() < 2e-5 * ((inputs * depth) as f32 / 96.0).max(1.0);
                    let same = got == want || got.is_nan() && want.is_nan() || near;
                    assert!(same, "{algorithm:?} {level:?} {shape:?}, finite {finite}, at {i}: {got}, not {want}");
                }
                let is_same = one.iter().zip(&many).all(|(one, many)| one.to_bits() == many.to_bits());
                assert!(is_same, "{algorithm:?} {level:?} {shape:?}, finite {finite}: threads change it");
                assert!(finite || one.iter().any(|x| !x.is_finite()));
            }
        }
    }
}
