//! Every function of every level against f64, over the whole range.

use super::rounded;
use crate::elementwise::{Binary, Op, Operand, Unary, run_one};
use crate::simd::{Kernel, Level, PairKernel, Pairs, Vector, dispatch, dispatch_pairs, has_pairs};

/// Numbers of all sizes and both signs, with the special ones.
fn numbers() -> Vec<f32> {
    /// A prime: the steps meet all mantissas.
    const STEP: usize = 4001;
    let mut numbers: Vec<f32> = (0..=u32::MAX).step_by(STEP).map(f32::from_bits).filter(|x| !x.is_nan()).collect();
    // Densely where the functions bend.
    numbers.extend((-100_000..=100_000).map(|i| i as f32 * 1.08e-3));
    numbers.extend([0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, f32::MAX]);
    numbers.extend([f32::MIN, 1e-45, -1e-45, 88.722_84, 88.722_85, -103.972_07, -103.97, 0.625, 0.927_734_4]);
    numbers
}

/// How many units in the last place of the exact value lie between the two.
fn ulps(got: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if got == rounded || got.is_nan() && exact.is_nan() {
        return 0.0;
    }
    if rounded.is_infinite() || got.is_infinite() {
        // The last number before infinity is one unit away.
        return if got.abs() == f32::MAX || rounded.abs() == f32::MAX { 1.0 } else { f64::INFINITY };
    }
    let size = f64::from(rounded.abs()).max(f64::from(f32::MIN_POSITIVE));
    let unit = (size.log2().floor() - 23.0).exp2();
    (f64::from(got) - exact).abs() / unit
}

#[track_caller]
fn check(op: Unary, limit: f64, exact: impl Fn(f64) -> f64) {
    let numbers = numbers();
    let mut out = vec![0.0; numbers.len()];
    for level in Level::available() {
        run_one(level, Op::Unary(op), &mut out, &[Operand::Cycle(&numbers)]);
        let (mut worst, mut at) = (0.0, 0.0);
        for (&x, &got) in numbers.iter().zip(&out) {
            let error = ulps(got, exact(f64::from(x)));
            if error > worst || error.is_nan() {
                (worst, at) = (error, x);
            }
        }
        assert!(worst <= limit, "{level:?} {op}: {worst} units at {at:e}");
    }
}

#[test]
fn exponentials() {
    check(Unary::Exp, 1.2, f64::exp);
    check(Unary::Expm1, 1.6, f64::exp_m1);
}

/// Replaces each number, of as many as fill vectors, by that power of 2, or of e.
struct Powers<'a>(&'a mut [f32], bool);

impl Kernel for Powers<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        for x in self.0.chunks_exact_mut(V::LANES) {
            let power = if self.1 { super::exp_below_one(V::load(x)) } else { super::exp2_below_one(V::load(x)) };
            power.store(x);
        }
    }
}

#[test]
fn powers_of_a_softmax() {
    let mut numbers: Vec<f32> = numbers().into_iter().filter(|x| *x <= 0.0 || x.is_nan()).collect();
    numbers.resize(numbers.len().next_multiple_of(16), 0.0);
    for (level, of_e) in Level::available().flat_map(|level| [(level, false), (level, true)]) {
        let mut out = numbers.clone();
        dispatch(level, Powers(&mut out, of_e));
        for (x, got) in numbers.iter().zip(out) {
            let exact = if of_e { f64::from(*x).exp() } else { f64::from(*x).exp2() };
            let least = f64::from(f32::MIN_POSITIVE);
            // Where nearly all of the last bit is lost, either is right.
            let zero = got == 0.0 && exact < 1.01 * least;
            let normal = got >= f32::MIN_POSITIVE && ulps(got, exact) <= 1.2;
            assert!(zero || normal || x.is_nan() && got.is_nan(), "{level:?} {x:e}: {got:e}, not {exact:e}");
        }
    }
}

