//! What tensors are windows on: elements as words of one size, and what ops made of them for the calls to come.
//!
//! The memory of results is used again for results: it is in the cache, mapped in, and needs no zeros.

use std::any::Any;
use std::cell::RefCell;
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, PoisonError};

/// Elements of one type.
#[derive(Debug, Default)]
pub struct Buffer<T: 'static> {
    elements: Vec<T>,
    form: Mutex<Form>,
    /// Whether the memory is for other results when nobody needs these elements any more.
    lent: bool,
}

/// Another form of the elements: the packed weights of a convolution.
#[derive(Debug, Default)]
enum Form {
    /// Nobody asked for one.
    #[default]
    Unasked,
    /// It was asked for once: what is computed anew for each call would be kept in vain.
    Asked,
    Kept(Arc<dyn Any + Send + Sync>),
}

impl<T: 'static> Buffer<T> {
    /// Another form of the elements, kept from the second time on that one is asked for; one that does not fit is made
    /// again.
    pub(crate) fn form<F: Any + Send + Sync>(&self, fits: impl Fn(&F) -> bool, make: impl FnOnce() -> F) -> Arc<F> {
        let kept = match &*self.form.lock().unwrap_or_else(PoisonError::into_inner) {
            Form::Kept(form) => form.clone().downcast::<F>().ok(),
            _ => None,
        };
        if let Some(form) = kept.filter(|form| fits(form)) {
            return form;
        }
        // Not under the lock: what makes it may wait for threads that ask for it too.
        let made = Arc::new(make());
        let mut form = self.form.lock().unwrap_or_else(PoisonError::into_inner);
        *form = match *form {
            Form::Unasked => Form::Asked,
            _ => Form::Kept(made.clone()),
        };
        made
    }

    /// The elements for writing, if nobody shares them; other forms of them are forgotten.
    pub(crate) fn get_mut(this: &mut Arc<Self>) -> Option<&mut Vec<T>> {
        Arc::get_mut(this).map(|buffer| {
            buffer.form = Mutex::default();
            &mut buffer.elements
        })
    }
}

impl<T: 'static> From<Vec<T>> for Buffer<T> {
    fn from(elements: Vec<T>) -> Self {
        Self { elements, form: Mutex::default(), lent: false }
    }
}

impl<T: 'static> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.elements
    }
}

/// Memory that results were in: a `Vec` of some type, and its bytes.
struct Free {
    elements: Box<dyn Any>,
    bytes: usize,
}

thread_local! {
    /// The last one used last.
    static FREE: RefCell<Vec<Free>> = const { RefCell::new(Vec::new()) };
}

/// The bytes of a line of the cache.
pub(super) const LINE: usize = 64;
/// Smaller results are allocated as anything is.
const LEAST: usize = 4096;

impl<T: Copy + Default + 'static> Buffer<T> {
    /// `len` elements that are to be written, all of them, and their place: many begin with a line of the cache, for vectors
    /// that straddle two lines take twice as long. What they are before is 0, or what others left there.
    #[inline(never)]
    pub(crate) fn unwritten(len: usize) -> (Self, Range<usize>) {
        let lent = len >= LEAST;
        let room = if lent { len + LINE / size_of::<T>() } else { len };
        let used = if lent { FREE.with_borrow_mut(|free| take(free, room)) } else { None };
        let elements = used.unwrap_or_else(|| vec![T::default(); room]);
        let first = if lent { elements.as_ptr().align_offset(LINE).min(room - len) } else { 0 };
        (Self { elements, form: Mutex::default(), lent }, first..first + len)
    }

    /// The elements at `place` for writing.
    pub(crate) fn elements_mut(&mut self, place: Range<usize>) -> &mut [T] {
        &mut self.elements[place]
    }
}

/// Memory with room for `len` elements, and not for many more.
fn take<T: Copy + Default + 'static>(free: &mut Vec<Free>, len: usize) -> Option<Vec<T>> {
    let of = |memory: &Free| memory.elements.downcast_ref::<Vec<T>>().map_or(0, Vec::capacity);
    let place = free.iter().rposition(|memory| (len..=2 * len).contains(&of(memory)))?;
    let mut memory = *free.remove(place).elements.downcast::<Vec<T>>().ok()?;
    memory.resize(len, T::default());
    Some(memory)
}

impl<T: 'static> Drop for Buffer<T> {
    fn drop(&mut self) {
        /// The most bytes that a thread keeps.
        const MOST: usize = 64 << 20;
        if !self.lent || self.elements.len() < LEAST {
            return;
        }
        let elements = std::mem::take(&mut self.elements);
        let free = Free { bytes: elements.capacity() * size_of::<T>(), elements: Box::new(elements) };
        // A thread that ends keeps nothing.
        let _ = FREE.try_with(|all| {
            let mut all = all.borrow_mut();
            all.push(free);
            while all.iter().map(|free| free.bytes).sum::<usize>() > MOST {
                all.remove(0);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_results_is_used_again() {
        let make = |len: usize, number: f32| {
            let (mut buffer, place) = Buffer::unwritten(len);
            buffer.elements_mut(place.clone()).fill(number);
            assert!(len < LEAST || buffer[place.start..].as_ptr().addr().is_multiple_of(LINE));
            assert_eq!(buffer[place], vec![number; len]);
            buffer
        };
        let place = make(LEAST, 1.0).as_ptr();
        make(3 * LEAST, 2.0);
        let third = make(LEAST, 3.0);
        assert_eq!(third.as_ptr(), place);
        assert_ne!(make(LEAST, 4.0).as_ptr(), place, "who has a result keeps it");
        let small = make(1, 5.0);
        assert_eq!(small[..], [5.0]);
    }

    #[test]
    fn a_form_is_kept_from_the_second_time_on_and_forgotten_when_elements_change() {
        let mut buffer = Arc::new(Buffer::from(vec![1.0_f32]));
        let ask = |buffer: &Buffer<f32>| buffer.form(|_: &i32| true, || 7);
        let (first, second) = (ask(&buffer), ask(&buffer));
        assert!(!Arc::ptr_eq(&first, &second) && Arc::ptr_eq(&second, &ask(&buffer)));
        assert_eq!(*buffer.form(|form: &i32| *form == 8, || 8), 8, "what does not fit is made again");
        Buffer::get_mut(&mut buffer).expect("nobody shares it")[0] = 2.0;
        let third = ask(&buffer);
        assert!(!Arc::ptr_eq(&third, &ask(&buffer)));
    }
}
