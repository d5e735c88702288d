//! Steps that become one with the call after them, and are gone then.

use std::ops::Range;
use std::sync::Arc;

use super::{Builder, Operands};
use crate::compile::kernels::{Kernel, Lowered, Wanted};
use crate::compile::layout::Layout;
use crate::compile::plan::{Action, Step};
use crate::graph::{Node, NodeId};

impl Builder<'_> {
    /// A kernel for a call and for the last step, whose result it reads once and nobody else does. That step is gone then.
    pub(super) fn chained(
        &mut self,
        id: NodeId,
        kernel: &Arc<dyn Kernel>,
        operands: &[Wanted],
    ) -> Option<(Arc<dyn Kernel>, Operands)> {
        let views = self.own_views(id);
        let mut last = &self.steps[views.checked_sub(1)?];
        let mut readers = (0..operands.len()).filter(|index| operands[*index].register == last.into);
        let (index, None) = (readers.next()?, readers.next()) else { return None };
        // What a call makes for itself it reads once.
        let is_alone = |step: &Step| step.node == id || self.is_read_once(step.node);
        let is_rows = |step: &Step| step.layout.as_ref().is_some_and(Layout::is_row_major);
        let mut fits = is_alone(last) && last.layout.as_ref()?.is(&operands[index].layout);
        // The same numbers in another shape.
        while let Action::View { from, offset: 0 } = last.action
            && from + 1 == last.into
        {
            let before = &self.steps[from];
            fits &= is_alone(before) && is_rows(last) && is_rows(before);
            last = before;
        }
        let Action::Kernel { kernel: before, operands: read, .. } = &last.action else { return None };
        let (layout, gone) = (last.layout.as_ref()?, last.into..views);
        // What is computed element by element may be met in any shape.
        let is_met =
            gone.len() == 1 || before.pointwise().is_some() && layout.numel() == operands[index].layout.numel();
        if !fits || !is_met || self.are_viewed(&gone) {
            return None;
        }
        let kernel = kernel.after(&**before, index)?;
        let lies = |register: &usize| Some(Wanted::new(*register, self.steps[*register].layout.clone()?));
        let first = operands[..index].iter().cloned().map(Some);
        let rest = operands[index + 1..].iter().cloned().map(Some);
        let mut operands = first.chain(read.iter().map(lies)).chain(rest).collect::<Option<Operands>>()?;
        // What lies between is neither written to memory nor read.
        let between = layout.bytes();
        self.work = (self.work.0 + last.flops, (self.work.1 + last.bytes).saturating_sub(2 * between));
        self.remove(gone, &mut operands);
        Some((kernel, operands))
    }

    /// Where the views begin that a call has made of its operands last, for the kernel that is next.
    pub(super) fn own_views(&self, id: NodeId) -> usize {
        let is_own = |step: &&Step| step.node == id && matches!(step.action, Action::View { .. });
        self.steps.len() - self.steps.iter().rev().take_while(is_own).count()
    }

    /// Whether a later step is a view of one of these.
    pub(super) fn are_viewed(&self, steps: &Range<usize>) -> bool {
        let reads = |step: &Step| matches!(step.action, Action::View { from, .. } if steps.contains(&from));
        self.steps[steps.end..].iter().any(reads)
    }

    /// A kernel in the place of some steps, after which there are only views for it: their work is what it reads and writes.
    pub(super) fn replace(&mut self, gone: Range<usize>, lowered: &mut Lowered) {
        let operands: usize = lowered.operands.iter().map(|operand| operand.layout.bytes()).sum();
        let flops: u64 = self.steps[gone.clone()].iter().map(|step| step.flops).sum();
        self.work = (self.work.0 + flops, operands + lowered.output.bytes());
        self.remove(gone, &mut lowered.operands);
    }

    /// Without some steps, after which there are only views for a kernel with these operands.
    fn remove(&mut self, gone: Range<usize>, operands: &mut [Wanted]) {
        let moved = |register: &mut usize| *register -= if *register < gone.end { 0 } else { gone.len() };
        operands.iter_mut().for_each(|operand| moved(&mut operand.register));
        self.copies.retain(|(_, copy)| !gone.contains(copy));
        self.steps.drain(gone.clone());
        for step in &mut self.steps[gone.start..] {
            moved(&mut step.into);
            if let Action::View { from, .. } = &mut step.action {
                moved(from);
            }
        }
    }

    /// Whether a node's value is read by one other, in one place.
    pub(super) fn is_read_once(&self, node: NodeId) -> bool {
        let graph = self.module.graph();
        let mut users = graph.get(node).into_iter().flat_map(Node::users);
        let (Some(user), None) = (users.next(), users.next()) else { return false };
        let mut places = 0;
        graph[user].for_each_input(&mut |input| places += usize::from(input == node));
        // A part of several values is read by those who read what takes it from them.
        let is_tensor = self.values.get(&node).is_none_or(|held| held.place.as_value().is_some());
        places == 1 && (is_tensor || self.is_read_once(user))
    }
}
