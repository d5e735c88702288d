//! Convolutions in groups of few channels against the definition.

use super::*;

fn shape(channels: usize, groups: usize) -> ConvShape {
    let (three, one) = ([3; 2], [1; 2]);
    ConvShape { groups, kernel: three, before: one, after: one, ..ConvShape::pointwise(channels, channels) }
}

/// With all that follows, where lines are shorter than what is computed together and longer, where the last vector is not full, and
/// where padding is wide or missing.
#[test]
fn groups_of_few_channels() {
    for (plain, input) in [
        (shape(32, 8), [5, 9]),
        (shape(32, 4), [4, 30]),
        (shape(104, 13), [3, 14]),
        (shape(44, 11), [9, 1]),
        (shape(16, 8), [6, 33]),
        (shape(48, 3), [5, 16]),
        // Several blocks, which begin anywhere in a vector: of 8 channels, and of 4.
        (shape(72, 3), [4, 9]),
        (shape(36, 3), [3, 8]),
        (shape(80, 2), [3, 5]),
        (ConvShape { before: [2, 3], after: [0, 2], ..shape(24, 6) }, [4, 5]),
        (ConvShape { before: [0; 2], after: [0; 2], ..shape(16, 4) }, [7, 23]),
        (ConvShape { before: [7, 20], after: [6, 4], ..shape(8, 2) }, [2, 3]),
    ] {
        let channels = plain.inputs;
        let row = channels / plain.groups * 9;
        for stride in [[1, 1], [2, 1], [3, 2], [2, 2], [1, 3]] {
            let shape = ConvShape { stride, ..plain };
            let [height, width] = shape.output(input);
            let (batch, rows, pixel) = (2, 2 * height * width, channels + stride[1]);
            let x = numbers(batch * input[0] * input[1] * pixel, 1);
            let (w, bias) = (numbers(channels * row, 2), numbers(channels, 3));
            let residual = numbers(rows * channels, 4);
            let sums = [Format::F32, Format::Bf16]
                .map(|format| definition(&rounded(&x, format), &rounded(&w, format), &shape, batch, input, pixel));
            for (level, format) in Level::available().flat_map(|level| [(level, Format::F32), (level, Format::Bf16)]) {
                let conv = PackedConv::at(level, Weight::Numbers(&w), shape, Algorithm::Direct, format);
                // Pairs are words of one group each, where there are instructions for them.
                let sums = &sums[usize::from(conv.reads_words())];
                if format == Format::Bf16 && !conv.reads_words() && conv.format() != Format::F32 {
                    continue;
                }
                for case in 0..8 {
                    let epilogue = following(case, &bias, &residual, channels);
                    let mut out = vec![0.25; rows * (channels + 1)];
                    let images =
                        Images { layout: Layout::Pixels { distance: pixel }, ..Images::planes(&x, batch, input) };
                    conv.run(&mut out, channels + 1, &images, &epilogue);
                    for (i, sum) in sums.iter().enumerate() {
                        let want = followed(*sum, case, bias[i % channels], residual[i]);
                        let got = out[i / channels * (channels + 1) + i % channels];
                        close(got, want, row, &format!("{level:?} {shape:?} case {case} at {i}"));
                    }
                    assert!(out.chunks(channels + 1).all(|row| row[channels] == 0.25), "a gap was written");
                }
            }
        }
    }
}

/// What is no number stays in its group.
#[test]
fn groups_do_not_meet() {
    for (channels, group) in [(32, 4), (32, 8), (48, 16), (72, 24), (36, 12)] {
        let shape = shape(channels, channels / group);
        let input = [4, 18];
        let (mut x, w) = (numbers(input[0] * input[1] * channels, 1), numbers(channels * group * 9, 2));
        for (level, format) in Level::available().flat_map(|level| [(level, Format::F32), (level, Format::Bf16)]) {
            let conv = PackedConv::at(level, Weight::Numbers(&w), shape, Algorithm::Direct, format);
            let run = |x: &[f32]| {
                let mut out = vec![0.0; x.len()];
                conv.run(&mut out, channels, &Images::pixels(x, 1, input, channels), &Epilogue::default());
                out
            };
            let want = run(&x);
            for (place, not_finite) in [(group + 1, f32::NAN), (input[1] * channels + 3 * group - 1, f32::INFINITY)] {
                let before = std::mem::replace(&mut x[place], not_finite);
                let (got, own) = (run(&x), place % channels / group);
                for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                    assert!(
                        i % channels / group == own || got == want,
                        "{level:?} {format:?} {group}: {got}, not {want} at {i}"
                    );
                }
                assert!(!got[place].is_finite(), "{level:?} {group}: {}", got[place]);
                x[place] = before;
            }
        }
    }
}
