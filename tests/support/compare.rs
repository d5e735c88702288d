//! Comparing what an op gives with what it must give.

use fx::ops::Tolerance;
use fx::value::TensorMeta;
use fx::{Arg, DType, Meta, Tensor};

use super::golden::Expected;

type Verdict = Result<(), String>;

/// Whether an output is the expected one within a tolerance: element types and shapes exactly, NaN equal to NaN.
pub(crate) fn output(found: &Arg<Tensor>, expected: &Arg<Tensor>, tolerance: Tolerance) -> Verdict {
    match (found, expected) {
        (Arg::Value(found), Arg::Value(expected)) => tensor(found, expected, tolerance),
        (Arg::Int(found), Arg::Int(expected)) if found == expected => Ok(()),
        (Arg::Float(found), Arg::Float(expected)) if found == expected => Ok(()),
        _ => match (found.as_items(), expected.as_items()) {
            (Some(found), Some(expected)) if found.len() == expected.len() => {
                found.iter().zip(expected).try_for_each(|(found, expected)| output(found, expected, tolerance))
            }
            _ => Err(format!("expected {expected:?}, found {found:?}")),
        },
    }
}

fn tensor(found: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Verdict {
    if found.dtype() != expected.dtype() || found.shape() != expected.shape() {
        return Err(format!("expected {}, found {}", Meta::from(expected), Meta::from(found)));
    }
    let Tolerance { rtol, atol } = widened(tolerance, expected.dtype());
    if found.all_close(expected, rtol, atol) {
        return Ok(());
    }
    let difference = found.max_abs_diff(expected);
    let (found, expected) = (found.to_vec_as::<f64>(), expected.to_vec_as::<f64>());
    let place = (0..found.len()).max_by(|&a, &b| error(found[a], expected[a]).total_cmp(&error(found[b], expected[b])));
    let (found, expected) = place.map_or((f64::NAN, f64::NAN), |place| (found[place], expected[place]));
    Err(format!("differs by up to {difference:e}, for one {found} where {expected} is expected"))
}

/// How far apart two elements are, relative to the expected one.
fn error(found: f64, expected: f64) -> f64 {
    if found == expected || (found.is_nan() && expected.is_nan()) {
        0.0
    } else if found.is_nan() || expected.is_nan() {
        f64::INFINITY
    } else {
        (found - expected).abs() / expected.abs().max(1e-3)
    }
}

/// A tolerance as it is for an element type: a row's is for f32, and half precision rounds to its own epsilon.
fn widened(tolerance: Tolerance, dtype: DType) -> Tolerance {
    let epsilon = match dtype {
        DType::F16 => f64::from(half::f16::EPSILON),
        DType::BF16 => f64::from(half::bf16::EPSILON),
        _ => 0.0,
    };
    if tolerance == Tolerance::EXACT {
        return tolerance;
    }
    Tolerance { rtol: tolerance.rtol.max(epsilon), atol: tolerance.atol }
}

/// Whether an output is a tensor of an element type and shape.
pub(crate) fn like(found: &Arg<Tensor>, dtype: DType, shape: &[usize]) -> Verdict {
    match found.as_value() {
        Some(found) if found.dtype() == dtype && found.shape() == shape => Ok(()),
        _ => Err(format!("expected {dtype}{shape:?}, found {found:?}")),
    }
}

/// Whether an inferred shape is that of the expected output; sizes that depend on the data may be unknown.
pub(crate) fn meta(found: &Arg<Meta>, expected: &Expected) -> Verdict {
    match expected {
        Expected::Output(expected) => described(found, &expected.map(&mut |tensor| TensorMeta::from(tensor))),
        Expected::Like(dtype, shape) => described(found, &Arg::Value(TensorMeta::new(shape.iter().copied(), *dtype))),
        Expected::Error => Ok(()),
    }
}

fn described(found: &Arg<Meta>, expected: &Arg<TensorMeta>) -> Verdict {
    let fail = || Err(format!("inferred {found:?}, the output is {expected:?}"));
    match (found, expected) {
        (Arg::Value(Meta::Unknown), _) => Ok(()),
        (Arg::Value(Meta::Tensor(found)), Arg::Value(expected)) => {
            let same = found.shape.iter().zip(&expected.shape).all(|(a, b)| a.known_eq(b) != Some(false));
            if same && found.ndim() == expected.ndim() && found.dtype == expected.dtype { Ok(()) } else { fail() }
        }
        (Arg::Int(found), Arg::Int(expected)) if found == expected => Ok(()),
        (Arg::Float(found), Arg::Float(expected)) if found == expected => Ok(()),
        _ => match (found.as_items(), expected.as_items()) {
            (Some(found), Some(expected)) if found.len() == expected.len() => {
                found.iter().zip(expected).try_for_each(|(found, expected)| described(found, expected))
            }
            _ => fail(),
        },
    }
}
