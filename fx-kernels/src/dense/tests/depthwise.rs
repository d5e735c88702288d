//! Depthwise convolutions against the definition.

use super::*;

/// Windows: their sizes, the distances of what they see, images and channels.
const WINDOWS: [([usize; 2], [usize; 2], [usize; 2], usize); 21] = [
    ([3, 3], [1, 1], [9, 8], 37),
    ([5, 5], [1, 1], [9, 8], 16),
    ([3, 3], [2, 2], [3, 17], 5),
    ([5, 5], [1, 1], [2, 3], 40),
    ([5, 5], [2, 2], [1, 1], 3),
    ([3, 3], [9, 9], [4, 4], 8),
    ([7, 7], [1, 1], [30, 5], 70),
    ([7, 7], [3, 1], [12, 11], 18),
    ([5, 5], [1, 1], [4, 75], 33),
    ([2, 7], [1, 1], [5, 9], 16),
    ([3, 5], [2, 1], [21, 40], 3),
    ([4, 4], [1, 1], [9, 20], 18),
    ([9, 9], [1, 1], [11, 13], 33),
    ([3, 11], [2, 1], [7, 70], 16),
    ([1, 31], [1, 1], [1, 40], 20),
    ([6, 6], [3, 2], [14, 16], 5),
    ([11, 1], [1, 1], [20, 9], 18),
    ([9, 2], [2, 1], [19, 7], 16),
    ([5, 3], [1, 1], [11, 16], 37),
    ([3, 3], [1, 1], [4, 15], 512),
    ([3, 3], [1, 1], [7, 7], 528),
];

/// With all that follows, also where the image is smaller than the window.
#[test]
fn depthwise_convolutions() {
    for (kernel, dilation, input, channels) in WINDOWS {
        let plain = ConvShape { groups: channels, kernel, ..ConvShape::pointwise(channels, channels) };
        let taps = kernel[0] * kernel[1];
        for stride in [[1, 1], [2, 1], [3, 1], [1, 2], [2, 2], [1, 3]] {
            let around = [0, 1].map(|i| dilation[i] * (kernel[i] / 2));
            let shape = ConvShape { stride, dilation, before: around, after: around, ..plain };
            let [height, width] = shape.output(input);
            let (batch, rows) = (2, 2 * height * width);
            let x = numbers(batch * input[0] * input[1] * channels, 1);
            let (w, bias) = (numbers(channels * taps, 2), numbers(channels, 3));
            let residual = numbers(rows * channels, 4);
            let sums = definition(&x, &w, &shape, batch, input, channels);
            for (level, case) in Level::available().flat_map(|level| (0..8).map(move |case| (level, case))) {
                let epilogue = following(case, &bias, &residual, channels);
                let mut out = vec![0.25; rows * (channels + 1)];
                let images = Images::pixels(&x, batch, input, channels);
                PackedConv::at(level, Weight::Numbers(&w), shape, Algorithm::Direct, Format::F32).run(
                    &mut out,
                    channels + 1,
                    &images,
                    &epilogue,
                );
                for (i, sum) in sums.iter().enumerate() {
                    let want = followed(*sum, case, bias[i % channels], residual[i]);
                    let got = out[i / channels * (channels + 1) + i % channels];
                    close(got, want, taps, &format!("{level:?} {shape:?} case {case} at {i}"));
                }
                assert!(out.chunks(channels + 1).all(|row| row[channels] == 0.25), "a gap was written");
            }
        }
    }
}

