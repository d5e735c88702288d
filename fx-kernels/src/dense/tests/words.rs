//! Operands that are words: as if they were rounded.

use super::quantized::{RANGES, bytes, rounded, scales};
use super::transposed::WINDOWS;
use super::*;
use crate::{Quantization, Rounded};

const BYTES: Rounded = Rounded::Bytes(Quantization { scale: 0.02, zero_point: 31, min: 0, max: 255 });
const SIZE: [usize; 2] = [11, 9];
const BATCH: usize = 2;

/// Numbers as words, in their order.
pub(super) fn words(x: &[f32], to: Rounded) -> Vec<f32> {
    let word = |x: &[f32]| match to {
        Rounded::Pairs => {
            let half = |x: f32| u32::from(half::bf16::from_f32(x).to_bits());
            half(x[0]) | half(x[1]) << 16
        }
        Rounded::Bytes(range) => {
            let byte = |x: f32| {
                let whole = (rounded(x, range) / f64::from(range.scale)).round() as i32;
                (whole + range.zero_point - range.min) as u8
            };
            u32::from_le_bytes([0, 1, 2, 3].map(|i| byte(x[i])))
        }
    };
    x.chunks_exact(to.numbers()).map(|x| f32::from_bits(word(x))).collect()
}

/// The numbers that words say, in their order.
fn said(words: &[f32], rounded: Rounded) -> Vec<f32> {
    let of_word = |word: &f32| match rounded {
        Rounded::Pairs => [word.to_bits() << 16, word.to_bits() & 0xffff_0000].map(f32::from_bits).to_vec(),
        Rounded::Bytes(range) => {
            let said = |byte: u8| (i32::from(byte) + range.min - range.zero_point) as f32 * range.scale;
            word.to_bits().to_le_bytes().map(said).to_vec()
        }
    };
    words.iter().flat_map(of_word).collect()
}

fn shapes() -> Vec<ConvShape> {
    let plain = ConvShape::pointwise(32, 40);
    let around = ConvShape { kernel: [3; 2], before: [1; 2], after: [1; 2], ..plain };
    vec![
        plain,
        ConvShape { stride: [2; 2], ..plain },
        // Groups that are joined in vectors, of which the last is not full.
        ConvShape { groups: 4, outputs: 32, ..around },
        ConvShape { groups: 5, inputs: 40, stride: [2; 2], ..around },
        // Of which some see nothing but padding.
        ConvShape { before: [1, 0], after: [0, 2], ..plain },
        // Without padding, so that words are read where they are.
        ConvShape { kernel: [3, 2], stride: [2, 1], dilation: [1, 2], ..plain },
        ConvShape { kernel: [2; 2], stride: [2; 2], inputs: 24, ..plain },
        around,
        ConvShape { stride: [2; 2], groups: 2, ..around },
        ConvShape { dilation: [1, 2], inputs: 200, ..around },
        // On their own.
        ConvShape { groups: 40, inputs: 40, ..around },
        ConvShape { groups: 40, inputs: 40, stride: [2; 2], ..around },
        // Few, whose input is no words.
        ConvShape { inputs: 3, ..around },
        // As many results as are not rounded at once.
        ConvShape { outputs: 1000, ..around },
    ]
}

/// A layer: whether it reads words of something, whether it writes words, and what computes it. That is given the result, the distance of
/// its rows, the input, the distance of its pixels, what is words, and what follows.
struct Layer<'a> {
    reads: bool,
    writes: &'a dyn Fn(Rounded) -> bool,
    run: &'a dyn Fn(&mut [f32], usize, &[f32], usize, Words, &Epilogue<'_>),
}

