//! Products by a matrix unit, against those by vectors: by the model of one on every machine that has the vectors, and by the
//! processor's own if it has one.

use super::*;
use crate::Quantization;
use crate::simd::{has_bytes, has_pairs};

const LEVEL: Level = Level::Avx512;
const RANGE: Quantization = Quantization { scale: 0.004, zero_point: 117, min: 0, max: 255 };

/// What is computed with each unit there is, and with vectors alone.
pub(super) fn on_each(f: impl Fn() -> Vec<f32>) -> (Vec<Vec<f32>>, Vec<f32>) {
    let model = Some(MatrixUnit::Model);
    let units = [model, MatrixUnit::detect()].into_iter().filter(|unit| unit.is_some());
    (units.map(|unit| MatrixUnit::with(unit, &f)).collect(), MatrixUnit::with(None, &f))
}

/// Numbers from 0 to 1 below some, one after the other.
pub(super) struct Choices(pub(super) u32);

impl Choices {
    pub(super) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % most
    }

    pub(super) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Which channels there are, for so many numbers in a word: whole registers, parts of them, and too few.
fn channels(choices: &mut Choices, numbers: usize) -> usize {
    numbers * choices.of(&[16, 16, 32, 48, 4, 9, 21, 130, 2])
}

#[test]
fn linear_layers_on_units() {
    let mut choices = Choices(7);
    for case in 0..60 {
        let (m, n) = (choices.below(70) + 1, choices.of(&[1, 15, 16, 17, 32, 33, 70, 100]));
        let whole = case % 2 == 0;
        let k = channels(&mut choices, if whole { 4 } else { 2 });
        if if whole { !has_bytes(LEVEL) } else { !has_pairs(LEVEL) } {
            continue;
        }
        let (x, bias, residual) = (numbers(m * (k + 3), 1), numbers(n, 3), numbers(m * (n + 1), 4));
        let epilogue = following(case % 8, &bias, &residual, n + 1);
        let run = |f: &dyn Fn(&mut [f32])| {
            let mut out = vec![0.25; m * (n + 2)];
            f(&mut out);
            assert!(out.chunks(n + 2).all(|row| row[n..] == [0.25; 2]), "a gap was written");
            out
        };
        let weight = numbers(n * k, 2);
        let (got, want) = if whole {
            let (weight, scales) = (quantized::bytes(n * k, 2), quantized::scales(n));
            let layer = QuantizedLinear::at(LEVEL, Bytes { weight: &weight, scales: &scales, bits: 8 }, k);
            on_each(|| run(&|out| layer.run(out, n + 2, &x, k + 3, m, RANGE, &epilogue)))
        } else {
            let layer = PackedLinear::at(LEVEL, Weight::Numbers(&weight), [n, k], Algorithm::Direct, Format::Bf16);
            on_each(|| run(&|out| layer.run(out, n + 2, &x, k + 3, m, &epilogue)))
        };
        for got in got {
            are_close(&got, &want, whole, &format!("{m}x{n}x{k}, case {case}"));
        }
    }
}

