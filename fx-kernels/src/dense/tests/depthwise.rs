//! Depthwise convolutions against the definition.

use super::*;

/// With all that follows, also where the image is smaller than the window.
#[test]
fn depthwise_convolutions() {
    for (kernel, dilation, input, channels) in [
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
    ] {
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
