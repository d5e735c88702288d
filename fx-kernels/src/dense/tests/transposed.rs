//! Transposed convolutions, against their definition in f64.

use super::*;
use crate::Quantization;

/// Windows that overlap or leave gaps: in both dimensions or one, in whole steps or not, with something cut off and added.
pub(super) const WINDOWS: [([usize; 2], [usize; 2], [usize; 2], [usize; 2]); 13] = [
    ([4, 4], [2, 2], [1, 1], [0, 0]),
    ([3, 3], [2, 2], [1, 1], [1, 1]),
    ([2, 2], [2, 2], [0, 0], [0, 0]),
    ([5, 3], [2, 3], [0, 2], [1, 0]),
    ([3, 5], [1, 2], [2, 4], [0, 0]),
    ([4, 6], [3, 2], [3, 5], [2, 1]),
    ([3, 3], [1, 1], [0, 1], [0, 0]),
    ([7, 2], [3, 1], [4, 0], [0, 0]),
    ([3, 4], [2, 2], [2, 3], [0, 1]),
    ([6, 6], [2, 2], [2, 2], [0, 0]),
    ([2, 1], [3, 4], [0, 0], [0, 0]),
    ([2, 3], [3, 5], [1, 2], [2, 4]),
    ([1, 5], [2, 2], [0, 2], [1, 1]),
];

/// What a weight, `[inputs, outputs, height, width]`, makes of pixels.
fn definition(x: &[f32], w: &[f32], shape: &TransposedShape, batch: usize, size: [usize; 2]) -> Vec<f64> {
    let TransposedShape { inputs, outputs, kernel, stride, padding, .. } = *shape;
    let [height, width] = shape.output(size);
    let mut out = vec![0.0; batch * height * width * outputs];
    for (pixel, x) in x.chunks_exact(inputs).enumerate() {
        let (image, line, column) = (pixel / (size[0] * size[1]), pixel / size[1] % size[0], pixel % size[1]);
        for (tap, output) in (0..kernel[0] * kernel[1]).flat_map(|tap| (0..outputs).map(move |output| (tap, output))) {
            let y = (line * stride[0] + tap / kernel[1]).wrapping_sub(padding[0]);
            let to = (column * stride[1] + tap % kernel[1]).wrapping_sub(padding[1]);
            if y < height && to < width {
                let weight = |input: usize| w[(input * outputs + output) * kernel[0] * kernel[1] + tap];
                let sum: f64 = (0..inputs).map(|input| f64::from(x[input]) * f64::from(weight(input))).sum();
                out[((image * height + y) * width + to) * outputs + output] += sum;
            }
        }
    }
    out
}

fn shapes() -> impl Iterator<Item = (TransposedShape, [usize; 2])> {
    let sizes = [(20, 24, [5, 4]), (3, 5, [1, 7]), (32, 3, [6, 1]), (4, 4, [40, 3])];
    WINDOWS.into_iter().flat_map(move |(kernel, stride, padding, output_padding)| {
        sizes.map(|(inputs, outputs, size)| {
            (TransposedShape { inputs, outputs, kernel, stride, padding, output_padding }, size)
        })
    })
}

#[test]
fn transposed_convolutions() {
    for (shape, size) in shapes() {
        let TransposedShape { inputs, outputs, kernel, .. } = shape;
        let (batch, [height, width]) = (3, shape.output(size));
        let x = numbers(batch * size[0] * size[1] * inputs, 1);
        let (w, bias) = (numbers(inputs * outputs * kernel[0] * kernel[1], 2), numbers(outputs, 3));
        let want = definition(&x, &w, &shape, batch, size);
        assert_eq!(want.len(), batch * height * width * outputs);
        for level in Level::available() {
            let conv = TransposedConv::at(level, &w, shape, Format::F32);
            let epilogue = Epilogue { bias: Some(&bias), activation: Some(Unary::Relu), ..Epilogue::default() };
            let mut out = vec![0.25; want.len() + 1];
            conv.run(&mut out, &Images::pixels(&x, batch, size, inputs), None, &epilogue);
            for (index, want) in want.iter().enumerate() {
                let want = (want + f64::from(bias[index % outputs])).max(0.0);
                close(out[index], want, 4 * inputs * kernel[0] * kernel[1], &format!("{level:?} {shape:?} at {index}"));
            }
            assert_eq!(out[want.len()], 0.25, "{level:?} {shape:?}");
        }
    }
}

