//! Convolutions of volumes, against their definition in f64.

use super::*;

/// What a weight, `[outputs, inputs of a group, depth, height, width]`, makes of voxels.
fn definition(x: &[f32], w: &[f32], shape: &VolumeShape, batch: usize, size: [usize; 3]) -> Vec<f64> {
    let ConvShape { inputs, outputs, kernel: [kh, kw], stride, dilation, before, groups, .. } = shape.frame;
    let [depth, height, width] = shape.output(size);
    let (channels, columns) = (inputs / groups, outputs / groups);
    let mut out = Vec::new();
    for (volume, z, y, x_at) in (0..batch)
        .flat_map(|b| (0..depth).map(move |z| (b, z)))
        .flat_map(|(b, z)| (0..height).map(move |y| (b, z, y)))
        .flat_map(|(b, z, y)| (0..width).map(move |x| (b, z, y, x)))
    {
        for output in 0..outputs {
            let mut sum = 0.0;
            for (dz, dy, dx) in (0..shape.depth)
                .flat_map(|dz| (0..kh).map(move |dy| (dz, dy)))
                .flat_map(|(dz, dy)| (0..kw).map(move |dx| (dz, dy, dx)))
            {
                let z = (z * shape.stride + dz * shape.dilation).wrapping_sub(shape.before);
                let y = (y * stride[0] + dy * dilation[0]).wrapping_sub(before[0]);
                let x_at = (x_at * stride[1] + dx * dilation[1]).wrapping_sub(before[1]);
                if z >= size[0] || y >= size[1] || x_at >= size[2] {
                    continue;
                }
                let voxel = ((volume * size[0] + z) * size[1] + y) * size[2] + x_at;
                for channel in 0..channels {
                    let number = x[voxel * inputs + output / columns * channels + channel];
                    let at = (((output * channels + channel) * shape.depth + dz) * kh + dy) * kw + dx;
                    sum += f64::from(number) * f64::from(w[at]);
                }
            }
            out.push(sum);
        }
    }
    out
}

/// Windows that see one frame or several, reach beyond the volume on both sides, skip frames, or see nothing of it.
pub(super) const DEPTHS: [(usize, usize, usize, [usize; 2]); 7] = [
    (1, 1, 1, [0, 0]),
    (3, 1, 1, [1, 1]),
    (1, 2, 1, [0, 0]),
    (3, 2, 1, [1, 1]),
    (2, 1, 2, [0, 3]),
    (2, 3, 1, [3, 4]),
    (5, 1, 1, [0, 0]),
];

/// Windows around a pixel.
fn around(inputs: usize, outputs: usize, [height, width]: [usize; 2]) -> ConvShape {
    ConvShape {
        kernel: [height, width],
        before: [height / 2, width / 2],
        after: [height / 2, width / 2],
        ..ConvShape::pointwise(inputs, outputs)
    }
}

/// The units that products of a level are made by, and vectors alone.
fn units(level: Level) -> impl Iterator<Item = (usize, Option<MatrixUnit>)> {
    let all = [None, MatrixUnit::detect(), Some(MatrixUnit::Model)];
    all.into_iter().take(if level == Level::Avx512 { 3 } else { 1 }).enumerate()
}

