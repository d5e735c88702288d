//! Threads: how many, and a loop over parts of work that needs no synchronisation.

mod team;

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use smallvec::SmallVec;

/// The number of threads asked for; 0 is as many as rayon's pool has.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Sets how many threads a kernel may use at most; 0 is all of the pool.
pub fn set_num_threads(threads: usize) {
    LIMIT.store(threads, Ordering::Relaxed);
}

/// How many threads a kernel may use at most.
pub fn num_threads() -> usize {
    let pool = rayon_core::current_num_threads();
    match LIMIT.load(Ordering::Relaxed) {
        0 => pool,
        limit => limit.min(pool),
    }
}

/// So many parts or some more, as many for each thread; a single one stays one.
pub(crate) fn shared_out(parts: usize) -> usize {
    if parts == 1 { 1 } else { parts.next_multiple_of(num_threads()) }
}

/// The work below which a hand-over to another thread costs more than it brings.
pub(crate) const WORTH_WHILE: usize = 200_000;

thread_local! {
    /// Whether this thread is working on a part of a parallel loop.
    static WITHIN: Cell<bool> = const { Cell::new(false) };
}

/// Notes that the thread is within a parallel loop, until it is dropped.
struct Within(bool);

impl Within {
    fn enter() -> Self {
        Self(WITHIN.replace(true))
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        WITHIN.set(self.0);
    }
}

/// Runs something whose loops are short and wait for each other: handing them to other threads would take longer.
pub(crate) fn alone<R>(f: impl FnOnce() -> R) -> R {
    let _within = Within::enter();
    f()
}

/// Runs `f` on `0..count`, in parallel where `work` (in floating-point operations or bytes) makes that worth while. A loop
/// within a part of a parallel one is not parallel itself.
pub fn for_each(count: usize, work: usize, f: impl Fn(usize) + Sync) {
    share(count, work, &f);
}

/// Compiled once for all loops.
fn share(count: usize, work: usize, f: &(dyn Fn(usize) + Sync)) {
    let threads = num_threads().min(count);
    if threads <= 1 || work < WORTH_WHILE || WITHIN.get() {
        (0..count).for_each(f);
        return;
    }
    let shares: SmallVec<[Share; 8]> = (0..threads).map(|index| Share::of(count, index, threads)).collect();
    team::together(threads, &|member| {
        let _within = Within::enter();
        // Of the pool's threads any may help.
        let own = if member < threads { member } else { 1 + (member - 1) % (threads - 1) };
        let of_others = (1..threads).map(|next| (own + next) % threads);
        while let Some(index) = shares[own].first() {
            f(index);
        }
        for other in of_others {
            while let Some(index) = shares[other].last() {
                f(index);
            }
        }
    });
}

/// The parts of a loop that are for one thread, in their order: those that it did in the loop before are likely to be what it
/// reads, in its own cache. Whoever is done with theirs takes others' from the end.
#[repr(align(64))]
struct Share {
    start: usize,
    len: usize,
    taken: AtomicUsize,
    from_start: AtomicUsize,
    from_end: AtomicUsize,
}

impl Share {
    fn of(count: usize, index: usize, threads: usize) -> Self {
        let start = index * count / threads;
        let len = (index + 1) * count / threads - start;
        let [taken, from_start, from_end] = [const { AtomicUsize::new(0) }; 3];
        Self { start, len, taken, from_start, from_end }
    }

    /// Whether there was a part left, which is taken then. As many are taken from both ends together as there are.
    fn take(&self) -> bool {
        self.taken.fetch_add(1, Ordering::Relaxed) < self.len
    }

    fn first(&self) -> Option<usize> {
        self.take().then(|| self.start + self.from_start.fetch_add(1, Ordering::Relaxed))
    }

    fn last(&self) -> Option<usize> {
        self.take().then(|| self.start + self.len - 1 - self.from_end.fetch_add(1, Ordering::Relaxed))
    }
}

/// Runs `f` on the pieces of `data` of length `piece`, in parallel where `work` makes that worth while.
pub fn for_each_piece<T: Send>(data: &mut [T], piece: usize, work: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    share_pieces(data, piece, work, &f);
}

/// As [`for_each_piece`], of pieces that are shared out in themselves, which takes longer: they are parallel where there are several for each
/// thread.
pub(crate) fn for_each_large_piece<T: Send>(
    data: &mut [T],
    piece: usize,
    work: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) {
    /// So many for each thread.
    const SEVERAL: usize = 4;
    let are_several = data.len() >= SEVERAL * num_threads() * piece;
    share_pieces(data, piece, if are_several { work } else { 0 }, &f);
}

/// Compiled once for each type.
fn share_pieces<T: Send>(data: &mut [T], piece: usize, work: usize, f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    if piece == 0 || data.is_empty() {
        return;
    }
    let len = data.len();
    let base = Shared(data.as_mut_ptr());
    for_each(len.div_ceil(piece), work, |index| {
        let start = index * piece;
        // SAFETY: pieces are disjoint parts of `data`, which is borrowed for all of the loop.
        let part = unsafe { std::slice::from_raw_parts_mut(base.at(start), piece.min(len - start)) };
        f(index, part);
    });
}

/// A pointer that several threads may write through, each at places of its own.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(pub(crate) *mut T);

impl<T> Shared<T> {
    /// The place `index` elements on.
    pub(crate) fn at(&self, index: usize) -> *mut T {
        self.0.wrapping_add(index)
    }
}

// SAFETY: whoever writes through it keeps the threads' places apart.
unsafe impl<T: Send> Sync for Shared<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_taken_from_both_ends() {
        for (count, index) in [(0, 0), (1, 1), (20, 1), (23, 2)] {
            let share = Share::of(count, index, 3);
            let mut taken: Vec<usize> =
                (0..).map_while(|turn| if turn % 3 == 1 { share.last() } else { share.first() }).collect();
            assert!(share.first().is_none() && share.last().is_none());
            taken.sort_unstable();
            assert_eq!(taken, (index * count / 3..(index + 1) * count / 3).collect::<Vec<_>>());
        }
    }

    #[test]
    fn pieces_cover_everything_once() {
        for len in [0, 1, 7, 64, 1000] {
            let mut data = vec![0_u32; len];
            let add = |index: usize, part: &mut [u32]| part.iter_mut().for_each(|x| *x += index as u32 + 1);
            for_each_piece(&mut data, 7, usize::MAX, add);
            for_each_large_piece(&mut data, 7, usize::MAX, add);
            assert!(data.iter().enumerate().all(|(i, x)| *x == 2 * ((i / 7) as u32 + 1)));
        }
    }
}
