//! Copies of all kinds against the definition by index.

use super::*;
use crate::Quantization;

fn check(shape: &[usize], from: &[usize], to: &[usize]) {
    let reach =
        |strides: &[usize]| shape.iter().zip(strides).map(|(size, stride)| (size - 1) * stride).sum::<usize>() + 1;
    let x: Vec<f32> = (1..=reach(from)).map(|i| i as f32).collect();
    let mut want = vec![0.0; reach(to)];
    for index in 0..shape.iter().product::<usize>() {
        let (mut rest, mut place, mut source) = (index, 0, 0);
        for dim in (0..shape.len()).rev() {
            place += rest % shape[dim] * to[dim];
            source += rest % shape[dim] * from[dim];
            rest /= shape[dim];
        }
        want[place] = x[source];
    }
    for level in Level::available() {
        let mut out = vec![0.0; want.len()];
        copy_at(level, &mut out, to, &x, from, shape);
        assert_eq!(out, want, "{level:?} {shape:?} {from:?} {to:?}");
    }
}

fn row_major(shape: &[usize]) -> Vec<usize> {
    (0..shape.len()).map(|dim| shape[dim + 1..].iter().product()).collect()
}

/// The strides of a tensor of which `shape` is the view with permuted dimensions.
fn permuted(shape: &[usize], order: &[usize]) -> Vec<usize> {
    let whole: Vec<usize> = order.iter().map(|&dim| shape[dim]).collect();
    let strides = row_major(&whole);
    (0..shape.len()).map(|dim| strides[order.iter().position(|&o| o == dim).unwrap_or(0)]).collect()
}

#[test]
fn permutations() {
    let shapes: [&[usize]; 6] =
        [&[2, 3, 4, 5], &[1, 20, 7, 7], &[2, 64, 9, 17], &[1, 3, 33, 32], &[1, 1, 1, 1], &[5, 1, 40, 300]];
    for shape in shapes {
        for order in [[0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2], [3, 2, 1, 0], [0, 2, 1, 3], [2, 3, 0, 1], [1, 0, 3, 2]]
        {
            check(shape, &permuted(shape, &order), &row_major(shape));
            check(shape, &row_major(shape), &permuted(shape, &order));
        }
    }
}

#[test]
fn broadcasts_slices_and_steps() {
    check(&[3, 4, 50], &[0, 1, 0], &[200, 50, 1]);
    check(&[3, 4, 50], &[0, 0, 1], &[200, 50, 1]);
    check(&[7], &[0], &[1]);
    check(&[30, 40], &[100, 1], &[50, 1]);
    check(&[30, 40], &[2, 200], &[40, 1]);
    check(&[30, 40], &[1, 30], &[45, 1]);
    check(&[], &[], &[]);
    check(&[300, 4, 100], &[1, 30_000, 300], &[400, 100, 1]);
}

#[test]
#[should_panic(expected = "elements have the same place")]
fn places_must_be_apart() {
    copy(&mut [0.0; 4], &[1, 1], &[0.0; 4], &[2, 1], &[2, 2]);
}

#[test]
#[should_panic(expected = "the operand has more than 5 elements")]
fn operands_must_be_long_enough() {
    copy(&mut [0.0; 6], &[2, 1], &[0.0; 5], &[2, 1], &[3, 2]);
}

/// Tensors that lie in different ways, one of them empty, each copied alone and all at once.
#[test]
fn concatenations() {
    for (dim, channels_last) in [(0, false), (1, false), (1, true), (3, true)] {
        let sizes = [3, 0, 40, 16].map(|size| {
            let mut shape = [2, 5, 70, 33];
            shape[dim] = size;
            shape
        });
        let mut whole = sizes[0];
        whole[dim] = sizes.iter().map(|shape| shape[dim]).sum();
        let lies = |shape: &[usize]| if channels_last { permuted(shape, &[0, 2, 3, 1]) } else { row_major(shape) };
        let to = lies(&whole);
        let numel = |shape: &[usize]| shape.iter().product::<usize>();
        let (mut numbers, mut strides, mut place) = (Vec::new(), Vec::new(), 0);
        let mut want = vec![0.0; numel(&whole)];
        for (index, shape) in sizes.iter().enumerate() {
            let x: Vec<f32> = (0..numel(shape)).map(|i| (1000 * index + i) as f32).collect();
            let from = if index == 2 { row_major(shape) } else { lies(shape) };
            if !x.is_empty() {
                copy(&mut want[place * to[dim]..], &to, &x, &from, shape);
            }
            place += shape[dim];
            numbers.push(x);
            strides.push(from);
        }
        let parts: Vec<Part<'_>> = sizes
            .iter()
            .zip(&numbers)
            .zip(&strides)
            .map(|((shape, x), from)| (&x[..], &from[..], &shape[..]))
            .collect();
        let mut out = vec![0.0; want.len()];
        concatenate(&mut out, &to, dim, &parts);
        assert!(out == want, "{dim} {channels_last}");
    }
}

