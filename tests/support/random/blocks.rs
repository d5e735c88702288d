//! What networks are made of: residual and inverted blocks, squeeze and excitation, attention with heads and within windows, rotary
//! embeddings, branches, images that are made smaller and larger again, patches, layers for each token.

use fx::{Arg, ops};

use super::graph::{Builder, Choices, Operand, WORK, float, int, ints, text, value};

fn activation(b: &mut Builder, c: &mut Choices<'_>, x: &Operand) -> Option<Operand> {
    b.plain(
        c.of(&[ops::relu, ops::relu6, ops::silu, ops::gelu, ops::hardswish, ops::sigmoid, ops::tanh]),
        vec![value(x)],
    )
}

pub(super) fn residual(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.images(c)?;
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
    let x = b.images(c)?;
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

fn excited(b: &mut Builder, c: &mut Choices<'_>, x: &Operand) -> Option<Operand> {
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
    let x = b.images(c)?;
    excited(b, c, &x)
}

/// Attention in one call or written out, with what is added to its scores.
fn attended(
    b: &mut Builder,
    c: &mut Choices<'_>,
    [q, k, v]: [&Operand; 3],
    added: Option<&Operand>,
) -> Option<Operand> {
    if c.yes() {
        return b.plain(ops::scaled_dot_product_attention, [q, k, v].into_iter().chain(added).map(value).collect());
    }
    let keys = b.transposed(k, -2, -1)?;
    let width = *q.1.shape().last()? as f64;
    // The scale stands before the product, after it, or nowhere.
    let (place, scale) = (c.below(4), float(1.0 / width.sqrt()));
    let scaled = |b: &mut Builder, x: &Operand| b.plain(ops::mul, vec![value(x), scale.clone()]);
    let q = if place == 0 { scaled(b, q)? } else { q.clone() };
    let mut scores = b.plain(ops::matmul, vec![value(&q), value(&keys)])?;
    scores = match place {
        1 => b.plain(ops::div, vec![value(&scores), float(width.sqrt())])?,
        2 => scaled(b, &scores)?,
        _ => scores,
    };
    if let Some(added) = added {
        scores = b.plain(ops::add, vec![value(&scores), value(added)])?;
    }
    let weights = b.with(ops::softmax, vec![value(&scores)], [("dim", Arg::Int(-1))])?;
    b.plain(ops::matmul, vec![value(&weights), value(v)])
}

/// Attention with heads, whose queries, keys and values are parts of one layer's or have a layer each.
pub(super) fn heads(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank == 3)?;
    let (heads, width) = (c.of(&[1, 2, 3]), c.of(&[4, 8, 5, 16]));
    let rows = x.1.shape()[1];
    if rows * x.1.numel() > WORK {
        return None;
    }
    let (is_one, bias) = (c.yes(), c.yes());
    let all = if is_one { Some(b.layer(&x, 3 * heads * width, bias)?) } else { None };
    let mut parts = Vec::new();
    for index in 0..3 {
        let part = match &all {
            Some(all) => b.narrowed(all, 2, index * heads * width, heads * width)?,
            None => b.layer(&x, heads * width, bias)?,
        };
        let part = b.unflattened(&part, 2, [heads, width])?;
        parts.push(b.transposed(&part, 1, 2)?);
    }
    let mask = (c.below(3) == 0).then(|| b.parameter([rows, rows], 1.0, 0.0));
    let mixed = attended(b, c, [&parts[0], &parts[1], &parts[2]], mask.as_ref())?;
    let mixed = b.transposed(&mixed, 1, 2)?;
    let mixed = b.with(ops::flatten, vec![value(&mixed)], [("start_dim", int(2))])?;
    let y = b.layer(&mixed, x.1.shape()[2], true)?;
    if c.yes() { b.plain(ops::add, vec![value(&x), value(&y)]) } else { Some(y) }
}

/// A rotary embedding that is written out.
pub(super) fn rotary(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 2)?;
    let [.., rows, width] = *x.1.shape() else { return None };
    let half = width / 2;
    let dim = x.1.ndim() - 1;
    let first = b.narrowed(&x, dim, 0, half)?;
    let second = b.narrowed(&x, dim, half, half)?;
    let negated = b.plain(ops::neg, vec![value(&second)])?;
    let turned = b.joined([&negated, &first], dim)?;
    let factors = [b.parameter([rows, width], 1.0, 0.0), b.parameter([rows, width], 1.0, 0.0)];
    let one = b.plain(ops::mul, vec![value(&x), value(&factors[0])])?;
    let other = b.plain(ops::mul, vec![value(&turned), value(&factors[1])])?;
    b.plain(ops::add, if c.yes() { vec![value(&one), value(&other)] } else { vec![value(&other), value(&one)] })
}

