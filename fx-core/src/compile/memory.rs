//! When values die, and which buffer holds which: those of dead values are used again.

use smallvec::SmallVec;

use super::layout::Layout;
use super::parts::Parts;
use super::plan::{Action, Source, Step};
use crate::arg::Arg;
use crate::sort::sort_by_key;

/// How long a buffer is needed for a value, and for those that are computed in its place.
#[derive(Clone, Copy, Debug)]
struct LiveRange {
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
    /// For each the ranges that it is taken for, the first and the last step of each, in their order.
    taken: Vec<Vec<(usize, usize)>>,
}

impl Buffers {
    /// Finds a buffer for each range. The largest choose first, and each takes the smallest buffer that is free as long as it needs
    /// it, so that what is small and stays does not keep what is large from being used again (greedy by size, Pisarchyk and
    /// Lee 2020).
    fn place(ranges: &[LiveRange]) -> (Self, Vec<usize>) {
        let mut buffers = Self::default();
        let mut places = vec![usize::MAX; ranges.len()];
        let mut order: Vec<usize> = (0..ranges.len()).collect();
        sort_by_key(&mut order, |range| std::cmp::Reverse(ranges[*range].len));
        for index in order {
            places[index] = buffers.acquire(&ranges[index]);
        }
        (buffers, places)
    }

    /// The buffer for a range that needs no more than those before.
    fn acquire(&mut self, range: &LiveRange) -> usize {
        let LiveRange { start, end, len } = *range;
        // Later buffers are no longer.
        let free = (0..self.lens.len()).rev().find(|buffer| self.is_free(*buffer, start, end));
        let buffer = free.unwrap_or_else(|| {
            self.lens.push(len);
            self.taken.push(Vec::new());
            self.lens.len() - 1
        });
        let place = self.taken[buffer].partition_point(|(first, _)| *first < start);
        self.taken[buffer].insert(place, (start, end));
        buffer
    }

    /// Whether nothing takes it in these steps.
    fn is_free(&self, buffer: usize, start: usize, end: usize) -> bool {
        let taken = &self.taken[buffer];
        let (before, after) = taken.split_at(taken.partition_point(|(first, _)| *first < start));
        before.last().is_none_or(|(_, last)| *last < start) && after.first().is_none_or(|(first, _)| *first > end)
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
    let mut ranges: Vec<LiveRange> = Vec::new();
    let mut range_of: Vec<Option<usize>> = vec![None; steps.len()];
    for index in 0..steps.len() {
        let around = parts.iter_mut().find(|parts| parts.steps.contains(&index));
        let len = |step: &Step| step.layout.as_ref().map_or(0, Layout::numel);
        let end = |register: usize| lifetimes.owner_last[register].unwrap_or(usize::MAX);
        if let Some(parts) = &around
            && parts.steps.start == index
        {
            // The whole result is there from the first part on.
            let whole = parts.steps.end - 1;
            range_of[whole] = Some(ranges.len());
            ranges.push(LiveRange { start: index, end: end(whole), len: len(&steps[whole]) });
        }
        let step = &mut steps[index];
        step.frees = std::mem::take(&mut dying[index]);
        let needed = len(step);
        if let Action::Kernel { kernel, operands, in_place, .. } = &mut step.action {
            // The buffer of an operand goes over to the result, if it is one and the kernel can work in place.
            let may = |operand: &usize| {
                let is_one = range_of[operands[*operand]].is_some();
                is_one && kernel.overwrites(*operand) && lifetimes.over(*operand, operands, index)
            };
            *in_place = (0..operands.len()).find(may).filter(|_| range_of[index].is_none());
            let range = range_of[index].or_else(|| range_of[operands[(*in_place)?]]).unwrap_or_else(|| {
                ranges.push(LiveRange { start: index, end: index, len: 0 });
                ranges.len() - 1
            });
            let LiveRange { end: last, len, .. } = &mut ranges[range];
            (*last, *len) = ((*last).max(end(index)), (*len).max(needed));
            range_of[index] = Some(range);
        }
        if let Some(parts) = around {
            let (inner, before) = step.frees.drain(..).partition(|register| *register >= parts.steps.start);
            (step.frees, parts.frees) = (inner, before);
        }
    }
    let (buffers, places) = Buffers::place(&ranges);
    for (step, range) in steps.iter_mut().zip(&range_of) {
        if let (Action::Kernel { buffer, .. }, Some(range)) = (&mut step.action, range) {
            *buffer = places[*range];
        }
    }
    buffers.lens
}

impl Step {
    pub(super) fn for_each_read(&self, f: &mut impl FnMut(usize)) {
        let mut read = |source: &Source| {
            if let Source::Register(register) = source {
                f(*register);
            }
        };
        match &self.action {
            Action::Input { .. } => {}
            Action::Kernel { operands, .. } => operands.iter().for_each(|register| f(*register)),
            Action::View { from: register, .. } | Action::Embedding { indices: register, .. } => f(*register),
            Action::Update { of, indices, source, .. } => {
                read(indices);
                [of, source].into_iter().for_each(|register| f(*register));
            }
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
        let range = |start, end, len| LiveRange { start, end, len };
        // What is read in a step is not written over by it; what is small goes where it fits best.
        let ranges = [range(0, 1, 10), range(1, 2, 20), range(2, 3, 5), range(3, 9, 30), range(4, 4, 10)];
        let (buffers, places) = Buffers::place(&ranges);
        assert_eq!((buffers.lens, places), (vec![30, 10], vec![1, 0, 1, 0, 1]));
    }

    /// A small value that stays, among large ones that do not, as in a network whose results are all concatenated.
    #[test]
    fn what_stays_does_not_take_what_is_large() {
        let (large, small) = (1000, 10);
        let layer = |index: usize| {
            let start = 2 * index;
            [LiveRange { start, end: start + 1, len: large }, LiveRange { start: start + 1, end: 99, len: small }]
        };
        let ranges: Vec<_> = (0..20).flat_map(layer).collect();
        let (buffers, _) = Buffers::place(&ranges);
        assert_eq!(buffers.lens.iter().sum::<usize>(), large + 20 * small);
    }
}