#[test]
fn convolutions_of_volumes() {
    let window = |inputs, outputs, side: usize| around(inputs, outputs, [side; 2]);
    let frames = [
        window(16, 32, 3),
        ConvShape { stride: [2, 1], ..window(3, 20, 5) },
        window(40, 9, 1),
        ConvShape { groups: 20, ..window(20, 20, 3) },
        ConvShape { groups: 2, ..window(8, 6, 3) },
        ConvShape { groups: 33, stride: [1, 2], ..window(33, 33, 3) },
        ConvShape { groups: 7, dilation: [1, 2], ..window(7, 7, 3) },
        ConvShape { groups: 18, stride: [2, 1], ..around(18, 18, [3, 1]) },
        ConvShape { groups: 16, ..window(16, 16, 1) },
        ConvShape { groups: 5, ..window(5, 5, 5) },
    ];
    let (batch, size) = (2, [5, 6, 16]);
    for (frame, (depth, stride, dilation, [before, after])) in
        frames.into_iter().flat_map(|frame| DEPTHS.map(|depth| (frame, depth)))
    {
        let shape = VolumeShape { frame, depth, stride, dilation, before, after };
        let (inputs, outputs) = (frame.inputs, frame.outputs);
        let x = numbers(batch * size.iter().product::<usize>() * inputs, 1);
        let row = inputs / frame.groups * depth * frame.kernel[0] * frame.kernel[1];
        let (w, bias) = (numbers(outputs * row, 2), numbers(outputs, 3));
        let want = definition(&x, &w, &shape, batch, size);
        let residual = numbers(want.len(), 4);
        let algorithms = match frame.groups * frame.stride[0] * frame.kernel[0] {
            3 => vec![Algorithm::Direct, Algorithm::Winograd2, Algorithm::Winograd4],
            _ => vec![Algorithm::Direct],
        };
        for (level, algorithm) in Level::available().flat_map(|level| algorithms.iter().map(move |by| (level, *by))) {
            let conv = VolumeConv::at(level, Weight::Numbers(&w), shape, algorithm, Format::F32);
            for case in 0..8 {
                let epilogue = following(case, &bias, &residual, outputs);
                let mut out = vec![0.25; want.len() + 1];
                conv.run(&mut out, &x, batch, size, &epilogue);
                for (index, want) in want.iter().enumerate() {
                    let want = followed(*want, case, bias[index % outputs], residual[index]);
                    close(out[index], want, row, &format!("{level:?} {algorithm:?} {shape:?} case {case} at {index}"));
                }
                assert_eq!(out[want.len()], 0.25, "{level:?} {shape:?}");
            }
        }
    }
}

/// In pairs, by vectors and by units, of frames that are copied in several ways: as lines, and as windows.
#[test]
fn volumes_in_pairs() {
    let frames = [
        around(32, 40, [3, 3]),
        around(16, 16, [3, 3]),
        ConvShape { stride: [2, 2], ..around(34, 33, [3, 1]) },
        ConvShape { dilation: [2, 1], ..around(48, 16, [2, 3]) },
        ConvShape { stride: [2, 2], ..around(3, 32, [5, 5]) },
        ConvShape { dilation: [1, 2], ..around(6, 20, [3, 3]) },
        ConvShape { groups: 2, ..around(64, 64, [3, 3]) },
        around(64, 24, [1, 1]),
    ];
    let batch = 2;
    for (frame, (index, (depth, stride, dilation, [before, after]))) in
        frames.into_iter().flat_map(|frame| DEPTHS.into_iter().enumerate().map(move |depth| (frame, depth)))
    {
        let size = [[5, 6, 5], [6, 3, 20], [4, 5, 7]][index % 3];
        let shape = VolumeShape { frame, depth, stride, dilation, before, after };
        let (inputs, outputs) = (frame.inputs, frame.outputs);
        let row = inputs / frame.groups * depth * frame.kernel[0] * frame.kernel[1];
        let x = rounded(&numbers(batch * size.iter().product::<usize>() * inputs, 1), Format::Bf16);
        let (w, bias) = (rounded(&numbers(outputs * row, 2), Format::Bf16), numbers(outputs, 3));
        let want = definition(&x, &w, &shape, batch, size);
        let residual = numbers(want.len(), 4);
        for level in Level::available() {
            for (case, unit) in units(level).map(|(number, unit)| ((index + 3 * number) % 8, unit)) {
                let epilogue = following(case, &bias, &residual, outputs);
                let out = MatrixUnit::with(unit, || {
                    let conv = VolumeConv::at(level, Weight::Numbers(&w), shape, Algorithm::Direct, Format::Bf16);
                    let mut out = vec![0.25; want.len() + 1];
                    conv.run(&mut out, &x, batch, size, &epilogue);
                    out
                });
                for (index, want) in want.iter().enumerate() {
                    let want = followed(*want, case, bias[index % outputs], residual[index]);
                    close(out[index], want, row, &format!("{level:?} {unit:?} {shape:?} case {case} at {index}"));
                }
                assert_eq!(out[want.len()], 0.25, "{level:?} {shape:?}");
            }
        }
    }
}

