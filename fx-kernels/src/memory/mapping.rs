//! Memory from the system, in large pages if it has them: a product that streams through weights does not wait then for
//! the tables that say where each 4096 bytes are, and loading does not wait for each page.
//!
//! A system may have to look for a large page, or a host for the memory of its guest. Where that takes longer than as
//! many bytes in small pages would, some small ones are used before another large one is tried. They are taken all at once,
//! and the system makes large ones of them later, when it finds the time.

use std::ptr::NonNull;

/// Some bytes, zeros at first.
pub(super) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: it owns its bytes as a vector does.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Where it begins: with a large page.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Its bytes.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::ops::Range;
    use std::ptr::{NonNull, null_mut};
    use std::sync::{Mutex, PoisonError};
    use std::time::{Duration, Instant};

    use libc::{
        MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_POPULATE_WRITE, MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ,
        PROT_WRITE, madvise, mmap, munmap,
    };

    use super::super::{LARGE, PAGE};
    use super::Mapping;

    /// What as many bytes in small pages take.
    const SLOW: Duration = Duration::from_micros(1500);

    /// How many pages are small before a large one is tried.
    struct Small {
        now: usize,
        /// After the next slow one.
        next: usize,
    }

    impl Small {
        /// After a slow page that comes after a fast one, and the most after many slow ones.
        const FEWEST: usize = 4;
        const MOST: usize = 64;

        /// Whether the next page is small.
        fn is_next(&mut self) -> bool {
            let is_small = self.now > 0;
            self.now = self.now.saturating_sub(1);
            is_small
        }

        /// Notes how long a large page took.
        fn note(&mut self, elapsed: Duration) {
            if elapsed <= SLOW {
                self.next = Self::FEWEST;
            } else {
                (self.now, self.next) = (self.next, Self::MOST.min(2 * self.next));
            }
        }
    }

    static SMALL: Mutex<Small> = Mutex::new(Small { now: 0, next: Small::FEWEST });

    impl Mapping {
        /// So many bytes, or None where the system does not give them.
        pub(in super::super) fn new(len: usize) -> Option<Self> {
            let len = len.checked_next_multiple_of(PAGE)?;
            let all = len.checked_add(LARGE)?;
            // SAFETY: new memory is asked for.
            let base = unsafe { mmap(null_mut(), all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
            if base == MAP_FAILED {
                return None;
            }
            let before = base.addr().next_multiple_of(LARGE) - base.addr();
            let (start, end) = (base.wrapping_byte_add(before), base.wrapping_byte_add(before + len));
            // SAFETY: what is given back is no part of the mapping that is kept; the advice changes no numbers, wherever
            // it holds.
            unsafe {
                if before > 0 {
                    munmap(base, before);
                }
                if LARGE > before {
                    munmap(end, LARGE - before);
                }
                madvise(start, len, MADV_HUGEPAGE);
            }
            Some(Self { start: NonNull::new(start.cast())?, len })
        }

        /// Takes the pages of a part that nobody wrote to: large ones, unless that takes too long.
        pub(in super::super) fn take(&self, part: Range<usize>) {
            // Of the pages that begin in the part, those that the mapping has whole.
            let end = part.end.next_multiple_of(LARGE).min(self.len / LARGE * LARGE);
            for page in (part.start.next_multiple_of(LARGE)..end).step_by(LARGE) {
                // Not locked while the system looks for a page: other threads take theirs.
                let small = || SMALL.lock().unwrap_or_else(PoisonError::into_inner);
                let is_small = small().is_next();
                // SAFETY: the page is the mapping's, and still zeros, which no advice changes.
                unsafe {
                    let page = self.start.add(page);
                    if is_small {
                        let advise = |advice| madvise(page.as_ptr().cast(), LARGE, advice);
                        advise(MADV_NOHUGEPAGE);
                        // Once the small ones are there, the system may bring them together in the background.
                        if advise(MADV_POPULATE_WRITE) == 0 {
                            advise(MADV_HUGEPAGE);
                        }
                    } else {
                        let start = Instant::now();
                        page.write_volatile(0);
                        small().note(start.elapsed());
                    }
                }
            }
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: the bytes were mapped, and whoever uses them keeps the mapping.
            unsafe { munmap(self.start.as_ptr().cast(), self.len) };
        }
    }

    #[cfg(test)]
    #[test]
    fn small_pages_follow_slow_ones() {
        let mut small = Small { now: 0, next: Small::FEWEST };
        let mut after = |elapsed| {
            small.note(elapsed);
            std::iter::from_fn(|| small.is_next().then_some(())).count()
        };
        assert_eq!(after(Duration::ZERO), 0);
        assert_eq!([(); 6].map(|()| after(2 * SLOW)), [4, 8, 16, 32, 64, 64]);
        assert_eq!([Duration::ZERO, 2 * SLOW].map(&mut after), [0, 4]);
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
impl Mapping {
    /// None: here memory is allocated.
    pub(super) fn new(_: usize) -> Option<Self> {
        None
    }

    /// Nothing.
    pub(super) fn take(&self, _: std::ops::Range<usize>) {}
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    /// Parts that begin and end within large pages, all of which are zeros that can be written.
    #[test]
    fn parts_are_taken_once() {
        let large = super::super::LARGE;
        let mapping = Mapping::new(5 * large + 12_345).expect("the system gives memory");
        assert!(mapping.start().as_ptr().addr().is_multiple_of(large) && mapping.len() > 5 * large);
        for part in [0..100, 100..large + 7, large + 7..4 * large, 4 * large..mapping.len()] {
            mapping.take(part.clone());
            // SAFETY: the bytes are the mapping's, and nobody else has them.
            let bytes = unsafe { std::slice::from_raw_parts_mut(mapping.start().as_ptr().add(part.start), part.len()) };
            assert!(bytes.iter().all(|byte| *byte == 0));
            bytes.fill(1);
        }
    }
}
