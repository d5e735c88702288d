//! Einstein's notation: any equation, contracted two operands at a time as products of stacks of matrices.
//!
//! An equation is read into lists of labels, one a dimension; the dimensions of an ellipsis get labels of their own,
//! counted from the right, so that they broadcast. Repeated labels are diagonals. Labels that neither a later operand
//! nor the output has are summed over as soon as they meet. What it stands for is a list of calls of other ops, which an eager
//! call makes at once and a plan has kernels for.

use std::borrow::Cow;
use std::convert::Infallible;

use smallvec::SmallVec;

use super::infer::one_dtype;
use crate::arg::{Arg, Kwargs};
use crate::error::{Error, Result};
use crate::ops::{Function, functions as ops, shape as rules};
use crate::sort::sort_by;
use crate::tensor::{DType, Dims, Tensor, numel};
use crate::value::{Dim, Meta, TensorMeta};

/// The name of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    /// A dimension of an ellipsis, numbered so that earlier ones come first.
    Dots(i64),
    Letter(char),
}

/// The labels of the operands and of the output.
struct Equation {
    inputs: Vec<Vec<Label>>,
    output: Vec<Label>,
}

impl Equation {
    fn parse(text: &str, ranks: &[usize]) -> Result<Self> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (text.as_str(), None),
        };
        let terms: Vec<&str> = left.split(',').collect();
        if terms.len() != ranks.len() {
            return Err(Error::argument(format!(
                "the equation `{text}` is for {} operands, found {}",
                terms.len(),
                ranks.len()
            )));
        }
        let inputs = terms.iter().zip(ranks).map(|(term, &rank)| input(term, rank)).collect::<Result<Vec<_>>>()?;
        let mut all: Vec<Label> = inputs.iter().flatten().copied().collect();
        sort_by(&mut all, Label::cmp);
        let output = match right {
            Some(term) => {
                let most = all.iter().filter(|label| matches!(label, Label::Dots(_))).min();
                let dots = most.map_or(0, |label| if let Label::Dots(i) = label { -i } else { 0 });
                labels(term, dots)?
            }
            // Without an output it is the ellipsis and, in alphabetical order, all letters that occur once.
            None => {
                let once = |label: &Label| all.iter().filter(|other| *other == label).count() == 1;
                let mut output = all.clone();
                output.dedup();
                output.retain(|label| matches!(label, Label::Dots(_)) || once(label));
                output
            }
        };
        for (i, label) in output.iter().enumerate() {
            if output[..i].contains(label) {
                return Err(Error::argument(format!("a letter occurs twice in the output of `{text}`")));
            }
            if !all.contains(label) {
                return Err(Error::argument(format!("a letter of the output of `{text}` is in no operand")));
            }
        }
        Ok(Self { inputs, output })
    }
}

fn input(term: &str, rank: usize) -> Result<Vec<Label>> {
    let letters = term.chars().filter(|c| *c != '.').count();
    let dots = rank as i64 - letters as i64;
    if dots < 0 || (dots > 0 && !term.contains("...")) {
        return Err(Error::shape(format!("`{term}` does not fit an operand of {rank} dimensions")));
    }
    labels(term, dots)
}

/// The labels of a term, whose ellipsis stands for `dots` dimensions.
fn labels(term: &str, dots: i64) -> Result<Vec<Label>> {
    let mut labels = Vec::new();
    let mut rest = term;
    let mut seen = false;
    while let Some(c) = rest.chars().next() {
        if let Some(tail) = rest.strip_prefix("...") {
            if std::mem::replace(&mut seen, true) {
                return Err(Error::argument(format!("`{term}` has two ellipses")));
            }
            labels.extend((-dots..0).map(Label::Dots));
            rest = tail;
        } else if c.is_ascii_alphabetic() {
            labels.push(Label::Letter(c));
            rest = &rest[1..];
        } else {
            return Err(Error::argument(format!("`{c}` in `{term}` is no letter"))
                .help("an equation is made of letters, `...`, `,` and `->`"));
        }
    }
    Ok(labels)
}

/// The size of every label: equal in all operands, or 1.
fn sizes(equation: &Equation, operands: &[&TensorMeta]) -> Result<Vec<(Label, Dim)>> {
    let mut sizes: Vec<(Label, Dim)> = Vec::new();
    for (labels, operand) in equation.inputs.iter().zip(operands) {
        if let Some((i, j)) = repeated(labels) {
            let (a, b) = (&operand.shape[i], &operand.shape[j]);
            rules::require_equal(a, b, || format!("a repeated letter has the sizes {a} and {b} in {operand}"))?;
        }
        for (label, size) in labels.iter().zip(&operand.shape) {
            match sizes.iter_mut().find(|(have, _)| have == label) {
                Some((_, have)) => {
                    *have = rules::broadcast(std::slice::from_ref(have), std::slice::from_ref(size))
                        .map_err(|_| {
                            let name = if let Label::Letter(c) = label { c.to_string() } else { "...".to_owned() };
                            Error::shape(format!("`{name}` has the sizes {have} and {size}"))
                        })?
                        .remove(0)
                }
                None => sizes.push((*label, size.clone())),
            }
        }
    }
    Ok(sizes)
}

