//! Every kernel of every level against its definition in f64.

use std::ops::Range;

use half::bf16;

use super::group::{group_factors_at, group_norm_at};
use super::norm::rows;
use super::reduce::{reduce_at, reduce_computed};
use super::rotary::rotate_halves_at;
use super::softmax::softmax_at;
use super::*;
use crate::Quantization;
use crate::rounded::Rounded;
use crate::simd::Level;

fn numbers(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 400.0 - 1.5).collect()
}

const SHAPES: [[usize; 3]; 11] = [
    [1, 1, 1],
    [3, 5, 1],
    [2, 16, 1],
    [5, 100, 1],
    [3, 1000, 1],
    [2, 7, 3],
    [3, 33, 16],
    [1, 10, 75],
    [2, 64, 200],
    [1, 3, 2100],
    [1, 1100, 70],
];

#[track_caller]
fn close(got: &[f32], want: &[f64], limit: f64, what: &str) {
    assert_eq!(got.len(), want.len());
    for (i, (&got, &want)) in got.iter().zip(want).enumerate() {
        let got = f64::from(got);
        let near = (got - want).abs() <= limit * want.abs().max(1.0);
        assert!(near || got == want || got.is_nan() && want.is_nan(), "{what} at {i}: {got}, not {want}");
    }
}

/// The elements of the row through a place, in f64.
fn row(x: &[f32], [_, len, inner]: [usize; 3], index: usize) -> Vec<f64> {
    let start = index / (len * inner) * len * inner + index % inner;
    (0..len).map(|i| f64::from(x[start + i * inner])).collect()
}

#[test]
fn softmax_sums_to_one() {
    for shape @ [outer, len, inner] in SHAPES {
        let total = outer * len * inner;
        let mut x = numbers(total, 1);
        x[0] += 90.0;
        for level in Level::available() {
            for kind in [Softmax::Plain, Softmax::Log] {
                let want: Vec<f64> = (0..total)
                    .map(|i| {
                        let row = row(&x, shape, i);
                        let highest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                        let sum: f64 = row.iter().map(|x| (x - highest).exp()).sum();
                        let log = f64::from(x[i]) - highest - sum.ln();
                        if kind == Softmax::Log { log } else { log.exp() }
                    })
                    .collect();
                let mut out = vec![0.0; total];
                softmax_at(level, kind, &mut out, Input::of(&x), len, inner);
                close(&out, &want, 1e-6, &format!("{level:?} {kind:?} {shape:?}"));
                let mut out = x.clone();
                softmax_at(level, kind, &mut out, Input::output(), len, inner);
                close(&out, &want, 1e-6, &format!("{level:?} {kind:?} {shape:?} in place"));
            }
        }
    }
}

#[test]
fn softmax_of_special_numbers() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    for level in Level::available() {
        for inner in [1, 2] {
            let of = |row: [f32; 3]| {
                let x: Vec<f32> = row.iter().flat_map(|&x| vec![x; inner]).collect();
                let mut out = vec![0.0; x.len()];
                softmax_at(level, Softmax::Plain, &mut out, Input::of(&x), 3, inner);
                out
            };
            assert!(of([1.0, -inf, 1.0]).chunks(inner).map(|x| x[0]).eq([0.5, 0.0, 0.5]));
            assert!(of([-inf; 3]).iter().all(|x| x.is_nan()));
            assert!(of([1.0, nan, 2.0]).iter().all(|x| x.is_nan()));
            assert!(of([inf, 0.0, inf]).iter().any(|x| x.is_nan()));
        }
    }
}

/// The mean and one over the deviation.
fn moments(row: &[f64], eps: f64) -> (f64, f64) {
    let mean = row.iter().sum::<f64>() / row.len() as f64;
    let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / row.len() as f64;
    (mean, 1.0 / (variance + eps).sqrt())
}