/// Of whole numbers, by vectors and by units: padding stands for 0 whatever the zero point is.
#[test]
fn volumes_of_bytes() {
    let window = |inputs, outputs, side: usize| around(inputs, outputs, [side; 2]);
    let frames = [
        window(32, 40, 3),
        ConvShape { stride: [2, 1], dilation: [1, 2], ..window(68, 33, 3) },
        window(64, 24, 1),
        ConvShape { groups: 8, ..window(32, 32, 3) },
        ConvShape { groups: 20, ..window(20, 20, 3) },
        window(18, 5, 3),
        ConvShape { stride: [2, 2], ..window(3, 32, 5) },
    ];
    let batch = 2;
    for (frame, (index, (depth, stride, dilation, [before, after]))) in
        frames.into_iter().flat_map(|frame| DEPTHS.into_iter().enumerate().map(move |depth| (frame, depth)))
    {
        let (range, size) = (quantized::RANGES[index % 4], [[5, 6, 5], [6, 3, 20], [4, 5, 7]][index % 3]);
        let shape = VolumeShape { frame, depth, stride, dilation, before, after };
        let (inputs, outputs) = (frame.inputs, frame.outputs);
        let row = inputs / frame.groups * depth * frame.kernel[0] * frame.kernel[1];
        let (w, scales, bias) = (quantized::bytes(outputs * row, 2), quantized::scales(outputs), numbers(outputs, 3));
        let x = numbers(batch * size.iter().product::<usize>() * inputs, 1);
        let x_rounded: Vec<f32> = x.iter().map(|x| quantized::rounded(*x, range) as f32).collect();
        let w_scaled: Vec<f32> = (0..w.len()).map(|index| f32::from(w[index]) * scales[index / row]).collect();
        let want = definition(&x_rounded, &w_scaled, &shape, batch, size);
        let residual = numbers(want.len(), 4);
        for level in Level::available() {
            let bytes = Bytes { weight: &w, scales: &scales, bits: range.bits() };
            for (case, unit) in units(level).map(|(number, unit)| ((index + 3 * number) % 8, unit)) {
                // Windows are packed for the unit that there is.
                let conv = MatrixUnit::with(unit, || QuantizedVolumeConv::at(level, bytes, shape));
                let epilogue = following(case, &bias, &residual, outputs);
                let run = |x: &[f32], words: Words| {
                    let mut out = vec![0.25; want.len() + 1];
                    let activations = Activations { words, ..range.into() };
                    MatrixUnit::with(unit, || conv.run(&mut out, x, batch, size, activations, &epilogue));
                    out
                };
                let out = run(&x, Words::default());
                for (index, want) in want.iter().enumerate() {
                    let want = followed(*want, case, bias[index % outputs], residual[index]);
                    close(out[index], want, 4 * row, &format!("{level:?} {unit:?} {shape:?} case {case} at {index}"));
                }
                assert_eq!(out[want.len()], 0.25, "{level:?} {shape:?}");
                if conv.reads_words() {
                    let rounded = Rounded::Bytes(range);
                    let from_words = run(&words::words(&x, rounded), Words::default().reading(rounded));
                    assert_eq!(from_words, out, "{level:?} {unit:?} {shape:?} of words");
                }
                let adding = words::Adding {
                    adds: &|rounded| conv.adds_words(rounded),
                    writes: &|rounded| conv.writes_words(rounded),
                    run: &|out, _, words, added, epilogue| {
                        let activations = Activations { added, words, ..range.into() };
                        MatrixUnit::with(unit, || conv.run(out, &x, batch, size, activations, epilogue));
                    },
                };
                adding.check([want.len() / outputs, outputs], &format!("{level:?} {unit:?} {shape:?}"));
            }
        }
    }
}