#[test]
fn logarithms() {
    check(Unary::Log, 1.0, f64::ln);
    check(Unary::Log2, 2.8, f64::log2);
    check(Unary::Log10, 2.8, f64::log10);
    check(Unary::Log1p, 1.6, f64::ln_1p);
}

#[test]
fn waves() {
    check(Unary::Sin, 2.0, f64::sin);
    check(Unary::Cos, 2.0, f64::cos);
    check(Unary::Tan, 4.0, f64::tan);
}

#[test]
fn angles_and_lengths() {
    check(Unary::Atan, 2.6, f64::atan);
    check(Unary::Asin, 2.6, f64::asin);
    check(Unary::Acos, 2.6, f64::acos);
    // Points of all sizes in all directions, on the axes too.
    let some: Vec<f32> = numbers().into_iter().step_by(1009).chain(numbers().into_iter().rev().take(18)).collect();
    let points = some.iter().flat_map(|y| some.iter().map(move |x| (*y, *x)));
    let (y, x): (Vec<f32>, Vec<f32>) = points.unzip();
    for level in Level::available() {
        let mut out = vec![0.0; x.len()];
        run_one(level, Op::Binary(Binary::Hypot), &mut out, &[Operand::Cycle(&y), Operand::Cycle(&x)]);
        for ((y, x), got) in y.iter().zip(&x).zip(&out) {
            let exact = f64::from(*y).hypot(f64::from(*x));
            assert!(ulps(*got, exact) <= 1.6, "{level:?} ({x:e}, {y:e}): {got:e}, not {exact:e}");
        }
        run_one(level, Op::Binary(Binary::Atan2), &mut out, &[Operand::Cycle(&y), Operand::Cycle(&x)]);
        for ((y, x), got) in y.iter().zip(&x).zip(out) {
            let exact = f64::from(*y).atan2(f64::from(*x));
            // What is less than a normal number may be lost.
            let close =
                ulps(got, exact) <= 3.0 || exact.abs() < f64::from(f32::MIN_POSITIVE) && got.abs() <= f32::MIN_POSITIVE;
            assert!(close, "{level:?} ({x:e}, {y:e}): {got:e}, not {exact:e}");
        }
    }
}

#[test]
fn hyperbolic_functions() {
    check(Unary::Sinh, 2.6, libm::sinh);
    check(Unary::Cosh, 2.6, libm::cosh);
    check(Unary::Asinh, 2.6, libm::asinh);
    check(Unary::Acosh, 2.6, |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) });
    check(Unary::Atanh, 2.6, libm::atanh);
}

#[test]
fn sigmoids() {
    check(Unary::Tanh, 1.6, f64::tanh);
    check(Unary::Sigmoid, 2.2, |x| 1.0 / (1.0 + (-x).exp()));
    check(Unary::Erf, 1.6, libm::erf);
    check(Unary::Erfc, 5.0, libm::erfc);
}

#[test]
fn roots_and_rounding_are_exact() {
    check(Unary::Sqrt, 0.5, f64::sqrt);
    check(Unary::Reciprocal, 0.5, |x| 1.0 / x);
    check(Unary::Floor, 0.0, f64::floor);
    check(Unary::Ceil, 0.0, f64::ceil);
    check(Unary::Trunc, 0.0, f64::trunc);
    check(Unary::Frac, 0.0, f64::fract);
    check(Unary::Round, 0.0, f64::round_ties_even);
    check(Unary::Abs, 0.0, f64::abs);
    check(Unary::Relu, 0.0, |x| if x < 0.0 { 0.0 } else { x });
}

/// A function of numbers that are rounded to bf16 next.
struct BeforeRounding<'a>(Unary, &'a mut [f32]);

impl PairKernel for BeforeRounding<'_> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        for x in self.1.chunks_mut(V::LANES) {
            let numbers = V::load_part(x);
            let numbers = match self.0 {
                Unary::Silu => rounded::silu(numbers),
                Unary::Gelu => rounded::gelu(numbers),
                _ => rounded::gelu_tanh(numbers),
            };
            numbers.store_part(x);
        }
    }
}

