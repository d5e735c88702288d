//! Products by a matrix unit whose right operand is not packed: the same numbers as where it is.

use super::matrix_unit::Choices;
use super::*;
use crate::gemm::Matrix;
use crate::simd::has_pairs;

const LEVEL: Level = Level::Avx512;

/// A matrix in each layout that is read where it lies, with gaps: its numbers, and the distances of rows and columns. In the last one columns
/// displace each other in the first-level cache.
fn layouts([k, n]: [usize; 2], weight: &[f32]) -> [(Vec<f32>, [usize; 2]); 3] {
    let (beside, below, colliding) = ([n + 3, 1], [1, k + 5], [1, (k + 1).next_multiple_of(512)]);
    [beside, below, colliding].map(|[row, column]| {
        // What lies in gaps would be seen.
        let mut data = vec![f32::NAN; (k - 1) * row + (n - 1) * column + 1];
        for (i, j) in (0..k).flat_map(|i| (0..n).map(move |j| (i, j))) {
            data[i * row + j * column] = weight[j * k + i];
        }
        (data, [row, column])
    })
}

/// The product of rows, which are so far apart, with a matrix in each layout, by each unit that reads it.
pub(super) fn products(
    [m, k, n]: [usize; 3],
    (x, distance): (&[f32], usize),
    weight: &[f32],
    stride: usize,
    epilogue: &Epilogue<'_>,
) -> Vec<Vec<f32>> {
    let mut all = vec![];
    for (data, [row, column]) in layouts([k, n], weight) {
        let unpacked = Unpacked::new(LEVEL, Matrix::new(&data, k, n, row, column));
        for unit in [Some(MatrixUnit::Model), MatrixUnit::detect()].into_iter().flatten() {
            let mut out = vec![0.25; m * stride];
            if MatrixUnit::with(Some(unit), || unpacked.run((&mut out, stride), (x, distance), m, epilogue)) {
                all.push(out);
            }
        }
    }
    all
}

#[test]
fn matrices_that_are_not_packed() {
    let (mut choices, mut count) = (Choices(9), 0);
    for case in 0..40 {
        let (m, n) = (choices.below(90) + 2, choices.of(&[1, 16, 17, 32, 33, 70, 100, 200]));
        let k = choices.of(&[32, 64, 16, 18, 40, 36, 100, 160, 200, 34, 258, 260, 640]);
        if !has_pairs(LEVEL) {
            continue;
        }
        let (x, w, bias) = (numbers(m * (k + 3), 1), numbers(n * k, 2), numbers(n, 3));
        let residual = numbers(m * (n + 1), 4);
        let epilogue = following(case % 8, &bias, &residual, n + 1);
        let layer = PackedLinear::at(LEVEL, Weight::Numbers(&w), [n, k], Algorithm::Bf16x6, Format::F32);
        let want = MatrixUnit::with(Some(MatrixUnit::Model), || {
            let mut out = vec![0.25; m * (n + 2)];
            layer.run(&mut out, n + 2, &x, k + 3, m, &epilogue);
            out
        });
        for out in products([m, k, n], (&x, k + 3), &w, n + 2, &epilogue) {
            count += 1;
            assert!(out.chunks(n + 2).all(|row| row[n..] == [0.25; 2]), "a gap was written");
            for (index, (got, want)) in out.iter().zip(&want).enumerate() {
                close(*got, f64::from(*want), k, &format!("{m}x{n}x{k} case {case} at {index}"));
            }
        }
    }
    assert!(!has_pairs(LEVEL) || count >= 70, "{count} products were made by units");
}

/// More rows than are multiplied with a chunk at a time, rows so long that a part of them is multiplied with all panels, and more sums than wait.
#[test]
fn large_matrices_that_are_not_packed() {
    if !has_pairs(LEVEL) {
        return;
    }
    for [m, n, k] in [[1100, 20, 64], [64, 40, 4200], [600, 700, 160]] {
        let (x, w) = (numbers(m * k, 1), numbers(n * k, 2));
        let layer = PackedLinear::at(LEVEL, Weight::Numbers(&w), [n, k], Algorithm::Direct, Format::F32);
        let mut want = vec![0.0; m * n];
        layer.run(&mut want, n, &x, k, m, &Epilogue::default());
        let run = || products([m, k, n], (&x, k), &w, n, &Epilogue::default());
        let all = run();
        assert!(all == crate::threads::alone(run), "threads change a result");
        for out in all {
            for (index, (got, want)) in out.iter().zip(&want).enumerate() {
                close(*got, f64::from(*want), k, &format!("{m}x{n}x{k} at {index}"));
            }
        }
    }
}

/// Where a matrix unit takes less time: sizes of linear layers, and those for which packing an operand is little.
#[test]
fn matrices_that_need_not_be_packed() {
    let pairs = has_pairs(Level::detect());
    for (rows, inner, columns, are_faster) in [
        (128, 768, 768, [true; 2]),
        (64, 768, 768, [true; 2]),
        (49, 2048, 512, [true; 2]),
        (128, 17768, 512, [true; 2]),
        (64, 17768, 512, [true, false]),
        (32, 768, 768, [false; 2]),
        (48, 256, 256, [false; 2]),
        (400, 32, 400, [false; 2]),
    ] {
        let data = vec![0.0; inner * columns];
        let beside = Matrix::rows(&data, inner, columns);
        let below = Matrix::rows(&data, columns, inner).t();
        for (matrix, is_faster) in [beside, below].into_iter().zip(are_faster) {
            let unpacked = Unpacked::new(Level::detect(), matrix);
            let chosen = MatrixUnit::with(Some(MatrixUnit::Model), || unpacked.is_faster(rows));
            assert_eq!(chosen, is_faster && pairs, "{rows}x{inner}x{columns}");
        }
    }
}
