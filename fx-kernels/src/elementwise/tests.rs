//! Operands of all kinds and chains of all shapes, on every level, against their definitions by index.

use super::*;
use crate::quantization::{Quantization, round_to_words};
use crate::rounded::Rounded;

fn numbers(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 100.0 - 10.0).collect()
}

fn element(operand: Operand<'_>, before: &[f32], index: usize) -> f32 {
    match operand {
        Operand::Output => before[index],
        Operand::Cycle(x) => x[index % x.len()],
        Operand::Repeat(x, run) => x[index / run % x.len()],
        Operand::Again(x, row, times) => x[(index / (row * times) * row + index % row) % x.len()],
        Operand::Rows(x, row, stride) => x[index / row * stride + index % row],
        Operand::Number(x) => x,
        Operand::Pairs(x) => f32::from_bits(x[index / 2].to_bits() >> (16 * (index % 2)) << 16),
        Operand::Joined(parts) => {
            let all: usize = parts.iter().map(|part| part.row).sum();
            let (row, mut place) = (index / all, index % all);
            let part = parts.iter().find(|part| {
                let is_within = place < part.row;
                place -= if is_within { 0 } else { part.row };
                is_within
            });
            let Part { x, row: own, pairs } = *part.expect("a part");
            element(if pairs { Operand::Pairs(x) } else { Operand::Cycle(x) }, before, row * own + place)
        }
    }
}

#[test]
fn operands_broadcast() {
    let sizes = [
        (1, 1),
        (7, 7),
        (12, 3),
        (1024, 1024),
        (5000, 1000),
        (6000, 1500),
        (9000, 1800),
        (70_000, 7),
        (70_000, 35_000),
    ];
    for (len, part) in sizes {
        let (full, few, before) = (numbers(len, 1), numbers(part, 2), numbers(len, 3));
        let runs = numbers(len / part, 4);
        // Twice as many at once, if they fit.
        let more = if len % (2 * part) == 0 { 2 * part } else { part };
        let (many, long_runs) = (numbers(more, 5), numbers(len / more, 6));
        // Rows that come twice if they can.
        let again = numbers(len / more * part, 9);
        // Some elements between the rows, and rows that are one or several together.
        let gaps = numbers(2 * len, 7);
        // Rows of several operands; if all have an even number of elements, of one as pairs.
        let (even, rows) = (part % 2 == 0, len / part);
        let first = if even { part / 6 * 2 } else { part / 3 };
        let joined =
            [(first, false), (part / 4 * 2, even), (part - first - part / 4 * 2, false)].map(|(row, pairs)| {
                let x = numbers(rows * row, 8);
                if pairs { (x[..rows * row / 2].to_vec(), row, pairs) } else { (x, row, pairs) }
            });
        let joined = joined.each_ref().map(|(x, row, pairs)| Part { x, row: *row, pairs: *pairs });
        let operands = [
            Operand::Output,
            Operand::Joined(&joined),
            Operand::Cycle(&full),
            Operand::Cycle(&few),
            Operand::Cycle(&few[..1]),
            Operand::Cycle(&many),
            Operand::Repeat(&runs, part),
            Operand::Repeat(&long_runs, more),
            Operand::Repeat(&full, 1),
            Operand::Again(&again, part, more / part),
            Operand::Again(&few, part, 1),
            Operand::Rows(&gaps[1..], part, part + 1),
            Operand::Rows(&gaps, more, 2 * more),
            Operand::Number(2.5),
        ];
        for level in Level::available() {
            for x in operands {
                for y in operands {
                    let mut out = before.clone();
                    run_one(level, Op::Binary(Binary::Sub), &mut out, &[x, y]);
                    for (i, &got) in out.iter().enumerate() {
                        let want = element(x, &before, i) - element(y, &before, i);
                        assert!(got == want, "{level:?} {len} {x:?} {y:?} at {i}: {got}, not {want}");
                    }
                }
            }
        }
    }
}

