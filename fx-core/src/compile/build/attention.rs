//! Attention that is written out: a product of queries and keys, numbers that scores are multiplied with or that are added to
//! them, a softmax, and a product with values. Its steps become one, which does not write the scores to memory.

use fx_kernels::attention::Strides;
use smallvec::SmallVec;

use super::Builder;
use crate::arg::{Arg, Kwargs};
use crate::compile::kernels::{Added, Addend, Lowered, Wanted, written_out};
use crate::compile::known::Known;
use crate::compile::layout::Layout;
use crate::compile::plan::Action;
use crate::graph::{Graph, Node, NodeId};
use crate::ops::{Function, functions as ops, is_view};
use crate::tensor::{DType, Tensor, numel};
use crate::value::Meta;

/// The most numbers of masks that are added up when a plan is made.
const MOST: usize = 1 << 22;
/// The most numbers of a mask that a plan has of its own.
const SMALL: usize = 1 << 16;

/// Sums that are masks, and their views, by the calls that alone read them.
pub(super) fn masks(graph: &Graph) -> Vec<(NodeId, SmallVec<[NodeId; 2]>)> {
    let of = |(reader, node): (NodeId, &Node)| {
        let mask = node.function().is_some_and(|function| function == ops::scaled_dot_product_attention);
        let mut id = *mask.then(|| node.args().get(3)).flatten()?.as_value()?;
        let mut nodes = SmallVec::new();
        loop {
            let node = graph.get(id).filter(|node| node.users().count() == 1)?;
            nodes.insert(0, id);
            match node.function()? {
                function if function == ops::add => return Some((reader, nodes)),
                function if is_view(function) => id = *node.args().first()?.as_value()?,
                _ => return None,
            }
        }
    };
    graph.nodes().filter_map(of).collect()
}

