//! When values die, and which buffer holds which: those of dead values are used again.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::layout::Layout;
use super::parts::Parts;
use super::plan::{Action, Source, Step};
use crate::arg::Arg;

/// A value that needs a buffer, and those that are computed in its place.
#[derive(Clone, Copy, Debug)]
struct Tenant {
    /// The steps from the one that writes it to the last one that reads it.
    start: usize,
    end: usize,
    /// The f32 elements that it needs.
    len: usize,
}

/// The buffers of a plan.
#[derive(Debug, Default)]
struct Buffers {
    /// Their lengths in f32 elements.
    lens: Vec<usize>,
    /// For each the steps that its tenants are there, by the first one.
    taken: Vec<BTreeMap<usize, usize>>,
}

impl Buffers {
    /// Gives each tenant a buffer. The largest choose first, and each takes the smallest buffer that is free as long as it needs
    /// it, so that what is small and stays does not keep what is large from being used again (greedy by size, Pisarchyk and
    /// Lee 2020).
    fn house(tenants: &[Tenant]) -> (Self, Vec<usize>) {
        let mut buffers = Self::default();
        let mut houses = vec![usize::MAX; tenants.len()];
        let mut order: Vec<usize> = (0..tenants.len()).collect();
        order.sort_by_key(|tenant| std::cmp::Reverse(tenants[*tenant].len));
        for index in order {
            houses[index] = buffers.acquire(&tenants[index]);
        }
        (buffers, houses)
    }

    /// The buffer for a tenant that is no longer than those before.
    fn acquire(&mut self, tenant: &Tenant) -> usize {
        let Tenant { start, end, len } = *tenant;
        // Later buffers are no longer.
        let free = (0..self.lens.len()).rev().find(|buffer| self.is_free(*buffer, start, end));
        let buffer = free.unwrap_or_else(|| {
            self.lens.push(len);
            self.taken.push(BTreeMap::new());
            self.lens.len() - 1
        });
        self.taken[buffer].insert(start, end);
        buffer
    }

    /// Whether nobody is there in these steps.
    fn is_free(&self, buffer: usize, start: usize, end: usize) -> bool {
        let taken = &self.taken[buffer];
        let [before, after] = [taken.range(..start).next_back(), taken.range(start..).next()];
        before.is_none_or(|(_, last)| *last < start) && after.is_none_or(|(first, _)| *first > end)
    }
}

/// When values die: a register after its last reader, a buffer after the last register that looks at it.
struct Lifetimes {
    /// The step at which a register is read for the last time; for what the model gives none.
    last: Vec<Option<usize>>,
    /// The register whose kernel wrote the buffer that a register looks at.
    owner: Vec<usize>,
    /// As `last`, for owners.
    owner_last: Vec<Option<usize>>,
}

impl Lifetimes {
    fn new(steps: &[Step], parts: &[Parts], output: &Arg<Source>) -> Self {
        let last = last_reads(steps, parts, output);
        let mut owner: Vec<usize> = (0..steps.len()).collect();
        for (index, step) in steps.iter().enumerate() {
            if let Action::View { from, .. } = step.action {
                owner[index] = owner[from];
            }
        }
        let mut owner_last = last.clone();
        for (register, owner) in owner.iter().enumerate() {
            owner_last[*owner] = match (owner_last[*owner], last[register]) {
                (Some(a), Some(b)) => Some(a.max(b)),
                _ => None,
            };
        }
        Self { last, owner, owner_last }
    }

    /// Whether nobody else and nothing later looks at an operand of a kernel.
    fn over(&self, operand: usize, operands: &[usize], index: usize) -> bool {
        let register = operands[operand];
        self.owner[register] == register
            && self.owner_last[register] == Some(index)
            && operands.iter().filter(|other| self.owner[**other] == register).count() == 1
    }
}

/// The step at which each register is read for the last time; for what the model gives none.
pub(super) fn last_reads(steps: &[Step], parts: &[Parts], output: &Arg<Source>) -> Vec<Option<usize>> {
    // A value that nobody reads dies where it is made.
    let mut last: Vec<Option<usize>> = (0..steps.len()).map(Some).collect();
    for (index, step) in steps.iter().enumerate() {
        // What comes from before is read again by each part.
        let around = parts.iter().find(|parts| parts.steps.contains(&index));
        step.for_each_read(&mut |register| {
            let again = around.filter(|parts| register < parts.steps.start);
            last[register] = Some(again.map_or(index, |parts| parts.steps.end - 1));
        });
    }
    output.for_each(&mut |source| {
        if let Source::Register(register) = source {
            last[*register] = None;
        }
    });
    last
}

