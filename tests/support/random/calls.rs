//! Calls that compute something of numbers, of one op or of a few that belong together.

use fx::{Arg, Function, ops};

use super::graph::{Builder, Choices, LARGEST, Operand, WORK, float, int, ints, text, value};

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
        ops::erfc,
        ops::nan_to_num,
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
        1 => b.with(ops::clamp, vec![value(&x)], [("min", float(-0.5)), ("max", float(0.75))]),
        2 => {
            let x = b.positive(&x)?;
            b.plain(c.of(&[ops::log, ops::sqrt, ops::rsqrt, ops::reciprocal, ops::log1p, ops::log2]), vec![value(&x)])
        }
        3 => {
            let channels = if c.yes() { *x.1.shape().get(1)? } else { 1 };
            let weight = b.parameter([channels], 0.5, 0.2);
            b.plain(ops::prelu, vec![value(&x), value(&weight)])
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
        3 => b.plain(c.of(&[ops::maximum, ops::minimum, ops::hypot]), args),
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
    let x = b.images(c)?;
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
        _ => b.transposed(&x, -2, -1)?,
    };
    if x.1.numel() * y.1.shape().last()? > WORK {
        return None;
    }
    let x = b.plain(ops::mul, vec![value(&x), float(1.0 / (inner as f64).sqrt())])?;
    let function = match x.1.ndim() {
        2 if y.1.ndim() == 2 => c.of(&[ops::matmul, ops::mm, ops::addmm]),
        3 if y.1.ndim() == 3 => c.of(&[ops::matmul, ops::bmm, ops::baddbmm]),
        _ => ops::matmul,
    };
    if ![ops::addmm, ops::baddbmm].contains(&function) {
        return b.plain(function, vec![value(&x), value(&y)]);
    }
    let added = match c.yes() {
        true => b.parameter([y.1.shape()[y.1.ndim() - 1]], 1.0, 0.0),
        false => b.any(c)?,
    };
    let factor = |c: &mut Choices<'_>| float(c.of(&[1.0, 0.5, -1.0, 0.0]));
    b.with(function, [&added, &x, &y].map(value).to_vec(), [("beta", factor(c)), ("alpha", factor(c))])
}

/// A product in Einstein's notation with weights, which share some dimensions of a value and have one of their own.
pub(super) fn contraction(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| (2..=4).contains(&rank))?;
    let (rank, own) = (x.1.ndim(), c.of(&[4, 1, 3, 8, 17]));
    let all: Vec<char> = "abcdefgh".chars().take(rank).collect();
    // What each dimension is: of the value alone, of both, or summed over, as one is at least.
    let mut kinds: Vec<usize> = (0..rank).map(|_| c.below(3)).collect();
    kinds[c.below(rank)] = 2;
    let of = |kept: &dyn Fn(usize) -> bool| -> Vec<char> {
        all.iter().zip(&kinds).filter(|(_, kind)| kept(**kind)).map(|(letter, _)| *letter).collect()
    };
    let (mut weights, mut result) = (of(&|kind| kind > 0), of(&|kind| kind < 2));
    weights.insert(c.below(weights.len() + 1), 'z');
    result.insert(c.below(result.len() + 1), 'z');
    let size = |letter: &char| all.iter().position(|other| other == letter).map_or(own, |dim| x.1.shape()[dim]);
    if x.1.numel() * own > WORK || weights.iter().map(size).product::<usize>() > LARGEST {
        return None;
    }
    let products = all.iter().zip(&kinds).filter(|(_, kind)| **kind == 2).map(|(letter, _)| size(letter)).product();
    let weight = b.weights(weights.iter().map(size), products);
    let [all, weights, result] = [all, weights, result].map(String::from_iter);
    let (operands, equation) = match c.yes() {
        true => ([&x, &weight], format!("{all},{weights}->{result}")),
        false => ([&weight, &x], format!("{weights},{all}->{result}")),
    };
    let operands = Arg::List(operands.map(value).to_vec());
    b.with(ops::einsum, vec![operands], [("equation", Arg::Str(equation.into()))])
}

/// What is greater than weights, or lies above a diagonal, is replaced by a number.
pub(super) fn masked(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 2)?;
    let sizes = &x.1.shape()[x.1.ndim() - 2..];
    let mask = b.parameter(sizes.to_vec(), 1.0, 0.0);
    let mask = match c.yes() {
        true => mask,
        false => b.plain(c.of(&[ops::tril, ops::triu]), vec![value(&mask)])?,
    };
    let mask = b.plain(ops::gt, vec![value(&mask), float(0.1)])?;
    match c.below(3) {
        0 => b.plain(ops::where_, vec![value(&mask), value(&x), float(-2.0)]),
        1 => {
            let scores = b.plain(ops::masked_fill, vec![value(&x), value(&mask), float(-1e9)])?;
            b.with(ops::softmax, vec![value(&scores)], [("dim", Arg::Int(-1))])
        }
        _ => b.plain(ops::masked_fill, vec![value(&x), value(&mask), float(0.5)]),
    }
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
    let x = b.images(c)?;
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
    b.with(c.of(&[ops::softmax, ops::softmax, ops::log_softmax]), vec![value(&x)], [("dim", dim)])
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
    let hidden = c.of(&[4, 8, 5, 16, 20]);
    let (function, gates) = c.of(&[(ops::lstm, 4), (ops::gru, 3), (ops::rnn, 1)]);
    let (batch_first, bias) = (c.yes(), c.below(4) > 0);
    let (layers, directions) = (c.of(&[1, 1, 2]), c.of(&[1, 1, 2]));
    let batch = x.1.shape()[usize::from(!batch_first)];
    let first = b.parameter([layers * directions, batch, hidden], 0.5, 0.0);
    let mut weights = Vec::new();
    for layer in 0..layers {
        let inputs = if layer == 0 { x.1.shape()[2] } else { directions * hidden };
        for _ in 0..directions {
            weights.push(b.weights([gates * hidden, inputs], inputs));
            weights.push(b.weights([gates * hidden, hidden], hidden));
            let biases = (0..if bias { 2 } else { 0 }).map(|_| b.parameter([gates * hidden], 0.3, 0.0));
            weights.extend(biases);
        }
    }
    let weights = Arg::List(weights.iter().map(value).collect());
    let states = vec![value(&first); if function == ops::lstm { 2 } else { 1 }];
    let options = [
        ("num_layers", int(layers)),
        ("bidirectional", Arg::Bool(directions == 2)),
        ("batch_first", Arg::Bool(batch_first)),
        ("bias", Arg::Bool(bias)),
    ];
    b.with(function, [vec![value(&x)], states, vec![weights]].concat(), options)
}
