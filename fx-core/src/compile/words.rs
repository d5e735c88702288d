//! Values that products of rounded numbers leave for each other: written as words of what they are rounded to anyway, bytes or bf16, in a
//! quarter of the memory or in half of it. What only moves numbers, or chooses among them, moves words as well. What is computed of results
//! of bf16 products alone is words too, as with PyTorch's autocast.

use std::sync::Arc;

use fx_kernels::Rounded;
use smallvec::SmallVec;

use super::kernels::Kernel;
use super::memory::last_reads;
use super::plan::{Action, Source, Step};
use crate::arg::Arg;

/// Has values written as words where the kernel before can write such and all readers take them alike: because they round them, or
/// because they are no more precise anyway.
pub(super) fn narrow(steps: &mut [Step], output: &Arg<Source>) {
    let last = last_reads(steps, &[], output);
    let half = half(steps);
    // From the last step on: one that hands numbers on rounds what it reads once its result is words.
    for index in (0..steps.len()).rev() {
        let Some(end) = last[index] else { continue };
        let Some((readers, rounded, are_rounding)) = readers(steps, index, end) else { continue };
        if !are_rounding && !half[index] {
            continue;
        }
        let (Action::Kernel { kernel, .. }, Some(layout)) = (&steps[index].action, &steps[index].layout) else {
            continue;
        };
        let Some((kernel, words)) = kernel.writing_words(rounded, layout) else { continue };
        let saved = layout.bytes() - words.bytes();
        let step = &mut steps[index];
        step.values = step.layout.replace(words).map(|layout| (rounded, layout.shape));
        step.replace(kernel, saved);
        for (reader, kernel) in readers {
            steps[reader].replace(kernel, saved);
        }
    }
}

/// Which results are as precise as bf16: they are of products of such numbers, or of elementwise ops of these results.
fn half(steps: &[Step]) -> Vec<bool> {
    let mut half = Vec::with_capacity(steps.len());
    for step in steps {
        half.push(match &step.action {
            Action::Kernel { kernel, operands, .. } => {
                kernel.is_half(&operands.iter().map(|operand| half[*operand]).collect::<SmallVec<[bool; 4]>>())
            }
            Action::View { from, .. } => half[*from],
            _ => false,
        });
    }
    half
}

/// Those who read a step's result, up to the last one, as they would read words, what it may be rounded to, and whether all of them round
/// it.
fn readers(steps: &[Step], index: usize, end: usize) -> Option<(Vec<(usize, Arc<dyn Kernel>)>, Rounded, bool)> {
    let (mut readers, mut rounded, mut are_rounding) = (Vec::new(), None, true);
    for (reader, step) in steps.iter().enumerate().take(end + 1).skip(index + 1) {
        let mut reads = 0;
        step.for_each_read(&mut |register| reads += usize::from(register == index));
        if reads == 0 {
            continue;
        }
        let Action::Kernel { kernel, operands, .. } = &step.action else { return None };
        let mut kernel = kernel.clone();
        for (operand, _) in operands.iter().enumerate().filter(|(_, operand)| **operand == index) {
            are_rounding &= kernel.rounds(operand).is_some();
            let own = kernel.takes(operand).filter(|own| rounded.is_none_or(|rounded| rounded == *own))?;
            (rounded, reads) = (Some(own), reads - 1);
            kernel = kernel.reading_words(operand, own)?;
        }
        // It is no other kind of operand besides.
        (reads == 0).then(|| readers.push((reader, kernel)))?;
    }
    Some((readers, rounded?, are_rounding))
}

impl Step {
    /// Has another kernel, which moves fewer bytes.
    fn replace(&mut self, new: Arc<dyn Kernel>, saved: usize) {
        if let Action::Kernel { kernel, .. } = &mut self.action {
            *kernel = new;
        }
        self.bytes = self.bytes.saturating_sub(saved);
    }
}