#[test]
fn words_side_by_side() {
    let bytes = Rounded::Bytes(Quantization { scale: 0.5, zero_point: 0, min: 0, max: 255 });
    // Numbers that nothing is lost of, and their words.
    let number = |i: usize| (i * 7 % 256) as f32 / 2.0;
    let word = |rounded, first: usize| match rounded {
        Rounded::Pairs => [0, 1].map(|i| (number(first + i).to_bits() >> 16) << (16 * i)).into_iter().sum::<u32>(),
        Rounded::Bytes(_) => u32::from_le_bytes([0, 1, 2, 3].map(|i| (2.0 * number(first + i)) as u8)),
    };
    for (level, rounded) in Level::available().flat_map(|level| [(level, bytes), (level, Rounded::Pairs)]) {
        if !rounded.is_fast(level) {
            continue;
        }
        for (rows, widths) in [(1, &[3][..]), (700, &[1, 40, 7]), (5, &[9000, 16]), (0, &[1, 2]), (33, &[300, 0, 257])]
        {
            let stride: usize = widths.iter().sum();
            let mut want = vec![0; rows * stride];
            let (mut parts, mut first) = (Vec::new(), 0);
            for (index, words) in widths.iter().enumerate() {
                let width = words * rounded.numbers();
                let (numbers, place) = (index % 2 == 0, widths[..index].iter().sum::<usize>());
                for (row, column) in (0..rows).flat_map(|row| (0..*words).map(move |column| (row, column))) {
                    let number = first + row * width + column * rounded.numbers();
                    want[row * stride + place + column] = word(rounded, number);
                }
                let data: Vec<f32> = match numbers {
                    true => (0..rows * width).map(|i| number(first + i)).collect(),
                    false => (0..rows * words)
                        .map(|i| f32::from_bits(word(rounded, first + i * rounded.numbers())))
                        .collect(),
                };
                first += rows * width;
                // Rows with gaps or without.
                let (row, gap) = (if numbers { width } else { *words }, index % 3);
                let end = rows.saturating_sub(1) * (row + gap) + row;
                let mut apart: Vec<f32> = vec![0.5; end];
                for (row, to) in data.chunks(row.max(1)).zip(apart.chunks_mut((row + gap).max(1))) {
                    to[..row.len()].copy_from_slice(row);
                }
                parts.push((apart, row + gap, *words, numbers));
            }
            let mut rows_of = Vec::new();
            for (data, stride, words, numbers) in &parts {
                rows_of.push(Rows { data, stride: *stride, words: *words, numbers: *numbers });
            }
            let parts = rows_of;
            let mut out = vec![f32::NAN; want.len()];
            join_words_at(level, &mut out, rounded, &parts);
            let is_same = out.iter().zip(&want).all(|(got, want)| got.to_bits() == *want);
            assert!(is_same, "{level:?} {rounded:?} {rows} rows of {widths:?}");
        }
    }
}

/// Rows of few columns, with zeros up to their width or without.
#[test]
fn rows_that_are_filled_up() {
    let count = 37;
    for (columns, width) in (1..=6).flat_map(|columns| (columns..=8).map(move |width| (columns, width))) {
        let step = count + 3;
        let from: Vec<f32> = (0..columns * step).map(|i| i as f32 + 1.0).collect();
        let mut to = vec![-1.0; width * count];
        transpose_filled(&mut to, width, &from, step, [columns, count]);
        for (i, got) in to.iter().enumerate() {
            let (row, column) = (i / width, i % width);
            let want = if column < columns { from[column * step + row] } else { 0.0 };
            assert_eq!(*got, want, "{columns} of {width} at {row}, {column}");
        }
    }
}