impl Layer<'_> {
    /// What is words gives what numbers give, rounded before or after.
    fn check(&self, shape: &ConvShape, rows: usize, input: Rounded, what: &str) {
        let (x, bias) = (numbers(BATCH * SIZE[0] * SIZE[1] * shape.inputs, 1), numbers(shape.outputs, 3));
        let residual = numbers(rows * shape.outputs, 4);
        let x_words = if self.reads { words(&x, input) } else { Vec::new() };
        for case in 0..5 {
            // The last one without what is there before.
            let epilogue = Epilogue { accumulate: false, ..following(case, &bias, &residual, shape.outputs) };
            let mut plain = vec![0.0; residual.len()];
            (self.run)(&mut plain, shape.outputs, &x, shape.inputs, Words::default(), &epilogue);
            for (of_words, output) in [false, true]
                .into_iter()
                .flat_map(|input| [None, Some(BYTES), Some(Rounded::Pairs)].map(|out| (input, out)))
            {
                if of_words && !self.reads || output.is_some_and(|rounded| !(self.writes)(rounded)) {
                    continue;
                }
                let (x, pixel) = if of_words { (&x_words, shape.inputs / input.numbers()) } else { (&x, shape.inputs) };
                let (want, stride) = match output {
                    None => (plain.clone(), shape.outputs),
                    Some(rounded) => (words(&plain, rounded), shape.outputs / rounded.numbers()),
                };
                let mut got = vec![0.0; want.len()];
                (self.run)(
                    &mut got,
                    stride,
                    x,
                    pixel,
                    Words { input: of_words.then_some(input), output, ..Words::default() },
                    &epilogue,
                );
                let is_same = got.iter().zip(&want).all(|(got, want)| got.to_bits() == want.to_bits());
                assert!(is_same, "{what} {shape:?} case {case}, {of_words} {output:?}");
            }
        }
    }
}

#[test]
pub(super) fn layers_of_bytes() {
    let cases = shapes().into_iter().flat_map(|shape| RANGES.map(|range| (shape, range)));
    for (level, (shape, range)) in cases.flat_map(|case| MatrixUnit::levels().map(move |level| (level, case))) {
        let row = shape.inputs / shape.groups * shape.kernel[0] * shape.kernel[1];
        let (w, scales) = (bytes(shape.outputs * row, 2), scales(shape.outputs));
        let weight = Bytes { weight: &w, scales: &scales, bits: range.bits() };
        let conv = QuantizedConv::at(level, weight, shape);
        let [height, width] = shape.output(SIZE);
        let layer = Layer {
            reads: conv.reads_words(),
            writes: &|rounded| conv.writes_words(rounded),
            run: &|out, stride, x, pixel, words, epilogue| {
                let activations = Activations { words, ..range.into() };
                conv.run(out, stride, &Images::pixels(x, BATCH, SIZE, pixel), activations, epilogue);
            },
        };
        layer.check(&shape, BATCH * height * width, Rounded::Bytes(range), &format!("{level:?} {range:?}"));
        let adding = Adding {
            adds: &|rounded| conv.adds_words(rounded),
            writes: &|rounded| conv.writes_words(rounded),
            run: &|out, stride, words, added, epilogue| {
                let x = numbers(BATCH * SIZE[0] * SIZE[1] * shape.inputs, 1);
                let activations = Activations { added, words, ..range.into() };
                conv.run(out, stride, &Images::pixels(&x, BATCH, SIZE, shape.inputs), activations, epilogue);
            },
        };
        adding.check([BATCH * height * width, shape.outputs], &format!("{level:?} {shape:?} {range:?}"));
        if shape == ConvShape::pointwise(shape.inputs, shape.outputs) {
            let linear = QuantizedLinear::at(level, weight, shape.inputs);
            let rows = BATCH * SIZE[0] * SIZE[1];
            let layer = Layer {
                reads: linear.reads_words(),
                writes: &|rounded| linear.writes_words(rounded),
                run: &|out, stride, x, pixel, words, epilogue| {
                    linear.run(out, stride, x, pixel, rows, Activations { words, ..range.into() }, epilogue);
                },
            };
            layer.check(&shape, rows, Rounded::Bytes(range), &format!("linear, {level:?} {range:?}"));
            let adding = Adding {
                adds: &|rounded| linear.adds_words(rounded),
                writes: &|rounded| linear.writes_words(rounded),
                run: &|out, stride, words, added, epilogue| {
                    let x = numbers(rows * shape.inputs, 1);
                    let activations = Activations { added, words, ..range.into() };
                    linear.run(out, stride, &x, shape.inputs, rows, activations, epilogue);
                },
            };
            adding.check([rows, shape.outputs], &format!("linear, {level:?} {range:?}"));
        }
    }
}