#[test]
fn norms_of_rows() {
    const EPS: f32 = 1e-5;
    for [outer, len, _] in SHAPES {
        let total = outer * len;
        let (x, residual) = (numbers(total, 1), numbers(total, 2));
        let (weight, bias) = (numbers(len, 3), numbers(len, 4));
        for level in Level::available() {
            for case in 0..16 {
                let (centred, added, affine) = (case & 1 == 0, case & 2 == 0, case & 4 == 0);
                let sum: Vec<f32> = x.iter().zip(&residual).map(|(x, y)| if added { x + y } else { *x }).collect();
                let want: Vec<f64> = (0..total)
                    .map(|i| {
                        let row = row(&sum, [outer, len, 1], i);
                        let (mean, scale) = if centred {
                            moments(&row, f64::from(EPS))
                        } else {
                            let square = row.iter().map(|x| x * x).sum::<f64>() / len as f64;
                            (0.0, 1.0 / (square + f64::from(EPS)).sqrt())
                        };
                        let y = (f64::from(sum[i]) - mean) * scale;
                        if affine { y * f64::from(weight[i % len]) + f64::from(bias[i % len]) } else { y }
                    })
                    .collect();
                let affine = Affine { weight: affine.then_some(&weight), bias: affine.then_some(&bias), eps: EPS };
                let (mut out, mut kept) = (x.clone(), vec![0.0; total]);
                let input = if case & 8 == 0 { Input::of(&x) } else { Input::output() };
                let input = if added { input.plus(&residual).keep(&mut kept) } else { input };
                rows(level, &mut out, input, len, affine, centred);
                close(&out, &want, 3e-5, &format!("{level:?} {case} {outer} {len}"));
                assert!(!added || kept == sum);
            }
        }
    }
}

/// Words are what numbers are rounded to.
#[test]
fn norms_in_words() {
    let bytes = Rounded::Bytes(Quantization { scale: 0.02, zero_point: 100, min: 0, max: 255 });
    for [outer, len] in [[1, 4], [3, 20], [7, 768], [5, 8192]] {
        let (x, weight, bias) = (numbers(outer * len, 1), numbers(len, 2), numbers(len, 3));
        let affine = Affine { weight: Some(&weight), bias: Some(&bias), eps: 1e-5 };
        for (level, rounded) in Level::available().flat_map(|level| [bytes, Rounded::Pairs].map(|words| (level, words)))
        {
            if !rounded.is_fast(level) {
                continue;
            }
            for centred in [false, true] {
                let mut normal = vec![0.0; x.len()];
                rows(level, &mut normal, Input::of(&x), len, affine, centred);
                let [mut want, mut got] = [0, 1].map(|_| vec![0.0; x.len() / rounded.numbers()]);
                let (to, from) = ((want.as_mut_ptr(), 0), (normal.as_ptr(), 0));
                // SAFETY: there is room for all words of one row.
                unsafe { rounded.write(level, to, from, [1, x.len()]) };
                norm::words(level, &mut got, &x, len, affine, centred, rounded);
                let is_same = got.iter().zip(&want).all(|(got, want)| got.to_bits() == want.to_bits());
                assert!(is_same, "{level:?} {rounded:?} {outer} {len}");
            }
        }
    }
}

#[test]
fn norms_of_groups() {
    for (outer, channels, area, groups) in [(1, 4, 9, 2), (2, 6, 100, 6), (3, 8, 7, 1), (2, 32, 196, 8)] {
        let x = numbers(outer * channels * area, 1);
        let (weight, bias) = (numbers(channels, 2), numbers(channels, 3));
        let len = channels / groups * area;
        let want: Vec<f64> = (0..x.len())
            .map(|i| {
                let (mean, scale) = moments(&row(&x, [0, len, 1], i / len * len), 1e-5);
                let channel = i / area % channels;
                (f64::from(x[i]) - mean) * scale * f64::from(weight[channel]) + f64::from(bias[channel])
            })
            .collect();
        for level in Level::available() {
            let affine = Affine { weight: Some(&weight), bias: Some(&bias), eps: 1e-5 };
            let mut out = vec![0.0; x.len()];
            group_norm_at(level, &mut out, Input::of(&x), channels, area, groups, affine);
            close(&out, &want, 1e-5, &format!("{level:?} {channels} {area} {groups}"));
        }
    }
}

/// Numbers as words of two bf16 each, and what these stand for.
fn pairs(x: &[f32]) -> [Vec<f32>; 2] {
    let rounded: Vec<bf16> = x.iter().map(|x| bf16::from_f32(*x)).collect();
    let word = |pair: &[bf16]| f32::from_bits(u32::from(pair[0].to_bits()) | u32::from(pair[1].to_bits()) << 16);
    [rounded.chunks(2).map(word).collect(), rounded.iter().map(|x| x.to_f32()).collect()]
}

