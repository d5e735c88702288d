//! Threads that stay awake between parallel loops.
//!
//! Waking a thread takes some 20 microseconds, as long as many a loop. So the pool's threads that helped with one loop look
//! out for the next one for a while, and the thread that has it does its parts, and never waits for one that sleeps. That
//! is for a caller that is alone; where there are several, the others go through the pool's queue, so that beside the
//! pool's threads at most one is at work.

use std::any::Any;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// How long a thread looks out for the next loop.
const PATIENCE: Duration = Duration::from_micros(200);

/// What threads do together: each call, which gets the thread's number, takes parts until there are none left.
type Work<'a> = &'a (dyn Fn(usize) + Sync);

/// Does something on up to so many threads at once, of which this is one.
///
/// # Panics
/// If one of them does.
pub(super) fn together(threads: usize, work: Work<'_>) {
    let caller = Caller::enter();
    if caller.alone {
        TEAM.lead(threads, work);
    } else {
        rayon_core::scope(|scope| {
            for member in 1..threads {
                scope.spawn(move |_| work(member));
            }
            work(0);
        });
    }
}

/// The threads that are in [`together`] now, other than helpers.
static CALLERS: AtomicUsize = AtomicUsize::new(0);

struct Caller {
    alone: bool,
}

impl Caller {
    fn enter() -> Self {
        Self { alone: CALLERS.fetch_add(1, Ordering::Acquire) == 0 }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        CALLERS.fetch_sub(1, Ordering::Release);
    }
}

static TEAM: Team = Team {
    state: AtomicU64::new(0),
    work: UnsafeCell::new(&|_| ()),
    helpers: AtomicUsize::new(0),
    panic: Mutex::new(None),
};

/// A leader, a caller that is alone, and its helpers.
struct Team {
    /// The number of the loop, whether it is [open](OPEN), how many may help with it, and how many are doing so.
    state: AtomicU64,
    /// The loop. It is the leader's to write while there is none, and the helpers' to read while they help.
    work: UnsafeCell<Work<'static>>,
    /// The helpers that are awake, or will be.
    helpers: AtomicUsize,
    /// What stopped a helper.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `work` is written and read by turns, as it says.
unsafe impl Sync for Team {}

/// Whether there is a loop that helpers may join.
const OPEN: u64 = 1 << 31;
/// Where the number of those who may help begins.
const LIMIT: u32 = 16;
/// Where the loop's number begins.
const NUMBER: u32 = 32;
/// The helpers at work.
const HELPING: u64 = (1 << LIMIT) - 1;

impl Team {
    fn lead(&'static self, threads: usize, work: Work<'_>) {
        let others = (threads - 1).min(HELPING as usize >> 1);
        // If this thread panicked in the last loop, nobody asked.
        self.take_panic();
        // SAFETY: nobody reads it, for the last loop is closed, and nobody will after `Open` is dropped.
        unsafe { *self.work.get() = std::mem::transmute::<Work<'_>, Work<'static>>(work) };
        let number = (self.state.load(Ordering::Relaxed) >> NUMBER).wrapping_add(1);
        self.state.store(number << NUMBER | OPEN | (others as u64) << LIMIT, Ordering::Release);
        let open = Open(self);
        self.recruit(others);
        work(0);
        drop(open);
        if let Some(panic) = self.take_panic() {
            resume_unwind(panic);
        }
    }

    fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Sees to it that so many helpers are awake, or will be.
    fn recruit(&'static self, count: usize) {
        let one_more = |helpers: usize| (helpers < count).then_some(helpers + 1);
        while self.helpers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok() {
            rayon_core::spawn(|| self.help());
        }
    }

    /// Helps with loops as long as they come soon enough.
    fn help(&self) {
        // The same in each loop.
        let member = 1 + rayon_core::current_thread_index().unwrap_or(0);
        let (mut last, mut since, mut wait) = (0, Instant::now(), Wait::default());
        loop {
            let state = self.state.load(Ordering::Relaxed);
            let wanted = state & OPEN != 0 && state & HELPING < (state & (OPEN - 1)) >> LIMIT;
            if wanted && state >> NUMBER != last {
                if self.state.compare_exchange_weak(state, state + 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    // SAFETY: the loop is not over before this helper says that it is done.
                    let work = unsafe { *self.work.get() };
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(member))) {
                        *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
                    }
                    self.state.fetch_sub(1, Ordering::Release);
                    (last, since) = (state >> NUMBER, Instant::now());
                }
            } else {
                if since.elapsed() > PATIENCE {
                    break;
                }
                wait.pause();
            }
        }
        self.helpers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A loop that helpers may join; closed when this is dropped, which takes until all of them are done.
struct Open(&'static Team);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.state.fetch_and(!OPEN, Ordering::Relaxed);
        let mut wait = Wait::default();
        while self.0.state.load(Ordering::Acquire) & HELPING != 0 {
            wait.pause();
        }
    }
}

/// Waits that are short, for what comes is likely to come soon.
#[derive(Default)]
struct Wait {
    count: u32,
}

impl Wait {
    /// Waits for a moment, now and then for another thread if there is one that has no processor.
    fn pause(&mut self) {
        self.count = self.count.wrapping_add(1);
        if self.count.is_multiple_of(16) {
            yield_now();
        }
        (0..4).for_each(|_| spin_loop());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::threads::for_each;

    /// Whoever calls, every part is done once, and a loop is over when it returns.
    #[test]
    fn loops_of_many_callers() {
        std::thread::scope(|scope| {
            for caller in 0..4 {
                scope.spawn(move || {
                    for round in 0..300 {
                        let count = 1 + (7 * round + caller) % 23;
                        let done: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                        for_each(count, usize::MAX, |index| {
                            // A loop within a part is the thread's own.
                            for_each(3, usize::MAX, |_| {
                                done[index].fetch_add(1, Ordering::Relaxed);
                            });
                        });
                        assert!(done.iter().all(|done| done.load(Ordering::Relaxed) == 3));
                        if round % 100 == 0 {
                            std::thread::sleep(2 * PATIENCE);
                        }
                    }
                });
            }
        });
    }

    /// A panic in some part, of this thread or of another, stops the caller, and no later loop.
    #[test]
    fn panics_reach_the_caller() {
        for part in 0..16 {
            let all = catch_unwind(|| for_each(16, usize::MAX, |index| assert!(index != part, "part {part}")));
            assert!(all.is_err(), "part {part}");
            let done = AtomicUsize::new(0);
            for_each(16, usize::MAX, |_| {
                done.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(done.into_inner(), 16);
        }
    }

    /// No more threads than asked for work on a loop, however many help.
    #[test]
    fn loops_are_limited() {
        for threads in [2, 1, 3] {
            let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            together(threads, &|_| {
                most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(1));
                now.fetch_sub(1, Ordering::Relaxed);
            });
            assert!(most.into_inner() <= threads);
        }
    }
}