#[test]
fn convolutions_on_units() {
    let mut choices = Choices(1);
    for case in 0..200 {
        let whole = case % 2 == 0;
        let groups = choices.of(&[1, 1, 2, 3]);
        // Now and then few ones, which are filled up to whole words.
        let inputs = match choices.below(4) {
            0 if groups == 1 => choices.of(&[1, 3, 3, 5, 6, 10]),
            _ => groups * channels(&mut choices, if whole { 4 } else { 2 }),
        };
        let outputs = groups * choices.of(&[5, 16, 33, 64]);
        let mut two = |values: &[usize]| [0; 2].map(|_| choices.of(values));
        let kernel = two(&[1, 1, 2, 3, 5]);
        let shape = ConvShape {
            kernel,
            stride: two(&[1, 1, 2, 3]),
            dilation: two(&[1, 1, 2]),
            before: two(&[0, 1, 2]),
            after: two(&[0, 1, 3]),
            groups,
            ..ConvShape::pointwise(inputs, outputs)
        };
        let size = [9 + choices.below(9), 9 + choices.below(30)];
        let batch = choices.of(&[1, 1, 2, 5]);
        if if whole { !has_bytes(LEVEL) } else { !has_pairs(LEVEL) } {
            continue;
        }
        let [height, width] = shape.output(size);
        let rows = batch * height * width;
        let x = numbers(batch * size[0] * size[1] * (inputs + 2), 1);
        let planes = planes(&x, batch, size, inputs, inputs + 2);
        let images = match choices.below(2) {
            0 => Images { layout: Layout::Pixels { distance: inputs + 2 }, ..Images::pixels(&x, batch, size, inputs) },
            _ => Images::planes(&planes, batch, size),
        };
        let (bias, residual) = (numbers(outputs, 3), numbers(rows * outputs, 4));
        let epilogue = following(case % 8, &bias, &residual, outputs);
        let run = |f: &dyn Fn(&mut [f32])| {
            let mut out = vec![0.25; rows * outputs];
            f(&mut out);
            out
        };
        let row = inputs / groups * kernel[0] * kernel[1];
        let (got, want) = if whole {
            let (weight, scales) = (quantized::bytes(outputs * row, 2), quantized::scales(outputs));
            // Few channels are packed for units as long as there is one.
            on_each(|| {
                let conv = QuantizedConv::at(LEVEL, Bytes { weight: &weight, scales: &scales, bits: 8 }, shape);
                run(&|out| conv.run(out, outputs, &images, RANGE, &epilogue))
            })
        } else {
            let weight = numbers(outputs * row, 2);
            let pack = || PackedConv::at(LEVEL, Weight::Numbers(&weight), shape, Algorithm::Direct, Format::Bf16);
            // Units are worth rounding for where vectors are not yet.
            let format = |unit| MatrixUnit::with(unit, || pack().format());
            if format(Some(MatrixUnit::Model)) != format(None) {
                continue;
            }
            on_each(|| run(&|out| pack().run(out, outputs, &images, &epilogue)))
        };
        for got in got {
            are_close(&got, &want, whole, &format!("{batch}x{size:?} {shape:?}, case {case}"));
        }
    }
}

/// Vectors round sums of whole numbers where they are long, and add up bf16 in another order.
fn are_close(got: &[f32], want: &[f32], whole: bool, what: &str) {
    for (index, (got, want)) in got.iter().zip(want).enumerate() {
        let most = if whole { 8e-6 * want.abs().max(1.0) } else { 2e-4 };
        assert!((got - want).abs() <= most, "{what} at {index}: {got}, not {want}");
    }
}

#[test]
fn words_on_units() {
    MatrixUnit::with(Some(MatrixUnit::Model), || {
        words::layers_of_bytes();
        words::layers_of_pairs();
        words::pairs_are_added();
    });
}

/// What is no number stays in its row, and in its column if it is a weight.
#[test]
fn units_do_not_spread_what_is_no_number() {
    if !has_pairs(LEVEL) {
        return;
    }
    let (m, n, k) = (33, 20, 32);
    let mut x = numbers(m * k, 1);
    x[5 * k + 3] = f32::NAN;
    x[17 * k] = f32::INFINITY;
    let weight = vec![1.0; n * k];
    let layer = PackedLinear::at(LEVEL, Weight::Numbers(&weight), [n, k], Algorithm::Direct, Format::Bf16);
    let (got, _) = on_each(|| {
        let mut out = vec![0.0; m * n];
        layer.run(&mut out, n, &x, k, m, &Epilogue::default());
        out
    });
    for got in got {
        for (row, got) in got.chunks_exact(n).enumerate() {
            let as_is = |x: &f32| match row {
                5 => x.is_nan(),
                17 => *x == f32::INFINITY,
                _ => x.is_finite(),
            };
            assert!(got.iter().all(as_is), "row {row}: {got:?}");
        }
    }
    // Runs that end within a register.
    let mut weight = vec![1.0; 40 * 20];
    weight[35 * 20] = f32::INFINITY;
    let mut out = vec![0.0; 3 * 40];
    MatrixUnit::with(Some(MatrixUnit::Model), || {
        let layer = PackedLinear::at(LEVEL, Weight::Numbers(&weight), [40, 20], Algorithm::Direct, Format::Bf16);
        layer.run(&mut out, 40, &numbers(3 * 20, 1), 20, 3, &Epilogue::default());
    });
    for row in out.chunks_exact(40) {
        assert!(row.iter().enumerate().all(|(column, x)| x.is_finite() == (column != 35)), "{row:?}");
    }
}
