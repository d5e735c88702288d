//! Rotary position embeddings that are written out: a tensor times cosines, plus its halves, turned, times sines. Their steps become one,
//! which reads and writes memory once.

use std::ops::Range;

use super::Builder;
use crate::arg::{Arg, Kwargs};
use crate::compile::kernels::{Factors, Lowered, Wanted, rotary};
use crate::compile::known::Known;
use crate::compile::layout::Layout;
use crate::compile::plan::Action;
use crate::graph::{Node, NodeId};
use crate::ops::{Function, functions as ops};

/// A value that a step gives, or a view of one: of which step's result, and from where on.
struct Seen<'a> {
    layout: &'a Layout,
    register: usize,
    of: usize,
    offset: usize,
}

impl Seen<'_> {
    /// Whether these are the halves of its last dimension.
    fn has_halves(&self, halves: [&Self; 2]) -> bool {
        let (Some(len), Some(stride)) = (self.layout.shape.last(), self.layout.strides.last()) else { return false };
        let mut half = self.layout.clone();
        half.shape.pop();
        half.shape.push(len / 2);
        let offsets = [self.offset, self.offset + len / 2 * stride];
        let is_half = |(seen, offset): (&Self, usize)| (seen.of, seen.layout, seen.offset) == (self.of, &half, offset);
        len.is_multiple_of(2) && halves.into_iter().zip(offsets).all(is_half)
    }
}

impl Builder<'_> {
    /// The sum of a call, if it is such an embedding.
    pub(super) fn rotated(&mut self, id: NodeId, function: Function, kwargs: &Kwargs<Known>) -> Option<Arg<Known>> {
        if function != ops::add || !kwargs.is_empty() {
            return None;
        }
        let [one, other] = self.operands_of(id, function)?;
        let (gone, mut lowered) = self.rotation(one, other).or_else(|| self.rotation(other, one))?;
        self.replace(gone, &mut lowered);
        Some(self.kernel(id, lowered))
    }

    /// The kernel for a product and one of turned halves, which are added up, and the steps that it takes the place of: all from one on.
    fn rotation(&self, straight: NodeId, turned: NodeId) -> Option<(Range<usize>, Lowered)> {
        let [straights, turneds] = [self.operands_of(straight, ops::mul)?, self.operands_of(turned, ops::mul)?];
        let is_cat = |node: &NodeId| self.function_of(*node) == Some(ops::cat);
        let halves = *turneds.iter().find(|node| is_cat(node))?;
        let (minus, [lower, upper]) = self.turned(halves)?;
        let [lower, upper] = [self.seen(lower)?, self.seen(upper)?];
        let is_x = |node: &NodeId| self.seen(*node).is_some_and(|x| x.has_halves([&lower, &upper]));
        let x = straights.iter().position(is_x)?;
        let sines = turneds[usize::from(turneds[0] == halves)];
        let (x, factors) = (self.seen(straights[x])?, [straights[1 - x], sines]);

        let own = [straight, turned, halves, minus];
        if !own.iter().all(|node| self.is_read_once(*node)) {
            return None;
        }
        let first = self.steps.iter().position(|step| own.contains(&step.node))?;
        let read: Vec<usize> = [x.register, lower.register, upper.register]
            .into_iter()
            .chain(factors.iter().filter_map(|node| Some(self.seen(*node)?.register)))
            .collect();
        // What is read of other steps is what the kernel reads, and what views there are nobody else has.
        let is_own = |step: usize| match &self.steps[step].action {
            Action::Kernel { operands, .. } => {
                own.contains(&self.steps[step].node) && operands.iter().all(|x| *x >= first || read.contains(x))
            }
            Action::View { .. } => self.is_within(self.steps[step].node, &own),
            _ => false,
        };
        let before = |register: usize| register < first;
        if !before(x.register) || !(first..self.steps.len()).all(is_own) {
            return None;
        }
        let factor = |node: NodeId| match self.values.get(&node)?.place.as_value()? {
            Known::Value(layout, register) => {
                before(*register).then(|| Factors::Value(Wanted::new(*register, layout.clone())))
            }
            known => known.single().map(Factors::Known),
        };
        let lowered = rotary(Wanted::new(x.register, x.layout.clone()), [factor(factors[0])?, factor(factors[1])?])?;
        Some((first..self.steps.len(), lowered))
    }

    /// Of halves that are turned, `[-upper, lower]`, the negation and both.
    fn turned(&self, halves: NodeId) -> Option<(NodeId, [NodeId; 2])> {
        let node = self.module.graph().get(halves)?;
        let [Arg::Value(minus), Arg::Value(lower)] = node.args().first()?.as_items()? else { return None };
        let last = self.seen(*lower)?.layout.shape.len() as i64 - 1;
        let dim = node.kwargs().get("dim")?.as_int()?;
        let [Arg::Value(upper)] = self.module.graph().get(*minus)?.args() else { return None };
        let is_turned = (dim == -1 || dim == last) && self.function_of(*minus) == Some(ops::neg);
        is_turned.then_some((*minus, [*lower, *upper]))
    }

    fn function_of(&self, node: NodeId) -> Option<Function> {
        self.module.graph().get(node)?.function()
    }

    /// The operands of a node that is a call of a function of two, without options.
    fn operands_of(&self, node: NodeId, function: Function) -> Option<[NodeId; 2]> {
        let node = self.module.graph().get(node).filter(|node| node.function() == Some(function))?;
        let [Arg::Value(one), Arg::Value(other)] = node.args() else { return None };
        node.kwargs().is_empty().then_some([*one, *other])
    }

    fn seen(&self, node: NodeId) -> Option<Seen<'_>> {
        let Known::Value(layout, register) = self.values.get(&node)?.place.as_value()? else { return None };
        let (mut of, mut offset) = (*register, 0);
        while let Action::View { from, offset: more } = &self.steps.get(of)?.action {
            (of, offset) = (*from, offset + more);
        }
        Some(Seen { layout, register: *register, of, offset })
    }

    /// Whether a node is one of some, or read by these alone.
    fn is_within(&self, node: NodeId, readers: &[NodeId]) -> bool {
        let mut users = self.module.graph().get(node).into_iter().flat_map(Node::users);
        readers.contains(&node) || users.all(|user| readers.contains(&user))
    }
}
