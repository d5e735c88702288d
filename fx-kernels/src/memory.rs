//! Memory for large operands.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::cell::RefCell;

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

/// A line of the cache. Vectors of a panel must not straddle two lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Line {
    _numbers: [f32; LINE],
}

/// As [`zeroed`], for so many lines: nothing is written before the pages are asked for.
///
/// # Panics
/// As [`zeroed`].
pub(crate) fn zeroed_lines(count: usize) -> Vec<Line> {
    let layout = Layout::array::<Line>(count).expect("so many lines do not fit the address space");
    if count == 0 {
        return Vec::new();
    }
    // SAFETY: the layout has a size, and is that of the vector; zeros are numbers.
    let mut memory = unsafe {
        let start = alloc_zeroed(layout).cast::<Line>();
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Vec::from_raw_parts(start, count, count)
    };
    advise(&mut memory);
    memory
}

thread_local! {
    /// Memory that nothing uses now, what was used last at the end.
    static FREE: RefCell<Vec<Vec<Line>>> = const { RefCell::new(Vec::new()) };
}

/// Lends memory for so many numbers, from a line of the cache on. It is the thread's, and lent again: what is in it has no
/// meaning.
///
/// ```
/// let sum = fx_kernels::memory::scratch(3, |numbers| {
///     numbers.copy_from_slice(&[1.0, 2.0, 3.0]);
///     numbers.iter().sum::<f32>()
/// });
/// assert_eq!(sum, 6.0);
/// ```
///
/// # Panics
/// If so many do not fit the address space.
pub fn scratch<R>(len: usize, f: impl FnOnce(&mut [f32]) -> R) -> R {
    let mut lines = take(len.div_ceil(LINE));
    // SAFETY: a line is an array of numbers.
    let result = f(unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast::<f32>(), len) });
    give_back(lines);
    result
}

/// Memory of at least so many lines that was used before; whoever takes it [gives it back](give_back).
pub(crate) fn take(count: usize) -> Vec<Line> {
    let lines = FREE.with_borrow_mut(Vec::pop).unwrap_or_default();
    if lines.len() < count { zeroed_lines(count) } else { lines }
}

/// Keeps memory for the thread's next use.
pub(crate) fn give_back(lines: Vec<Line>) {
    FREE.with_borrow_mut(|free| free.push(lines));
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