/// Windows of many channels, of which tiles leave out the taps that see what is above, below, before or behind the volume; where nothing is 0, they
/// leave out none.
#[test]
fn taps_that_see_nothing() {
    let (inputs, outputs) = (192, 36);
    let wide = around(inputs, outputs, [3, 3]);
    for (number, (frame, depth, size)) in [
        (wide, 3, [2, 7, 7]),
        (wide, 1, [3, 14, 14]),
        (ConvShape { stride: [2, 1], ..around(inputs, outputs, [5, 3]) }, 3, [3, 9, 13]),
        (ConvShape { dilation: [3, 1], before: [3, 1], after: [2, 1], ..wide }, 2, [4, 8, 6]),
        (ConvShape { before: [0, 1], ..wide }, 1, [2, 6, 25]),
        // With more runs than are left out one by one.
        (around(inputs, outputs, [5, 5]), 3, [3, 6, 12]),
    ]
    .into_iter()
    .enumerate()
    {
        let (before, batch) = (depth / 2, 2);
        let shape = VolumeShape { frame, depth, stride: 1, dilation: 1, before, after: before };
        let row = inputs * depth * frame.kernel[0] * frame.kernel[1];
        let (w, scales, bias) = (quantized::bytes(outputs * row, 2), quantized::scales(outputs), numbers(outputs, 3));
        let x = numbers(batch * size.iter().product::<usize>() * inputs, 1);
        let w_scaled: Vec<f32> = (0..w.len()).map(|index| f32::from(w[index]) * scales[index / row]).collect();
        for range in [quantized::RANGES[3], quantized::RANGES[number % 3]] {
            let x_rounded: Vec<f32> = x.iter().map(|x| quantized::rounded(*x, range) as f32).collect();
            let want = definition(&x_rounded, &w_scaled, &shape, batch, size);
            let bytes = Bytes { weight: &w, scales: &scales, bits: range.bits() };
            for level in Level::available() {
                let mut out = vec![0.25; want.len()];
                MatrixUnit::with(None, || {
                    let conv = QuantizedVolumeConv::at(level, bytes, shape);
                    conv.run(&mut out, &x, batch, size, range, &following(5, &bias, &[], outputs));
                });
                for (index, want) in want.iter().enumerate() {
                    let want = followed(*want, 5, bias[index % outputs], 0.0);
                    close(out[index], want, 4 * row, &format!("{level:?} {shape:?} {range:?} at {index}"));
                }
            }
        }
    }
}

/// What is more than the cache holds, by some frames at a time, or by some lines of a frame.
#[test]
fn bytes_in_bands() {
    let (outputs, range) = (5, quantized::RANGES[0]);
    let frame = |inputs, kernel, stride| {
        let (before, after) = ([1, 0], [1, 2]);
        ConvShape { kernel, stride, before, after, ..ConvShape::pointwise(inputs, outputs) }
    };
    for (frame, size) in [
        (frame(60, [2, 1], [1, 3]), [9, 61, 51]),
        (frame(62, [1, 3], [2, 2]), [3, 150, 161]),
        (frame(7, [3, 2], [3, 2]), [1, 501, 403]),
    ] {
        let depth = size[0].min(2);
        let shape = VolumeShape { frame, depth, stride: 1, dilation: 1, before: depth - 1, after: 0 };
        let row = frame.inputs * depth * frame.kernel[0] * frame.kernel[1];
        let (w, scales, bias) = (quantized::bytes(outputs * row, 2), quantized::scales(outputs), numbers(outputs, 3));
        let x = numbers(size.iter().product::<usize>() * frame.inputs, 1);
        let x_rounded: Vec<f32> = x.iter().map(|x| quantized::rounded(*x, range) as f32).collect();
        let w_scaled: Vec<f32> = (0..w.len()).map(|index| f32::from(w[index]) * scales[index / row]).collect();
        let want = definition(&x_rounded, &w_scaled, &shape, 1, size);
        let residual = numbers(want.len(), 4);
        let bytes = Bytes { weight: &w, scales: &scales, bits: range.bits() };
        for level in Level::available() {
            let epilogue = following(7, &bias, &residual, outputs);
            let mut out = vec![0.25; want.len() + 1];
            MatrixUnit::with(None, || {
                let conv = QuantizedVolumeConv::at(level, bytes, shape);
                conv.run(&mut out, &x, 1, size, range, &epilogue);
            });
            for (index, want) in want.iter().enumerate() {
                let want = followed(*want, 7, bias[index % outputs], residual[index]);
                close(out[index], want, 4 * row, &format!("{level:?} {shape:?} at {index}"));
            }
            assert_eq!(out[want.len()], 0.25, "{level:?} {shape:?}");
        }
    }
}