impl Builder<'_> {
    /// The arguments of attention whose mask says which keys count, and that only in a run: with what it adds to the scores, which
    /// all layers of a model share.
    pub(super) fn mask_of_numbers(&mut self, id: NodeId, function: Function, args: Vec<Arg<Known>>) -> Vec<Arg<Known>> {
        let mut args = args;
        let Some(Arg::Value(Known::Value(mask, register))) = args.get(3) else { return args };
        if function != ops::scaled_dot_product_attention || mask.dtype != DType::Bool {
            return args;
        }
        let (register, work) = (*register, self.work);
        let made = self.masks.iter().find(|(of, _)| *of == register).map(|(_, numbers)| numbers.clone());
        let made = made.or_else(|| {
            let bools = Arg::Value(Meta::tensor(mask.shape.iter().copied(), mask.dtype));
            let metas = vec![bools, Arg::Float(0.0), Arg::Float(f64::NEG_INFINITY)];
            let places = vec![args[3].clone(), Arg::Float(0.0), Arg::Float(f64::NEG_INFINITY)];
            let (metas, places) = ((metas, Kwargs::new()), (places, Kwargs::new()));
            let numbers = self.planned(id, ops::where_, metas, places).ok()?.place;
            self.masks.push((register, numbers.clone()));
            Some(numbers)
        });
        self.work = work;
        if let Some(numbers) = made {
            args[3] = numbers;
        }
        args
    }

    /// The kernel for a call's product and for all steps since the product of queries and keys, if it is of a softmax of these. The
    /// steps are gone then.
    pub(super) fn attended(&mut self, id: NodeId, product: &Lowered) -> Option<Lowered> {
        let [weights, values] = &product.operands[..] else { return None };
        if !product.kernel.is_product() {
            return None;
        }
        let views = self.own_views(id);
        let (mut first, mut register) = (views, weights.register);
        let (mut is_softmax, mut passes) = (false, SmallVec::<[_; 2]>::new());
        // From the last step back; each gives what only the next one reads.
        let (queries, keys) = loop {
            first = first.checked_sub(1)?;
            let (step, is_rows) =
                (&self.steps[first], |layout: &Option<Layout>| layout.as_ref().is_some_and(Layout::is_row_major));
            if register != first || !self.is_read_once(step.node) || !is_rows(&step.layout) {
                return None;
            }
            match &step.action {
                Action::View { from, offset: 0 } if is_rows(&self.steps[*from].layout) => register = *from,
                Action::Kernel { kernel, operands, .. } if !is_softmax && kernel.is_softmax() => {
                    // Views may have made other rows of the scores.
                    if step.layout.as_ref()?.shape.last() != weights.layout.shape.last() {
                        return None;
                    }
                    (is_softmax, register) = (true, operands[0]);
                }
                Action::Kernel { kernel, operands, .. } if is_softmax && kernel.is_product() => {
                    break (operands[0], operands[1]);
                }
                Action::Kernel { kernel, operands, .. } if is_softmax => {
                    let index = operands.iter().position(|register| *register + 1 == first)?;
                    register = operands[index];
                    passes.push((kernel, operands, index));
                }
                _ => return None,
            }
        };
        let scores = &self.steps[first].layout.as_ref()?.shape;
        let [before @ .., heads, rows, columns] = &scores[..] else { return None };
        let gone = first..views;
        if *scores != weights.layout.shape || gone.contains(&values.register) || self.are_viewed(&gone) {
            return None;
        }
        let sizes = [numel(before), *heads, *rows, *columns];
        let (mut scale, mut added) = (1.0, SmallVec::<[_; 1]>::new());
        for (kernel, operands, index) in passes {
            let (factor, addends) = kernel.pointwise()?.scaled(index, sizes)?;
            // What is multiplied later would be multiplied too.
            if !addends.is_empty() && scale != 1.0 {
                return None;
            }
            scale *= factor;
            added.extend(addends.into_iter().map(|addend| (operands[addend.value], addend)));
        }
        // What is hidden is so for the sum of all that is added, not for one of them.
        if added.len() > 1 && added.iter().any(|(_, addend)| addend.hides) {
            return None;
        }
        let lies = |register: usize| Some(Wanted::new(register, self.steps[register].layout.clone()?));
        let (mask, given) = match &added[..] {
            [] => (None, None),
            [(_, mask @ Addend { known: Some(known), .. })] => {
                let small = known.numel() <= SMALL && mask.strides[2] > 0;
                let aside = if small { sum([mask].into_iter(), sizes) } else { None };
                let added = aside.unwrap_or_else(|| of_scores(mask.strides, mask.period, Some(known.clone())));
                (Some(Added { hides: mask.hides, ..added }), None)
            }
            [(register, Addend { strides, period, .. })] if *register < first => {
                (Some(of_scores(*strides, *period, None)), Some(lies(*register)?))
            }
            masks => (Some(sum(masks.iter().map(|(_, mask)| mask), sizes)?), None),
        };
        let multiplied = [queries, keys].map(|register| self.multiplied(id, register));
        scale *= multiplied.iter().flatten().map(|multiplied| multiplied.factor).product::<f32>();
        let seen = |register: usize, multiplied: &Option<Multiplied>| match multiplied {
            Some(multiplied) => Some(Wanted::new(register, multiplied.steps[0].1.clone())),
            None => lies(register),
        };
        let (queries, as_they_lie) = (seen(queries, &multiplied[0])?, seen(keys, &multiplied[1])?);
        let mut keys = as_they_lie.clone();
        let n = keys.layout.shape.len();
        keys.layout.shape.swap(n - 2, n - 1);
        keys.layout.strides.swap(n - 2, n - 1);
        let operands = [queries, keys, values.clone()];
        let mut lowered = written_out(operands, &product.output.shape, scale, mask, given, self.packs.format())?;
        lowered.operands[1] = as_they_lie;
        multiplied.into_iter().flatten().for_each(|multiplied| self.see_through(id, multiplied));
        self.replace(gone, &mut lowered);
        Some(lowered)
    }

    /// What a call reads alone as another value times a number.
    fn multiplied(&self, id: NodeId, register: usize) -> Option<Multiplied> {
        let (mut registers, mut at) = (SmallVec::<[usize; 4]>::new(), register);
        let (kernel, operands) = loop {
            let step = &self.steps[at];
            if step.node != id && !self.is_read_once(step.node) {
                return None;
            }
            registers.push(at);
            match &step.action {
                Action::Kernel { kernel, operands, .. } => break (kernel, operands),
                Action::View { from, offset: 0 } => at = *from,
                _ => return None,
            }
        };
        let factor = kernel.pointwise()?.factor()?;
        let layout = |register: usize| self.steps[register].layout.as_ref();
        let (result, read) = (layout(at)?, layout(operands[0])?);
        let steps = registers.iter().map(|register| Some((*register, layout(*register)?.over(result, read)?)));
        Some(Multiplied { factor, steps: steps.collect::<Option<_>>()? })
    }

    /// Makes what was multiplied, and what looks at that, look at what the kernel read: views of the call that multiplies itself.
    fn see_through(&mut self, id: NodeId, multiplied: Multiplied) {
        for (register, layout) in multiplied.steps {
            let step = &mut self.steps[register];
            step.node = id;
            if let Action::Kernel { operands, .. } = &step.action {
                step.action = Action::View { from: operands[0], offset: 0 };
                (step.flops, step.bytes) = (0, 0);
            }
            step.layout = Some(layout);
        }
    }
}

