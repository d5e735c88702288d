//! A batch in parts: steps between which more images lie than the cache holds run for a few of them at a time.

use std::ops::Range;

use fx_kernels::threads::num_threads;
use smallvec::SmallVec;

use super::memory::last_reads;
use super::plan::{Action, Source, Step};
use crate::arg::Arg;

/// Steps that run one after the other for a part of the batch, then for the next. Only the last one's result is whole.
pub(super) struct Parts {
    pub(super) steps: Range<usize>,
    pub(super) count: usize,
    /// The registers of steps before that die with the last part.
    pub(super) frees: SmallVec<[usize; 4]>,
}

/// The bytes of images that stay in the caches of a thread's processor from one step to the next; a thread that is alone has
/// those of two.
const CACHE: usize = 4 << 20;
/// The bytes of weights that are read again in the time that a byte takes which had left the cache: products hide more of
/// that, since weights come ahead of them.
const WEIGHTS: usize = 5;
/// The bytes that are worth a split.
const WORTH_WHILE: isize = 1 << 20;
/// The most parts: a batch may be as many rows of a matrix.
const MOST: usize = 256;

/// Finds what is faster in parts, and makes its steps those for a part.
pub(super) fn split(steps: &mut [Step], output: &Arg<Source>) -> Vec<Parts> {
    let last = last_reads(steps, &[], output);
    let work: Vec<_> = steps.iter().map(|step| Work::of(step, steps)).collect();
    let search = Search { work, last, cache: CACHE * num_threads().max(2) };
    let mut all = Vec::new();
    search.find(0..steps.len(), &mut all);
    all.iter().for_each(|parts| apply(steps, parts));
    all
}

/// What parts are found by.
struct Search {
    /// What each step has to do, if it can run in parts.
    work: Vec<Option<Work>>,
    /// The last reader of each step's result; none of what the model gives.
    last: Vec<Option<usize>>,
    /// The bytes of images that stay in the cache.
    cache: usize,
}

impl Search {
    /// The best parts of these steps, and of those before and after.
    fn find(&self, within: Range<usize>, all: &mut Vec<Parts>) {
        if let Some(parts) = self.best(within.clone()) {
            let Range { start, end } = parts.steps;
            self.find(within.start..start, all);
            all.push(parts);
            self.find(end..within.end, all);
        }
    }

    /// The parts that save the most of these steps.
    fn best(&self, within: Range<usize>) -> Option<Parts> {
        let (mut best, mut most) = (None, WORTH_WHILE);
        for start in within.clone() {
            let batch = self.work[start].as_ref().map_or(0, |work| work.batch);
            for count in (2..=batch.min(MOST)).filter(|count| batch.is_multiple_of(*count)) {
                // What was saved so far, and the last reader of what all steps but the newest give.
                let (mut saved, mut read) = (0, 0);
                for end in start..within.end {
                    let Some(work) = self.work[end].as_ref().filter(|work| work.batch == batch) else { break };
                    saved += work.saved(count, self.cache);
                    // A single step finds nothing in the cache.
                    if end > start && read <= end && saved > most {
                        (most, best) = (saved, Some(Parts { steps: start..end + 1, count, frees: SmallVec::new() }));
                    }
                    read = read.max(self.last[end].unwrap_or(usize::MAX));
                }
            }
        }
        best
    }
}

fn apply(steps: &mut [Step], parts: &Parts) {
    for (index, step) in steps.iter_mut().enumerate().take(parts.steps.end).skip(parts.steps.start) {
        let Action::Kernel { kernel, in_place, .. } = &mut step.action else { continue };
        if let Some(part) = kernel.part(parts.count) {
            *kernel = part;
        }
        if index + 1 == parts.steps.end {
            *in_place = None;
        } else {
            step.layout = step.layout.take().and_then(|layout| layout.part(parts.count));
            if let Some((_, shape)) = &mut step.values {
                shape[0] /= parts.count;
            }
        }
    }
}

/// What a step that can run in parts has to do.
struct Work {
    batch: usize,
    /// The bytes of operands and result.
    bytes: usize,
    /// The bytes of packed weights.
    weights: usize,
}

impl Work {
    fn of(step: &Step, steps: &[Step]) -> Option<Self> {
        let Action::Kernel { kernel, operands, .. } = &step.action else { return None };
        let result = step.layout.as_ref()?;
        let batch = result.batch()?;
        let mut bytes = result.bytes();
        for register in operands {
            bytes += steps[*register].layout.as_ref().filter(|layout| layout.batch() == Some(batch))?.bytes();
        }
        // What can do with one image can do with any number.
        kernel.part(batch)?;
        Some(Self { batch, bytes, weights: kernel.weights() })
    }

    /// The bytes that so many parts save, as if they came from memory.
    fn saved(&self, count: usize, cache: usize) -> isize {
        let leaves = |bytes: usize| bytes.saturating_sub(cache);
        let (saved, again) = (leaves(self.bytes) - count * leaves(self.bytes / count), (count - 1) * self.weights);
        saved as isize - (again / WEIGHTS) as isize
    }
}
