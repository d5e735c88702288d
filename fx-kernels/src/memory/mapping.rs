//! Memory from the system, in large pages if it has them: a product that streams through weights does not wait then for
//! the tables that say where each 4096 bytes are, and loading does not wait for each page.

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
impl Mapping {
    /// So many bytes, or None where the system does not give them.
    pub(super) fn new(len: usize) -> Option<Self> {
        use super::{LARGE, PAGE};
        use libc::{
            MADV_HUGEPAGE, MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE, madvise, mmap, munmap,
        };
        let len = len.checked_next_multiple_of(PAGE)?;
        let all = len.checked_add(LARGE)?;
        // SAFETY: new memory is asked for.
        let base =
            unsafe { mmap(std::ptr::null_mut(), all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
        if base == MAP_FAILED {
            return None;
        }
        let before = base.addr().next_multiple_of(LARGE) - base.addr();
        let (start, end) = (base.wrapping_byte_add(before), base.wrapping_byte_add(before + len));
        // SAFETY: what is given back is no part of the mapping that is kept; the advice changes no numbers, wherever it
        // holds.
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
}

#[cfg(not(all(target_os = "linux", not(miri))))]
impl Mapping {
    /// None: here memory is allocated.
    pub(super) fn new(_: usize) -> Option<Self> {
        None
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        #[cfg(all(target_os = "linux", not(miri)))]
        // SAFETY: the bytes were mapped, and whoever uses them keeps the mapping.
        unsafe {
            libc::munmap(self.start.as_ptr().cast(), self.len);
        }
    }
}