/// Some elements alone are what they are among all, wherever they begin.
#[test]
fn some_elements_alone() {
    let steps = [
        Step::binary(Binary::Mul, Place::Input(0), Place::Input(1)),
        Step::ternary(Ternary::MulAdd, Place::Step(0), Place::Input(2), Place::Input(3)),
        Step::unary(Unary::Exp, Place::Step(1)),
    ];
    let steps = [&steps[..], &[Step::binary(Binary::Add, Place::Step(2), Place::Input(4))]].concat();
    let chain = Chain::new(5, &steps).unwrap();
    let (len, row) = (6000, 30);
    let (few, runs, gaps, first) = (numbers(row, 1), numbers(len / 50, 2), numbers(2 * len, 3), numbers(len / 3, 4));
    let joined = [(&first, row / 3), (&gaps, row - row / 3)].map(|(x, row)| Part { x, row, pairs: false });
    let inputs = [
        Operand::Cycle(&few),
        Operand::Repeat(&runs, 50),
        Operand::Rows(&gaps, row, 2 * row),
        Operand::Joined(&joined),
        Operand::Again(&gaps[..len / 4], 25, 2),
    ];
    let mut all = vec![0.0; len];
    chain.run(&mut all, &inputs);
    for elements in [0..len, 0..1, 7..7, 17..2900, 1024..5000, 5999..6000] {
        let mut some = vec![0.0; elements.len()];
        chain.run_some(elements.clone(), &mut some, &inputs);
        assert!(some == all[elements.clone()], "{elements:?}");
    }
}

/// What scales channels, and a ReLU after it, is computed in one pass: bit for bit as step by step, of numbers and pairs, joined or not, into numbers and
/// words.
#[test]
fn channels_are_scaled_at_once() {
    let scale = Step::ternary(Ternary::MulAdd, Place::Input(0), Place::Input(1), Place::Input(2));
    let unary = |op, step| Step::unary(op, Place::Step(step));
    // The same with steps that change nothing more.
    let chains = [
        (vec![scale], vec![scale, unary(Unary::Neg, 0), unary(Unary::Neg, 1)]),
        (vec![scale, unary(Unary::Relu, 0)], vec![scale, unary(Unary::Relu, 0), unary(Unary::Relu, 1)]),
    ]
    .map(|(once, steps)| [once, steps].map(|steps| Chain::new(3, &steps).unwrap()));
    let bytes = Quantization { scale: 0.05, zero_point: 3, min: 0, max: 255 };
    for (rows, row) in [(1, 8), (13, 96), (5, 1500), (300, 20), (2, 2048), (3, 7)] {
        let (mut x, by, shift) = (numbers(rows * row, 1), numbers(row, 2), numbers(row, 3));
        x[rows * row / 2] = f32::NAN;
        let first = row / 8 * 4;
        let parts = [(first, true), (row - first, false)].map(|(row, pairs)| Part { x: &x, row, pairs });
        let kinds = [Operand::Cycle(&x), Operand::Pairs(&x[..rows * row / 2]), Operand::Joined(&parts)];
        for (kind, [once, steps]) in kinds.iter().flat_map(|kind| chains.iter().map(move |chains| (kind, chains))) {
            if matches!(kind, Operand::Pairs(_)) && !row.is_multiple_of(2) {
                continue;
            }
            let inputs = [*kind, Operand::Cycle(&by), Operand::Cycle(&shift)];
            let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            for level in Level::available() {
                let [got, want] = [once, steps].map(|chain| {
                    let mut out = vec![0.25; rows * row];
                    chain.run_at(level, &mut out, &inputs);
                    bits(&out)
                });
                assert!(got == want, "{level:?} {once} of {rows} rows of {row}, {kind:?}");
            }
            let is_written = |rounded: &Rounded| rounded.is_written() && row.is_multiple_of(rounded.numbers());
            for rounded in [Rounded::Pairs, Rounded::Bytes(bytes)].into_iter().filter(is_written) {
                let [got, want] = [once, steps].map(|chain| {
                    let mut out = vec![0.25; rows * row / rounded.numbers()];
                    chain.run_words(&mut out, rounded, &inputs);
                    bits(&out)
                });
                assert!(got == want, "{once} of {rows} rows of {row}, {kind:?} as {rounded:?}");
            }
        }
    }
}

