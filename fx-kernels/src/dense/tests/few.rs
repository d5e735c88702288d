//! Convolutions with few outputs against the definition.

use super::*;
use crate::dense::few::Few;

/// With all that follows, also for pixels that do not fill tiles.
#[test]
fn convolutions_with_few_outputs() {
    for (kernel, dilation, input, inputs) in [
        ([3, 3], [1, 1], [9, 8], 48),
        ([7, 7], [1, 1], [5, 6], 16),
        ([1, 1], [1, 1], [4, 7], 144),
        ([1, 7], [1, 1], [1, 40], 32),
        ([3, 3], [2, 3], [6, 11], 48),
    ] {
        let taps = kernel[0] * kernel[1];
        for (outputs, stride) in [(1, [1, 1]), (2, [1, 1]), (3, [2, 1]), (4, [1, 1]), (4, [2, 2])] {
            let around = [0, 1].map(|i| dilation[i] * (kernel[i] / 2));
            let plain = ConvShape { kernel, ..ConvShape::pointwise(inputs, outputs) };
            let shape = ConvShape { stride, dilation, before: around, after: around, ..plain };
            assert!(Few::fits(&shape, Algorithm::Direct, Format::F32), "{shape:?}");
            let [height, width] = shape.output(input);
            let (batch, rows) = (2, 2 * height * width);
            let x = numbers(batch * input[0] * input[1] * inputs, 1);
            let (w, bias) = (numbers(outputs * inputs * taps, 2), numbers(outputs, 3));
            let residual = numbers(rows * outputs, 4);
            let sums = definition(&x, &w, &shape, batch, input, inputs);
            for (level, case) in Level::available().flat_map(|level| (0..8).map(move |case| (level, case))) {
                let epilogue = following(case, &bias, &residual, outputs);
                let mut out = vec![0.25; rows * (outputs + 1)];
                let images = Images::pixels(&x, batch, input, inputs);
                let conv = PackedConv::at(level, Weight::Numbers(&w), shape, Algorithm::Direct, Format::F32);
                conv.run(&mut out, outputs + 1, &images, &epilogue);
                for (i, sum) in sums.iter().enumerate() {
                    let want = followed(*sum, case, bias[i % outputs], residual[i]);
                    let got = out[i / outputs * (outputs + 1) + i % outputs];
                    close(got, want, inputs * taps, &format!("{level:?} {shape:?} case {case} at {i}"));
                }
                assert!(out.chunks(outputs + 1).all(|row| row[outputs] == 0.25), "a gap was written");
            }
        }
    }
}
