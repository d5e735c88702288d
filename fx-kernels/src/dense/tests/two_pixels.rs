//! Two pixels at once against one after the other.

use super::*;
use crate::dense::panels::tile_size;

/// Images of even and odd lines, with what follows and what is not finite, pixels with gaps, and channels first.
#[test]
fn two_pixels_are_as_one_after_the_other() {
    // Inputs, outputs, kernel, stride, padding, width.
    let cases = [
        (3, 4, [3, 3], [2, 2], 1, 16),
        (3, 8, [7, 7], [2, 2], 3, 21),
        (8, 7, [3, 3], [1, 1], 1, 14),
        (24, 5, [3, 1], [1, 1], 0, 12),
        (1, 6, [5, 5], [1, 3], 2, 20),
        (2, 3, [1, 2], [1, 1], 1, 9),
        (20, 8, [3, 3], [1, 1], 1, 11),
    ];
    let mut computed = 0;
    for (inputs, outputs, kernel, stride, padding, width) in cases {
        let plain = ConvShape::pointwise(inputs, outputs);
        let before = kernel.map(|size: usize| padding.min(size - 1));
        let shape = ConvShape { kernel, stride, before, after: before, ..plain };
        let (batch, input) = (2, [10, width]);
        let size = shape.output(input);
        let pixels = batch * size.iter().product::<usize>();
        let (w, bias) = (numbers(inputs * outputs * kernel.iter().product::<usize>(), 2), numbers(outputs, 3));
        let residual = numbers(pixels * outputs, 4);
        for (level, format) in Level::available().flat_map(|l| [Format::F32, Format::Bf16].map(|f| (l, f))) {
            let [two, one] = [Algorithm::TwoPixels, Algorithm::Direct]
                .map(|algorithm| PackedConv::at(level, Weight::Numbers(&w), shape, algorithm, format));
            assert_eq!((two.shape(), two.reads_words() <= one.reads_words()), (one.shape(), true));
            computed += usize::from(two.algorithm(1) == Algorithm::TwoPixels);
            // Rounding is that of the format of both.
            let tolerance = if one.format() == two.format() { 1e-5 } else { 0.05 };
            for case in 0..16 {
                let (finite, planes, gap) = (case < 8, case % 2 == 1, 2 * (case % 3 / 2));
                let mut x = numbers(batch * input.iter().product::<usize>() * inputs, 1);
                if !finite {
                    (x[inputs * 3], x[inputs * 50]) = (f32::INFINITY, f32::NAN);
                }
                let images = match planes {
                    true => Images::planes(&x, batch, input),
                    false => Images::pixels(&x, batch, input, inputs),
                };
                let epilogue = following(case % 8, &bias, &residual, outputs);
                let run = |conv: &PackedConv| {
                    let mut out = vec![0.5; pixels * (outputs + gap)];
                    conv.run(&mut out, outputs + gap, &images, &epilogue);
                    out
                };
                for (index, (got, want)) in run(&two).into_iter().zip(run(&one)).enumerate() {
                    let is_same = got.is_nan() && want.is_nan() || got == want;
                    let is_close = (got - want).abs() <= tolerance * want.abs().max(1.0);
                    assert!(
                        is_same || is_close,
                        "{level:?} {format:?} {shape:?} case {case} at {index}: {got}, not {want}"
                    );
                }
            }
        }
    }
    assert!(computed > 0);
}

/// Frames too, and results that are words of pairs.
#[test]
fn two_pixels_of_volumes_are_as_one_after_the_other() {
    let size = [5, 9, 12];
    for (inputs, outputs, depth, kernel) in
        [(3, 8, 5, [7, 7]), (8, 6, 3, [1, 1]), (2, 4, 3, [3, 3]), (32, 8, 1, [3, 3])]
    {
        let before = kernel.map(|size| size / 2);
        let frame = ConvShape { kernel, before, after: before, ..ConvShape::pointwise(inputs, outputs) };
        let shape = VolumeShape { frame, depth, stride: 1, dilation: 1, before: depth / 2, after: depth / 2 };
        let (w, bias) = (numbers(inputs * outputs * depth * kernel.iter().product::<usize>(), 2), numbers(outputs, 3));
        let epilogue = Epilogue { bias: Some(&bias), activation: Some(Unary::Relu), ..Epilogue::default() };
        for (level, format) in Level::available().flat_map(|l| [Format::F32, Format::Bf16].map(|f| (l, f))) {
            let [two, one] = [Algorithm::TwoPixels, Algorithm::Direct]
                .map(|algorithm| VolumeConv::at(level, Weight::Numbers(&w), shape, algorithm, format));
            for finite in [true, false] {
                let mut x = numbers(2 * size.iter().product::<usize>() * inputs, 1);
                x[inputs * 40] = if finite { 0.25 } else { f32::NEG_INFINITY };
                let writes = two.writes_words(Rounded::Pairs) && one.writes_words(Rounded::Pairs);
                let words = if writes { Words::default().writing(Rounded::Pairs) } else { Words::default() };
                let run = |conv: &VolumeConv| {
                    let mut out = vec![0.5; 2 * size.iter().product::<usize>() * words.output_len(outputs)];
                    conv.run_words(&mut out, &x, 2, size, words, &epilogue);
                    match writes {
                        true => out
                            .iter()
                            .flat_map(|word| [word.to_bits() << 16, word.to_bits() & 0xffff_0000])
                            .map(f32::from_bits)
                            .collect(),
                        false => out,
                    }
                };
                let tolerance = if writes || one.format() != two.format() { 0.05 } else { 1e-5 };
                for (got, want) in run(&two).into_iter().zip(run(&one)) {
                    let is_same = got.is_nan() && want.is_nan() || got == want;
                    let is_close = (got - want).abs() <= tolerance * want.abs().max(1.0);
                    assert!(is_same || is_close, "{level:?} {format:?} {shape:?} {finite}: {got}, not {want}");
                }
            }
        }
    }
}

/// Lines of even numbers of pixels, of windows of one column too, but not single pixels, which have no fewer products.
#[test]
fn two_pixels_are_chosen() {
    let of = |outputs: usize, depth: usize, kernel: [usize; 2], width: usize| {
        let frame = ConvShape { kernel, ..ConvShape::pointwise(8, outputs) };
        let shape = VolumeShape { frame, depth, stride: 1, dilation: 1, before: 0, after: 0 };
        shape.algorithm(1, [4, 28, width], Format::F32) == Algorithm::TwoPixels
    };
    let (_, lanes) = tile_size(Level::detect());
    let most = lanes / 2;
    assert!(of(most, 3, [1, 1], 28) && of(most, 1, [5, 5], 28) && of(most, 5, [7, 7], 28));
    assert!(!of(most, 1, [1, 1], 28) && !of(most, 5, [7, 7], 27) && !of(most + 1, 5, [7, 7], 28));
}
