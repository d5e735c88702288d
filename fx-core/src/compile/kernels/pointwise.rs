//! Elementwise calls on values that lie alike, numbers, and known tensors that repeat.

use std::sync::Arc;

use fx_kernels::elementwise::{Binary, Operand, Unary, binary, unary};
use smallvec::SmallVec;

use super::{Kernel, Known, Lowered, Operands, Site, Wanted};
use crate::arg::Arg;
use crate::compile::layout::Layout;
use crate::ops::{Attr, Function, functions as ops};
use crate::tensor::{DType, Tensor};

/// An operand of an elementwise kernel.
#[derive(Clone)]
enum Side {
    /// The next value.
    Value,
    Number(f32),
    /// A known tensor whose elements repeat, each `usize` times in a row.
    Repeat(Tensor, usize),
}

#[derive(Clone, Copy)]
enum Op {
    Unary(Unary),
    Binary(Binary),
}

#[derive(Clone)]
struct Pointwise {
    op: Op,
    /// The elements of the result.
    len: usize,
    sides: SmallVec<[Side; 2]>,
}

pub(super) fn pointwise(site: &Site<'_>) -> Option<Lowered> {
    let op = match binary_of(site.function) {
        Some(op) => site.kwargs.is_empty().then_some(Op::Binary(op))?,
        None => Op::Unary(Attr::of(site.function, site.kwargs)?.0),
    };
    let count = if let Op::Binary(_) = op { 2 } else { 1 };
    if site.args.len() != count {
        return None;
    }
    // The first value of the result's shape says how the result lies.
    let full = |index: usize| site.value(index).filter(|(layout, _)| *layout.shape == *site.shape());
    let (main, _) = (0..count).find_map(full)?;
    main.order()?;
    let output = main.clone();
    let mut operands: SmallVec<[Wanted; 4]> = SmallVec::new();
    let mut sides = SmallVec::new();
    for index in 0..count {
        sides.push(match site.arg(index) {
            Arg::Int(x) => Side::Number(*x as f32),
            Arg::Float(x) => Side::Number(*x as f32),
            Arg::Value(Known::Value(..)) => {
                let (_, register) = full(index)?;
                operands.push(Wanted::new(register, output.clone()));
                Side::Value
            }
            Arg::Value(known) => repeat(&known.constant()?, &output)?,
            _ => return None,
        });
    }
    // A value that is there twice cannot be written over.
    let twice = operands.len() == 2 && operands[0].register == operands[1].register;
    let operands = operands.into_iter().enumerate();
    let operands = operands.map(|(i, wanted)| if i == 0 && !twice { wanted.in_place() } else { wanted }).collect();
    Some(Lowered::new(Pointwise { op, len: output.numel(), sides }, operands, output))
}

fn binary_of(function: Function) -> Option<Binary> {
    let rows = [
        (ops::add, Binary::Add),
        (ops::sub, Binary::Sub),
        (ops::mul, Binary::Mul),
        (ops::div, Binary::Div),
        (ops::maximum, Binary::Maximum),
        (ops::minimum, Binary::Minimum),
    ];
    rows.into_iter().find(|(known, _)| *known == function).map(|(_, op)| op)
}

/// How a known tensor repeats over a layout: its dimensions larger than 1 must be neighbours in memory, in its order.
fn repeat(tensor: &Tensor, layout: &Layout) -> Option<Side> {
    if tensor.dtype() != DType::F32 || tensor.ndim() > layout.shape.len() {
        return None;
    }
    if tensor.numel() == 1 {
        return Some(Side::Number(tensor.to_vec::<f32>()[0]));
    }
    let lead = layout.shape.len() - tensor.ndim();
    let size = |dim: usize| if dim < lead { 1 } else { tensor.shape()[dim - lead] };
    let order = layout.order()?;
    // From the fastest: dimensions that the tensor does not have, those that it has, and others.
    let mut rest = order.iter().rev().copied().peekable();
    let mut run = 1;
    while let Some(dim) = rest.next_if(|dim| size(*dim) == 1) {
        run *= layout.shape[dim];
    }
    let mut dims = Vec::new();
    while let Some(dim) = rest.next_if(|dim| size(*dim) != 1) {
        dims.push(dim - lead);
    }
    if rest.any(|dim| size(dim) != 1) {
        return None;
    }
    // The elements in the order in which they are met.
    let mut permutation: Vec<usize> = (0..tensor.ndim()).filter(|dim| !dims.contains(dim)).collect();
    permutation.extend(dims.iter().rev());
    let elements = crate::tensor::view::permute(tensor, &permutation).contiguous();
    Some(Side::Repeat(elements, run))
}

impl Kernel for Pointwise {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let mut values = operands.iter();
        let mut operand = |side| match side {
            &Side::Number(x) => Operand::Number(x),
            Side::Repeat(tensor, 1) => Operand::Cycle(tensor.as_slice().unwrap_or(&[])),
            Side::Repeat(tensor, run) => Operand::Repeat(tensor.as_slice().unwrap_or(&[]), *run),
            Side::Value => match values.next() {
                Some(Some(x)) => Operand::Cycle(&x[..out.len()]),
                _ => Operand::Output,
            },
        };
        match (&self.op, self.sides.as_slice()) {
            (Op::Unary(op), [x]) => {
                let x = operand(x);
                unary(*op, out, x);
            }
            (Op::Binary(op), [x, y]) => {
                let (x, y) = (operand(x), operand(y));
                binary(*op, out, x, y);
            }
            _ => unreachable!("an op has as many sides as operands"),
        }
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let len = self.len / count;
        let repeats = |side: &Side| match side {
            Side::Repeat(tensor, run) => len.is_multiple_of(tensor.numel() * run),
            Side::Value | Side::Number(_) => true,
        };
        let even = self.len.is_multiple_of(count) && self.sides.iter().all(repeats);
        even.then(|| Arc::new(Self { len, ..self.clone() }) as Arc<dyn Kernel>)
    }

    fn describe(&self) -> String {
        match &self.op {
            Op::Unary(op) => op.to_string(),
            Op::Binary(op) => op.to_string(),
        }
    }
}