fn size_of(sizes: &[(Label, Dim)], label: Label) -> Dim {
    sizes.iter().find(|(have, _)| *have == label).map_or(Dim::Int(1), |(_, size)| size.clone())
}

pub(super) fn shape(operands: Vec<&TensorMeta>, equation: Cow<'static, str>) -> Result<TensorMeta> {
    let Some(first) = operands.first() else { return Err(Error::argument("at least one operand is needed")) };
    one_dtype(first, operands.iter().copied())?;
    if first.dtype == DType::Bool {
        return Err(Error::dtype("is not defined for bool").help("convert with `to` first"));
    }
    let ranks: Vec<usize> = operands.iter().map(|operand| operand.ndim()).collect();
    let equation = Equation::parse(&equation, &ranks)?;
    let sizes = sizes(&equation, &operands)?;
    Ok(TensorMeta { shape: equation.output.iter().map(|&label| size_of(&sizes, label)).collect(), dtype: first.dtype })
}

/// A multiply-add for each combination of labels and each operand but one.
pub(super) fn flops(args: &[Arg<Meta>], kwargs: &Kwargs<Meta>, _: &Arg<Meta>) -> Dim {
    let operands: Option<Vec<&TensorMeta>> = args
        .first()
        .and_then(Arg::as_items)
        .and_then(|items| items.iter().map(|item| item.as_value()?.as_tensor()).collect());
    let (Some(operands), Some(Arg::Str(equation))) = (operands, kwargs.get("equation")) else { return Dim::Int(0) };
    let ranks: Vec<usize> = operands.iter().map(|operand| operand.ndim()).collect();
    let sizes = Equation::parse(equation, &ranks).and_then(|equation| sizes(&equation, &operands));
    let all: Dim = sizes.unwrap_or_default().into_iter().map(|(_, size)| size).product();
    all * (2 * (operands.len() as i64 - 1)).max(1)
}

/// One of the calls that an equation stands for. Values are counted: first the operands, then the results of the calls.
pub(crate) struct Part {
    pub(crate) function: Function,
    pub(crate) args: SmallVec<[usize; 2]>,
    pub(crate) kwargs: Kwargs<Infallible>,
}

/// The calls that an equation stands for, for operands of these shapes, and which value is the result.
///
/// # Errors
/// If the equation is not for such operands.
pub(crate) fn parts(equation: &str, shapes: Vec<Dims>, dtype: DType) -> Result<(Vec<Part>, usize)> {
    let ranks: Vec<usize> = shapes.iter().map(|shape| shape.len()).collect();
    let Equation { inputs, output } = Equation::parse(equation, &ranks)?;
    let mut writer = Writer { output: &output, dtype, shapes, parts: Vec::new() };
    let mut terms = inputs.iter().enumerate();
    let Some((_, first)) = terms.next() else { return Err(Error::argument("at least one operand is needed")) };
    let mut result = writer.without_repeats(0, first);
    for (i, labels) in terms {
        let term = writer.without_repeats(i, labels);
        let later = |label| inputs[i + 1..].iter().flatten().any(|other| *other == label);
        result = writer.times(result, term, |label| output.contains(&label) || later(label));
    }
    let result = writer.summed(result, |label| output.contains(&label));
    let result = writer.ordered(&result, &output);
    Ok((writer.parts, result))
}

/// A value whose dimensions have labels, each once.
struct Labelled {
    value: usize,
    labels: Vec<Label>,
}

impl Labelled {
    /// How many of some of its labels are before the last ones that stand side by side.
    fn apart(&self, labels: &[Label]) -> usize {
        let places: Dims = labels.iter().filter_map(|label| self.labels.iter().position(|l| l == label)).collect();
        (1..places.len()).rev().find(|&i| places[i] != places[i - 1] + 1).unwrap_or(0)
    }
}

/// Writes the calls of a contraction, and knows the shapes of all values.
struct Writer<'a> {
    output: &'a [Label],
    dtype: DType,
    shapes: Vec<Dims>,
    parts: Vec<Part>,
}