/// What is words gives what their numbers give, rounded before or after: a layer of so many channels, which is given the result, the
/// input, what is words, and what follows.
fn of_words(
    (input, rows): (usize, usize),
    channels: usize,
    run: impl Fn(&mut [f32], &[f32], Words, &Epilogue<'_>),
    what: &str,
) {
    let x: Vec<f32> = rounded(&numbers(input * channels, 1), Format::Bf16);
    let x_words = words::words(&x, Rounded::Pairs);
    let (bias, residual) = (numbers(channels, 3), numbers(rows * channels, 4));
    for case in 0..6 {
        // The last ones without what is there before; SiLU of what becomes words has fewer digits.
        let mut epilogue = Epilogue { accumulate: false, ..following(case, &bias, &residual, channels) };
        epilogue.activation = if case == 5 { Some(Unary::Silu) } else { epilogue.activation };
        let mut want = vec![0.0; residual.len()];
        run(&mut want, &x, Words::default(), &epilogue);
        for (input, output) in [(true, false), (false, true), (true, true)] {
            let pairs = |words: bool| words.then_some(Rounded::Pairs);
            let words = Words { input: pairs(input), output: pairs(output), ..Words::default() };
            let mut got = vec![0.0; rows * words.output_len(channels)];
            run(&mut got, if input { &x_words } else { &x }, words, &epilogue);
            let got = if output { got.iter().flat_map(|word| words::halves(*word)).collect() } else { got };
            let most = if output { 1.0 / 256.0 + 1.3e-3 } else { 1e-5 };
            for (index, (got, want)) in got.iter().zip(&want).enumerate() {
                let is_near = (got - want).abs() <= most * want.abs().max(1.0);
                assert!(is_near, "{what}, case {case}, {words:?} at {index}: {got}, not {want}");
            }
        }
    }
}

#[test]
fn depthwise_convolutions_of_words() {
    for (level, (kernel, dilation, input, channels)) in
        Level::available().flat_map(|level| WINDOWS.map(|window| (level, window)))
    {
        // Odd channels are no words.
        for (channels, stride) in [channels, channels + channels % 2]
            .into_iter()
            .flat_map(|c| [[1, 1], [2, 1], [1, 2], [1, 3]].map(|s| (c, s)))
        {
            let around = [0, 1].map(|i| dilation[i] * (kernel[i] / 2));
            let plain = ConvShape { groups: channels, kernel, ..ConvShape::pointwise(channels, channels) };
            let shape = ConvShape { stride, dilation, before: around, after: around, ..plain };
            let w = numbers(channels * kernel[0] * kernel[1], 2);
            let conv = PackedConv::at(level, Weight::Numbers(&w), shape, Algorithm::Direct, Format::F32);
            let are_words = Rounded::Pairs.is_fast(level) && channels % 2 == 0;
            assert_eq!([conv.reads_words(), conv.writes_words(Rounded::Pairs)], [are_words; 2], "{level:?} {shape:?}");
            if !are_words {
                continue;
            }
            let (batch, [height, width]) = (2, shape.output(input));
            let rows = (batch * input[0] * input[1], batch * height * width);
            let run = |out: &mut [f32], x: &[f32], words: Words, epilogue: &Epilogue<'_>| {
                let images = Images::pixels(x, batch, input, words.input_len(channels));
                conv.run_words(out, words.output_len(channels), &images, words, epilogue);
            };
            of_words(rows, channels, run, &format!("{shape:?}"));
        }
    }
}

#[test]
fn depthwise_convolutions_of_volumes_of_words() {
    let (batch, size) = (2, [5, 6, 11]);
    for (level, (depth, stride, dilation, [before, after])) in
        Level::available().flat_map(|level| volumes::DEPTHS.map(|depth| (level, depth)))
    {
        for (channels, kernel, step) in [(48, [3, 3], 1), (54, [3, 3], 2), (24, [1, 1], 1), (70, [2, 1], 1)] {
            let around = kernel.map(|size| size / 2);
            let plain = ConvShape { groups: channels, kernel, ..ConvShape::pointwise(channels, channels) };
            let frame = ConvShape { stride: [step; 2], before: around, after: around, ..plain };
            let shape = VolumeShape { frame, depth, stride, dilation, before, after };
            let w = numbers(channels * depth * kernel[0] * kernel[1], 2);
            let conv = VolumeConv::at(level, Weight::Numbers(&w), shape, Algorithm::Direct, Format::F32);
            assert_eq!(conv.reads_words(), Rounded::Pairs.is_fast(level), "{level:?} {shape:?}");
            if conv.reads_words() {
                let count = |size: [usize; 3]| batch * size.iter().product::<usize>();
                let run = |out: &mut [f32], x: &[f32], words: Words, epilogue: &Epilogue<'_>| {
                    conv.run_words(out, x, batch, size, words, epilogue);
                };
                of_words((count(size), count(shape.output(size))), channels, run, &format!("{shape:?}"));
            }
        }
    }
}
