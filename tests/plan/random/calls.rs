//! Calls of one op, or of a few that belong together.

use fx::{Arg, Buffer, Function, ops};

use super::graph::{Builder, Choices, Operand, WORK, float, int, ints, text, value};
use crate::fill::integers;

pub(super) fn unary(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.any(c)?;
    let function = c.of(&[
        ops::relu,
        ops::sigmoid,
        ops::tanh,
        ops::gelu,
        ops::silu,
        ops::neg,
        ops::abs,
        ops::square,
        ops::sin,
        ops::cos,
        ops::erf,
        ops::hardswish,
        ops::hardsigmoid,
        ops::relu6,
        ops::elu,
        ops::leaky_relu,
        ops::mish,
        ops::softplus,
        ops::softsign,
        ops::selu,
        ops::hardtanh,
        ops::atan,
        ops::exp,
        ops::expm1,
        ops::logsigmoid,
        ops::clone_,
        ops::contiguous,
        ops::celu,
        ops::softshrink,
        ops::tanhshrink,
    ]);
    match c.below(12) {
        0 => b.with(ops::gelu, vec![value(&x)], [("approximate", text("tanh"))]),
        1 => b.plain(ops::clamp, vec![value(&x), float(-0.5), float(0.75)]),
        2 => {
            let x = b.positive(&x)?;
            b.plain(c.of(&[ops::log, ops::sqrt, ops::rsqrt, ops::reciprocal, ops::log1p, ops::log2]), vec![value(&x)])
        }
        _ => b.plain(function, vec![value(&x)]),
    }
}

pub(super) fn binary(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.any(c)?;
    let fitting: Vec<Operand> = b.values.iter().filter(|(_, y)| y.shape() == x.1.shape()).cloned().collect();
    let y = fitting[fitting.len() - 1 - c.below(fitting.len())].clone();
    let args = vec![value(&x), value(&y)];
    match c.below(10) {
        0 | 1 => b.plain(ops::mul, args),
        2 => b.plain(ops::sub, args),
        3 => b.plain(c.of(&[ops::maximum, ops::minimum]), args),
        4 => {
            let y = b.positive(&y)?;
            b.plain(ops::div, vec![value(&x), value(&y)])
        }
        5 => {
            let mask = b.plain(c.of(&[ops::gt, ops::le]), vec![value(&x), float(0.1)])?;
            // Without a step, where roundings would decide.
            b.plain(ops::where_, vec![value(&mask), value(&x), float(0.1)])
        }
        6 => b.plain(ops::lerp, [args, vec![float(0.25)]].concat()),
        7 => b.plain(ops::addcmul, vec![value(&x), value(&y), value(&x)]),
        _ => b.plain(ops::add, args),
    }
}

pub(super) fn scalar(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let (x, number) = (b.any(c)?, float(c.of(&[0.5, -1.0, 1.0, 2.0, 0.0, -0.25])));
    match c.below(6) {
        0 => b.plain(ops::sub, vec![number, value(&x)]),
        1 => b.plain(ops::pow, vec![value(&x), int(c.of(&[2, 3, 1]))]),
        2 => b.plain(ops::div, vec![value(&x), float(3.0)]),
        3 => b.plain(ops::maximum, vec![value(&x), number]),
        4 => b.plain(ops::add, vec![value(&x), number]),
        _ => b.plain(ops::mul, vec![value(&x), number]),
    }
}

/// With a tensor of the state, or another value, that is smaller.
pub(super) fn broadcast(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.any(c)?;
    let shape = x.1.shape();
    let y = match c.below(3) {
        0 => b.any(c)?,
        1 => b.parameter(shape[c.below(shape.len())..].to_vec(), 1.0, 0.0),
        _ => {
            let shape: Vec<usize> = shape.iter().map(|size| if c.yes() { *size } else { 1 }).collect();
            b.parameter(shape, 1.0, 0.0)
        }
    };
    let args = if c.below(4) == 0 { vec![value(&y), value(&x)] } else { vec![value(&x), value(&y)] };
    b.plain(c.of(&[ops::add, ops::mul, ops::sub, ops::maximum]), args)
}

