//! Memory from the system, in large pages if it has them: a product that streams through weights does not wait then for
//! the tables that say where each 4096 bytes are, and loading does not wait for each page.
//!
//! A system may have to look for a large page, or a host for the memory of its guest. Where that takes longer than as
//! many bytes in small pages would, small ones are used for a while.

use std::ptr::NonNull;

/// Some bytes, zeros at first.
pub(super) struct Mapping {
    start: NonNull<u8>,
    len: usize,
    /// Whether large pages are asked for.
    #[cfg(all(target_os = "linux", not(miri)))]
    large: bool,
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
        MADV_HUGEPAGE, MADV_NOHUGEPAGE, MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE, madvise, mmap,
        munmap,
    };

    use super::super::{LARGE, PAGE};
    use super::Mapping;

    /// What as many bytes in small pages take.
    const SLOW: Duration = Duration::from_micros(1500);
    /// How long small pages are used then.
    const PAUSE: Duration = Duration::from_secs(1);

    /// When a large page was slow.
    static SLOW_AT: Mutex<Option<Instant>> = Mutex::new(None);

    /// Whether large pages were slow a short time ago.
    fn paused() -> bool {
        SLOW_AT.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|slow| slow.elapsed() < PAUSE)
    }

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
            let large = !paused();
            // SAFETY: what is given back is no part of the mapping that is kept; the advice changes no numbers, wherever
            // it holds.
            unsafe {
                if before > 0 {
                    munmap(base, before);
                }
                if LARGE > before {
                    munmap(end, LARGE - before);
                }
                if large {
                    madvise(start, len, MADV_HUGEPAGE);
                }
            }
            Some(Self { start: NonNull::new(start.cast())?, len, large })
        }

        /// Takes the large pages of a part that nobody wrote to, unless that takes too long.
        pub(in super::super) fn take(&self, part: Range<usize>) {
            // Of the pages that begin in the part, those that the mapping has whole.
            let end = part.end.next_multiple_of(LARGE).min(self.len / LARGE * LARGE);
            for page in (part.start.next_multiple_of(LARGE)..end).step_by(LARGE) {
                if !self.large {
                    break;
                }
                let mut rest = page;
                if !paused() {
                    let start = Instant::now();
                    // SAFETY: the page is the mapping's, and still zeros.
                    unsafe { self.start.add(page).write_volatile(0) };
                    if start.elapsed() <= SLOW {
                        continue;
                    }
                    *SLOW_AT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
                    rest += LARGE;
                }
                // SAFETY: the advice changes no numbers.
                unsafe { madvise(self.start.as_ptr().wrapping_add(rest).cast(), self.len - rest, MADV_NOHUGEPAGE) };
                break;
            }
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: the bytes were mapped, and whoever uses them keeps the mapping.
            unsafe { munmap(self.start.as_ptr().cast(), self.len) };
        }
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