/// A value that is another one times a number: the registers from the one that is read to the one of the kernel that multiplies, and how
/// each would lie if that kernel gave what it reads.
struct Multiplied {
    factor: f32,
    steps: SmallVec<[(usize, Layout); 4]>,
}

/// Numbers with these distances in batches, of which so many have numbers of their own, heads, queries and keys.
fn of_scores([batch, head, row, step]: [usize; 4], period: usize, known: Option<Tensor>) -> Added {
    Added { strides: Strides { batch, head, row }, step, period, known, hides: false }
}

/// The sum of masks that are known, key after key: the kernel has the queries side by side.
fn sum<'a>(masks: impl Iterator<Item = &'a Addend> + Clone, sizes: [usize; 4]) -> Option<Added> {
    let [batches, heads, queries, keys] = sizes;
    // Those that do not differ from batch to batch have no period to agree on.
    let mut periods = masks.clone().filter(|mask| mask.strides[0] != 0).map(|mask| mask.period);
    let period = periods.next().unwrap_or(usize::MAX);
    if periods.any(|other| other != period) {
        return None;
    }
    let batches = batches.min(period);
    let in_order = |[batch, head, row, key]: [usize; 4]| [batch, head, key, row];
    let known: Vec<_> = masks
        .map(|mask| Some((mask.known.as_ref()?.as_slice::<f32>()?, in_order(mask.strides))))
        .collect::<Option<_>>()?;
    let mut shape = [batches, heads, keys, queries];
    for (dim, size) in shape.iter_mut().enumerate() {
        if known.iter().all(|(_, strides)| strides[dim] == 0) {
            *size = 1;
        }
    }
    let len = numel(&shape);
    if len > MOST {
        return None;
    }
    let number = |mut index: usize| {
        let mut places = [0; 4];
        for (place, size) in places.iter_mut().zip(shape).rev() {
            (*place, index) = (index % size, index / size);
        }
        let at = |strides: &[usize; 4]| places.iter().zip(strides).map(|(place, stride)| place * stride).sum::<usize>();
        known.iter().map(|(numbers, strides)| numbers[at(strides)]).sum::<f32>()
    };
    let numbers: Vec<f32> = (0..len).map(number).collect();
    let layout = Layout::row_major(DType::F32, &shape);
    let strides = [0, 1, 2, 3].map(|dim| if shape[dim] == 1 { 0 } else { layout.strides[dim] });
    Some(of_scores(in_order(strides), period, Some(Tensor::from_vec(&shape[..], numbers))))
}
