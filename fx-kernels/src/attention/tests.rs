//! Every level, layout and mask against the definition in f64.

use super::*;

fn numbers(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1000.0 - 1.0).collect()
}

/// Strides of `[batch, head, row, width]`, or of `[batch, row, head, width]`.
fn strides(rows_first: bool, heads: usize, rows: usize, width: usize) -> Strides {
    if rows_first {
        Strides { batch: heads * rows * width, head: width, row: heads * width }
    } else {
        Strides { batch: heads * rows * width, head: rows * width, row: width }
    }
}

/// Levels and what operands may be rounded to.
fn versions() -> impl Iterator<Item = (Level, Format)> {
    MatrixUnit::levels().flat_map(|level| [Format::F32, Format::Bf16].map(|format| (level, format)))
}

fn definition(sizes: Sizes, q: Operand<'_>, k: Operand<'_>, v: Operand<'_>, scale: f32, mask: Mask<'_>) -> Vec<f64> {
    let at = |x: Operand<'_>, b: usize, h: usize, r: usize, i: usize| {
        f64::from(x.0[b * x.1.batch + h * x.1.head + r * x.1.row + i])
    };
    let mut out = Vec::new();
    for b in 0..sizes.batches {
        for h in 0..sizes.heads {
            let kh = h / (sizes.heads / sizes.key_heads);
            for i in 0..sizes.queries {
                let place = |s: Strides| b * s.batch + h * s.head + i * s.row;
                let scores: Vec<f64> = (0..sizes.keys)
                    .map(|j| {
                        let dot: f64 = (0..sizes.width).map(|d| at(q, b, h, i, d) * at(k, b, kh, j, d)).sum();
                        let added = match mask {
                            Mask::None => 0.0,
                            Mask::Causal => {
                                if j > i {
                                    f64::NEG_INFINITY
                                } else {
                                    0.0
                                }
                            }
                            Mask::Add(data, s, step) => f64::from(data[place(s) + j * step]),
                            Mask::Keep(data, s, step) => {
                                if data[place(s) + j * step] {
                                    0.0
                                } else {
                                    f64::NEG_INFINITY
                                }
                            }
                            Mask::Grid(Grid { lines: (lines, of_line), places: (places, of_place), len }) => {
                                f64::from(lines[place(of_line) + j / len])
                                    + f64::from(places[place(of_place) + j % len])
                            }
                        };
                        dot * f64::from(scale) + added
                    })
                    .collect();
                let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let powers: Vec<f64> = scores
                    .iter()
                    .map(|x| if highest == f64::NEG_INFINITY { 0.0 } else { (x - highest).exp() })
                    .collect();
                let sum: f64 = powers.iter().sum();
                out.extend((0..sizes.values).map(|d| {
                    let total: f64 = (0..sizes.keys).map(|j| powers[j] * at(v, b, kh, j, d)).sum();
                    if sum == 0.0 { 0.0 } else { total / sum }
                }));
            }
        }
    }
    out
}

/// By the processor's own matrix unit, if it has one, by the model of one, and by vectors alone.
#[test]
fn all_layouts_and_masks() {
    let own = MatrixUnit::detect();
    for unit in [own, Some(MatrixUnit::Model), None].into_iter().skip(usize::from(own.is_none())) {
        MatrixUnit::with(unit, layouts_and_masks);
    }
}