/// What is words gives what numbers give, rounded before or after.
#[test]
fn volumes_of_words() {
    let frame = ConvShape { kernel: [3; 2], before: [1; 2], after: [1; 2], ..ConvShape::pointwise(32, 20) };
    let (batch, size) = (2, [5, 6, 5]);
    for (level, (depth, stride, dilation, [before, after])) in
        Level::available().flat_map(|level| DEPTHS.map(|depth| (level, depth)))
    {
        let shape = VolumeShape { frame, depth, stride, dilation, before, after };
        let (w, bias) = (numbers(20 * 32 * 9 * depth, 2), numbers(20, 3));
        let conv = VolumeConv::at(level, Weight::Numbers(&w), shape, Algorithm::Direct, Format::Bf16);
        if !conv.reads_words() || !conv.writes_words(Rounded::Pairs) {
            continue;
        }
        let x = numbers(batch * size.iter().product::<usize>() * 32, 1);
        let x_words = words::words(&x, Rounded::Pairs);
        let epilogue = Epilogue { bias: Some(&bias), activation: Some(Unary::Relu), ..Epilogue::default() };
        let mut plain = vec![0.0; batch * shape.output(size).iter().product::<usize>() * 20];
        conv.run(&mut plain, &x, batch, size, &epilogue);
        let residual = rounded(&numbers(plain.len(), 4), Format::Bf16);
        let residual_words = words::words(&residual, Rounded::Pairs);
        for (case, unit) in (0..8).flat_map(|case| [Some(MatrixUnit::Model), None].map(|unit| (case, unit))) {
            let is = |bit: usize| (case & bit != 0).then_some(Rounded::Pairs);
            let words = Words { input: is(1), added: is(2), output: is(4) };
            let added = |data, stride| Epilogue { residual: Some(Residual { data, stride }), ..epilogue };
            let epilogue = if is(2).is_some() { added(&residual_words, 10) } else { added(&residual, 20) };
            let mut got = vec![0.0; plain.len() / 20 * words.output_len(20)];
            let mut want = vec![0.0; plain.len()];
            MatrixUnit::with(unit, || {
                conv.run(&mut want, &x, batch, size, &added(&residual, 20));
                conv.run_words(&mut got, if is(1).is_some() { &x_words } else { &x }, batch, size, words, &epilogue);
            });
            let (got, most) = match words.output {
                Some(_) => (got.iter().flat_map(|word| words::halves(*word)).collect(), 1.0 / 256.0),
                None => (got, 1e-5),
            };
            for (index, (got, want)) in got.iter().zip(&want).enumerate() {
                let near = (got - want).abs() <= most * want.abs().max(1.0);
                assert!(near, "{level:?} {unit:?} {shape:?} {words:?} at {index}: {got}, not {want}");
            }
        }
    }
}