impl Writer<'_> {
    fn call(&mut self, function: Function, args: &[usize], kwargs: Kwargs<Infallible>, shape: Dims) -> usize {
        self.parts.push(Part { function, args: args.into(), kwargs });
        self.shapes.push(shape);
        self.shapes.len() - 1
    }

    /// A call of one value with sizes or dimensions.
    fn with(&mut self, function: Function, value: usize, name: &'static str, numbers: &[usize], shape: Dims) -> usize {
        let numbers = Arg::List(numbers.iter().map(|number| Arg::from(*number)).collect());
        self.call(function, &[value], Kwargs::from_iter([(name, numbers)]), shape)
    }

    /// A value in another shape, unless it has that.
    fn shaped(&mut self, function: Function, value: usize, name: &'static str, shape: &[usize]) -> usize {
        match &self.shapes[value][..] == shape {
            true => value,
            false => self.with(function, value, name, shape, shape.into()),
        }
    }

    fn reshape(&mut self, value: usize, shape: &[usize]) -> usize {
        self.shaped(ops::reshape, value, "shape", shape)
    }

    /// An operand with diagonals in place of repeated labels.
    fn without_repeats(&mut self, mut value: usize, labels: &[Label]) -> Labelled {
        let mut labels = labels.to_vec();
        while let Some((i, j)) = repeated(&labels) {
            let mut shape = self.shapes[value].clone();
            let size = shape.remove(j).min(shape.remove(i));
            shape.push(size);
            let kwargs = Kwargs::from_iter([("offset", Arg::Int(0)), ("dim1", i.into()), ("dim2", j.into())]);
            value = self.call(ops::diagonal, &[value], kwargs, shape);
            let label = labels[i];
            labels.remove(j);
            labels.remove(i);
            labels.push(label);
        }
        Labelled { value, labels }
    }

    fn size(&self, x: &Labelled, label: Label) -> Option<usize> {
        x.labels.iter().position(|have| *have == label).map(|dim| self.shapes[x.value][dim])
    }

    /// A value with the dimensions in the order of these labels; those that it has not get the size 1.
    fn ordered(&mut self, x: &Labelled, labels: &[Label]) -> usize {
        let dims: Dims = labels.iter().filter_map(|label| x.labels.iter().position(|have| have == label)).collect();
        let mut value = x.value;
        if !dims.iter().copied().eq(0..dims.len()) {
            let shape = dims.iter().map(|&dim| self.shapes[value][dim]).collect();
            value = self.with(ops::permute, value, "dims", &dims, shape);
        }
        let shape: Dims = labels.iter().map(|label| self.size(x, *label).unwrap_or(1)).collect();
        self.reshape(value, &shape)
    }

    /// A value summed over the labels that `keep` does not hold.
    fn summed(&mut self, x: Labelled, keep: impl Fn(Label) -> bool) -> Labelled {
        let (kept, gone): (Vec<Label>, Vec<Label>) = x.labels.iter().partition(|label| keep(**label));
        if gone.is_empty() {
            return x;
        }
        let value = self.ordered(&x, &[kept.as_slice(), &gone].concat());
        let dims = Arg::List((kept.len()..x.labels.len()).map(Arg::from).collect());
        let kwargs = Kwargs::from_iter([("dim", dims), ("dtype", self.dtype.into())]);
        let shape = self.shapes[value][..kept.len()].into();
        Labelled { value: self.call(ops::sum, &[value], kwargs, shape), labels: kept }
    }

    /// The product of two values, summed over the common labels that `keep` does not hold.
    fn times(&mut self, left: Labelled, right: Labelled, keep: impl Fn(Label) -> bool) -> Labelled {
        let left = self.summed(left, |label| keep(label) || right.labels.contains(&label));
        let right = self.summed(right, |label| keep(label) || left.labels.contains(&label));
        let shared = |label: &&Label| left.labels.contains(label) && right.labels.contains(label);
        let (batch, inner): (Vec<Label>, Vec<Label>) =
            left.labels.iter().filter(shared).partition(|label| keep(**label));
        let size = |writer: &Self, label: Label| {
            let (a, b) = (writer.size(&left, label), writer.size(&right, label));
            // One of two different sizes is 1 and repeats.
            if a == Some(1) { b.unwrap_or(1) } else { a.or(b).unwrap_or(1) }
        };
        let own = |x: &Labelled, other: &Labelled| -> Vec<Label> {
            x.labels.iter().filter(|label| !other.labels.contains(label)).copied().collect()
        };
        let place = |label: &Label| self.output.iter().position(|other| other == label).unwrap_or(self.output.len());
        if inner.is_empty() {
            let mut labels = [left.labels.clone(), own(&right, &left)].concat();
            sort_by(&mut labels, |a, b| place(a).cmp(&place(b)));
            let shape = labels.iter().map(|label| size(self, *label)).collect();
            let sides = [&left, &right].map(|side| self.ordered(side, &labels));
            return Labelled { value: self.call(ops::mul, &sides, Kwargs::new(), shape), labels };
        }
        // The operand whose labels come first in the output has the rows.
        let first = |labels: &[Label]| labels.iter().map(place).min().unwrap_or(self.output.len());
        let (mut rows, mut columns) = (own(&left, &right), own(&right, &left));
        let (mut left, mut right) = (&left, &right);
        if first(&columns) < first(&rows) {
            ((rows, columns), (left, right)) = ((columns, rows), (right, left));
        }
        // Dimensions that do not lie beside the others are of the stack: to be one with them they would be copied.
        let mut stack = batch;
        stack.extend(rows.drain(..left.apart(&rows)));
        stack.extend(columns.drain(..right.apart(&columns)));
        sort_by(&mut stack, |a, b| place(a).cmp(&place(b)));
        let sizes = |writer: &Self, labels: &[Label]| labels.iter().map(|l| size(writer, *l)).collect::<Dims>();
        let [m, k, n] = [&rows, &inner, &columns].map(|labels| numel(&sizes(self, labels)));
        let side = |writer: &mut Self, x: &Labelled, groups: [&[Label]; 2], matrix: [usize; 2]| {
            let value = writer.ordered(x, &[stack.as_slice(), groups[0], groups[1]].concat());
            // Dimensions that become one have the sizes of both operands; those of the stack broadcast.
            let mut shape = Dims::from_slice(&writer.shapes[value][..stack.len()]);
            shape.extend(sizes(writer, &groups.concat()));
            let value = writer.shaped(ops::expand, value, "size", &shape);
            shape.truncate(stack.len());
            shape.extend(matrix);
            writer.reshape(value, &shape)
        };
        let sides = [side(self, left, [&rows, &inner], [m, k]), side(self, right, [&inner, &columns], [k, n])];
        let mut shape = sizes(self, &stack);
        shape.extend([m, n]);
        let labels = [stack.as_slice(), &rows, &columns].concat();
        let whole = sizes(self, &labels);
        let product = self.call(ops::matmul, &sides, Kwargs::new(), shape);
        Labelled { value: self.reshape(product, &whole), labels }
    }
}