/// A layer of whole numbers: whether it adds and writes words, and what computes it for an input. That is given the result, the distance
/// of its rows, what is words, what is added is rounded to, and what follows.
pub(super) struct Adding<'a> {
    pub(super) adds: &'a dyn Fn(Rounded) -> bool,
    pub(super) writes: &'a dyn Fn(Rounded) -> bool,
    pub(super) run: &'a dyn Fn(&mut [f32], usize, Words, Option<Quantization>, &Epilogue<'_>),
}

impl Adding<'_> {
    /// What is added is rounded first, or is words: of a residual, or at the result's place.
    pub(super) fn check(&self, [rows, outputs]: [usize; 2], what: &str) {
        let range = Quantization { scale: 0.013, zero_point: -20, min: -128, max: 127 };
        let (bias, before) = (numbers(outputs, 3), numbers(rows * outputs, 4));
        let mut residual = before.clone();
        range.apply(&mut residual);
        let epilogue = |data, stride| Epilogue {
            bias: Some(&bias),
            activation: Some(Unary::Relu),
            residual: Some(Residual { data, stride }),
            ..Epilogue::default()
        };
        let mut want = vec![0.0; residual.len()];
        (self.run)(&mut want, outputs, Words::default(), None, &epilogue(&residual, outputs));
        let mut got = vec![0.0; residual.len()];
        (self.run)(&mut got, outputs, Words::default(), Some(range), &epilogue(&before, outputs));
        assert_eq!(got, want, "{what}, rounded");
        let in_place = |epilogue| Epilogue { residual: None, accumulate: true, ..epilogue };
        got.copy_from_slice(&before);
        (self.run)(&mut got, outputs, Words::default(), Some(range), &in_place(epilogue(&before, outputs)));
        near(&got, &want, 1e-5, &format!("{what}, rounded in place"));
        let added = Rounded::Bytes(range);
        if !(self.adds)(added) {
            return;
        }
        let residual = words(&residual, added);
        let from_words = epilogue(&residual, outputs / 4);
        let words = Words::default().adding(added);
        (self.run)(&mut got, outputs, words, Some(range), &from_words);
        near(&got, &want, 1e-5, &format!("{what}, of words"));
        if !(self.writes)(BYTES) {
            return;
        }
        for epilogue in [from_words, in_place(from_words)] {
            let mut got = residual.clone();
            (self.run)(&mut got, outputs / 4, words.writing(BYTES), Some(range), &epilogue);
            let numbers: Vec<f32> = got.iter().flat_map(|word| word.to_bits().to_le_bytes()).map(stands_for).collect();
            let most = want.iter().map(|x| x.clamp(stands_for(0), stands_for(255)));
            near(&numbers, &most.collect::<Vec<f32>>(), 0.0101, &format!("{what}, in words"));
        }
    }
}

/// What a byte of [`BYTES`] stands for.
fn stands_for(byte: u8) -> f32 {
    let Rounded::Bytes(Quantization { scale, zero_point, .. }) = BYTES else { unreachable!() };
    (i32::from(byte) - zero_point) as f32 * scale
}

/// Numbers are as near, of what they should be if that is more than 1.
fn near(got: &[f32], want: &[f32], most: f32, what: &str) {
    for (index, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= most * want.abs().max(1.0), "{what} at {index}: {got}, not {want}");
    }
}