/// Words of pairs, as operands, as what is there before and as results, give what their numbers give.
#[test]
fn words_are_operands_and_results() {
    if !Rounded::Pairs.is_written() {
        return;
    }
    let words = |x: &[f32]| {
        let mut words = vec![0.0; x.len() / 2];
        crate::pairs::round_to_pairs(&mut words, x.len() / 2, x, x.len(), x.len());
        words
    };
    let steps = [
        Step::ternary(Ternary::MulAdd, Place::Input(0), Place::Input(1), Place::Input(2)),
        Step::binary(Binary::Add, Place::Step(0), Place::Input(3)),
    ];
    for chain in [Chain::new(4, &steps).unwrap(), Chain::new(3, &steps[..1]).unwrap()] {
        for (len, few) in [(2, 1), (96, 6), (3 * 1024, 3), (70_000, 35), (70_000, 7000)] {
            // Of so many bits that pairs hold them.
            let [x, y] = [3, 4].map(|seed| numbers(len, seed).iter().map(|x| x.round()).collect::<Vec<_>>());
            let (scale, shift) = (numbers(few, 1), numbers(few, 2));
            let [x_words, y_words] = [&x, &y].map(|x| words(x));
            let sides = [Operand::Cycle(&scale), Operand::Cycle(&shift)];
            let run = |out: &mut [f32], rounded: Option<Rounded>, first, last| {
                let inputs = [first, sides[0], sides[1], last];
                match rounded {
                    Some(rounded) => chain.run_words(out, rounded, &inputs[..chain.inputs()]),
                    None => chain.run(out, &inputs[..chain.inputs()]),
                }
            };
            let is_same = |got: &[f32], want: &[f32]| got.iter().zip(want).all(|(x, y)| x.to_bits() == y.to_bits());
            let mut numbers = vec![0.0; len];
            run(&mut numbers, None, Operand::Cycle(&x), Operand::Cycle(&y));
            let mut got = vec![0.0; len];
            run(&mut got, None, Operand::Pairs(&x_words), Operand::Cycle(&y));
            assert_eq!(got, numbers, "{chain}, {len}");
            let want = words(&numbers);
            for first in [Operand::Output, Operand::Pairs(&x_words), Operand::Cycle(&x)] {
                let mut got = x_words.clone();
                run(&mut got, Some(Rounded::Pairs), first, Operand::Pairs(&y_words));
                assert!(is_same(&got, &want), "{chain}, {len}, {first:?}");
            }
            let range = Quantization { scale: 0.3, zero_point: 100, min: 0, max: 255 };
            if !Rounded::Bytes(range).is_written() || !len.is_multiple_of(4) {
                continue;
            }
            let mut want = vec![0.0; len / 4];
            round_to_words((Level::detect(), 4), range, &mut want, len / 4, &numbers, len, len);
            for first in [Operand::Pairs(&x_words), Operand::Cycle(&x)] {
                let mut got = vec![0.0; len / 4];
                run(&mut got, Some(Rounded::Bytes(range)), first, Operand::Cycle(&y));
                assert!(is_same(&got, &want), "{chain}, {len}, {first:?} to bytes");
            }
        }
    }
}

