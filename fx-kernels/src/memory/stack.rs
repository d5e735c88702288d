//! Memory that each thread lends to what it runs: one block, of which calls within calls get parts one after the other.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{LARGE, LINE, Lines};

thread_local! {
    static STACK: RefCell<Stack> = RefCell::default();
}

/// What a thread lends.
#[derive(Default)]
struct Stack {
    block: Lines,
    /// The numbers of the block up to the last one that is lent, and those that are lent aside, where it is too small.
    taken: usize,
    aside: usize,
    /// How many were given some.
    lent: usize,
    /// The most numbers that were lent at a time: as many has the next block.
    most: usize,
    kept: Option<Kept>,
}

/// Numbers of the block that stay what they are until somebody else is lent any of them.
#[derive(Clone, Copy, PartialEq)]
struct Kept {
    key: (u64, usize),
    start: usize,
    len: usize,
}

/// Numbers that the thread lends, from a line of the cache on, until this is dropped: what is in them has no meaning.
pub(crate) struct Lent {
    start: NonNull<f32>,
    len: usize,
    place: Place,
    /// It is given back to the thread that lent it.
    _stays: PhantomData<*mut f32>,
}

/// Where lent numbers are.
enum Place {
    /// In the block, from a number on.
    Block(usize),
    Aside {
        _lines: Lines,
    },
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
    f(Lent::new(len).numbers_mut())
}

/// Lends numbers that `write` writes, unless they are still there from the thread's last call with the same key.
pub(crate) fn kept<R>(
    key: (u64, usize),
    len: usize,
    write: impl FnOnce(&mut [f32]),
    read: impl FnOnce(&[f32]) -> R,
) -> R {
    let (mut lent, is_kept) = STACK.with_borrow_mut(|stack| stack.lend_kept(key, len));
    let numbers = lent.numbers_mut();
    if !is_kept {
        write(numbers);
    }
    read(numbers)
}

/// A key that nobody else has, for what is [`kept`] of one operand in parts.
pub(crate) fn new_key() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Lent {
    /// Room for so many numbers.
    ///
    /// # Panics
    /// If so many do not fit the address space.
    pub(crate) fn new(len: usize) -> Self {
        STACK.with_borrow_mut(|stack| {
            let lent = stack.lend(len);
            stack.forget(&lent);
            lent
        })
    }

    /// The numbers.
    pub(crate) fn numbers_mut(&mut self) -> &mut [f32] {
        // SAFETY: so many are lent, and to nobody else.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// The numbers, as memory of something that is packed.
    ///
    /// # Safety
    /// Nobody may use it after this is dropped, nor the numbers in another way before.
    pub(crate) unsafe fn lines(&mut self) -> Lines {
        // SAFETY: whole lines are lent, and the rest is the caller's promise.
        unsafe { Lines::elsewhere(self.start.cast(), self.len.div_ceil(LINE)) }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // A thread that ends lends nothing more.
        let _ = STACK.try_with(|stack| stack.borrow_mut().take_back(self));
    }
}

impl Stack {
    fn lend(&mut self, len: usize) -> Lent {
        let room = len.checked_next_multiple_of(LINE).expect("so many numbers do not fit the address space");
        self.most = self.most.max(self.taken + self.aside + room);
        if self.lent == 0 && self.block.len() < self.most {
            self.kept = None;
            // The one before goes first, so that there are never both.
            self.block = Lines::default();
            let len = block_len(self.most);
            self.block = Lines::mapped(len).unwrap_or_else(|| Lines::zeroed(len));
        }
        self.lent += 1;
        let (start, place) = if self.block.len() - self.taken < room {
            self.aside += room;
            let lines = Lines::zeroed(room);
            (lines.start(), Place::Aside { _lines: lines })
        } else {
            let first = self.taken;
            self.taken += room;
            // SAFETY: the block has so many numbers.
            (unsafe { self.block.start().add(first) }, Place::Block(first))
        };
        Lent { start, len, place, _stays: PhantomData }
    }

    /// As [`lend`](Self::lend), with whether the numbers are those of the last call with the key, and as those of this one.
    fn lend_kept(&mut self, key: (u64, usize), len: usize) -> (Lent, bool) {
        let lent = self.lend(len);
        let Place::Block(start) = lent.place else { return (lent, false) };
        let kept = Some(Kept { key, start, len });
        let is_kept = self.kept == kept;
        self.kept = kept;
        (lent, is_kept)
    }

    /// What was lent now is no longer what it was.
    fn forget(&mut self, lent: &Lent) {
        let Place::Block(first) = lent.place else { return };
        self.kept = self.kept.filter(|kept| first + lent.len <= kept.start || kept.start + kept.len <= first);
    }

    fn take_back(&mut self, lent: &Lent) {
        let room = lent.len.next_multiple_of(LINE);
        self.lent -= 1;
        match lent.place {
            Place::Block(first) if first + room == self.taken => self.taken = first,
            // What is given back before what was lent later is free when all is.
            Place::Block(_) => {}
            Place::Aside { .. } => self.aside -= room,
        }
        if self.lent == 0 {
            self.taken = 0;
        }
    }
}

/// The numbers of a block with room for so many: whole large pages, if it nearly fills them.
fn block_len(most: usize) -> usize {
    let page = LARGE / size_of::<f32>();
    let len = most.next_multiple_of(page);
    if most >= len / 4 * 3 { len } else { most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_within_calls_have_numbers_of_their_own() {
        for round in 0..3 {
            scratch(100, |outer| {
                outer.fill(1.0);
                scratch(5000, |inner| {
                    assert!(inner.as_ptr().addr().is_multiple_of(64));
                    inner.fill(2.0);
                    scratch(0, |none| assert!(none.is_empty()));
                    scratch(7, |third| third.fill(3.0));
                    assert!(inner.iter().all(|x| *x == 2.0));
                });
                scratch(5001 + round, |inner| inner.fill(4.0));
                assert!(outer.iter().all(|x| *x == 1.0));
            });
        }
        let len = STACK.with_borrow(|stack| (stack.block.len(), stack.taken, stack.aside, stack.lent));
        assert_eq!(len, (112 + 5008 + 16, 0, 0, 0), "one block has room for all");
    }

    #[test]
    fn numbers_are_kept_until_others_get_them() {
        let write = |key: u64, number: f32| {
            let mut written = false;
            kept(
                (key, 0),
                300,
                |numbers| (written, _) = (true, numbers.fill(number)),
                |numbers| {
                    scratch(50, |others| others.fill(-1.0));
                    assert!(numbers.iter().all(|x| *x == key as f32), "{}", numbers[0]);
                },
            );
            written
        };
        scratch(400, |_| ());
        assert!(write(1, 1.0));
        assert!(!write(1, 9.0));
        assert!(write(2, 2.0));
        assert!(write(1, 1.0));
        scratch(1, |number| number[0] = 5.0);
        assert!(write(1, 1.0));
        assert!(!write(1, 9.0));
        scratch(4000, |_| ());
        assert!(write(1, 1.0));
    }

    #[test]
    fn a_panic_gives_back() {
        for _ in 0..2 {
            let result = std::panic::catch_unwind(|| scratch(100, |_| scratch(100, |_| panic!("as it is to be"))));
            assert!(result.is_err());
            assert_eq!(STACK.with_borrow(|stack| (stack.taken, stack.aside, stack.lent)), (0, 0, 0));
        }
    }
}
