//! Windows of which some see padding where others do not.

use super::*;

/// Taps that lie as far apart as a tile of a line has rows, or further: lines of one tile, of several, and of some rows more.
#[test]
fn tiles_of_lines() {
    for (inputs, outputs, dilation, width, before) in [
        (400, 40, [1, 12], 32, 12),
        (800, 20, [2, 13], 29, 13),
        (400, 8, [14, 14], 13, 14),
        (500, 17, [3, 24], 32, 24),
        (400, 16, [1, 9], 40, 30),
        (400, 16, [1, 3], 7, 9),
    ] {
        let around = [dilation[0], before];
        let plain = ConvShape::pointwise(inputs, outputs);
        let shape = ConvShape { kernel: [3; 2], dilation, before: around, after: [around[0], before / 2], ..plain };
        let (batch, input) = (2, [3, width]);
        let (x, w) = (numbers(batch * 3 * width * inputs, 1), numbers(outputs * inputs * 9, 2));
        let (want, bias) = (definition(&x, &w, &shape, batch, input, inputs), numbers(outputs, 3));
        for level in Level::available() {
            let conv = PackedConv::at(level, Weight::Numbers(&w), shape, Algorithm::Direct, Format::F32);
            let [one, many] = of_threads(|| {
                let mut out = vec![0.25; want.len()];
                let epilogue = following(5, &bias, &[], 0);
                conv.run(&mut out, outputs, &Images::pixels(&x, batch, input, inputs), &epilogue);
                out
            });
            assert_eq!(one, many, "{level:?} {shape:?}: threads change it");
            for (index, (got, want)) in one.iter().zip(&want).enumerate() {
                let want = followed(*want, 5, bias[index % outputs], 0.0);
                close(*got, want, inputs * 9, &format!("{level:?} {shape:?} at {index}"));
            }
        }
    }
}
