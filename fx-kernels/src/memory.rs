//! Memory for large operands.

mod lines;
mod mapping;
mod prefetch;
mod processor;
mod stack;
mod words;

pub(crate) use lines::{Line, Lines};
pub(crate) use prefetch::{FEW_ROWS, ahead_in_cache, fills_second, foresees_rows, prefetch, prefetch_far};
pub(crate) use processor::{Maker, maker, second_level, ways};
pub use stack::scratch;
pub(crate) use stack::{Lent, kept, new_key};
pub use words::{Plain, into_values, into_words, values, values_mut};

/// The bytes of a page of memory, where it has the usual size.
#[cfg(all(target_os = "linux", not(miri)))]
const PAGE: usize = 4096;
/// The bytes of a large page.
const LARGE: usize = 2 << 20;

/// So many zeros, in memory that the system is asked to map in large pages if it is large itself.
///
/// A product that streams through weights then does not wait for the tables that say where each 4096 bytes are. Where the
/// system has no such pages, or does not give them, this is a vector as any other.
///
/// # Panics
/// If so many do not fit the address space.
///
/// ```
/// assert_eq!(fx_kernels::memory::zeroed(3), [0.0; 3]);
/// ```
pub fn zeroed(len: usize) -> Vec<f32> {
    let mut memory = vec![0.0; len];
    advise(&mut memory);
    memory
}

/// The numbers in a line of the cache: memory that is to begin with one has so many more.
pub const LINE: usize = 16;

/// Where the first line of the cache begins: vectors that straddle two lines take twice as long to read.
///
/// ```
/// use fx_kernels::memory::{LINE, first_line};
///
/// let memory = vec![0.0; 100 + LINE];
/// assert!(first_line(&memory) <= LINE);
/// ```
pub fn first_line(data: &[f32]) -> usize {
    match data.as_ptr().align_offset(LINE * size_of::<f32>()) {
        first if first <= LINE => first,
        _ => 0,
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn advise(memory: &mut Vec<f32>) {
    let bytes = memory.capacity() * size_of::<f32>();
    if bytes >= LARGE {
        let within = memory.as_ptr().addr() % PAGE;
        let start = memory.as_mut_ptr().cast::<u8>().wrapping_sub(within);
        // SAFETY: the advice changes no numbers, wherever it holds, and what it gives is of no interest.
        unsafe { libc::madvise(start.cast(), bytes + within, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise(_: &mut Vec<f32>) {}