/// What is added as pairs is as good as their numbers: a residual, or what is at the result's place.
#[test]
pub(super) fn pairs_are_added() {
    let adding = |level: Level| {
        shapes().into_iter().filter_map(move |shape| {
            let row = shape.inputs / shape.groups * shape.kernel[0] * shape.kernel[1];
            let weight = Weight::Numbers(&numbers(shape.outputs * row, 2));
            let conv = PackedConv::at(level, weight, shape, Algorithm::Direct, Format::Bf16);
            conv.adds_words(Rounded::Pairs).then_some((level, conv))
        })
    };
    for (level, conv) in MatrixUnit::levels().flat_map(adding) {
        let shape = *conv.shape();
        let [height, width] = shape.output(SIZE);
        let (x, bias) = (numbers(BATCH * SIZE[0] * SIZE[1] * shape.inputs, 1), numbers(shape.outputs, 3));
        let images = Images::pixels(&x, BATCH, SIZE, shape.inputs);
        let added = words(&numbers(BATCH * height * width * shape.outputs, 4), Rounded::Pairs);
        let residual: Vec<f32> = added.iter().flat_map(|word| halves(*word)).collect();
        let epilogue = |data| Epilogue {
            bias: Some(&bias),
            activation: Some(Unary::Relu),
            residual: Some(data),
            ..Epilogue::default()
        };
        let mut want = vec![0.0; residual.len()];
        conv.run(&mut want, shape.outputs, &images, &epilogue(Residual { data: &residual, stride: shape.outputs }));
        let from_words = epilogue(Residual { data: &added, stride: shape.outputs / 2 });
        let in_place = Epilogue { residual: None, accumulate: true, ..from_words };
        let words = Words::default().adding(Rounded::Pairs);
        let ways = [(None, from_words), (Some(Rounded::Pairs), from_words), (Some(Rounded::Pairs), in_place)];
        for (output, epilogue) in ways {
            let words = Words { output, ..words };
            let mut got = vec![0.0; BATCH * height * width * words.output_len(shape.outputs)];
            if epilogue.accumulate {
                got.copy_from_slice(&added);
            }
            conv.run_words(&mut got, words.output_len(shape.outputs), &images, words, &epilogue);
            let got = if output.is_some() { got.iter().flat_map(|word| halves(*word)).collect() } else { got };
            let most = if output.is_some() { 1.0 / 256.0 } else { 1e-5 };
            for (index, (got, want)) in got.iter().zip(&want).enumerate() {
                let near = (got - want).abs() <= most * want.abs().max(1.0);
                assert!(near, "{level:?} {shape:?} {words:?} at {index}: {got}, not {want}");
            }
        }
    }
}

/// The numbers of a word of two.
pub(super) fn halves(word: f32) -> [f32; 2] {
    [word.to_bits() << 16, word.to_bits() & 0xffff_0000].map(f32::from_bits)
}

#[test]
pub(super) fn layers_of_pairs() {
    for (level, shape) in MatrixUnit::levels().flat_map(|level| shapes().into_iter().map(move |shape| (level, shape))) {
        let row = shape.inputs / shape.groups * shape.kernel[0] * shape.kernel[1];
        let weight = numbers(shape.outputs * row, 2);
        let conv = PackedConv::at(level, Weight::Numbers(&weight), shape, Algorithm::Direct, Format::Bf16);
        let [height, width] = shape.output(SIZE);
        let layer = Layer {
            // What is no product takes words, but does not round numbers.
            reads: conv.reads_words() && conv.format() == Format::Bf16,
            writes: &|rounded| conv.writes_words(rounded),
            run: &|out, stride, x, pixel, words, epilogue| {
                conv.run_words(out, stride, &Images::pixels(x, BATCH, SIZE, pixel), words, epilogue);
            },
        };
        layer.check(&shape, BATCH * height * width, Rounded::Pairs, &format!("{level:?}"));
        if shape == ConvShape::pointwise(shape.inputs, shape.outputs) {
            let size = [shape.outputs, shape.inputs];
            let linear = PackedLinear::at(level, Weight::Numbers(&weight), size, Algorithm::Direct, Format::Bf16);
            let rows = BATCH * SIZE[0] * SIZE[1];
            let layer = Layer {
                reads: linear.reads_words(),
                writes: &|rounded| linear.writes_words(rounded),
                run: &|out, stride, x, pixel, words, epilogue| {
                    linear.run_words(out, stride, x, pixel, rows, words, epilogue);
                },
            };
            layer.check(&shape, rows, Rounded::Pairs, &format!("linear, {level:?}"));
        }
    }
}