/// Among them single pixels, whose products have single rows, and sums in several steps, of which all that some rows see is padding.
#[test]
fn transposed_convolutions_with_one_thread_and_many() {
    let deep = TransposedShape {
        inputs: 256,
        outputs: 4,
        kernel: [5, 5],
        stride: [1, 1],
        padding: [0, 0],
        output_padding: [0, 0],
    };
    let pixels = TransposedShape { kernel: [1, 1], ..deep };
    let all = [(deep, [3, 3]), (pixels, [1, 1]), (pixels, [8, 1])].into_iter().chain(shapes());
    for (shape, size) in all {
        let (batch, [height, width]) = (3, shape.output(size));
        let x = numbers(batch * size[0] * size[1] * shape.inputs, 1);
        let weight = numbers(shape.inputs * shape.outputs * shape.kernel[0] * shape.kernel[1], 2);
        let bias = numbers(shape.outputs, 3);
        for (level, format) in Level::available().flat_map(|level| [(level, Format::F32), (level, Format::Bf16)]) {
            let conv = TransposedConv::at(level, &weight, shape, format);
            let epilogue = Epilogue { bias: Some(&bias), ..Epilogue::default() };
            let [one, many] = of_threads(|| {
                let mut out = vec![0.0; batch * height * width * shape.outputs];
                conv.run(&mut out, &Images::pixels(&x, batch, size, shape.inputs), None, &epilogue);
                out
            });
            assert_eq!(one, many, "{level:?} {format:?} {shape:?} of {size:?}");
        }
    }
}

/// Of few channels, which are copied to be multiplied in pairs where the processor can.
#[test]
fn transposed_convolutions_of_pairs() {
    let (inputs, outputs, kernel, batch, size) = (10, 24, [4, 4], 3, [9, 5]);
    let shape = TransposedShape { inputs, outputs, kernel, stride: [2, 2], padding: [1, 1], output_padding: [0, 0] };
    let (x, w) = (numbers(batch * size[0] * size[1] * inputs, 1), numbers(inputs * outputs * 16, 2));
    for level in Level::available() {
        let conv = TransposedConv::at(level, &w, shape, Format::Bf16);
        let format = if crate::simd::has_pairs(level) { Format::Bf16 } else { Format::F32 };
        assert_eq!(conv.format(), format);
        let want = definition(&rounded(&x, format), &rounded(&w, format), &shape, batch, size);
        let mut out = vec![0.0; want.len()];
        conv.run(&mut out, &Images::pixels(&x, batch, size, inputs), None, &Epilogue::default());
        for (index, (got, want)) in out.iter().zip(&want).enumerate() {
            close(*got, *want, 16 * inputs, &format!("{level:?} at {index}"));
        }
    }
}

#[test]
fn transposed_convolutions_of_bytes() {
    let range = Quantization { scale: 0.008, zero_point: 117, min: 0, max: 255 };
    for (shape, size) in shapes() {
        let TransposedShape { inputs, outputs, kernel, .. } = shape;
        let taps = kernel[0] * kernel[1];
        let mut x = numbers(size[0] * size[1] * inputs, 1);
        let images = x.clone();
        range.apply(&mut x);
        let w: Vec<i8> = numbers(inputs * outputs * taps, 2).into_iter().map(|x| (x * 255.9).round() as i8).collect();
        let scales: Vec<f32> = numbers(outputs, 9).into_iter().map(|x| (x + 0.6) / 64.0).collect();
        let scaled: Vec<f32> =
            w.iter().enumerate().map(|(index, w)| f32::from(*w) * scales[index / taps % outputs]).collect();
        let want = definition(&x, &scaled, &shape, 1, size);
        for level in Level::available() {
            let bytes = Bytes { weight: &w, scales: &scales, bits: 8 };
            let conv = TransposedConv::quantized_at(level, bytes, shape);
            let mut out = vec![0.0; want.len()];
            conv.run(&mut out, &Images::pixels(&images, 1, size, inputs), Some(range), &Epilogue::default());
            for (index, (got, want)) in out.iter().zip(&want).enumerate() {
                close(*got, *want, 4 * inputs * taps, &format!("{level:?} {shape:?} at {index}"));
            }
        }
    }
}