pub(super) fn conv(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| (3..=5).contains(&rank))?;
    let (planes, channels) = (x.1.ndim() - 2, x.1.shape()[1]);
    let is_transposed = c.below(4) == 0;
    let divisors: Vec<usize> = (1..=channels).filter(|groups| channels.is_multiple_of(*groups)).collect();
    let groups = match c.below(4) {
        0 => channels,
        1 => c.of(&divisors),
        _ => 1,
    };
    let outputs = if c.yes() && groups > 1 { channels * c.of(&[1, 1, 2]) } else { c.channels() * groups };
    let is_pointwise = c.below(3) == 0;
    let kernel: Vec<usize> =
        (0..planes).map(|_| if is_pointwise { 1 } else { c.of(&[3, 3, 3, 1, 2, 4, 5, 7]) }).collect();
    let square = c.yes();
    let kernel = if square { vec![kernel[0]; planes] } else { kernel };
    let stride: Vec<usize> = (0..planes).map(|_| c.of(&[1, 1, 2, 3])).collect();
    let stride = if square { vec![stride[0]; planes] } else { stride };
    let padding: Vec<usize> =
        kernel.iter().map(|size| if c.yes() { size / 2 } else { c.below(size / 2 + 1) }).collect();
    let dilation = vec![c.of(&[1, 1, 1, 2]); planes];
    let taps: usize = kernel.iter().product();
    if x.1.numel() * taps * outputs / groups > WORK {
        return None;
    }
    let shape = if is_transposed { [channels, outputs / groups] } else { [outputs, channels / groups] };
    let weight = b.weights(shape.into_iter().chain(kernel), taps * channels / groups);
    let mut args = vec![value(&x), value(&weight)];
    if c.yes() {
        args.push(value(&b.parameter([outputs], 0.5, 0.0)));
    }
    let function = match is_transposed {
        false => [ops::conv1d, ops::conv2d, ops::conv3d][planes - 1],
        true => [ops::conv_transpose1d, ops::conv_transpose2d, ops::conv_transpose3d][planes - 1],
    };
    let kwargs =
        [("stride", ints(stride)), ("padding", ints(padding)), ("dilation", ints(dilation)), ("groups", int(groups))];
    let y = b.with(function, args, kwargs)?;
    if c.below(3) > 0 {
        return Some(y);
    }
    b.values.push(y.clone());
    b.normalised(&y)
}

pub(super) fn linear(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 1)?;
    let (inputs, outputs) = (*x.1.shape().last()?, c.channels());
    if c.below(4) > 0 {
        return b.layer(&x, outputs, c.below(3) > 0);
    }
    let weight = b.weights([inputs, outputs], inputs);
    b.plain(ops::matmul, vec![value(&x), value(&weight)])
}

/// A product of two values.
pub(super) fn product(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let (x, y) = (b.pick(c, |rank| rank >= 2)?, b.pick(c, |rank| rank >= 2)?);
    let inner = *x.1.shape().last()?;
    let y = match y.1.shape() {
        [.., rows, _] if *rows == inner && c.yes() => y,
        _ => b.plain(ops::transpose, vec![value(&x), Arg::Int(-2), Arg::Int(-1)])?,
    };
    if x.1.numel() * y.1.shape().last()? > WORK {
        return None;
    }
    let x = b.plain(ops::mul, vec![value(&x), float(1.0 / (inner as f64).sqrt())])?;
    b.plain(ops::matmul, vec![value(&x), value(&y)])
}

pub(super) fn normalisation(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 2)?;
    let (last, channels) = (*x.1.shape().last()?, x.1.shape()[1]);
    let affine = |b: &mut Builder, size: usize| {
        [(0.5, 1.0), (0.5, 0.0)].map(|(scale, offset)| b.parameter([size], scale, offset))
    };
    // Of numbers that are nearly the same it does not make errors large.
    let eps = ("eps", float(0.1));
    match c.below(5) {
        0 | 1 => {
            let [weight, bias] = affine(b, last);
            b.with(ops::layer_norm, [&x, &weight, &bias].map(value).to_vec(), [("normalized_shape", ints([last])), eps])
        }
        2 => {
            let [weight, _] = affine(b, last);
            b.with(ops::rms_norm, [&x, &weight].map(value).to_vec(), [("normalized_shape", ints([last])), eps])
        }
        3 => {
            let groups = (1..=channels).rev().find(|groups| channels.is_multiple_of(*groups) && *groups <= 4)?;
            let [weight, bias] = affine(b, channels);
            b.with(ops::group_norm, [&x, &weight, &bias].map(value).to_vec(), [("num_groups", int(groups)), eps])
        }
        _ => b.with(ops::instance_norm, vec![value(&x)], [eps]),
    }
}