/// What channels are multiplied with and what is added to them, in both layouts, also where the mean is far from 0.
#[test]
fn factors_of_groups() {
    let shapes = [(1, 4, 9, 2), (2, 6, 100, 6), (3, 8, 7, 1), (2, 32, 196, 8), (1, 40, 5000, 4), (1, 700, 300, 100)];
    for ((images, channels, area, groups), mean) in shapes.into_iter().flat_map(|shape| [(shape, 0.0), (shape, 100.0)])
    {
        let x: Vec<f32> = numbers(images * channels * area, 1).iter().map(|x| x + mean).collect();
        let (weight, bias) = (numbers(channels, 2), numbers(channels, 3));
        let len = channels / groups * area;
        let want: Vec<f64> = (0..images * channels)
            .map(|i| {
                let (mean, scale) = moments(&row(&x, [0, len, 1], i / (channels / groups) * len), 1e-5);
                [scale * f64::from(weight[i % channels]), mean]
            })
            .collect::<Vec<_>>()
            .concat();
        let last: Vec<f32> = (0..x.len())
            .map(|i| {
                let (image, pixel, channel) = (i / (channels * area), i / channels % area, i % channels);
                x[(image * channels + channel) * area + pixel]
            })
            .collect();
        for (level, channels_last) in Level::available().flat_map(|level| [(level, false), (level, true)]) {
            let affine = Affine { weight: Some(&weight), bias: Some(&bias), eps: 1e-5 };
            let mut factors = vec![f32::NAN; 2 * images * channels];
            let shape = Groups { channels, groups, area, channels_last, pairs: false };
            group_factors_at(level, &mut factors, if channels_last { &last } else { &x }, shape, affine);
            if channels_last {
                // Pairs are as what they stand for.
                let [words, rounded] = pairs(&last);
                let mut both = [vec![f32::NAN; factors.len()], vec![f32::NAN; factors.len()]];
                for ((to, x), pairs) in both.iter_mut().zip([words, rounded]).zip([true, false]) {
                    group_factors_at(level, to, &x, Groups { pairs, ..shape }, affine);
                }
                assert_eq!(both[0], both[1], "{level:?} {shape:?}");
            }
            let (scales, shifts) = factors.split_at(images * channels);
            for (i, want) in want.chunks_exact(2).enumerate() {
                let (scale, shift) = (want[0], f64::from(bias[i % channels]) - want[1] * want[0]);
                let what = format!("{level:?} {shape:?} {i}: {} {scale}, {} {shift}", scales[i], shifts[i]);
                assert!((f64::from(scales[i]) - scale).abs() <= 2e-5 * scale.abs(), "{what}");
                assert!((f64::from(shifts[i]) - shift).abs() <= 2e-5 * (1.0 + shift.abs()), "{what}");
            }
        }
    }
}

/// A number that is none makes its group so, and no other.
#[test]
fn factors_of_groups_that_are_no_numbers() {
    for (level, channels_last) in Level::available().flat_map(|level| [(level, false), (level, true)]) {
        let (channels, groups, area) = (24, 3, 700);
        let mut x = numbers(2 * channels * area, 1);
        // The second image's second group.
        let (pixel, channel) = (650, 9);
        x[channels * area + if channels_last { pixel * channels + channel } else { channel * area + pixel }] = f32::NAN;
        let mut factors = vec![0.0; 4 * channels];
        let shape = Groups { channels, groups, area, channels_last, pairs: false };
        group_factors_at(level, &mut factors, &x, shape, Affine { eps: 1e-5, ..Affine::default() });
        for (index, factor) in factors.iter().enumerate() {
            let (image, group) = (index / channels % 2, index % channels / (channels / groups));
            assert_eq!(factor.is_nan(), (image, group) == (1, 1), "{level:?} {channels_last} {index}");
        }
    }
}

