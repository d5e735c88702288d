//! Functions whose values are rounded to bf16 next: within 1.3e-3 of these, which is less than is lost then.

use std::f32::consts::LOG2_E;

use crate::simd::Pairs;

/// `x * sigmoid(size)`.
#[inline(always)]
fn gated<V: Pairs>(x: V, size: V) -> V {
    x * ((size * V::splat(-LOG2_E)).exp2() + V::splat(1.0)).reciprocal()
}

/// `x * sigmoid(x)`.
#[inline(always)]
pub(crate) fn silu<V: Pairs>(x: V) -> V {
    gated(x, x)
}

/// `x` times the normal distribution function, whose odds are the exponential of a polynomial.
#[inline(always)]
pub(crate) fn gelu<V: Pairs>(x: V) -> V {
    let square = (x * x).min(V::splat(25.0));
    let mut size = V::splat(9.202_510_4e-6);
    for coefficient in [-9.942_554_25e-4, 0.075_924_845_6, 1.592_274_16] {
        size = size.mul_add(square, V::splat(coefficient));
    }
    gated(x, x * size)
}

/// The approximation of `gelu` with a hyperbolic tangent.
#[inline(always)]
pub(crate) fn gelu_tanh<V: Pairs>(x: V) -> V {
    let size = (x * x).mul_add(V::splat(2.0 * 0.797_884_56 * 0.044_715), V::splat(2.0 * 0.797_884_56));
    gated(x, x * size)
}
