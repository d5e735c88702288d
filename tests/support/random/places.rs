//! Calls that move numbers: views, parts, joined and padded values, other sizes of images, an order, what integers choose.

use fx::{Arg, ops};

use super::graph::{Builder, Choices, Operand, int, ints, text, value};

/// Numbers in order, or the first ones.
pub(super) fn ordered(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 1)?;
    let dim = c.below(x.1.ndim());
    match c.yes() {
        true => b.with(ops::sort, vec![value(&x)], [("dim", int(dim)), ("descending", Arg::Bool(c.yes()))]),
        false => {
            let count = 1 + c.below(x.1.shape()[dim]);
            b.with(ops::topk, vec![value(&x)], [("k", int(count)), ("dim", int(dim)), ("largest", Arg::Bool(c.yes()))])
        }
    }
}

pub(super) fn shape(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 1)?;
    let (rank, sizes) = (x.1.ndim(), x.1.shape().to_vec());
    match c.below(10) {
        0 | 1 => {
            let mut dims: Vec<usize> = (0..rank).collect();
            for place in (1..rank).rev() {
                dims.swap(place, c.below(place + 1));
            }
            b.permuted(&x, dims)
        }
        2 => b.transposed(&x, c.below(rank) as i64, c.below(rank) as i64),
        3 => {
            let first = c.below(rank);
            b.with(
                ops::flatten,
                vec![value(&x)],
                [("start_dim", int(first)), ("end_dim", int(first + c.below(rank - first)))],
            )
        }
        4 => {
            let dim = c.below(rank);
            let divisors: Vec<usize> = (1..=sizes[dim]).filter(|size| sizes[dim].is_multiple_of(*size)).collect();
            let part = c.of(&divisors);
            (rank < 5).then(|| b.unflattened(&x, dim, [part, sizes[dim] / part]))?
        }
        5 => (rank < 5).then(|| b.with(ops::unsqueeze, vec![value(&x)], [("dim", int(c.below(rank + 1)))]))?,
        6 => b.plain(ops::squeeze, vec![value(&x)]),
        7 => b.with(ops::flip, vec![value(&x)], [("dims", ints([c.below(rank)]))]),
        8 => b.with(ops::roll, vec![value(&x)], [("shifts", int(c.below(5))), ("dims", ints([c.below(rank)]))]),
        _ => {
            let sizes = sizes.iter().map(|size| if *size == 1 { c.of(&[1, 2, 5]) } else { *size });
            let sizes = ints(sizes.collect::<Vec<_>>());
            b.with(ops::expand, vec![value(&x)], [("size", sizes)])
        }
    }
}

pub(super) fn part(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 1)?;
    let dim = c.below(x.1.ndim());
    let size = x.1.shape()[dim];
    match c.below(8) {
        0 | 1 => {
            let start = c.below(size);
            b.narrowed(&x, dim, start, 1 + c.below(size - start))
        }
        2 => b.with(ops::select, vec![value(&x)], [("dim", int(dim)), ("index", int(c.below(size)))]),
        3 => b.with(ops::chunk, vec![value(&x)], [("chunks", int(c.of(&[2, 3, 4]))), ("dim", int(dim))]),
        4 => b.with(
            ops::split,
            vec![value(&x)],
            [("split_size_or_sections", ints([1 + c.below(size)])), ("dim", int(dim))],
        ),
        5 => b.with(ops::glu, vec![value(&x)], [("dim", int(dim))]),
        6 => {
            let step = c.of(&[2, 3]);
            let slice = Arg::Slice(Box::new([int(c.below(size)), Arg::None, int(step)]));
            b.index(&x, dim, slice)
        }
        _ => b.with(ops::cumsum, vec![value(&x)], [("dim", int(dim))]),
    }
}

pub(super) fn join(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 1)?;
    let dim = c.below(x.1.ndim());
    let fits = |(_, y): &&Operand| {
        y.ndim() == x.1.ndim() && (0..y.ndim()).all(|other| other == dim || y.shape()[other] == x.1.shape()[other])
    };
    let fitting: Vec<Operand> = b.values.iter().filter(fits).cloned().collect();
    let parts: Vec<&Operand> = (0..2 + c.below(3)).map(|_| &fitting[c.below(fitting.len())]).collect();
    match c.below(4) {
        0 if x.1.ndim() < 5 => b.with(ops::stack, vec![Arg::List(vec![value(&x), value(&x)])], [("dim", int(dim))]),
        _ => b.joined(parts, dim),
    }
}

pub(super) fn resize(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.images(c)?;
    let planes = x.1.ndim() - 2;
    match c.below(5) {
        0 => b.with(ops::pixel_shuffle, vec![value(&x)], [("upscale_factor", int(2))]),
        1 => b.with(ops::pixel_unshuffle, vec![value(&x)], [("downscale_factor", int(2))]),
        2 | 3 => {
            let pads = ints((0..2 * c.of(&[planes, 1, planes + 1])).map(|_| c.below(3)).collect::<Vec<_>>());
            let mode = c.of(&["constant", "constant", "reflect", "replicate", "circular"]);
            b.with(ops::pad, vec![value(&x)], [("pad", pads), ("mode", text(mode))])
        }
        _ => {
            let sizes = x.1.shape()[2..].iter().map(|size| size * c.of(&[2, 1, 3])).collect::<Vec<_>>();
            let mode = ["linear", "bilinear", "trilinear"][planes - 1];
            let mode = if c.yes() { "nearest" } else { mode };
            b.with(ops::interpolate, vec![value(&x)], [("size", ints(sizes)), ("mode", text(mode))])
        }
    }
}

/// What integers of the state choose.
pub(super) fn look_up(b: &mut Builder, c: &mut Choices<'_>) -> Option<Operand> {
    let x = b.pick(c, |rank| rank >= 1)?;
    let dim = c.below(x.1.ndim());
    let size = x.1.shape()[dim];
    let indices = b.indices([1 + c.below(6)], size);
    match c.below(6) {
        0 if x.1.ndim() == 2 => b.plain(ops::embedding, vec![value(&indices), value(&x)]),
        1 => b.index(&x, dim, value(&indices)),
        2 => {
            let mut sizes = x.1.shape().to_vec();
            sizes[dim] = 1 + c.below(6);
            let indices = b.indices(sizes, size);
            b.with(ops::gather, vec![value(&x), value(&indices)], [("dim", int(dim))])
        }
        3 => {
            // Each place once: which of two is written last is not said.
            let mut sizes = x.1.shape().to_vec();
            sizes[dim] = 1;
            let (place, source) = (b.indices([1], size), b.parameter(sizes, 1.0, 0.0));
            b.with(ops::index_copy, vec![value(&x), value(&place), value(&source)], [("dim", int(dim))])
        }
        _ => b.with(ops::index_select, vec![value(&x), value(&indices)], [("dim", int(dim))]),
    }
}