#[test]
fn pooling_of_words() {
    let (none, one) = ([0; 2], [1; 2]);
    for (kernel, stride, dilation, around, output) in [
        ([2; 2], [2; 2], one, none, [5, 4]),
        ([3; 2], [2; 2], one, one, [6, 5]),
        ([5; 2], one, one, [2; 2], SIZE),
        ([2, 3], [1, 2], [3, 2], [1, 0], [10, 3]),
    ] {
        for (level, channels) in
            Level::available().flat_map(|level| [4, 36, 128, 900].map(|channels| (level, channels)))
        {
            let shape = PoolShape { channels, kernel, stride, dilation, before: around, after: around, output };
            let (rows, x) = (BATCH * output[0] * output[1], numbers(BATCH * SIZE[0] * SIZE[1] * channels, 1));
            let run = |pool: Pool, x: &[f32], pixel: usize, words: Words| {
                let width = words.output_len(channels);
                let mut out = vec![0.0; rows * width];
                pool.run_at(level, &mut out, width, &Images::pixels(x, BATCH, SIZE, pixel), words);
                out
            };
            let ranges = RANGES.map(Rounded::Bytes).into_iter().chain([BYTES, Rounded::Pairs]);
            let means = [Divisor::Inside, Divisor::Padded, Divisor::Fixed(3.0)].map(|of| Pool::avg(shape, of));
            for (rounded, pool) in
                ranges.flat_map(|range| [Pool::max(shape)].into_iter().chain(means).map(move |pool| (range, pool)))
            {
                if !pool.takes_words_at(level, rounded) {
                    continue;
                }
                let of_words = words(&x, rounded);
                let width = channels / rounded.numbers();
                for (input, numbers, x, pixel) in
                    [(None, x.clone(), &x, channels), (Some(rounded), said(&of_words, rounded), &of_words, width)]
                {
                    let want = words(&run(pool, &numbers, channels, Words::default()), rounded);
                    let words = Words { input, output: Some(rounded), ..Words::default() };
                    let got = run(pool, x, pixel, words);
                    let is_same = got.iter().zip(&want).all(|(got, want)| got.to_bits() == want.to_bits());
                    assert!(is_same, "{level:?} {shape:?} {words:?}");
                }
            }
        }
    }
}

#[test]
fn what_is_not_a_number_is_the_largest_of_pairs() {
    let pool = |kernel| {
        let (one, none) = ([1; 2], [0; 2]);
        Pool::max(PoolShape { channels: 2, kernel, stride: one, dilation: one, before: none, after: none, output: one })
    };
    for level in Level::available().filter(|level| Rounded::Pairs.is_fast(*level)) {
        for nan in [f32::NAN, -f32::NAN] {
            let x = words(&[1.0, f32::INFINITY, nan, 2.0, 3.0, f32::NEG_INFINITY], Rounded::Pairs);
            let (mut out, pairs) = ([0.0], Some(Rounded::Pairs));
            let (images, words) =
                (Images::pixels(&x, 1, [1, 3], 1), Words { input: pairs, output: pairs, ..Words::default() });
            pool([1, 3]).run_at(level, &mut out, 1, &images, words);
            let [low, high] = [out[0].to_bits() << 16, out[0].to_bits() & 0xffff_0000].map(f32::from_bits);
            assert!(low.is_nan() && high == f32::INFINITY, "{level:?}: {low} {high}");
        }
    }
}