fn layouts_and_masks() {
    // Batches, heads, heads of keys, queries, keys, width, length of a value.
    let cases = [
        [1, 1, 1, 1, 1, 1, 1],
        [2, 3, 3, 5, 7, 4, 6],
        [1, 4, 2, 33, 40, 20, 64],
        [2, 2, 1, 128, 128, 64, 64],
        [1, 2, 2, 1, 300, 64, 32],
        [1, 1, 1, 300, 530, 33, 40],
        [1, 1, 1, 40, 530, 31, 17],
        [1, 2, 2, 3, 0, 8, 8],
        // Few queries, and one for each of several heads that share keys.
        [1, 2, 1, 3, 70, 33, 40],
        [2, 2, 2, 7, 33, 20, 70],
        [2, 6, 2, 1, 45, 20, 17],
        [1, 8, 1, 1, 33, 64, 64],
        // Keys that displace each other in the cache, and values.
        [1, 16, 16, 20, 17, 64, 3],
        [1, 16, 16, 20, 17, 3, 64],
        // So many queries that keys and values are copied.
        [1, 16, 16, 250, 270, 3, 2],
    ];
    for [batches, heads, key_heads, queries, keys, width, values] in cases {
        let sizes = Sizes { batches, heads, key_heads, queries, keys, width, values };
        let q = numbers(batches * heads * queries * width, 1);
        let k = numbers(batches * key_heads * keys * width, 2);
        let v = numbers(batches * key_heads * keys * values, 3);
        let table = numbers(batches * heads * queries * keys + 1, 4);
        let keep: Vec<bool> =
            (0..batches * heads * queries * keys + 1).map(|i| i / keys.max(1) % 4 > 0 && i % 3 > 0).collect();
        // One mask for all heads.
        let by_row = Strides { batch: queries * keys, head: 0, row: keys };
        let by_batch = Strides { batch: queries * keys, head: 0, row: 0 };
        let by_key = Strides { batch: queries * keys, head: 0, row: 1 };
        let by_head = Strides { batch: heads * queries * keys, head: queries * keys, row: keys };
        // The last line may be a part of one.
        let grid = |len: usize| {
            let of = |width: usize| Strides { batch: heads * queries * width, head: queries * width, row: width };
            let (lines, places) = (keys.div_ceil(len), len.min(keys));
            Mask::Grid(Grid { lines: (&table[1..], of(lines)), places: (&table, of(places)), len })
        };
        let masks = [
            Mask::None,
            Mask::Causal,
            Mask::Add(&table, by_row, 1),
            Mask::Add(&table, by_batch, 1),
            Mask::Add(&table, by_row, 0),
            Mask::Add(&table, by_key, queries),
            Mask::Add(&table, by_head, 1),
            Mask::Keep(&keep, by_head, 1),
            Mask::Keep(&keep, by_row, 1),
            Mask::Keep(&keep, by_batch, 1),
            Mask::Keep(&keep, by_key, queries),
            grid(7),
            grid(keys.max(1)),
            grid(keys + 3),
        ];
        // What bf16 takes for the operands: queries are rounded with their factor, powers too.
        let rounded = |x: &[f32], factor: f32| -> Vec<f32> {
            x.iter().map(|x| half::bf16::from_f32(x * factor).to_f32() / factor).collect()
        };
        let in_bf16 = [rounded(&q, 0.3), rounded(&k, 1.0), rounded(&v, 1.0)];
        for rows_first in [false, true] {
            let strides_of = [
                strides(rows_first, heads, queries, width),
                strides(rows_first, key_heads, keys, width),
                strides(rows_first, key_heads, keys, values),
            ];
            let to = strides(rows_first, heads, queries, values);
            let [q, k, v] = [(&q[..], strides_of[0]), (&k[..], strides_of[1]), (&v[..], strides_of[2])];
            for mask in masks {
                let exact = definition(sizes, q, k, v, 0.3, mask);
                let of_rounded = [0, 1, 2].map(|index| (&in_bf16[index][..], strides_of[index]));
                let of_rounded = definition(sizes, of_rounded[0], of_rounded[1], of_rounded[2], 0.3, mask);
                for (level, format) in versions() {
                    let scores = Scores { format, ..Scores::new(0.3, mask) };
                    let (want, tolerance) = match sizes.format_at(level, format) {
                        Format::Bf16 => (&of_rounded, 2e-3),
                        _ => (&exact, 1e-5),
                    };
                    let mut out = vec![9.0; want.len()];
                    attention_at(level, sizes, (&mut out, to), q, k, v, scores);
                    for (index, &want) in want.iter().enumerate() {
                        let (row, d) = (index / values, index % values);
                        let (b, h, i) = (row / queries / heads, row / queries % heads, row % queries);
                        let got = f64::from(out[b * to.batch + h * to.head + i * to.row + d]);
                        assert!(
                            (got - want).abs() <= tolerance * want.abs().max(1.0),
                            "{level:?} {format:?} {sizes:?} {rows_first} {mask:.0?} at {index}: {got}, not {want}"
                        );
                    }
                }
            }
        }
    }
}

/// The lowest number hides a key beside others that are not hidden, and none where all are: as added in PyTorch.
#[test]
fn the_lowest_number_is_not_infinity() {
    let strides = strides(false, 1, 20, 8);
    let [q, k, v] = [1, 2, 3].map(|seed| numbers(160, seed));
    let mask: Vec<f32> = (0..400).map(|i| if i / 20 % 3 == 0 || i % 4 == 0 { f32::MIN } else { 0.0 }).collect();
    let by_row = Strides { batch: 0, head: 0, row: 20 };
    let by_key = Strides { batch: 0, head: 0, row: 1 };
    for ((level, format), queries) in versions().flat_map(|version| [(version, 1), (version, 20)]) {
        let sizes = Sizes { batches: 1, heads: 1, key_heads: 1, queries, keys: 20, width: 8, values: 8 };
        for mask in [Mask::Add(&mask, by_row, 1), Mask::Add(&mask, by_key, 20)] {
            let mut out = vec![9.0; 160];
            let operands = [&q, &k, &v].map(|x| (&x[..], strides));
            let want = definition(sizes, operands[0], operands[1], operands[2], 0.3, mask);
            attention_at(
                level,
                sizes,
                (&mut out, strides),
                operands[0],
                operands[1],
                operands[2],
                Scores { format, ..Scores::new(0.3, mask) },
            );
            let tolerance = if format == Format::Bf16 { 1e-2 } else { 1e-5 };
            for (index, (got, want)) in out.iter().zip(want).enumerate() {
                assert!(
                    (f64::from(*got) - want).abs() < tolerance,
                    "{level:?} {format:?} {queries} at {index}: {got}, not {want}"
                );
            }
        }
    }
}