/// What a transposed convolution with a weight, `[inputs, outputs, depth, height, width]`, makes of voxels.
fn transposed(x: &[f32], w: &[f32], shape: &TransposedVolumeShape, batch: usize, size: [usize; 3]) -> Vec<f64> {
    let TransposedShape { inputs, outputs, kernel: [kh, kw], stride, padding, .. } = shape.frame;
    let [depth, height, width] = shape.output(size);
    let mut out = vec![0.0; batch * depth * height * width * outputs];
    for (voxel, x) in x.chunks_exact(inputs).enumerate() {
        let (line, column) = (voxel / size[2], voxel % size[2]);
        let (frame, line) = (line / size[1], line % size[1]);
        let (volume, frame) = (frame / size[0], frame % size[0]);
        for tap in 0..shape.depth * kh * kw {
            let z = (frame * shape.stride + tap / (kh * kw)).wrapping_sub(shape.padding);
            let y = (line * stride[0] + tap / kw % kh).wrapping_sub(padding[0]);
            let to = (column * stride[1] + tap % kw).wrapping_sub(padding[1]);
            if z >= depth || y >= height || to >= width {
                continue;
            }
            for output in 0..outputs {
                let weight = |input: usize| w[(input * outputs + output) * shape.depth * kh * kw + tap];
                let sum: f64 = (0..inputs).map(|input| f64::from(x[input]) * f64::from(weight(input))).sum();
                out[(((volume * depth + z) * height + y) * width + to) * outputs + output] += sum;
            }
        }
    }
    out
}

#[test]
fn transposed_convolutions_of_volumes() {
    let one = TransposedShape {
        inputs: 20,
        outputs: 24,
        kernel: [2; 2],
        stride: [2; 2],
        padding: [0; 2],
        output_padding: [0; 2],
    };
    let frames = [
        one,
        TransposedShape { inputs: 3, outputs: 5, kernel: [3, 4], padding: [1; 2], output_padding: [1, 0], ..one },
    ];
    // Windows that meet, overlap, leave gaps, and of which something is cut off or added.
    let depths = [(2, 2, 0, 0), (3, 2, 1, 1), (4, 2, 1, 0), (3, 1, 2, 0), (2, 3, 1, 2), (1, 2, 0, 1), (5, 2, 3, 0)];
    let (batch, size) = (2, [4, 3, 5]);
    for (frame, (depth, stride, padding, output_padding)) in
        frames.into_iter().flat_map(|frame| depths.map(|depth| (frame, depth)))
    {
        let shape = TransposedVolumeShape { frame, depth, stride, padding, output_padding };
        let (inputs, outputs, [height, width]) = (frame.inputs, frame.outputs, frame.kernel);
        let x = numbers(batch * size.iter().product::<usize>() * inputs, 1);
        let (w, bias) = (numbers(inputs * outputs * depth * height * width, 2), numbers(outputs, 3));
        let want = transposed(&x, &w, &shape, batch, size);
        for level in Level::available() {
            let conv = TransposedVolumeConv::at(level, &w, shape, Format::F32);
            let epilogue = Epilogue { bias: Some(&bias), activation: Some(Unary::Relu), ..Epilogue::default() };
            let mut out = vec![0.25; want.len() + 1];
            conv.run(&mut out, &x, batch, size, &epilogue);
            for (index, want) in want.iter().enumerate() {
                let want = (want + f64::from(bias[index % outputs])).max(0.0);
                close(out[index], want, inputs * depth * height * width, &format!("{level:?} {shape:?} at {index}"));
            }
            assert_eq!(out[want.len()], 0.25, "{level:?} {shape:?}");
        }
    }
}