/// Convolutions of the same images side by side, each after the one before where they are dense.
pub(super) fn branches(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.images(c)?;
    let (is_dense, mut parts) = (c.yes(), vec![x.clone()]);
    for _ in 0..1 + c.below(3) {
        let from = match is_dense && parts.len() > 1 {
            true => b.joined(&parts, 1)?,
            false => x.clone(),
        };
        let y = b.same_conv(&from, c.channels(), c.of(&[1, 3, 5]), 1, c.yes())?;
        let y = if c.yes() { b.normalised(&y)? } else { y };
        parts.push(activation(b, c, &y)?);
    }
    let first = if is_dense || c.yes() { 0 } else { 1 };
    let parts = if c.yes() { parts.into_iter().skip(first).rev().collect() } else { parts };
    let y = b.joined(&parts, 1)?;
    if c.yes() { b.same_conv(&y, c.channels(), 1, 1, c.yes()) } else { Some(y) }
}

/// Images of half the size, enlarged again and put beside what they were, or added to it.
pub(super) fn pyramid(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.images(c)?;
    let (planes, channels) = (x.1.ndim() - 2, x.1.shape()[1]);
    let pools = [ops::max_pool1d, ops::max_pool2d, ops::max_pool3d];
    let small = b.with(pools[planes - 1], vec![value(&x)], [("kernel_size", ints(vec![2; planes]))])?;
    let small = b.same_conv(&small, channels, c.of(&[3, 1]), 1, c.yes())?;
    let small = activation(b, c, &small)?;
    let sizes = ints(x.1.shape()[2..].to_vec());
    let mode = if c.yes() { "nearest" } else { ["linear", "bilinear", "trilinear"][planes - 1] };
    let large = b.with(ops::interpolate, vec![value(&small)], [("size", sizes), ("mode", text(mode))])?;
    let y = match c.yes() {
        true => b.plain(ops::add, vec![value(&x), value(&large)])?,
        false => {
            let parts = if c.yes() { [&x, &large] } else { [&large, &x] };
            b.joined(parts, 1)?
        }
    };
    if c.below(3) > 0 { b.same_conv(&y, c.channels(), c.of(&[1, 3]), 1, c.yes()) } else { Some(y) }
}

/// Channels of groups in turn.
pub(super) fn shuffled(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.images(c)?;
    let channels = x.1.shape()[1];
    let groups = (2..=4).find(|groups| channels.is_multiple_of(*groups))?;
    let y = if c.yes() { b.same_conv(&x, channels, 1, groups, c.yes())? } else { x };
    let sizes = y.1.shape().to_vec();
    let y = b.unflattened(&y, 1, [groups, channels / groups])?;
    let y = b.transposed(&y, 1, 2)?;
    let y = b.reshaped(&y, sizes)?;
    b.same_conv(&y, channels, c.of(&[3, 1]), c.of(&[channels, 1]), c.yes())
}

/// Squares of images as tokens, with places, and one before them.
pub(super) fn patches(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank == 4)?;
    let (side, width) = (c.of(&[2, 1, 3, 4]), c.channels());
    let [batch, channels, ..] = *x.1.shape() else { return None };
    let weight = b.weights([width, channels, side, side], channels * side * side);
    let bias = b.parameter([width], 0.5, 0.0);
    let y = b.with(ops::conv2d, [&x, &weight, &bias].map(value).to_vec(), [("stride", ints([side, side]))])?;
    let y = b.with(ops::flatten, vec![value(&y)], [("start_dim", int(2))])?;
    let mut y = b.transposed(&y, 1, 2)?;
    if c.yes() {
        let first = b.parameter([1, 1, width], 1.0, 0.0);
        let first = b.with(ops::expand, vec![value(&first)], [("size", ints([batch, 1, width]))])?;
        y = b.joined([&first, &y], 1)?;
    }
    let places = b.parameter([y.1.shape()[1], width], 1.0, 0.0);
    b.plain(ops::add, vec![value(&y), value(&places)])
}

/// Two layers with a function between, or with a gate, after a normalisation.
pub(super) fn tokens(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank == 2 || rank == 3)?;
    let width = *x.1.shape().last()?;
    let weight = b.parameter([width], 0.5, 1.0);
    let function = c.of(&[ops::layer_norm, ops::rms_norm]);
    let options = [("normalized_shape", ints([width])), ("eps", float(0.1))];
    let y = b.with(function, [&x, &weight].map(value).to_vec(), options)?;
    let (inner, bias) = (c.of(&[8, 16, 5, 32, 40]), c.yes());
    let y = match c.below(3) {
        0 => {
            let y = b.layer(&y, inner, bias)?;
            activation(b, c, &y)?
        }
        1 => {
            let [gate, up] = [b.layer(&y, inner, bias)?, b.layer(&y, inner, bias)?];
            let gate = activation(b, c, &gate)?;
            b.plain(ops::mul, vec![value(&gate), value(&up)])?
        }
        _ => {
            let y = b.layer(&y, 2 * inner, bias)?;
            let dim = y.1.ndim() - 1;
            let [gate, up] = [0, 1].map(|index| b.narrowed(&y, dim, index * inner, inner));
            let gate = activation(b, c, &gate?)?;
            b.plain(ops::mul, vec![value(&gate), value(&up?)])?
        }
    };
    let y = b.layer(&y, width, bias)?;
    if c.below(4) > 0 { b.plain(ops::add, vec![value(&x), value(&y)]) } else { Some(y) }
}

