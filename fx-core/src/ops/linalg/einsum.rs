//! Einstein's notation: any equation, contracted two operands at a time as products of stacks of matrices.
//!
//! An equation is read into lists of labels, one a dimension; the dimensions of an ellipsis get labels of their own,
//! counted from the right, so that they broadcast. Repeated labels are diagonals. Labels that neither a later operand
//! nor the output has are summed over as soon as they meet.

use std::borrow::Cow;

use super::infer::one_dtype;
use super::product::{stacked, sum_last};
use crate::arg::{Arg, Kwargs};
use crate::error::{Error, Result};
use crate::ops::shape as rules;
use crate::sort::sort_by;
use crate::tensor::{DType, Dims, Tensor, numel, view};
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

/// A tensor whose dimensions have labels, each once.
#[derive(Clone)]
struct Labelled {
    tensor: Tensor,
    labels: Vec<Label>,
}

impl Labelled {
    /// With diagonals in place of repeated labels.
    fn new(tensor: &Tensor, labels: &[Label]) -> Self {
        let (mut tensor, mut labels) = (tensor.clone(), labels.to_vec());
        while let Some((i, j)) = repeated(&labels) {
            tensor = view::diagonal(&tensor, 0, i, j);
            let label = labels[i];
            labels.remove(j);
            labels.remove(i);
            labels.push(label);
        }
        Self { tensor, labels }
    }

    fn size(&self, label: Label) -> Option<usize> {
        self.labels.iter().position(|have| *have == label).map(|dim| self.tensor.shape()[dim])
    }

    /// With the dimensions in the order of these labels; those that it has not get the size 1.
    fn ordered(&self, labels: &[Label]) -> Tensor {
        let present: Dims =
            labels.iter().filter_map(|label| self.labels.iter().position(|have| have == label)).collect();
        let mut tensor = view::permute(&self.tensor, &present);
        for (dim, label) in labels.iter().enumerate() {
            if !self.labels.contains(label) {
                tensor = view::unsqueeze(&tensor, dim);
            }
        }
        tensor
    }

    /// Summed over the labels that `keep` does not hold.
    fn summed(self, keep: impl Fn(Label) -> bool) -> Self {
        let (kept, gone): (Vec<Label>, Vec<Label>) = self.labels.iter().partition(|label| keep(**label));
        if gone.is_empty() {
            return self;
        }
        let tensor = self.ordered(&[kept.as_slice(), &gone].concat());
        let mut shape = Dims::from_slice(&tensor.shape()[..kept.len()]);
        shape.push(numel(&tensor.shape()[kept.len()..]));
        Self { tensor: sum_last(&view::reshape(&tensor, &shape)), labels: kept }
    }

    /// The product with another, summed over the common labels that `keep` does not hold.
    fn times(self, other: Self, keep: impl Fn(Label) -> bool) -> Self {
        let left = self.clone().summed(|label| keep(label) || other.labels.contains(&label));
        let right = other.summed(|label| keep(label) || left.labels.contains(&label));
        let shared = |label: &&Label| left.labels.contains(label) && right.labels.contains(label);
        let (batch, inner): (Vec<Label>, Vec<Label>) =
            left.labels.iter().filter(shared).partition(|label| keep(**label));
        let rows: Vec<Label> = left.labels.iter().filter(|label| !right.labels.contains(label)).copied().collect();
        let columns: Vec<Label> = right.labels.iter().filter(|label| !left.labels.contains(label)).copied().collect();
        let size = |label: &Label| {
            let (a, b) = (left.size(*label), right.size(*label));
            // One of two different sizes is 1 and repeats.
            if a == Some(1) { b.unwrap_or(1) } else { a.or(b).unwrap_or(1) }
        };
        let side = |x: &Self, groups: [&[Label]; 3]| {
            let labels = groups.concat();
            let spread = view::expand(&x.ordered(&labels), &labels.iter().map(size).collect::<Dims>());
            view::reshape(&spread, &groups.map(|group| group.iter().map(size).product::<usize>()))
        };
        let product = stacked(&side(&left, [&batch, &rows, &inner]), &side(&right, [&batch, &inner, &columns]));
        let labels = [batch, rows, columns].concat();
        let tensor = view::reshape(&product, &labels.iter().map(size).collect::<Dims>());
        Self { tensor, labels }
    }
}

fn repeated(labels: &[Label]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|j| labels[..j].iter().position(|label| *label == labels[j]).map(|i| (i, j)))
}

pub(super) fn einsum(operands: Vec<&Tensor>, equation: Cow<'static, str>) -> Result<Tensor> {
    let ranks: Vec<usize> = operands.iter().map(|operand| operand.ndim()).collect();
    let Equation { inputs, output } = Equation::parse(&equation, &ranks)?;
    let mut terms = operands.iter().zip(&inputs).map(|(operand, labels)| Labelled::new(operand, labels));
    let Some(mut result) = terms.next() else { return Err(Error::argument("at least one operand is needed")) };
    for (i, term) in terms.enumerate() {
        let later = &inputs[i + 2..];
        result = result.times(term, |label| output.contains(&label) || later.iter().flatten().any(|l| *l == label));
    }
    Ok(result.summed(|label| output.contains(&label)).ordered(&output))
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