#[test]
fn chains_hand_results_on() {
    use Place::{Input, Step as Earlier};
    let chain = Chain::new(
        3,
        &[
            Step::binary(Binary::Add, Input(0), Input(1)),
            Step::unary(Unary::Square, Earlier(0)),
            Step::binary(Binary::Maximum, Input(2), Earlier(0)),
            Step::ternary(Ternary::MulAdd, Earlier(1), Earlier(2), Earlier(0)),
            Step::unary(Unary::LeakyRelu(0.5), Earlier(3)),
        ],
    );
    let chain = chain.expect("three results are alive at once");
    assert_eq!(
        chain.to_string(),
        "leaky_relu[0.5](mul_add(square(add(x0, x1)), maximum(x2, add(x0, x1)), add(x0, x1)))"
    );
    for len in [1, 100, 5000, 100_000] {
        let (x, y) = (numbers(len, 1), numbers(len, 2));
        let mut want = Vec::new();
        for level in Level::available() {
            let mut out = x.clone();
            chain.run_at(level, &mut out, &[Operand::Output, Operand::Cycle(&y), Operand::Number(1.5)]);
            for i in 0..len {
                let sum = x[i] + y[i];
                let inner = sum * sum * sum.max(1.5) + sum;
                let exact = if inner > 0.0 { inner } else { 0.5 * inner };
                assert!((out[i] - exact).abs() <= 1e-5 * exact.abs().max(1.0), "{level:?} {i}: {} {exact}", out[i]);
            }
            if level == Level::Generic {
                want = out;
            } else {
                assert!(out.iter().zip(&want).all(|(a, b)| (a - b).abs() <= 1e-5 * b.abs().max(1.0)));
            }
        }
    }
}

#[test]
fn too_much_for_the_registers() {
    let leaves: Vec<Step> = (0..=REGISTERS).map(|_| Step::unary(Unary::Exp, Place::Input(0))).collect();
    let sums = (0..REGISTERS).map(|i| {
        let left = if i == 0 { 0 } else { REGISTERS + i };
        Step::binary(Binary::Add, Place::Step(left), Place::Step(i + 1))
    });
    let steps: Vec<Step> = leaves.iter().copied().chain(sums).collect();
    assert_eq!(Chain::new(1, &steps), None);
    assert_eq!(Chain::new(INPUTS + 1, &steps[..1]), None);
}

#[test]
fn chains_follow_each_other() {
    let chain = |inputs, steps: &[Step]| Chain::new(inputs, steps).expect("a short chain");
    let sub = chain(2, &[Step::binary(Binary::Sub, Place::Input(0), Place::Input(1))]);
    let exp = chain(1, &[Step::unary(Unary::Exp, Place::Input(0))]);
    let both = |after: &Chain, before: &Chain, input| after.after(before, input).map(|chain| chain.to_string());
    assert_eq!(both(&exp, &sub, 0).as_deref(), Some("exp(sub(x0, x1))"));
    assert_eq!(both(&sub, &exp, 1).as_deref(), Some("sub(x0, exp(x1))"));
    assert_eq!(both(&sub, &sub, 0).as_deref(), Some("sub(sub(x0, x1), x2)"));
    let nested = sub.after(&sub, 1).expect("a short chain");
    assert_eq!(nested.to_string(), "sub(x0, sub(x1, x2))");
    assert_eq!(both(&nested, &sub, 1).as_deref(), Some("sub(x0, sub(sub(x1, x2), x3))"));
    assert_eq!(both(&exp, &nested, 0).as_deref(), Some("exp(sub(x0, sub(x1, x2)))"));
    let many = chain(INPUTS, &[Step::binary(Binary::Add, Place::Input(0), Place::Input(INPUTS - 1))]);
    assert_eq!(many.after(&sub, 0), None);
    let mut out = [0.0; 2];
    nested.run(&mut out, &[Operand::Cycle(&[5.0, 7.0]), Operand::Number(3.0), Operand::Cycle(&[1.0, 2.0])]);
    assert_eq!(out, [3.0, 6.0]);
}