/// Attention within windows of images with their channels last, moved or not, with numbers for pairs of places.
pub(super) fn windows(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank == 4)?;
    let (side, heads, each) = (c.of(&[2, 1, 3, 4]), c.of(&[1, 2, 3]), c.of(&[4, 8, 5]));
    let (rows, width) = (side * side, heads * each);
    let x = b.permuted(&x, [0, 2, 3, 1])?;
    let [batch, height, columns, channels] = *x.1.shape() else { return None };
    let [down, across] = [height, columns].map(|size| size.checked_div(side).filter(|count| count * side == size));
    let (down, across) = (down?, across?);
    let shift = c.below(side) as i64;
    let moved = |b: &mut Builder, y: &Operand, by: i64| {
        b.with(ops::roll, vec![value(y)], [("shifts", Arg::List(vec![Arg::Int(by); 2])), ("dims", ints([1, 2]))])
    };
    let y = if shift > 0 { moved(b, &x, -shift)? } else { x.clone() };
    let y = b.reshaped(&y, [batch, down, side, across, side, channels])?;
    let y = b.permuted(&y, [0, 1, 3, 2, 4, 5])?;
    let y = b.reshaped(&y, [batch * down * across, rows, channels])?;
    let y = b.layer(&y, 3 * width, c.yes())?;
    let y = b.reshaped(&y, [batch * down * across, rows, 3, heads, each])?;
    let y = b.permuted(&y, [2, 0, 3, 1, 4])?;
    let parts = [0, 1, 2].map(|index| b.with(ops::select, vec![value(&y)], [("dim", int(0)), ("index", int(index))]));
    let [Some(q), Some(k), Some(v)] = parts else { return None };
    let table = b.parameter([heads, rows, rows], 1.0, 0.0);
    let mixed = attended(b, c, [&q, &k, &v], Some(&table))?;
    let y = b.transposed(&mixed, 1, 2)?;
    let y = b.reshaped(&y, [batch * down * across, rows, width])?;
    let y = b.layer(&y, channels, c.yes())?;
    let y = b.reshaped(&y, [batch, down, across, side, side, channels])?;
    let y = b.permuted(&y, [0, 1, 3, 2, 4, 5])?;
    let y = b.reshaped(&y, [batch, height, columns, channels])?;
    let y = if shift > 0 { moved(b, &y, shift)? } else { y };
    b.plain(ops::add, vec![value(&x), value(&y)])
}

/// Heads that share keys, of which a place is written anew before.
pub(super) fn cached(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank == 3)?;
    let (shared, times, each) = (c.of(&[1, 2]), c.of(&[1, 2, 3]), c.of(&[4, 8, 16]));
    let [batch, rows, _] = *x.1.shape() else { return None };
    let room = rows + c.below(6);
    let split = |b: &mut Builder, heads: usize| {
        let y = b.layer(&x, heads * each, false)?;
        let y = b.unflattened(&y, 2, [heads, each])?;
        b.transposed(&y, 1, 2)
    };
    let query = split(b, shared * times)?;
    let start = c.below(room - rows + 1);
    let places = b.counted(start, rows);
    let mut kept = Vec::new();
    for _ in 0..2 {
        let new = split(b, shared)?;
        let before = b.parameter([batch, shared, room, each], 1.0, 0.0);
        kept.push(b.with(ops::index_copy, [&before, &places, &new].map(value).to_vec(), [("dim", int(2))])?);
    }
    if times > 1 && c.yes() {
        for kept in &mut kept {
            *kept = b.with(ops::repeat_interleave, vec![value(kept)], [("repeats", int(times)), ("dim", int(1))])?;
        }
    }
    let mask = match c.below(3) {
        0 => None,
        1 => Some(b.parameter([rows, room], 2.0, 0.0)),
        _ => {
            let all = b.parameter([rows, room], 0.0, 1.0);
            let seen = b.with(ops::tril, vec![value(&all)], [("diagonal", int(start))])?;
            Some(b.plain(ops::gt, vec![value(&seen), float(0.5)])?)
        }
    };
    let args = [&query, &kept[0], &kept[1]].into_iter().chain(&mask).map(value).collect();
    let y = b.with(ops::scaled_dot_product_attention, args, [("enable_gqa", Arg::Bool(true))])?;
    b.values.extend(c.yes().then(|| kept.swap_remove(0)));
    let y = b.transposed(&y, 1, 2)?;
    b.with(ops::flatten, vec![value(&y)], [("start_dim", int(2))])
}
