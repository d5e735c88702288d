//! Elements as words of their size: what is moved, and not computed with, is the same for all types of a size.

use half::{bf16, f16};

/// A type whose values are stored as words of its size, each of which is a value.
pub trait Plain: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The word.
    type Word: Copy + Default + Send + Sync + 'static;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! plain {
    ($($T:ty: $Word:ty),+) => { $(
        impl sealed::Sealed for $T {}

        impl Plain for $T {
            type Word = $Word;
        }

        const _: () = assert!(size_of::<$T>() == size_of::<$Word>() && align_of::<$T>() == align_of::<$Word>());
    )+ };
}
// Not every byte is a `bool`, so these are words of their own.
plain!(bool: bool, u8: u8, i8: u8, f16: u16, bf16: u16, i32: u32, f32: u32, i64: u64, f64: u64);

/// What words are.
///
/// ```
/// assert_eq!(fx_kernels::memory::values::<f32>(&[0, 0x3f80_0000]), [0.0, 1.0]);
/// ```
pub fn values<T: Plain>(words: &[T::Word]) -> &[T] {
    // SAFETY: both have the same size and alignment, and every word is a value (`plain!`, and nobody else implements it).
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

/// As [`values`], for writing.
pub fn values_mut<T: Plain>(words: &mut [T::Word]) -> &mut [T] {
    // SAFETY: as above, and every value is a word.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len()) }
}

/// The words of values, where they are.
pub fn into_words<T: Plain>(values: Vec<T>) -> Vec<T::Word> {
    let (start, len, capacity) = parts(values);
    // SAFETY: the memory is of a vector of a type of the same size and alignment, and every value is a word.
    unsafe { Vec::from_raw_parts(start.cast(), len, capacity) }
}

/// What words are, where they are.
pub fn into_values<T: Plain>(words: Vec<T::Word>) -> Vec<T> {
    let (start, len, capacity) = parts(words);
    // SAFETY: as above, and every word is a value.
    unsafe { Vec::from_raw_parts(start.cast(), len, capacity) }
}

/// The memory of a vector, which is the caller's now.
fn parts<T>(values: Vec<T>) -> (*mut T, usize, usize) {
    let mut values = std::mem::ManuallyDrop::new(values);
    (values.as_mut_ptr(), values.len(), values.capacity())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Plain + PartialEq + std::fmt::Debug>(numbers: &[T], of_words: impl Fn(T) -> T::Word)
    where
        T::Word: PartialEq + std::fmt::Debug,
    {
        let mut words = into_words(numbers.to_vec());
        assert_eq!(words, numbers.iter().map(|x| of_words(*x)).collect::<Vec<_>>());
        assert_eq!(values::<T>(&words), numbers);
        values_mut::<T>(&mut words).reverse();
        let back = into_values::<T>(words);
        assert!(back.iter().eq(numbers.iter().rev()), "{back:?}");
    }

    #[test]
    fn words_are_the_bits_of_values() {
        check(&[true, false, false], |x| x);
        check(&[1_i8, -1, i8::MIN], |x| x as u8);
        check(&[1, 255_u8], |x| x);
        check(&[1, -1, i32::MIN], |x| x as u32);
        check(&[1, -1, i64::MIN], |x| x as u64);
        check(&[1.5_f32, -0.0, f32::INFINITY], f32::to_bits);
        check(&[1.5_f64, -0.0, f64::INFINITY], f64::to_bits);
        check(&[f16::from_f32(1.5), f16::NEG_INFINITY], f16::to_bits);
        check(&[bf16::from_f32(1.5), bf16::NEG_INFINITY], bf16::to_bits);
        check::<f32>(&[], f32::to_bits);
    }
}