/// Rows that are reduced together are what each is alone, to the last bit, be they numbers or not.
#[test]
fn rows_together_are_as_alone() {
    for len in [1, 3, 16, 31, 100, 4096] {
        let rows = 37;
        let mut x = numbers(rows * len, 1);
        for (row, number) in [(2, f32::NAN), (5, f32::INFINITY), (6, f32::NEG_INFINITY), (20, -0.0), (33, f32::NAN)] {
            x[row * len + len / 2] = number;
        }
        for level in Level::available() {
            for reduction in [Reduction::Sum, Reduction::Mean, Reduction::Max, Reduction::Min] {
                let [mut together, mut alone] = [vec![1.0; rows], vec![1.0; rows]];
                reduce_at(level, reduction, &mut together, &x, len, 1);
                for (out, x) in alone.chunks_exact_mut(1).zip(x.chunks_exact(len)) {
                    reduce_at(level, reduction, out, x, len, 1);
                }
                for (row, (together, alone)) in together.iter().zip(&alone).enumerate() {
                    let is_same = together.to_bits() == alone.to_bits() || together.is_nan() && alone.is_nan();
                    assert!(is_same, "{level:?} {reduction:?} of {len}, row {row}: {together}, not {alone}");
                }
            }
        }
    }
}

/// Of no elements, and in bands of which the last is shorter.
#[test]
fn reductions_of_columns() {
    for level in Level::available() {
        for (reduction, want) in [(Reduction::Sum, 0.0), (Reduction::Max, f32::NEG_INFINITY)] {
            let mut out = [1.0; 6];
            reduce_at(level, reduction, &mut out, &[], 0, 3);
            assert_eq!(out, [want; 6], "{level:?}");
        }
        for [outer, len, inner] in [[2, 1000, 40], [1, 83, 1200], [1, 40, 5000]] {
            let x = numbers(outer * len * inner, 1);
            let mean =
                |i: usize| (0..len).map(|row| f64::from(x[(i / inner * len + row) * inner + i % inner])).sum::<f64>();
            let want: Vec<f64> = (0..outer * inner).map(|i| mean(i) / len as f64).collect();
            let mut out = vec![0.0; outer * inner];
            reduce_at(level, Reduction::Mean, &mut out, &x, len, inner);
            close(&out, &want, 1e-6, &format!("{level:?} {len} {inner}"));
        }
    }
}

/// What is words gives what their numbers give.
#[test]
fn reductions_of_pairs() {
    for [outer, len, inner] in [[2, 1000, 40], [1, 83, 1200], [3, 49, 54], [1, 40, 5000], [2, 5, 2], [1, 0, 4]] {
        let [words, x] = pairs(&numbers(outer * len * inner, 1));
        for reduction in [Reduction::Sum, Reduction::Mean, Reduction::Max, Reduction::Min] {
            let [mut got, mut want] = [vec![0.0; outer * inner], vec![0.0; outer * inner]];
            reduce_pairs(reduction, &mut got, &words, len, inner);
            reduce(reduction, &mut want, &x, len, inner);
            let want: Vec<f64> = want.into_iter().map(f64::from).collect();
            close(&got, &want, 1e-6, &format!("{reduction:?} {len} {inner}"));
        }
    }
}

#[test]
fn reductions() {
    for shape @ [outer, len, inner] in SHAPES {
        let x = numbers(outer * len * inner, 1);
        for level in Level::available() {
            for reduction in [Reduction::Sum, Reduction::Mean, Reduction::Max, Reduction::Min] {
                // Products of many numbers that are not around 1 have no f32.
                let x: Vec<f32> = match reduction {
                    Reduction::Product => x.iter().map(|x| 1.0 + 1e-3 * x).collect(),
                    _ => x.clone(),
                };
                let want: Vec<f64> = (0..outer * inner)
                    .map(|i| {
                        let row = row(&x, shape, i / inner * len * inner + i % inner);
                        match reduction {
                            Reduction::Sum => row.iter().sum(),
                            Reduction::Mean => row.iter().sum::<f64>() / len as f64,
                            Reduction::Product => row.iter().product(),
                            Reduction::Max => row.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                            Reduction::Min => row.iter().copied().fold(f64::INFINITY, f64::min),
                        }
                    })
                    .collect();
                let mut out = vec![0.0; outer * inner];
                reduce_at(level, reduction, &mut out, &x, len, inner);
                // Each factor of a product is rounded.
                let limit = if reduction == Reduction::Product { 1e-7 * len.max(10) as f64 } else { 1e-6 };
                close(&out, &want, limit, &format!("{level:?} {reduction:?} {shape:?}"));
            }
            let mut nan = x.clone();
            nan[0] = f32::NAN;
            for reduction in [Reduction::Max, Reduction::Min] {
                let mut out = vec![0.0; outer * inner];
                reduce_at(level, reduction, &mut out, &nan, len, inner);
                assert!(out[0].is_nan() && out[1..].iter().all(|x| !x.is_nan()), "{level:?} {reduction:?} {shape:?}");
            }
        }
    }
}

