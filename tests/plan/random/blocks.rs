//! What networks are made of: residual and inverted blocks, squeeze and excitation, attention with heads, rotary embeddings.

use fx::{Arg, ops};

use super::graph::{Builder, Choices, Operand, WORK, float, int, ints, value};
pub(super) fn images(b: &Builder, c: &mut Choices<'_>) -> Option<Operand> {
    b.pick(c, |rank| (3..=5).contains(&rank))
}

pub(super) fn activation(b: &mut Builder, c: &mut Choices<'_>, x: &Operand) -> Option<Operand> {
    b.plain(
        c.of(&[ops::relu, ops::relu6, ops::silu, ops::gelu, ops::hardswish, ops::sigmoid, ops::tanh]),
        vec![value(x)],
    )
}

pub(super) fn residual(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = images(b, c)?;
    let channels = x.1.shape()[1];
    let mut y = x.clone();
    for _ in 0..1 + c.below(3) {
        y = b.same_conv(&y, channels, c.of(&[3, 1, 5]), 1, c.yes())?;
        y = if c.yes() { b.normalised(&y)? } else { y };
        y = activation(b, c, &y)?;
    }
    y = b.same_conv(&y, channels, c.of(&[3, 1]), 1, c.yes())?;
    y = if c.yes() { b.normalised(&y)? } else { y };
    let args = if c.yes() { [&x, &y] } else { [&y, &x] };
    y = b.plain(ops::add, args.map(value).to_vec())?;
    if c.yes() { activation(b, c, &y) } else { Some(y) }
}

pub(super) fn inverted(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = images(b, c)?;
    let channels = x.1.shape()[1];
    let wide = channels * c.of(&[2, 3, 4, 1]);
    let mut y = b.same_conv(&x, wide, 1, 1, c.yes())?;
    y = b.normalised(&y)?;
    y = activation(b, c, &y)?;
    y = b.same_conv(&y, wide, c.of(&[3, 5, 7]), wide, c.yes())?;
    y = activation(b, c, &y)?;
    if c.yes() {
        y = excited(b, c, &y)?;
    }
    y = b.same_conv(&y, channels, 1, 1, c.yes())?;
    if c.yes() { b.plain(ops::add, vec![value(&x), value(&y)]) } else { Some(y) }
}

pub(super) fn excited(b: &mut Builder, c: &mut Choices<'_>, x: &Operand) -> Option<Operand> {
    let (planes, channels) = (x.1.ndim() - 2, x.1.shape()[1]);
    let mean = match c.yes() {
        true => b.with(ops::mean, vec![value(x)], [("dim", ints(2..2 + planes)), ("keepdim", Arg::Bool(true))])?,
        false => {
            let functions = [ops::adaptive_avg_pool1d, ops::adaptive_avg_pool2d, ops::adaptive_avg_pool3d];
            b.with(functions[planes - 1], vec![value(x)], [("output_size", ints(vec![1; planes]))])?
        }
    };
    let few = b.same_conv(&mean, channels.div_ceil(2), 1, 1, true)?;
    let few = b.plain(ops::relu, vec![value(&few)])?;
    let scale = b.same_conv(&few, channels, 1, 1, true)?;
    let scale = b.plain(c.of(&[ops::sigmoid, ops::hardsigmoid]), vec![value(&scale)])?;
    b.plain(ops::mul, if c.yes() { vec![value(x), value(&scale)] } else { vec![value(&scale), value(x)] })
}

pub(super) fn excite(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = images(b, c)?;
    excited(b, c, &x)
}

/// Attention with heads, in one call or written out.
pub(super) fn heads(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank == 3)?;
    let (heads, width) = (c.of(&[1, 2, 3]), c.of(&[4, 8, 5, 16]));
    let rows = x.1.shape()[1];
    if rows * x.1.numel() > WORK {
        return None;
    }
    let joined = c.yes();
    let bias = c.yes();
    let all = match joined {
        true => Some(b.layer(&x, 3 * heads * width, bias)?),
        false => None,
    };
    let mut parts = Vec::new();
    for index in 0..3 {
        let part = match &all {
            Some(all) => {
                b.plain(ops::narrow, vec![value(all), int(2), int(index * heads * width), int(heads * width)])?
            }
            None => b.layer(&x, heads * width, bias)?,
        };
        let part = b.plain(ops::unflatten, vec![value(&part), int(2), ints([heads, width])])?;
        parts.push(b.plain(ops::transpose, vec![value(&part), int(1), int(2)])?);
    }
    let mask = match c.below(3) {
        0 => Some(b.parameter([rows, rows], 1.0, 0.0)),
        _ => None,
    };
    let mixed = match c.yes() {
        true => {
            let args = parts.iter().chain(&mask).map(value).collect();
            b.plain(ops::scaled_dot_product_attention, args)?
        }
        false => {
            let keys = b.plain(ops::transpose, vec![value(&parts[1]), Arg::Int(-2), Arg::Int(-1)])?;
            let mut scores = b.plain(ops::matmul, vec![value(&parts[0]), value(&keys)])?;
            scores = match c.below(3) {
                0 => b.plain(ops::div, vec![value(&scores), float((width as f64).sqrt())])?,
                1 => b.plain(ops::mul, vec![value(&scores), float(0.3)])?,
                _ => scores,
            };
            if let Some(mask) = &mask {
                scores = b.plain(ops::add, vec![value(&scores), value(mask)])?;
            }
            let weights = b.plain(ops::softmax, vec![value(&scores), Arg::Int(-1)])?;
            b.plain(ops::matmul, vec![value(&weights), value(&parts[2])])?
        }
    };
    let mixed = b.plain(ops::transpose, vec![value(&mixed), int(1), int(2)])?;
    let mixed = b.plain(ops::flatten, vec![value(&mixed), int(2)])?;
    let y = b.layer(&mixed, x.1.shape()[2], true)?;
    if c.yes() { b.plain(ops::add, vec![value(&x), value(&y)]) } else { Some(y) }
}

/// A rotary embedding that is written out.
pub(super) fn rotary(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 2)?;
    let [.., rows, width] = *x.1.shape() else { return None };
    let half = width / 2;
    let dim = x.1.ndim() - 1;
    let first = b.plain(ops::narrow, vec![value(&x), int(dim), int(0), int(half)])?;
    let second = b.plain(ops::narrow, vec![value(&x), int(dim), int(half), int(half)])?;
    let negated = b.plain(ops::neg, vec![value(&second)])?;
    let turned = b.plain(ops::cat, vec![Arg::List(vec![value(&negated), value(&first)]), int(dim)])?;
    let factors = [b.parameter([rows, width], 1.0, 0.0), b.parameter([rows, width], 1.0, 0.0)];
    let one = b.plain(ops::mul, vec![value(&x), value(&factors[0])])?;
    let other = b.plain(ops::mul, vec![value(&turned), value(&factors[1])])?;
    b.plain(ops::add, if c.yes() { vec![value(&one), value(&other)] } else { vec![value(&other), value(&one)] })
}