#[test]
fn nan_and_comparisons() {
    let (nan, one) = (f32::NAN, 1.0);
    for level in Level::available() {
        for (op, x, y, want) in [
            (Binary::Maximum, nan, one, nan),
            (Binary::Maximum, one, nan, nan),
            (Binary::Minimum, nan, one, nan),
            (Binary::Minimum, one, nan, nan),
            (Binary::Lt, nan, one, 0.0),
            (Binary::Le, one, one, 1.0),
            (Binary::Eq, nan, nan, 0.0),
            (Binary::Distance(one, 0.5, one), 3.0, 0.5, 2.0),
            (Binary::Distance(one, 0.5, one), 0.5, one, 0.125),
            (Binary::Distance(one, 0.5, one), nan, one, nan),
            (Binary::Distance(f32::INFINITY, one, 0.0), 3.0, f32::NEG_INFINITY, f32::INFINITY),
            (Binary::Distance(0.0, 0.0, one), 3.0, 3.0, 0.0),
            (Binary::Prelu, nan, one, nan),
            (Binary::Prelu, 3.0, 0.25, 3.0),
            (Binary::Prelu, -3.0, 0.25, -0.75),
            (Binary::Prelu, f32::NEG_INFINITY, -1.0, f32::INFINITY),
            (Binary::Prelu, 0.0, f32::INFINITY, nan),
        ] {
            let mut out = [0.0; 3];
            run_one(level, Op::Binary(op), &mut out, &[Operand::Number(x), Operand::Number(y)]);
            assert!(out.iter().all(|&got| got == want || got.is_nan() && want.is_nan()), "{level:?} {op} {x} {y}");
        }
        let mut out = [0.0; 3];
        let choice = [Operand::Cycle(&[1.0, 0.0, nan]), Operand::Number(5.0), Operand::Number(7.0)];
        run_one(level, Op::Ternary(Ternary::Where), &mut out, &choice);
        assert_eq!(out, [5.0, 7.0, 5.0]);
    }
}

#[test]
#[should_panic(expected = "an operand of 3 elements does not divide 4")]
fn operands_must_fit() {
    unary(Unary::Neg, &mut [0.0; 4], Operand::Cycle(&[1.0, 2.0, 3.0]));
}

/// The largest difference of two numbers, in units in the last place of the second one.
fn units(got: f64, want: f64) -> f64 {
    if got == want || got.is_nan() && want.is_nan() {
        return 0.0;
    }
    if got.is_infinite() || want.is_infinite() {
        // The last number before infinity is one unit away.
        return if got.abs() == f64::MAX || want.abs() == f64::MAX { 1.0 } else { f64::INFINITY };
    }
    let size = want.abs().max(f64::MIN_POSITIVE);
    (got - want).abs() / (size.log2().floor() - 52.0).exp2()
}