fn repeated(labels: &[Label]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|j| labels[..j].iter().position(|label| *label == labels[j]).map(|i| (i, j)))
}

pub(super) fn einsum(operands: Vec<&Tensor>, equation: Cow<'static, str>) -> Result<Tensor> {
    let dtype = operands.first().map_or(DType::F32, |operand| operand.dtype());
    let shapes = operands.iter().map(|operand| Dims::from_slice(operand.shape())).collect();
    let (parts, result) = parts(&equation, shapes, dtype)?;
    let mut values: Vec<Tensor> = operands.into_iter().cloned().collect();
    for Part { function, args, kwargs } in parts {
        let args: Vec<Arg<Tensor>> = args.iter().map(|value| Arg::Value(values[*value].clone())).collect();
        let Arg::Value(result) = function.eval(&args, &kwargs.map(&mut |never| match *never {}))? else {
            unreachable!("invariant: each part gives one tensor")
        };
        values.push(result);
    }
    Ok(values.swap_remove(result))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(shape: &[usize]) -> Tensor {
        let numel: usize = shape.iter().product();
        Tensor::from_vec(shape, (0..numel).map(|i| ((i * 7 + 3) % 11) as i64 - 5).collect())
    }

    #[test]
    fn three_operands_are_summed_as_loops_would() {
        let (a, b, c) = (numbers(&[2, 3, 4]), numbers(&[4, 3]), numbers(&[2, 5]));
        let (x, y, z) = (a.view::<i64>(), b.view::<i64>(), c.view::<i64>());
        let mut want = Vec::new();
        for k in 0..3 {
            for m in 0..5 {
                let terms = (0..2).flat_map(|i| (0..4).map(move |j| (i, j)));
                want.push(terms.map(|(i, j)| x[[i, k, j]] * y[[j, k]] * z[[i, m]]).sum::<i64>());
            }
        }
        let got = einsum(vec![&a, &b, &c], "ikj, jk, im -> km".into()).unwrap();
        assert_eq!(got, Tensor::from_vec([3, 5], want));
    }

    #[test]
    fn repeated_letters_are_diagonals() {
        let x = numbers(&[3, 2, 3]);
        let y = einsum(vec![&x], "iji->ij".into()).unwrap();
        let view = x.view::<i64>();
        let want = (0..3).flat_map(|i| (0..2).map(move |j| (i, j))).map(|(i, j)| view[[i, j, i]]).collect();
        assert_eq!(y, Tensor::from_vec([3, 2], want));
    }
}
