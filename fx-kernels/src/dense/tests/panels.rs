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