/// Functions of f64 against the standard library's, whose own error is below a unit, over the whole range.
#[test]
fn functions_of_f64() {
    let mut numbers: Vec<f64> = (0..1_000_003_u64)
        .map(|i| f64::from_bits(i.wrapping_mul(0x0012_53a1_9b6f_1003)))
        .filter(|x| !x.is_nan())
        .collect();
    // Densely where the functions bend.
    numbers.extend((-400_000..=400_000).map(|i| f64::from(i) * 1.9e-3));
    numbers.extend((-100_000..=100_000).map(|i| f64::from(i) * 1.08e-5));
    numbers.extend([
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::MIN_POSITIVE,
        f64::MAX,
        5e-324,
    ]);
    numbers.extend([
        709.782_712_893_384,
        -745.133_219_101_941,
        -708.4,
        std::f64::consts::FRAC_PI_2,
        710_000.0,
        1e-300,
        1e-17,
    ]);
    let sigmoid = |x: f64| if x < 0.0 { x.exp() / (x.exp() + 1.0) } else { 1.0 / (1.0 + (-x).exp()) };
    for op in double::FUNCTIONS {
        let (exact, most): (fn(f64) -> f64, f64) = match op {
            Unary::Exp => (f64::exp, 2.0),
            Unary::Expm1 => (f64::exp_m1, 2.5),
            Unary::Log => (f64::ln, 1.5),
            Unary::Log1p => (f64::ln_1p, 2.5),
            Unary::Log2 => (f64::log2, 3.5),
            Unary::Log10 => (f64::log10, 3.5),
            Unary::Sin => (f64::sin, 2.0),
            Unary::Cos => (f64::cos, 2.0),
            Unary::Sinh => (libm::sinh, 4.0),
            Unary::Cosh => (libm::cosh, 4.0),
            Unary::Asinh => (libm::asinh, 4.0),
            Unary::Acosh => (|x| if x < 1.0 { f64::NAN } else { libm::acosh(x) }, 4.0),
            Unary::Atanh => (libm::atanh, 4.0),
            Unary::Tanh => (f64::tanh, 4.0),
            Unary::Sigmoid => (sigmoid, 3.5),
            op => unreachable!("{op} has no kernel of f64"),
        };
        for level in Level::available() {
            let mut out = vec![0.0; numbers.len()];
            double::unary_at(level, *op).unwrap()(&mut out, &numbers);
            let errors = numbers.iter().zip(&out).map(|(x, got)| (units(*got, exact(*x)), *x));
            let (worst, at) = errors.fold((0.0, 0.0), |worst, error| if error.0 <= worst.0 { worst } else { error });
            println!("{level:?} {op}: {worst}");
            assert!(worst <= most, "{level:?} {op}: {worst} units at {at:e}");
            let zeros = numbers.iter().zip(&out).filter(|(x, got)| **x == 0.0 && **got == 0.0);
            assert!(zeros.into_iter().all(|(x, got)| x.is_sign_negative() == got.is_sign_negative()), "{level:?} {op}");
        }
    }
    assert!(unary_f64(Unary::Relu).is_none());
}

#[test]
fn extremes_of_integers() {
    let x: Vec<i64> = (0..37).map(|i| (i * i * 7919 - 4000) * if i % 3 == 0 { -1 } else { 1 }).collect();
    let y: Vec<i64> = x.iter().rev().copied().chain([i64::MIN, i64::MAX]).skip(2).collect();
    for (level, f) in Level::available().flat_map(|level| [i64::max, i64::min].map(|f| (level, f))) {
        let mut out = vec![0; x.len()];
        integers::each(level, &mut out, &x, &y, f);
        let want: Vec<i64> = x.iter().zip(&y).map(|(x, y)| f(*x, *y)).collect();
        assert_eq!(out, want, "{level:?}");
    }
}

/// Of all sizes, of both signs, and with what is special, against f64.
#[test]
fn powers() {
    let some: Vec<f32> = (0..=u32::MAX).step_by(7_000_003).map(f32::from_bits).filter(|x| !x.is_nan()).collect();
    let special = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let numbers: Vec<f32> = some.into_iter().chain(special).collect();
    let mut exponents = vec![0.5, 2.0, 3.0, -1.0, -2.0, -3.0, 2.5, 1.0 / 3.0, -0.7, 17.0, 1e9, 3e-5, 16_777_215.0];
    exponents.extend(special);
    for level in Level::available() {
        for exponent in &exponents {
            let all = vec![*exponent; numbers.len()];
            for exponents in [&all[..1], &all] {
                let mut out = vec![0.25; numbers.len()];
                power::power_at(level, &mut out, &numbers, exponents);
                for (x, got) in numbers.iter().zip(out) {
                    let want = f64::from(*x).powf(f64::from(*exponent)) as f32;
                    let near = got.is_finite() && got.to_bits().abs_diff(want.to_bits()) <= 1;
                    let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                    assert!(same || near, "{level:?} {x:e} to the power of {exponent}: {got:e}, not {want:e}");
                }
            }
        }
    }
}
