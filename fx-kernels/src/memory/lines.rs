//! Memory that begins with a line of the cache: large operands in mappings of their own, weights together in large pages.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::mapping::Mapping;
use super::{LARGE, LINE};

/// A line of the cache. Vectors of a panel must not straddle two lines.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Line {
    _numbers: [f32; LINE],
}

/// Numbers from a line of the cache on, zeros at first.
pub(crate) struct Lines {
    start: NonNull<Line>,
    /// The lines.
    count: usize,
    owner: Owner,
}

/// What lines are in.
enum Owner {
    /// Memory that was allocated for them.
    Allocated,
    Mapped {
        _mapping: Arc<Mapping>,
    },
    /// Memory that is given back by somebody else.
    Elsewhere,
}

// SAFETY: it owns its lines as a vector does.
unsafe impl Send for Lines {}
// SAFETY: as above.
unsafe impl Sync for Lines {}

/// The bytes that share a mapping with others.
const SHARED: usize = 64 << 10;
/// The bytes of a mapping that is shared: what does not fit at its end is left empty there, and all of it stays as long as
/// one weight in it does.
const TOGETHER: usize = 32 << 20;

/// The mapping that weights share which come next, and how many of its bytes are taken.
static NEXT: Mutex<(Weak<Mapping>, usize)> = Mutex::new((Weak::new(), 0));

impl Lines {
    /// Room for so many numbers.
    ///
    /// # Panics
    /// If so many do not fit the address space.
    pub(crate) fn zeroed(numbers: usize) -> Self {
        let count = numbers.div_ceil(LINE);
        let layout = layout(count);
        if layout.size() >= LARGE
            && let Some(lines) = Self::mapped(numbers)
        {
            return lines;
        }
        if count == 0 {
            return Self::default();
        }
        // SAFETY: the layout has a size.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start.cast()).unwrap_or_else(|| handle_alloc_error(layout));
        Self { start, count, owner: Owner::Allocated }
    }

    /// As [`zeroed`](Self::zeroed), in memory that goes back to the system as soon as this is dropped, if it has such.
    pub(crate) fn mapped(numbers: usize) -> Option<Self> {
        let count = numbers.div_ceil(LINE);
        let bytes = layout(count).size();
        let mapping = Mapping::new(bytes).filter(|_| bytes > 0)?;
        mapping.take(0..bytes);
        Some(Self { start: mapping.start().cast(), count, owner: Owner::Mapped { _mapping: Arc::new(mapping) } })
    }

    /// Lines that others have lent.
    ///
    /// # Safety
    /// They must be there as long as this is, and nobody else may use them.
    pub(super) unsafe fn elsewhere(start: NonNull<f32>, count: usize) -> Self {
        Self { start: start.cast(), count, owner: Owner::Elsewhere }
    }

    /// As [`zeroed`](Self::zeroed), for what stays as long as others that are made now: together they fill large pages.
    ///
    /// # Panics
    /// As there.
    pub(crate) fn together(numbers: usize) -> Self {
        let count = numbers.div_ceil(LINE);
        let bytes = layout(count).size();
        if !(SHARED..LARGE).contains(&bytes) {
            return Self::zeroed(numbers);
        }
        let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
        let (mapping, taken) = match next.0.upgrade().filter(|mapping| mapping.len() - next.1 >= bytes) {
            Some(mapping) => (mapping, next.1),
            None => match Mapping::new(TOGETHER) {
                Some(mapping) => (Arc::new(mapping), 0),
                None => return Self::zeroed(numbers),
            },
        };
        *next = (Arc::downgrade(&mapping), taken + bytes);
        mapping.take(taken..taken + bytes);
        // SAFETY: so many bytes of the mapping are left (just seen), and nobody else gets them.
        let start = unsafe { mapping.start().add(taken) }.cast();
        Self { start, count, owner: Owner::Mapped { _mapping: mapping } }
    }

    /// The first number.
    pub(super) fn start(&self) -> NonNull<f32> {
        self.start.cast()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.count * LINE
    }

    /// The numbers.
    pub(crate) fn numbers(&self) -> &[f32] {
        // SAFETY: a line is an array of numbers, and so many are this one's.
        unsafe { std::slice::from_raw_parts(self.start.cast().as_ptr(), self.len()) }
    }

    /// As [`numbers`](Self::numbers), for writing.
    pub(crate) fn numbers_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above, and nobody else has them.
        unsafe { std::slice::from_raw_parts_mut(self.start.cast().as_ptr(), self.len()) }
    }
}

fn layout(count: usize) -> Layout {
    Layout::array::<Line>(count).expect("so many numbers do not fit the address space")
}

impl Default for Lines {
    fn default() -> Self {
        Self { start: NonNull::dangling(), count: 0, owner: Owner::Elsewhere }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if let Owner::Allocated = self.owner {
            // SAFETY: they were allocated so.
            unsafe { dealloc(self.start.as_ptr().cast(), layout(self.count)) };
        }
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} numbers", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Zeros of every size, alone and together, each their own.
    #[test]
    fn memory_is_zero_and_nobody_elses() {
        let make = |round: usize| {
            let sizes =
                [0, 1, 100, SHARED / 4, 300_000, SHARED / 4 + 3, 400_000, 300_001, LARGE / 4, 3 * LARGE / 4 + 5];
            let both = [Lines::zeroed as fn(usize) -> Lines, Lines::together];
            let lines = sizes.into_iter().flat_map(|numbers| both.map(|make| (numbers, make(numbers))));
            let mut lines: Vec<_> = lines.collect();
            for (index, (numbers, lines)) in lines.iter_mut().enumerate() {
                assert!(lines.len() >= *numbers && lines.len() < *numbers + LINE);
                assert_eq!(lines.numbers().as_ptr().align_offset(64), 0);
                assert!(lines.numbers().iter().all(|x| *x == 0.0));
                lines.numbers_mut().fill((round * 100 + index) as f32);
            }
            lines
        };
        let mut kept = make(0);
        drop(make(1));
        kept.extend(make(2));
        for (index, (_, lines)) in kept.iter().enumerate() {
            let number = (if index < 20 { index } else { 180 + index }) as f32;
            assert!(lines.numbers().iter().all(|x| *x == number));
        }
    }
}