/// Finds where registers die, and gives every kernel a buffer.
pub(super) fn assign(steps: &mut [Step], parts: &mut [Parts], output: &Arg<Source>) -> Vec<usize> {
    let lifetimes = Lifetimes::new(steps, parts, output);
    let mut dying: Vec<SmallVec<[usize; 4]>> = vec![SmallVec::new(); steps.len()];
    for (register, last) in lifetimes.last.iter().enumerate() {
        if let Some(last) = last {
            dying[*last].push(register);
        }
    }
    let mut tenants: Vec<Tenant> = Vec::new();
    let mut tenant_of: Vec<Option<usize>> = vec![None; steps.len()];
    for index in 0..steps.len() {
        let around = parts.iter_mut().find(|parts| parts.steps.contains(&index));
        let len = |step: &Step| step.layout.as_ref().map_or(0, Layout::numel);
        let end = |register: usize| lifetimes.owner_last[register].unwrap_or(usize::MAX);
        if let Some(parts) = &around
            && parts.steps.start == index
        {
            // The whole result is there from the first part on.
            let whole = parts.steps.end - 1;
            tenant_of[whole] = Some(tenants.len());
            tenants.push(Tenant { start: index, end: end(whole), len: len(&steps[whole]) });
        }
        let step = &mut steps[index];
        step.frees = std::mem::take(&mut dying[index]);
        let needed = len(step);
        if let Action::Kernel { kernel, operands, in_place, .. } = &mut step.action {
            // The buffer of an operand goes over to the result, if it is one and the kernel can work in place.
            let may = |operand: &usize| {
                let is_one = tenant_of[operands[*operand]].is_some();
                is_one && kernel.overwrites(*operand) && lifetimes.over(*operand, operands, index)
            };
            *in_place = (0..operands.len()).find(may).filter(|_| tenant_of[index].is_none());
            let tenant = tenant_of[index].or_else(|| tenant_of[operands[(*in_place)?]]).unwrap_or_else(|| {
                tenants.push(Tenant { start: index, end: index, len: 0 });
                tenants.len() - 1
            });
            let Tenant { end: last, len, .. } = &mut tenants[tenant];
            (*last, *len) = ((*last).max(end(index)), (*len).max(needed));
            tenant_of[index] = Some(tenant);
        }
        if let Some(parts) = around {
            let (inner, before) = step.frees.drain(..).partition(|register| *register >= parts.steps.start);
            (step.frees, parts.frees) = (inner, before);
        }
    }
    let (buffers, houses) = Buffers::house(&tenants);
    for (step, tenant) in steps.iter_mut().zip(&tenant_of) {
        if let (Action::Kernel { buffer, .. }, Some(tenant)) = (&mut step.action, tenant) {
            *buffer = houses[*tenant];
        }
    }
    buffers.lens
}

impl Step {
    fn for_each_read(&self, f: &mut impl FnMut(usize)) {
        let mut read = |source: &Source| {
            if let Source::Register(register) = source {
                f(*register);
            }
        };
        match &self.action {
            Action::Input(_) => {}
            Action::Kernel { operands, .. } => operands.iter().for_each(|register| f(*register)),
            Action::View { from: register, .. } | Action::Embedding { indices: register, .. } => f(*register),
            Action::Call { args, kwargs, .. } | Action::Module { args, kwargs, .. } => {
                args.iter().for_each(|arg| arg.for_each(&mut read));
                kwargs.iter().for_each(|(_, arg)| arg.for_each(&mut read));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_dead_values_are_used_again() {
        let tenant = |start, end, len| Tenant { start, end, len };
        // What is read in a step is not written over by it; what is small goes where it fits best.
        let tenants = [tenant(0, 1, 10), tenant(1, 2, 20), tenant(2, 3, 5), tenant(3, 9, 30), tenant(4, 4, 10)];
        let (buffers, houses) = Buffers::house(&tenants);
        assert_eq!((buffers.lens, houses), (vec![30, 10], vec![1, 0, 1, 0, 1]));
    }

    /// A small value that stays, among large ones that do not, as in a network whose results are all concatenated.
    #[test]
    fn what_stays_does_not_take_what_is_large() {
        let (large, small) = (1000, 10);
        let layer = |index: usize| {
            let start = 2 * index;
            [Tenant { start, end: start + 1, len: large }, Tenant { start: start + 1, end: 99, len: small }]
        };
        let tenants: Vec<_> = (0..20).flat_map(layer).collect();
        let (buffers, _) = Buffers::house(&tenants);
        assert_eq!(buffers.lens.iter().sum::<usize>(), large + 20 * small);
    }
}
