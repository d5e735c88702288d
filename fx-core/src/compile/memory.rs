//! When values die, and which buffer holds which: those of dead values are used again.

use smallvec::SmallVec;

use super::layout::Layout;
use super::parts::Parts;
use super::plan::{Action, Source, Step};
use crate::arg::Arg;

/// The buffers of a plan, by their lengths in f32 elements.
#[derive(Debug, Default)]
struct Buffers {
    lens: Vec<usize>,
    free: Vec<usize>,
}

impl Buffers {
    /// A buffer for `len` elements: the smallest free one that is long enough, else the longest, made longer, else a
    /// new one.
    fn acquire(&mut self, len: usize) -> usize {
        let lens = &self.lens;
        let fits = self.free.iter().filter(|buffer| lens[**buffer] >= len).min_by_key(|buffer| lens[**buffer]);
        let found = fits.or_else(|| self.free.iter().max_by_key(|buffer| lens[**buffer])).copied();
        let Some(buffer) = found else {
            self.lens.push(len);
            return self.lens.len() - 1;
        };
        self.free.retain(|free| *free != buffer);
        self.lens[buffer] = self.lens[buffer].max(len);
        buffer
    }

    /// The value in a buffer is dead.
    fn release(&mut self, buffer: usize) {
        debug_assert!(!self.free.contains(&buffer), "a buffer is freed once");
        self.free.push(buffer);
    }

    fn lens(self) -> Vec<usize> {
        self.lens
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
    let mut dead_owners = dying.clone();
    for register in 0..steps.len() {
        if let Some(last) = lifetimes.last[register] {
            dying[last].push(register);
        }
        if let Some(last) = lifetimes.owner_last[register].filter(|_| lifetimes.owner[register] == register) {
            dead_owners[last].push(register);
        }
    }
    let mut buffers = Buffers::default();
    let mut held: Vec<Option<usize>> = vec![None; steps.len()];
    for index in 0..steps.len() {
        let around = parts.iter_mut().find(|parts| parts.steps.contains(&index));
        if let Some(parts) = &around
            && parts.steps.start == index
        {
            // The whole result is there from the first part on.
            let whole = parts.steps.end - 1;
            held[whole] = Some(buffers.acquire(steps[whole].layout.as_ref().map_or(0, Layout::numel)));
        }
        let step = &mut steps[index];
        step.frees = std::mem::take(&mut dying[index]);
        if let Action::Kernel { kernel, operands, in_place, buffer } = &mut step.action {
            // The buffer of an operand goes over to the result, if it is one and the kernel can work in place.
            let may = |operand: &usize| kernel.overwrites(*operand) && lifetimes.over(*operand, operands, index);
            let over = (0..operands.len()).find(may).filter(|_| held[index].is_none());
            let taken = held[index].or_else(|| over.and_then(|operand| held[operands[operand]].take()));
            *in_place = over.filter(|_| taken.is_some());
            *buffer = taken.unwrap_or_else(|| buffers.acquire(step.layout.as_ref().map_or(0, Layout::numel)));
            held[index] = Some(*buffer);
        }
        if let Some(parts) = around {
            let (inner, before) = step.frees.drain(..).partition(|register| *register >= parts.steps.start);
            (step.frees, parts.frees) = (inner, before);
        }
        for register in &dead_owners[index] {
            held[*register].take().into_iter().for_each(|buffer| buffers.release(buffer));
        }
    }
    buffers.lens()
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
        let mut buffers = Buffers::default();
        let (a, b) = (buffers.acquire(10), buffers.acquire(20));
        buffers.release(a);
        assert_eq!(buffers.acquire(5), a);
        buffers.release(b);
        assert_eq!(buffers.acquire(30), b);
        assert_eq!(buffers.lens(), [10, 30]);
    }
}