const PLAIN: Scores<'_> =
    Scores { scale: 1.0, mask: Mask::None, hides: false, period: usize::MAX, empty: 0.0, format: Format::F32 };

#[test]
fn a_query_without_keys_may_give_nan() {
    let strides = strides(false, 1, 6, 8);
    let x = numbers(48, 1);
    let keep: Vec<bool> = (0..36).map(|i| i / 6 != 0).collect();
    let by_row = Strides { batch: 0, head: 0, row: 6 };
    for ((level, format), queries) in versions().flat_map(|version| [(version, 1), (version, 6)]) {
        let sizes = Sizes { batches: 1, heads: 1, key_heads: 1, queries, keys: 6, width: 8, values: 8 };
        let mut out = vec![0.0; 48];
        let scores = Scores { mask: Mask::Keep(&keep, by_row, 1), empty: f32::NAN, format, ..PLAIN };
        attention_at(level, sizes, (&mut out, strides), (&x, strides), (&x, strides), (&x, strides), scores);
        assert!(out.chunks(8).enumerate().all(|(i, row)| row.iter().all(|x| x.is_nan() == (i == 0))), "{level:?}");
    }
}

#[test]
fn masks_may_begin_anew() {
    let (batches, heads, keys, period) = (6, 2, 20, 3);
    let sizes = Sizes { batches, heads, key_heads: heads, queries: keys, keys, width: 8, values: 8 };
    let strides = Strides { batch: heads * keys * 8, head: keys * 8, row: 8 };
    let x = numbers(batches * strides.batch, 1);
    let of_mask = Strides { batch: heads * keys * keys, head: keys * keys, row: keys };
    let few = numbers(period * of_mask.batch, 2);
    let all = [&few[..], &few].concat();
    for (level, format) in versions() {
        let result = |mask: &[f32], period: usize| {
            let mut out = vec![0.0; x.len()];
            let scores = Scores { mask: Mask::Add(mask, of_mask, 1), period, format, ..PLAIN };
            attention_at(level, sizes, (&mut out, strides), (&x, strides), (&x, strides), (&x, strides), scores);
            out
        };
        assert_eq!(result(&few, period), result(&all, usize::MAX), "{level:?} {format:?}");
    }
}

#[test]
fn scores_may_be_hidden() {
    let strides = strides(false, 1, 20, 8);
    let (q, mut k, v) = (numbers(160, 1), numbers(160, 2), numbers(160, 3));
    k[8 * 4] = f32::NAN;
    let keep: Vec<bool> = (0..20).map(|key| key != 4).collect();
    let mask = Mask::Keep(&keep, Strides::default(), 1);
    for ((level, format), queries) in versions().flat_map(|version| [(version, 1), (version, 20)]) {
        let sizes = Sizes { batches: 1, heads: 1, key_heads: 1, queries, keys: 20, width: 8, values: 8 };
        for hides in [false, true] {
            let mut out = vec![0.0; 160];
            let scores = Scores { mask, hides, format, ..PLAIN };
            attention_at(level, sizes, (&mut out, strides), (&q, strides), (&k, strides), (&v, strides), scores);
            assert!(out[..8 * queries].iter().all(|x| x.is_nan() != hides), "{level:?} {hides}");
        }
    }
}

#[test]
fn nan_reaches_its_rows_only() {
    let sizes = Sizes { batches: 1, heads: 1, key_heads: 1, queries: 20, keys: 20, width: 8, values: 8 };
    let strides = strides(false, 1, 20, 8);
    let (mut q, k) = (numbers(160, 1), numbers(160, 2));
    q[8 * 3] = f32::NAN;
    for (level, format) in versions() {
        let mut out = vec![0.0; 160];
        let scores = Scores { format, ..PLAIN };
        attention_at(level, sizes, (&mut out, strides), (&q, strides), (&k, strides), (&k, strides), scores);
        assert!(out.chunks(8).enumerate().all(|(i, row)| row.iter().all(|x| x.is_nan() == (i == 3))), "{level:?}");
    }
}

