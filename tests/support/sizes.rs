//! What PyTorch code does with the sizes of a tensor, and the same with plain numbers.

use fx::Arg;
use fx::ops::{ArangeOptions, CatOptions, EyeOptions, InterpolateOptions, PadOptions, TrilOptions, TriuOptions};
use fx::prelude::*;

/// All of it, of `x` of shape `[N, C, H, W]` and `y` of `[N, C, P, Q]`, with `C` a multiple of `heads`.
#[traceable]
pub(crate) fn with_sizes(x: &Tensor, y: &Tensor, heads: usize) -> Vec<Tensor> {
    [resampled(x, y), padded(x, y), parts(x, y), numbers(x, y), arranged(x, y, heads)].concat()
}

#[traceable]
fn resampled(x: &Tensor, y: &Tensor) -> Vec<Tensor> {
    let [_, _, p, q] = y.sizes();
    let sized = |options: InterpolateOptions<Tensor>| x.interpolate_with(options);
    vec![
        sized(InterpolateOptions::new().size((&p, &q)).mode("bilinear").align_corners(false)),
        sized(InterpolateOptions::new().size((&p, 6))),
        sized(InterpolateOptions::new().size(&q * 2).mode("nearest-exact")),
        sized(InterpolateOptions::new().size([p, q])),
    ]
}

#[traceable]
fn padded(x: &Tensor, y: &Tensor) -> Vec<Tensor> {
    let (w, q) = (x.size(-1), y.size(-1));
    let missing = (&q - w % &q) % &q;
    let half = &q / 2;
    vec![
        x.pad((0, &missing)),
        x.pad_with([&missing, &half, &half, &missing], PadOptions::new().value(1.5)),
        x.pad_with((&half, 0, 1, &half), PadOptions::new().mode("reflect")),
        x.pad_with((1, &missing), PadOptions::new().mode("replicate")),
        x.pad_with((&half, &half), PadOptions::new().mode("circular")),
        x.pad((-half, 0)),
    ]
}

#[traceable]
fn parts(x: &Tensor, y: &Tensor) -> Vec<Tensor> {
    let (w, q) = (x.size(-1), y.size(-1));
    let half = &w / 2;
    vec![
        x.index((.., .., .., ..&q)),
        x.index((Arg::Ellipsis, &w - &q..w)),
        x.index((Arg::Ellipsis, &half..)),
        x.index((Arg::Ellipsis, SymInt::from(1)..half)),
        x.index((Arg::Ellipsis, -q..)),
        y.index(..x.size(0)),
    ]
}

#[traceable]
fn numbers(x: &Tensor, y: &Tensor) -> Vec<Tensor> {
    let (w, q) = (x.size(-1), y.size(-1));
    let mut z = x / &w;
    z *= &q;
    z -= q.clone();
    vec![
        z,
        x * &q + &w,
        x % &q,
        Tensor::arange(&w),
        Tensor::arange_with(&w + &q, ArangeOptions::new().start(&w - 1).step(2)),
        Tensor::eye_with(&q, EyeOptions::new().m(&w)),
    ]
}

#[traceable]
fn arranged(x: &Tensor, y: &Tensor, heads: usize) -> Vec<Tensor> {
    let ([n, c, h, w], q) = (x.sizes(), y.size(-1));
    let more = x.repeat_interleave_with(&q, fx::ops::RepeatInterleaveOptions::new().dim(1));
    vec![
        x.view((&n, heads, c / heads, &h * &w)),
        x.roll_with((&h / 2, &w / 2), fx::ops::RollOptions::new().dims([2, 3])),
        x.tril_with(TrilOptions::new().diagonal(&w - &h)),
        x.triu_with(TriuOptions::new().diagonal(w - h)),
        Tensor::cat_with([more, x.clone()], CatOptions::new().dim(1)),
    ]
}

/// The same with plain numbers.
#[allow(dead_code, reason = "one of the tests has no need of them")]
pub(crate) fn with_numbers(x: &Tensor, y: &Tensor, heads: usize) -> Vec<Tensor> {
    let size = |x: &Tensor, dim: usize| x.shape()[dim] as i64;
    let [n, c, h, w] = [0, 1, 2, 3].map(|dim| size(x, dim));
    let [p, q] = [2, 3].map(|dim| size(y, dim));
    let sized = |options: InterpolateOptions<Tensor>| x.interpolate_with(options);
    let (missing, half, middle) = ((q - w % q) % q, q / 2, w / 2);
    vec![
        sized(InterpolateOptions::new().size([p, q]).mode("bilinear").align_corners(false)),
        sized(InterpolateOptions::new().size([p, 6])),
        sized(InterpolateOptions::new().size(q * 2).mode("nearest-exact")),
        sized(InterpolateOptions::new().size([p, q])),
        x.pad([0, missing]),
        x.pad_with([missing, half, half, missing], PadOptions::new().value(1.5)),
        x.pad_with([half, 0, 1, half], PadOptions::new().mode("reflect")),
        x.pad_with([1, missing], PadOptions::new().mode("replicate")),
        x.pad_with([half, half], PadOptions::new().mode("circular")),
        x.pad([-half, 0]),
        x.narrow(3, 0, q),
        x.narrow(3, w - q, q),
        x.narrow(3, middle, w - middle),
        x.narrow(3, 1, middle - 1),
        x.narrow(3, w - q, q),
        y.narrow(0, 0, n),
        x / w * q - q,
        x * q + w,
        x % q,
        Tensor::arange(w),
        Tensor::arange_with(w + q, ArangeOptions::new().start(w - 1).step(2)),
        Tensor::eye_with(q, EyeOptions::new().m(w)),
        x.reshape((n, heads, c / heads as i64, h * w)),
        x.roll_with([h / 2, w / 2], fx::ops::RollOptions::new().dims([2, 3])),
        x.tril_with(TrilOptions::new().diagonal(w - h)),
        x.triu_with(TriuOptions::new().diagonal(w - h)),
        Tensor::cat_with(
            [x.repeat_interleave_with(q, fx::ops::RepeatInterleaveOptions::new().dim(1)), x.clone()],
            CatOptions::new().dim(1),
        ),
    ]
}