#[test]
fn activations_before_rounding() {
    if !has_pairs(Level::detect()) {
        return;
    }
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let check = |op: Unary, exact: &dyn Fn(f64) -> f64| {
        let x: Vec<f32> = (-20_000..20_000).map(|i| i as f32 * 1e-3).chain(numbers()).collect();
        let mut all = x.clone();
        dispatch_pairs(BeforeRounding(op, &mut all));
        for (x, got) in x.iter().zip(all) {
            let want = exact(f64::from(*x)) as f32;
            // Where results are next to 0 they are so here too.
            let is_near = (got - want).abs() <= 1.3e-3 * want.abs() + if *x < -5.0 { 2e-6 } else { f32::MIN_POSITIVE };
            assert!(is_near || got == want || got.is_nan() && want.is_nan(), "{op} {x:e}: {got:e} {want:e}");
        }
    };
    let infinite = |x: f64| if x == f64::NEG_INFINITY { f64::NAN } else { 0.0 };
    check(Unary::Silu, &|x| x * sigmoid(x) + infinite(x));
    check(Unary::Gelu, &|x| x * 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2) + infinite(x));
    check(Unary::GeluTanh, &|x| x * sigmoid(2.0 * 0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)) + infinite(x));
}

/// The activations against their formulas in f64: close by the size of the operand or of the result.
#[test]
fn activations() {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let normal = |x: f64| 0.5 * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2));
    let close = |op: Unary, exact: &dyn Fn(f64) -> f64| {
        let numbers = numbers();
        let mut out = vec![0.0; numbers.len()];
        for level in Level::available() {
            run_one(level, Op::Unary(op), &mut out, &[Operand::Cycle(&numbers)]);
            for (&x, &got) in numbers.iter().zip(&out) {
                let want = exact(f64::from(x)) as f32;
                let near = (got - want).abs() <= 1e-6 * want.abs().max(x.abs().min(1.0)).max(f32::MIN_POSITIVE);
                assert!(got == want || near || got.is_nan() && want.is_nan(), "{level:?} {op} {x:e}: {got:e} {want:e}");
            }
        }
    };
    close(Unary::Silu, &|x| x * sigmoid(x) + if x == f64::NEG_INFINITY { f64::NAN } else { 0.0 });
    close(Unary::Gelu, &|x| x * normal(x));
    close(Unary::Elu(1.5), &|x| if x > 0.0 { x } else { 1.5 * x.exp_m1() });
    close(Unary::Celu(0.5), &|x| if x > 0.0 { x } else { 0.5 * (x / 0.5).exp_m1() });
    close(Unary::Selu, &|x| 1.050_700_987_355_480_5 * if x > 0.0 { x } else { 1.673_263_242_354_377_2 * x.exp_m1() });
    close(Unary::Mish, &|x| if x > 20.0 { x } else { x * x.exp().ln_1p().tanh() });
    close(Unary::Softplus(2.0, 20.0), &|x| if 2.0 * x > 20.0 { x } else { (2.0 * x).exp().ln_1p() / 2.0 });
    close(Unary::LogSigmoid, &|x| x.min(0.0) - (-x.abs()).exp().ln_1p());
    close(Unary::Softsign, &|x| x / (1.0 + x.abs()));
    close(Unary::LeakyRelu(0.01), &|x| if x > 0.0 { x } else { f64::from(0.01_f32) * x });
    close(Unary::Relu6, &|x| if x.is_nan() { x } else { x.clamp(0.0, 6.0) });
    close(Unary::Clamp(-1.0, 2.0), &|x| if x.is_nan() { x } else { x.clamp(-1.0, 2.0) });
    let six = |x: f64| f64::from(x as f32 + 3.0).clamp(0.0, 6.0);
    close(Unary::Hardsigmoid, &|x| six(x) / 6.0);
    close(Unary::Hardswish, &|x| f64::from((x * six(x)) as f32) / 6.0);
    close(Unary::GeluTanh, &|x| {
        let inner = 0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x);
        x * 0.5 * (1.0 + inner.tanh())
    });
}
