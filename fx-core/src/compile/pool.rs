//! The memory of runs, which a plan for other sizes takes over from those before it.
//!
//! A model that writes a text makes a plan for each token, for what it remembers grows: new memory for each would be mapped
//! in page by page, and that of all plans be kept. What eager results leave is their thread's, and of a limited size
//! (`tensor/buffer.rs`); what plans leave is their program's, for runs of any thread.

use std::sync::{Arc, Mutex, PoisonError};

use fx_kernels::memory::{LINE, into_words, zeroed};

use crate::tensor::Buffer;

/// Words for the numbers of values.
pub(super) type Memory = Arc<Buffer<u32>>;

/// What plans of one program have left to others.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<Memory>>);

impl Pool {
    /// Takes memory that a plan needs no more; somebody may still look at results that are in it.
    pub(super) fn leave(&self, memory: impl IntoIterator<Item = Memory>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(memory);
    }

    /// Memory that nobody looks at, for as many numbers each, and where the first line of the cache begins: what was left, or
    /// new. Of the rest only what somebody looks at is kept, for one more plan, and no more than is given now.
    pub(super) fn take(&self, lens: &[usize]) -> Vec<Memory> {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = lens.iter().map(|len| fitting(&mut left, len + LINE)).collect();
        left.retain_mut(|memory| Buffer::get_mut(memory).is_none());
        // The oldest are the first.
        while left.iter().map(|memory| memory.len()).sum::<usize>() > lens.iter().map(|len| len + LINE).sum() {
            left.remove(0);
        }
        taken
    }
}

/// The shortest memory that is long enough, but not twice as long; new memory has room to grow if what was there is a little short.
fn fitting(left: &mut Vec<Memory>, len: usize) -> Memory {
    let mut best: Option<(usize, usize)> = None;
    let mut grows = false;
    for (place, memory) in left.iter_mut().enumerate() {
        let room = memory.len();
        grows |= (len / 2..len).contains(&room);
        let better = (len..=2 * len).contains(&room) && best.is_none_or(|(_, least)| room < least);
        if better && Buffer::get_mut(memory).is_some() {
            best = Some((place, room));
        }
    }
    match best {
        Some((place, _)) => left.remove(place),
        None => Arc::new(into_words(zeroed(if grows { len + len / 4 } else { len })).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_nobody_looks_at_is_taken_over() {
        let pool = Pool::default();
        let first = pool.take(&[1000, 10]);
        let (large, small) = (first[0].as_ptr(), first[1].as_ptr());
        let looked_at = first[0].clone();
        pool.leave(first);
        let second = pool.take(&[1001, 9]);
        assert_eq!(second[1].as_ptr(), small, "what fits");
        assert_ne!(second[0].as_ptr(), large, "somebody looks at it");
        assert_eq!(second[0].len(), (1001 + LINE) * 5 / 4, "there is room to grow");
        drop(looked_at);
        pool.leave(second);
        assert_eq!(pool.take(&[999])[0].as_ptr(), large, "nobody does any more");
        assert!(pool.0.lock().unwrap().is_empty(), "what nobody takes is given back");
    }

    #[test]
    fn no_more_is_kept_than_is_needed() {
        let pool = Pool::default();
        let results: Vec<Memory> = (0..9).flat_map(|_| Pool::default().take(&[100])).collect();
        pool.leave(results.iter().cloned());
        pool.take(&[250]);
        let left = pool.0.lock().unwrap();
        assert_eq!(left.len(), 2);
        assert_eq!(left[1].as_ptr(), results[8].as_ptr(), "the newest");
    }
}