/// Pairs are compared as whole numbers: whatever a number is, it is the larger one as f32 has it.
#[test]
fn the_largest_of_any_pairs() {
    let shape = PoolShape {
        channels: 1,
        kernel: [2, 1],
        stride: [2, 1],
        dilation: [1; 2],
        before: [0; 2],
        after: [0; 2],
        output: [1, 1],
    };
    // All numbers that there are, beside others in another order.
    let all = (0..1 << 16).map(|bits: u32| f32::from_bits(bits << 16));
    let others = (0..1 << 16).map(|bits: u32| f32::from_bits((bits * 25_173 + 13_849) << 16));
    let x: Vec<f32> = all.chain(others).collect();
    let word = |x: &[f32]| f32::from_bits(x[0].to_bits() >> 16 | x[1].to_bits());
    let of_words: Vec<f32> = x.chunks_exact(2).map(word).collect();
    for level in Level::available().filter(|level| Rounded::Pairs.is_fast(*level)) {
        for channels in [4, 64] {
            let shape = PoolShape { channels, output: [1, 65536 / channels], ..shape };
            let pairs = Some(Rounded::Pairs);
            let words = Words { input: pairs, output: pairs, ..Words::default() };
            let (mut plain, mut got) = (vec![0.0; 1 << 16], vec![0.0; 1 << 15]);
            let size = [2, 65536 / channels];
            Pool::max(shape).run_at(
                level,
                &mut plain,
                channels,
                &Images::pixels(&x, 1, size, channels),
                Words::default(),
            );
            Pool::max(shape).run_at(
                level,
                &mut got,
                channels / 2,
                &Images::pixels(&of_words, 1, size, channels / 2),
                words,
            );
            for (got, want) in said(&got, Rounded::Pairs).into_iter().zip(&plain) {
                assert!(got == *want || got.is_nan() && want.is_nan(), "{level:?}: {got} {want}");
            }
        }
    }
}

#[test]
fn transposed_convolutions_of_words() {
    let sizes = [(20, 24, [5, 4]), (32, 12, [6, 1]), (48, 40, [3, 7])];
    for (kernel, stride, padding, output_padding) in WINDOWS {
        for (level, (inputs, outputs, size)) in Level::available().flat_map(|level| sizes.map(|size| (level, size))) {
            let shape = TransposedShape { inputs, outputs, kernel, stride, padding, output_padding };
            let pixels = BATCH * shape.output(size).iter().product::<usize>();
            let (x, bias) = (numbers(BATCH * size[0] * size[1] * inputs, 1), numbers(outputs, 3));
            let taps = inputs * outputs * kernel[0] * kernel[1];
            let epilogue = Epilogue { bias: Some(&bias), activation: Some(Unary::Relu), ..Epilogue::default() };
            let pairs = (TransposedConv::at(level, &numbers(taps, 2), shape, Format::Bf16), None);
            let (weight, scales) = (bytes(taps, 2), scales(outputs));
            let of_bytes = |range: Quantization| {
                let weight = Bytes { weight: &weight, scales: &scales, bits: range.bits() };
                (TransposedConv::quantized_at(level, weight, shape), Some(range))
            };
            for (conv, range) in RANGES.map(of_bytes).into_iter().chain([pairs]) {
                let mut plain = vec![0.0; pixels * outputs];
                conv.run(&mut plain, &Images::pixels(&x, BATCH, size, inputs), range, &epilogue);
                let input = range.map_or(Rounded::Pairs, Rounded::Bytes);
                for (read, output) in [None, Some(input)]
                    .into_iter()
                    .flat_map(|read| [None, Some(BYTES), Some(Rounded::Pairs)].map(|to| (read, to)))
                {
                    if read.is_some() && !conv.reads_words() || output.is_some_and(|output| !conv.writes_words(output))
                    {
                        continue;
                    }
                    let x = read.map_or_else(|| x.clone(), |read| words(&x, read));
                    let want = output.map_or_else(|| plain.clone(), |output| words(&plain, output));
                    let (mut got, words) = (vec![0.0; want.len()], Words { input: read, output, ..Words::default() });
                    let images = Images::pixels(&x, BATCH, size, words.input_len(inputs));
                    conv.run_words(&mut got, &images, range, words, &epilogue);
                    let is_same = got.iter().zip(&want).all(|(got, want)| got.to_bits() == want.to_bits());
                    assert!(is_same, "{level:?} {shape:?} {size:?} {range:?} {words:?}");
                }
            }
        }
    }
}