pub(super) fn pool(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| (3..=5).contains(&rank))?;
    let planes = x.1.ndim() - 2;
    let of = |functions: [Function; 3]| functions[planes - 1];
    let size = c.of(&[2, 3, 1, 4]);
    let kernel = ("kernel_size", ints(vec![size; planes]));
    let stride = ("stride", ints(vec![c.of(&[1, 2, 3]); planes]));
    let padding = ("padding", ints(vec![c.below(size / 2 + 1); planes]));
    let ceil = ("ceil_mode", Arg::Bool(c.below(4) == 0));
    let args = vec![value(&x)];
    match c.below(6) {
        0 | 1 => b.with(of([ops::max_pool1d, ops::max_pool2d, ops::max_pool3d]), args, [kernel, stride, padding, ceil]),
        2 | 3 => {
            let padded = ("count_include_pad", Arg::Bool(c.yes()));
            b.with(
                of([ops::avg_pool1d, ops::avg_pool2d, ops::avg_pool3d]),
                args,
                [kernel, stride, padding, ceil, padded],
            )
        }
        kind => {
            let average = [ops::adaptive_avg_pool1d, ops::adaptive_avg_pool2d, ops::adaptive_avg_pool3d];
            let largest = [ops::adaptive_max_pool1d, ops::adaptive_max_pool2d, ops::adaptive_max_pool3d];
            let size = ("output_size", ints(vec![c.of(&[1, 2, 3, 7]); planes]));
            b.with(of(if kind == 4 { average } else { largest }), args, [size])
        }
    }
}

pub(super) fn softmax(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.any(c)?;
    let dim = if c.below(3) > 0 { Arg::Int(-1) } else { int(c.below(x.1.ndim().max(1))) };
    b.plain(c.of(&[ops::softmax, ops::softmax, ops::log_softmax]), vec![value(&x), dim])
}

pub(super) fn reduce(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 1)?;
    let function = c.of(&[ops::mean, ops::mean, ops::sum, ops::amax, ops::amin, ops::var, ops::norm]);
    let mut dims: Vec<usize> = (0..x.1.ndim()).filter(|_| c.yes()).collect();
    if dims.is_empty() {
        dims.push(x.1.ndim() - 1);
    }
    b.with(function, vec![value(&x)], [("dim", ints(dims)), ("keepdim", Arg::Bool(c.yes()))])
}

pub(super) fn shape(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 1)?;
    let (rank, sizes) = (x.1.ndim(), x.1.shape().to_vec());
    let args = |more: Vec<Arg<Operand>>| [vec![value(&x)], more].concat();
    match c.below(10) {
        0 | 1 => {
            let mut dims: Vec<usize> = (0..rank).collect();
            for place in (1..rank).rev() {
                dims.swap(place, c.below(place + 1));
            }
            b.plain(ops::permute, args(vec![ints(dims)]))
        }
        2 => b.plain(ops::transpose, args(vec![int(c.below(rank)), int(c.below(rank))])),
        3 => {
            let first = c.below(rank);
            b.plain(ops::flatten, args(vec![int(first), int(first + c.below(rank - first))]))
        }
        4 => {
            let dim = c.below(rank);
            let divisors: Vec<usize> = (1..=sizes[dim]).filter(|size| sizes[dim].is_multiple_of(*size)).collect();
            let part = c.of(&divisors);
            (rank < 5).then(|| b.plain(ops::unflatten, args(vec![int(dim), ints([part, sizes[dim] / part])])))?
        }
        5 => (rank < 5).then(|| b.plain(ops::unsqueeze, args(vec![int(c.below(rank + 1))])))?,
        6 => b.plain(ops::squeeze, args(vec![])),
        7 => b.plain(ops::flip, args(vec![ints([c.below(rank)])])),
        8 => b.plain(ops::roll, args(vec![int(c.below(5)), ints([c.below(rank)])])),
        _ => {
            let sizes = sizes.iter().map(|size| if *size == 1 { c.of(&[1, 2, 5]) } else { *size });
            let sizes = ints(sizes.collect::<Vec<_>>());
            b.plain(ops::expand, args(vec![sizes]))
        }
    }
}

pub(super) fn part(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 1)?;
    let dim = c.below(x.1.ndim());
    let size = x.1.shape()[dim];
    let args = |more: Vec<Arg<Operand>>| [vec![value(&x)], more].concat();
    match c.below(8) {
        0 | 1 => {
            let start = c.below(size);
            b.plain(ops::narrow, args(vec![int(dim), int(start), int(1 + c.below(size - start))]))
        }
        2 => b.plain(ops::select, args(vec![int(dim), int(c.below(size))])),
        3 => b.plain(ops::chunk, args(vec![int(c.of(&[2, 3, 4])), int(dim)])),
        4 => b.plain(ops::split, args(vec![int(1 + c.below(size)), int(dim)])),
        5 => b.plain(ops::glu, args(vec![int(dim)])),
        6 => {
            let step = c.of(&[2, 3]);
            let slice = Arg::Slice(Box::new([int(c.below(size)), Arg::None, int(step)]));
            b.index(&x, dim, slice)
        }
        _ => b.plain(ops::cumsum, args(vec![int(dim)])),
    }
}