/// What is words gives what numbers give, of transposed convolutions whose frames come from one and from several.
#[test]
fn transposed_volumes_of_words() {
    let frame = TransposedShape {
        inputs: 32,
        outputs: 24,
        kernel: [2; 2],
        stride: [2; 2],
        padding: [0; 2],
        output_padding: [0; 2],
    };
    let (batch, size) = (2, [3, 4, 5]);
    for (level, depth) in Level::available().flat_map(|level| [(level, 2), (level, 4)]) {
        let shape = TransposedVolumeShape { frame, depth, stride: 2, padding: depth / 4, output_padding: 0 };
        let (w, bias) = (numbers(32 * 24 * depth * 4, 2), numbers(24, 3));
        let conv = TransposedVolumeConv::at(level, &w, shape, Format::Bf16);
        if !conv.reads_words() || !conv.writes_words(Rounded::Pairs) {
            continue;
        }
        let x = numbers(batch * size.iter().product::<usize>() * 32, 1);
        let x_words = words::words(&x, Rounded::Pairs);
        let epilogue = Epilogue { bias: Some(&bias), activation: Some(Unary::Relu), ..Epilogue::default() };
        let mut plain = vec![0.0; batch * shape.output(size).iter().product::<usize>() * 24];
        conv.run(&mut plain, &x, batch, size, &epilogue);
        for (input, output) in [(true, false), (false, true), (true, true)] {
            let pairs = |words: bool| words.then_some(Rounded::Pairs);
            let words = Words { input: pairs(input), output: pairs(output), ..Words::default() };
            let want = if output { words::words(&plain, Rounded::Pairs) } else { plain.clone() };
            let mut got = vec![0.0; want.len()];
            conv.run_words(&mut got, if input { &x_words } else { &x }, batch, size, words, &epilogue);
            let is_same = got.iter().zip(&want).all(|(got, want)| got.to_bits() == want.to_bits());
            assert!(is_same, "{level:?} {shape:?} {words:?}");
        }
    }
}

/// The largest of what is rounded is what the largest is rounded to.
#[test]
fn pooling_of_volumes_of_words() {
    let (channels, batch, size) = (12, 2, [5, 6, 7]);
    let frames = PoolShape {
        channels,
        kernel: [2, 3],
        stride: [2, 2],
        dilation: [1; 2],
        before: [1, 0],
        after: [0, 1],
        output: [3, 3],
    };
    let places = PoolShape { kernel: [3, 1], stride: [2, 1], before: [1, 0], after: [1, 0], output: [3, 9], ..frames };
    let pool = VolumePool::max(frames, places);
    let x = numbers(batch * size.iter().product::<usize>() * channels, 1);
    let mut plain = vec![0.0; batch * 27 * channels];
    pool.run(&mut plain, &x, batch, size);
    for rounded in [Rounded::Pairs, Rounded::Bytes(quantized::RANGES[0])] {
        if !pool.takes_words(rounded) {
            continue;
        }
        let want = words::words(&plain, rounded);
        let x_words = words::words(&x, rounded);
        for input in [None, Some(rounded)] {
            let words = Words { input, output: Some(rounded), ..Words::default() };
            let mut got = vec![0.0; want.len()];
            pool.run_words(&mut got, if input.is_some() { &x_words } else { &x }, batch, size, words);
            let is_same = got.iter().zip(&want).all(|(got, want)| got.to_bits() == want.to_bits());
            assert!(is_same, "{words:?}");
        }
    }
}

/// Frames that threads share whole are those of one thread: sums of frames, and transposed ones.
#[test]
fn threads_change_no_frame() {
    let shape = VolumeShape { frame: around(1, 32, [3, 3]), depth: 3, stride: 1, dilation: 1, before: 1, after: 1 };
    let conv = VolumeConv::new(Weight::Numbers(&numbers(32 * 27, 1)), shape, Algorithm::Direct, Format::F32);
    // Pieces of two frames, several for each of two threads.
    let size = [18, 64, 64];
    let x = numbers(size.iter().product(), 2);
    let run = || {
        let mut out = vec![0.0; x.len() * 32];
        conv.run(&mut out, &x, 1, size, &Epilogue::default());
        out
    };
    assert!(crate::threads::alone(run) == run());
    let size = [16, 24, 24];
    let (kernel, none) = ([2; 2], [0; 2]);
    let frame = TransposedShape { inputs: 4, outputs: 6, kernel, stride: kernel, padding: none, output_padding: none };
    let shape = TransposedVolumeShape { frame, depth: 3, stride: 2, padding: 1, output_padding: 1 };
    let conv = TransposedVolumeConv::new(&numbers(4 * 6 * 3 * 4, 3), shape, Format::F32);
    let x = numbers(size.iter().product::<usize>() * 4, 4);
    let run = || {
        let mut out = vec![0.0; shape.output(size).iter().product::<usize>() * 6];
        conv.run(&mut out, &x, 1, size, &Epilogue::default());
        out
    };
    assert!(crate::threads::alone(run) == run());
}