#[test]
fn nan_of_a_later_key_is_hidden() {
    let sizes = Sizes { batches: 1, heads: 1, key_heads: 1, queries: 40, keys: 40, width: 8, values: 8 };
    let strides = strides(false, 1, 40, 8);
    let (q, mut k) = (numbers(320, 1), numbers(320, 2));
    k[8 * 21] = f32::NAN;
    for (level, format) in versions() {
        let mut out = vec![0.0; 320];
        let scores = Scores { mask: Mask::Causal, format, ..PLAIN };
        attention_at(level, sizes, (&mut out, strides), (&q, strides), (&k, strides), (&q, strides), scores);
        assert!(out.chunks(8).enumerate().all(|(i, row)| row.iter().all(|x| x.is_nan() == (i >= 21))), "{level:?}");
    }
}

/// Each panel ends with the last key that one of its queries sees.
#[test]
fn masks_that_are_causal_give_what_causal_masks_give() {
    let (queries, keys) = (150, 150);
    let sizes = Sizes { batches: 1, heads: 2, key_heads: 2, queries, keys, width: 8, values: 8 };
    let strides = strides(false, 2, keys, 8);
    let x = numbers(2 * keys * 8, 1);
    let keep: Vec<bool> = (0..queries * keys).map(|i| i % keys <= i / keys).collect();
    let add: Vec<f32> = keep.iter().map(|keep| if *keep { 0.0 } else { f32::NEG_INFINITY }).collect();
    let by_row = Strides { row: keys, ..Strides::default() };
    for (level, format) in versions() {
        let result = |mask: Mask<'_>| {
            let mut out = vec![9.0; x.len()];
            let scores = Scores { mask, format, ..PLAIN };
            attention_at(level, sizes, (&mut out, strides), (&x, strides), (&x, strides), (&x, strides), scores);
            out
        };
        let want = result(Mask::Causal);
        for mask in [Mask::Keep(&keep, by_row, 1), Mask::Add(&add, by_row, 1)] {
            assert_eq!(result(mask), want, "{level:?} {format:?}");
        }
        // Of columns, as a transposed mask.
        let columns: Vec<f32> = (0..queries * keys).map(|i| add[i % queries * keys + i / queries]).collect();
        let by_column = Strides { row: 1, ..Strides::default() };
        assert_eq!(result(Mask::Add(&columns, by_column, queries)), want, "{level:?} {format:?}");
    }
}

/// Room for what is not written yet.
#[test]
fn keys_after_the_last_that_is_seen_are_not_read() {
    let (all, seen) = (300, 261);
    let (of_all, of_seen) = (strides(false, 1, all, 8), strides(false, 1, seen, 8));
    let (q, mut k, mut v) = (numbers(320, 1), numbers(all * 8, 2), numbers(all * 8, 3));
    k[seen * 8..].fill(f32::NAN);
    v[seen * 8..].fill(f32::NAN);
    let keep: Vec<bool> = (0..40 * all).map(|i| i % all + 39 < seen + i / all).collect();
    let few: Vec<bool> = keep.chunks(all).flat_map(|row| row[..seen].to_vec()).collect();
    let add: Vec<f32> = keep.iter().map(|keep| if *keep { 0.0 } else { f32::NEG_INFINITY }).collect();
    let by_row = |row: usize| Strides { row, ..Strides::default() };
    let cases = versions().flat_map(|version| [(version, 0..40), (version, 39..40)]);
    for ((level, format), queries) in cases {
        let result = |mask: Mask<'_>, keys: usize, strides: Strides| {
            let sizes = Sizes { batches: 1, heads: 1, key_heads: 1, queries: queries.len(), keys, width: 8, values: 8 };
            let mut out = vec![9.0; 320];
            let (q, scores) = (&q[queries.start * 8..], Scores { mask, format, ..PLAIN });
            attention_at(level, sizes, (&mut out, of_seen), (q, of_all), (&k, strides), (&v, strides), scores);
            out
        };
        let want = result(Mask::Keep(&few[queries.start * seen..], by_row(seen), 1), seen, of_seen);
        assert!(want.iter().all(|x| x.is_finite()), "{level:?} {format:?}");
        let first = queries.start * all;
        for mask in [Mask::Keep(&keep[first..], by_row(all), 1), Mask::Add(&add[first..], by_row(all), 1)] {
            assert_eq!(result(mask, all, of_all), want, "{level:?} {format:?}");
        }
    }
}

#[test]
#[should_panic(expected = "rows of the result overlap")]
fn results_must_not_overlap() {
    let sizes = Sizes { batches: 1, heads: 2, key_heads: 2, queries: 2, keys: 2, width: 4, values: 4 };
    let (apart, overlapping) = (strides(false, 2, 2, 4), Strides { batch: 0, head: 4, row: 4 });
    let x = numbers(16, 1);
    attention(sizes, (&mut [0.0; 16], overlapping), (&x, apart), (&x, apart), (&x, apart), PLAIN);
}