pub(super) fn join(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 1)?;
    let dim = c.below(x.1.ndim());
    let fits = |(_, y): &&Operand| {
        y.ndim() == x.1.ndim() && (0..y.ndim()).all(|other| other == dim || y.shape()[other] == x.1.shape()[other])
    };
    let fitting: Vec<Operand> = b.values.iter().filter(fits).cloned().collect();
    let parts = (0..2 + c.below(3)).map(|_| value(&fitting[c.below(fitting.len())])).collect();
    match c.below(4) {
        0 if x.1.ndim() < 5 => b.plain(ops::stack, vec![Arg::List(vec![value(&x), value(&x)]), int(dim)]),
        _ => b.plain(ops::cat, vec![Arg::List(parts), int(dim)]),
    }
}

pub(super) fn resize(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| (3..=5).contains(&rank))?;
    let planes = x.1.ndim() - 2;
    match c.below(5) {
        0 => b.plain(ops::pixel_shuffle, vec![value(&x), int(2)]),
        1 => b.plain(ops::pixel_unshuffle, vec![value(&x), int(2)]),
        2 | 3 => {
            let pads = ints((0..2 * c.of(&[planes, 1, planes + 1])).map(|_| c.below(3)).collect::<Vec<_>>());
            let mode = c.of(&["constant", "constant", "reflect", "replicate", "circular"]);
            b.with(ops::pad, vec![value(&x), pads], [("mode", text(mode))])
        }
        _ => {
            let sizes = x.1.shape()[2..].iter().map(|size| size * c.of(&[2, 1, 3])).collect::<Vec<_>>();
            let mode = ["linear", "bilinear", "trilinear"][planes - 1];
            let mode = if c.yes() { "nearest" } else { mode };
            b.with(ops::interpolate, vec![value(&x)], [("size", ints(sizes)), ("mode", text(mode))])
        }
    }
}

pub(super) fn attention(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank == 3 || rank == 4)?;
    let others: Vec<Operand> = b.values.iter().filter(|(_, y)| y.ndim() == x.1.ndim()).cloned().collect();
    let key = others[c.below(others.len())].clone();
    let rank = x.1.ndim();
    let scores = x.1.shape()[rank - 2] * x.1.numel();
    if scores > WORK {
        return None;
    }
    let args = [&x, &key, &key].map(value).to_vec();
    match c.below(4) {
        0 => {
            let mask = b.parameter([x.1.shape()[rank - 2], key.1.shape()[rank - 2]], 2.0, 0.0);
            b.plain(ops::scaled_dot_product_attention, [args, vec![value(&mask)]].concat())
        }
        1 => b.with(ops::scaled_dot_product_attention, args, [("is_causal", Arg::Bool(true))]),
        _ => b.plain(ops::scaled_dot_product_attention, args),
    }
}

pub(super) fn recurrent(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank == 3)?;
    let (inputs, hidden) = (x.1.shape()[2], c.of(&[4, 8, 5, 16, 20]));
    let (batch_first, is_lstm) = (c.yes(), c.yes());
    let batch = x.1.shape()[usize::from(!batch_first)];
    let gates = if is_lstm { 4 } else { 3 } * hidden;
    let first = b.parameter([1, batch, hidden], 0.5, 0.0);
    let weights = [
        b.weights([gates, inputs], inputs),
        b.weights([gates, hidden], hidden),
        b.parameter([gates], 0.3, 0.0),
        b.parameter([gates], 0.3, 0.0),
    ];
    let weights = Arg::List(weights.iter().map(value).collect());
    let options = [("batch_first", Arg::Bool(batch_first))];
    match is_lstm {
        true => b.with(ops::lstm, vec![value(&x), value(&first), value(&first), weights], options),
        false => b.with(ops::gru, vec![value(&x), value(&first), weights], options),
    }
}

/// What integers of the state choose.
pub(super) fn look_up(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 1)?;
    let dim = c.below(x.1.ndim());
    let size = x.1.shape()[dim];
    let path = format!("i{}", b.state.buffers.len());
    let indices = integers(&path, &[1 + c.below(6)], size as u64);
    b.state.buffers.insert(path.clone(), Buffer::new(indices.clone()));
    let indices = (b.graph.get_attr(&path), indices);
    match c.below(4) {
        0 if x.1.ndim() == 2 => b.plain(ops::embedding, vec![value(&indices), value(&x)]),
        1 => b.index(&x, dim, value(&indices)),
        _ => b.plain(ops::index_select, vec![value(&x), value(&indices), int(dim)]),
    }
}
