//! Memory for large operands.

/// So many times the value, in memory that the system is asked to map in large pages if it is large itself.
///
/// A product that streams through weights then does not wait for the tables that say where each 4096 bytes are. Where the
/// system has no such pages, or does not give them, this is a vector as any other.
///
/// # Panics
/// If so many do not fit the address space.
///
/// ```
/// assert_eq!(fx_kernels::memory::filled(0.5, 3), [0.5; 3]);
/// ```
pub fn filled<T: Clone>(value: T, len: usize) -> Vec<T> {
    let mut memory = Vec::with_capacity(len);
    advise(&mut memory);
    memory.resize(len, value);
    memory
}

#[cfg(all(target_os = "linux", not(miri)))]
fn advise<T>(memory: &mut Vec<T>) {
    /// The bytes of a large page, where it has the usual size.
    const LARGE: usize = 2 << 20;
    /// The bytes of a page.
    const PAGE: usize = 4096;
    let bytes = memory.capacity() * size_of::<T>();
    if bytes >= LARGE {
        let within = memory.as_ptr().addr() % PAGE;
        let start = memory.as_mut_ptr().cast::<u8>().wrapping_sub(within);
        // SAFETY: the advice changes no numbers, wherever it holds, and what it gives is of no interest.
        unsafe { libc::madvise(start.cast(), bytes + within, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise<T>(_: &mut Vec<T>) {}
