//! Weights in 28 bits.

use crate::dense::tests::{close, following, numbers};
use crate::dense::{Algorithm, CompactLinear, Epilogue, Format, PackedLinear, Weight};
use crate::simd::Level;

const SIZES: [[usize; 2]; 8] = [[1, 1], [3, 2], [15, 255], [16, 256], [17, 257], [32, 4], [33, 600], [70, 515]];

fn compact(level: Level, weight: &[f32], size: [usize; 2]) -> CompactLinear {
    CompactLinear::at(level, Weight::Numbers(weight), size).expect("the weights are finite")
}

/// A row of a single one gives the weights back: all bits of those that are not much smaller than the largest of their block, and
/// of others what that says.
#[test]
fn weights_keep_their_bits() {
    for (level, [outputs, inputs]) in Level::available().flat_map(|level| SIZES.map(|size| (level, size))) {
        // In some columns there are small numbers of all sizes, in some all are small, or 0.
        let scale = |i: usize| match i / inputs % 5 {
            0 => 1.0,
            1 => 2.0_f32.powi(-(i as i32 % 50)),
            2 => 2.0_f32.powi(-60 - i as i32 % 80),
            3 => 60000.0,
            _ => 0.0,
        };
        let weight: Vec<f32> =
            numbers(outputs * inputs, 1).into_iter().enumerate().map(|(i, x)| x * scale(i)).collect();
        let layer = compact(level, &weight, [outputs, inputs]);
        assert_eq!((layer.outputs(), layer.inputs()), (outputs, inputs));
        let mut y = vec![0.0; outputs];
        for k in 0..inputs {
            let mut x = vec![0.0; inputs];
            x[k] = 1.0;
            layer.run(&mut y, &x, &Epilogue::default());
            for (j, got) in y.iter().enumerate() {
                let row = &weight[j * inputs..][..inputs];
                let block = &row[k / 256 * 256..inputs.min(k / 256 * 256 + 256)];
                let largest = block.iter().fold(2.0_f32.powi(-100), |most, x| most.max(x.abs()));
                let (want, least) = (row[k], 2.0_f32.powi(-14) * largest);
                let off = f64::from((got - want).abs());
                let bound = if want.abs() >= least { 0.0 } else { f64::from(largest) * 2.0_f64.powi(-37) };
                assert_eq!((*got == 0.0, *got < 0.0), (want == 0.0, want < 0.0));
                assert!(off <= bound, "{level:?} {outputs}x{inputs}: {got} for {want} beside {largest}");
            }
        }
    }
}

#[test]
fn products_are_as_in_f32() {
    for (level, [outputs, inputs]) in Level::available().flat_map(|level| SIZES.map(|size| (level, size))) {
        let (weight, x) = (numbers(outputs * inputs, 1), numbers(inputs, 2));
        let (bias, residual) = (numbers(outputs, 3), numbers(outputs, 4));
        let layer = compact(level, &weight, [outputs, inputs]);
        let size = [outputs, inputs];
        let single = PackedLinear::at(level, Weight::Numbers(&weight), size, Algorithm::Direct, Format::F32);
        for case in 0..8 {
            let epilogue = following(case, &bias, &residual, outputs);
            let (mut got, mut want) = (vec![0.25; outputs + 1], vec![0.25; outputs]);
            layer.run(&mut got, &x, &epilogue);
            single.run(&mut want, outputs, &x, inputs, 1, &epilogue);
            assert_eq!(got.pop(), Some(0.25), "{level:?}: beyond the row is not ours");
            for (got, want) in got.iter().zip(&want) {
                close(*got, f64::from(*want), inputs, &format!("{level:?} {outputs}x{inputs} case {case}"));
            }
        }
    }
}

/// What stands in a file is packed row by row, the right operand of a product column by column.
#[test]
fn weights_come_from_anywhere() {
    let (outputs, inputs) = (70, 515);
    let (weight, x) = (numbers(outputs * inputs, 1), numbers(inputs, 2));
    let read = |rows: std::ops::Range<usize>, to: &mut [f32]| {
        to.copy_from_slice(&weight[rows.start * inputs..rows.end * inputs]);
    };
    let across: Vec<f32> = (0..inputs * outputs).map(|i| weight[i % outputs * inputs + i / outputs]).collect();
    let layers = [
        CompactLinear::new(Weight::Numbers(&weight), outputs, inputs),
        CompactLinear::new(Weight::Rows(&read), outputs, inputs),
        CompactLinear::from_matrix(crate::Matrix::rows(&weight, outputs, inputs).t()),
        CompactLinear::from_matrix(crate::Matrix::rows(&across, inputs, outputs)),
    ];
    let rows = layers.map(|layer| {
        let mut y = vec![0.0; outputs];
        layer.expect("the weights are finite").run(&mut y, &x, &Epilogue::default());
        y
    });
    assert!(rows.iter().all(|row| row == &rows[0]));
}

/// Not what has no exponent to be scaled by; an input may be anything.
#[test]
fn numbers_that_are_not_finite() {
    for level in Level::available() {
        for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 65536.0] {
            let mut weight = numbers(40 * 300, 1);
            weight[37 * 300 + 299] = x;
            assert!(CompactLinear::at(level, Weight::Numbers(&weight), [40, 300]).is_none(), "{level:?}: {x}");
        }
        let layer = compact(level, &[1e-42, 65535.0, -2.0, 0.0], [2, 2]);
        let run = |x: [f32; 2]| {
            let mut y = [0.0; 2];
            layer.run(&mut y, &x, &Epilogue::default());
            y
        };
        assert_eq!(run([f32::INFINITY, 1.0]), [f32::INFINITY, f32::NEG_INFINITY], "{level:?}");
        assert!(run([f32::NAN, 1.0]).iter().all(|y| y.is_nan()), "{level:?}");
        assert_eq!(run([0.0, 1e-42]), [1e-42 * 65535.0, 0.0], "{level:?}: of the smallest inputs nothing is lost");
    }
}