/// Rows of any length, along dimensions in which operands lie apart, or are the same, are turned as by the definition, to the last bit.
#[test]
fn halves_are_rotated() {
    for (len, sizes) in
        [2, 6, 32, 34, 64, 128].into_iter().flat_map(|len| [[1, 1, 1], [2, 3, 5], [1, 40, 9]].map(|s| (len, s)))
    {
        let [images, heads, places] = sizes;
        // Heads lie between places in memory, with a gap; cosines are the same for all heads, sines for all images too.
        let (row, gap) = (heads * len + 3, 7);
        let x = numbers(images * (places * row + gap), 1);
        let (cos, sin) = (numbers(images * places * len, 2), numbers(places * len, 3));
        let order = [images, places, heads];
        let operands = [
            Along { data: &x, strides: &[places * row + gap, row, len] },
            Along { data: &cos, strides: &[places * len, len, 0] },
            Along { data: &sin, strides: &[0, len, 0] },
        ];
        let mut want = Vec::new();
        for (image, place, head) in (0..images)
            .flat_map(|image| (0..places).map(move |place| (image, place)))
            .flat_map(|(image, place)| (0..heads).map(move |head| (image, place, head)))
        {
            let x = &x[image * (places * row + gap) + place * row + head * len..][..len];
            let (cos, sin) = (&cos[(image * places + place) * len..][..len], &sin[place * len..][..len]);
            let turned = x[len / 2..].iter().map(|x| -x).chain(x[..len / 2].iter().copied());
            want.extend(turned.enumerate().map(|(i, turned)| x[i] * cos[i] + turned * sin[i]));
        }
        for level in Level::available() {
            let mut got = vec![0.0; want.len()];
            rotate_halves_at(level, &mut got, &order, len, operands);
            assert_eq!(got, want, "{level:?} {len} {sizes:?}");
        }
    }
}

#[test]
fn rows_that_are_computed() {
    let neighbours = [[5000, 3, 1], [30, 400, 1], [2, 9000, 1], [3, 0, 1]];
    for [outer, len, inner] in [[2, 1500, 300], [1, 90, 5000], [3, 1, 7], [2, 0, 3]].into_iter().chain(neighbours) {
        let x = numbers(outer * len * inner, 1);
        for reduction in [Reduction::Sum, Reduction::Mean, Reduction::Max, Reduction::Min] {
            let [mut want, mut out] = [vec![0.0; outer * inner], vec![1.0; outer * inner]];
            reduce(reduction, &mut want, &x, len, inner);
            let copy = |rows: Range<usize>, out: &mut [f32]| {
                out.copy_from_slice(&x[rows.start * inner..rows.end * inner]);
            };
            reduce_computed(reduction, &mut out, len, inner, x.len(), &copy);
            // Neighbours are added up in the same order.
            let most = if inner == 1 { 0.0 } else { 1e-4 };
            let is_same =
                |(x, y): (&f32, &f32)| x == y || x.is_nan() && y.is_nan() || (x - y).abs() < most * y.abs().max(1.0);
            assert!(out.iter().zip(&want).all(is_same), "{reduction:?} {len} {inner}");
        }
    }
}

#[test]
fn sums_of_squares() {
    for len in [0, 1, 31, 32, 33, 1000] {
        let row = numbers(len, 3);
        for (level, from) in Level::available().flat_map(|level| [(level, 0.0), (level, 0.7)]) {
            let want: f64 = row.iter().map(|x| (f64::from(*x) - from).powi(2)).sum();
            let got = squares::squares_at(level, &row, from);
            assert!((got - want).abs() <= 1e-12 * want, "{level:?} {len}: {got}, not {want}");
        }
    }
}
