//! Numbers as whole ones of a range, and rows of them as words of several each.

use crate::conversion::{in_tasks, truncated};
use crate::simd::{ByteKernel, Bytes, Kernel, Lanes, Level, MOST_LANES, Vector, dispatch, dispatch_bytes};

/// How numbers are written as whole ones: `round(x / scale) + zero_point`, from `min` to `max`.
///
/// ```
/// use fx_kernels::Quantization;
///
/// let eight_bits = Quantization { scale: 0.5, zero_point: 3, min: 0, max: 255 };
/// let mut x = [0.6, -9.0, 1e9];
/// eight_bits.apply(&mut x);
/// assert_eq!(x, [0.5, -1.5, 126.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantization {
    /// The distance of neighbours.
    pub scale: f32,
    /// What stands for 0.
    pub zero_point: i32,
    /// The least.
    pub min: i32,
    /// The largest: at most 255 above the least.
    pub max: i32,
}

impl Quantization {
    /// Rounds numbers to those that can be written. NaN is written as 0, or what is nearest to it.
    pub fn apply(&self, x: &mut [f32]) {
        dispatch(Level::detect(), Apply(*self, x));
    }

    /// Writes what the bytes of words stand for, which count from the least, as many as there is room for.
    pub fn widen(&self, numbers: &mut [f32], words: &[f32]) {
        widen_words(Level::detect(), *self, numbers, words);
    }

    /// The bits of the numbers, counted from the least.
    pub fn bits(&self) -> u32 {
        32 - (self.max - self.min).leading_zeros()
    }

    /// What stands for 0, counted from the least.
    pub(crate) fn zero(&self) -> i32 {
        self.zero_point - self.min
    }

    /// A word of so many numbers, four or two, that stand for 0 each.
    pub(crate) fn zeros(&self, numbers: usize) -> f32 {
        let each = if numbers == 4 { 0x0101_0101 } else { 0x0001_0001 };
        f32::from_bits(self.zero() as u32 * each)
    }

    /// A whole number, as far as it is from what stands for 0.
    #[inline(always)]
    fn bound<V: Vector<Elem = f32>>(&self, whole: i32) -> V {
        V::splat((whole - self.zero_point) as f32)
    }

    /// Quotients of numbers by the scale, as far as they are from what stands for 0: not rounded yet, and without limits.
    #[inline(always)]
    pub(crate) fn quotients<V: Vector<Elem = f32>>(&self, x: V) -> V {
        x * V::splat(1.0 / self.scale)
    }

    /// Quotients that become 0 where they are no number. That is the least in the end, which is 0 of bytes without a sign; of others it
    /// is not.
    #[inline(always)]
    pub(crate) fn known<V: Vector<Elem = f32>>(&self, quotients: V) -> V {
        match self.min {
            0 => quotients,
            _ => V::select(quotients.eq(quotients), quotients, self.bound(0)),
        }
    }

    /// The same up to the largest. What is less than the least stays so, or is no number.
    #[inline(always)]
    pub(crate) fn scaled<V: Vector<Elem = f32>>(&self, x: V) -> V {
        self.bound::<V>(self.max).min(self.known(self.quotients(x)))
    }

    /// The least and the largest quotient of numbers between two: the former only if it is more than the least number is.
    #[inline(always)]
    pub(crate) fn limits(&self, (low, high): (f32, f32)) -> (Option<f32>, f32) {
        let [least, most] = [self.min, self.max].map(|whole| (whole - self.zero_point) as f32);
        let [low, high] = [low, high].map(|bound| bound * (1.0 / self.scale));
        ((low > least).then_some(low), high.min(most))
    }

    /// What the first bytes stand for, one vector at most; after them any.
    ///
    /// # Safety
    /// They must be there.
    #[inline(always)]
    pub(crate) unsafe fn load<V: Vector<Elem = f32>>(&self, from: *const u8, count: usize) -> V {
        let mut part = [0; 16];
        // SAFETY: the caller's promise, and that a part is as long as any vector.
        let numbers = unsafe {
            match count == V::LANES {
                true => V::load_u8(from),
                false => {
                    std::ptr::copy_nonoverlapping(from, part.as_mut_ptr(), count);
                    V::load_u8(part.as_ptr())
                }
            }
        };
        (numbers - V::splat(self.zero() as f32)) * V::splat(self.scale)
    }
}

/// See [`Quantization::apply`].
struct Apply<'a>(Quantization, &'a mut [f32]);

impl Kernel for Apply<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        for x in self.1.chunks_mut(V::LANES) {
            let whole = self.0.scaled(V::load_part(x)).max(self.0.bound(self.0.min)).round();
            (whole * V::splat(self.0.scale)).store_part(x);
        }
    }
}

/// Writes the first `width` numbers of rows as words of so many whole ones without a sign, four or two; after the last come any.
/// There are as many rows as there are places for, each `distance` words long.
///
/// # Panics
/// If the processor has no instruction for it, or there are too few numbers.
pub(crate) fn round_to_words(
    words: (Level, usize),
    quantization: Quantization,
    to: &mut [f32],
    distance: usize,
    numbers: &[f32],
    stride: usize,
    width: usize,
) {
    let rows = to.len() / distance;
    assert!(width.div_ceil(words.1) <= distance, "{width} numbers do not fit {distance} words");
    assert!(rows == 0 || (rows - 1) * stride + width <= numbers.len(), "there are too few numbers");
    // SAFETY: there are as many numbers, and as many places (just seen).
    unsafe { round_rows(words, quantization, (to.as_mut_ptr(), distance), (numbers.as_ptr(), stride), [rows, width]) };
}

/// As [`round_to_words`], of so many rows of so many numbers.
///
/// # Safety
/// The numbers must be readable and the words writable: at each place so many rows, as far apart as is said.
///
/// # Panics
/// If the processor has no instruction for it.
pub(crate) unsafe fn round_rows(
    (level, each): (Level, usize),
    quantization: Quantization,
    to: (*mut f32, usize),
    from: (*const f32, usize),
    [rows, width]: [usize; 2],
) {
    dispatch_bytes(level, each < 4, Round { quantization, to, from, rows, width });
}

struct Round {
    quantization: Quantization,
    to: (*mut f32, usize),
    from: (*const f32, usize),
    rows: usize,
    width: usize,
}

impl ByteKernel for Round {
    #[inline(always)]
    fn run<B: Bytes>(self) {
        let Self { quantization, to, from, mut rows, mut width } = self;
        if from.1 == width && to.1 * B::NUMBERS == width {
            // Without gaps they are one row.
            (rows, width) = (1, rows * width);
        }
        // The numbers of a vector of words.
        let (lanes, each) = (B::Vector::LANES, B::NUMBERS * B::Vector::LANES);
        let (whole, zero) = (width - width % each, quantization.zero());
        for row in 0..rows {
            let (from, to) = (from.0.wrapping_add(row * from.1), to.0.wrapping_add(row * to.1));
            let mut first = 0;
            while first < whole {
                let mut parts = [B::Vector::zero(); 4];
                for (place, part) in parts.iter_mut().enumerate().take(B::NUMBERS) {
                    // SAFETY: who makes one gives places for so many numbers and words.
                    *part = quantization.scaled(unsafe { B::Vector::load_at(from.add(first + place * lanes)) });
                }
                // SAFETY: as above.
                unsafe { B::words(parts, zero).store_at(to.add(first / B::NUMBERS)) };
                first += each;
            }
            if whole < width {
                let rest = width - whole;
                let mut parts = [B::Vector::zero(); 4];
                for (place, part) in parts.iter_mut().enumerate().take(B::NUMBERS) {
                    let before = (place * lanes).min(rest);
                    // SAFETY: as above.
                    let numbers =
                        unsafe { B::Vector::load_first(from.add(whole + before), (rest - before).min(lanes)) };
                    *part = quantization.scaled(numbers);
                }
                let words = rest.div_ceil(B::NUMBERS);
                // SAFETY: as above.
                unsafe { B::words(parts, zero).store_first(to.add(whole / B::NUMBERS), words) };
            }
        }
    }
}

/// Writes what the bytes of words stand for, as many as there is room for.
pub(crate) fn widen_words(level: Level, quantization: Quantization, numbers: &mut [f32], words: &[f32]) {
    // SAFETY: as many bytes are the words.
    let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) };
    dispatch(level, Widen { quantization, numbers, bytes });
}

struct Widen<'a> {
    quantization: Quantization,
    numbers: &'a mut [f32],
    bytes: &'a [u8],
}

impl Kernel for Widen<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        for (to, bytes) in self.numbers.chunks_mut(V::LANES).zip(self.bytes.chunks(V::LANES)) {
            // SAFETY: there are so many.
            unsafe { self.quantization.load::<V>(bytes.as_ptr(), bytes.len()) }.store_part(to);
        }
    }
}

/// How numbers become whole ones of any range: `round(x * inverse) + zero_point`, from `min` to `max`, both of which are whole. PyTorch's ops
/// multiply by the inverse of a scale in f64, which is not always that of a [`Quantization`]'s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// What numbers are multiplied with before they are rounded.
    pub inverse: f32,
    /// What stands for 0.
    pub zero_point: f32,
    /// The least.
    pub min: f32,
    /// The largest.
    pub max: f32,
}

impl Steps {
    /// The whole number for a number; NaN for NaN.
    ///
    /// ```
    /// use fx_kernels::Steps;
    ///
    /// let steps = Steps { inverse: 2.0, zero_point: 3.0, min: -128.0, max: 127.0 };
    /// assert_eq!([0.75, -0.3, 1e9].map(|x| steps.whole(x)), [5.0, 2.0, 127.0]);
    /// ```
    #[inline]
    pub fn whole(self, x: f32) -> f32 {
        let y = nearest(x * self.inverse) + self.zero_point;
        let y = if y < self.min { self.min } else { y };
        if y > self.max { self.max } else { y }
    }

    /// As [`whole`](Self::whole), of each lane; 0 for NaN.
    #[inline(always)]
    fn whole_each<V: Vector<Elem = f32>>(self, x: V) -> V {
        let y = (x * V::splat(self.inverse)).round() + V::splat(self.zero_point);
        let y = V::splat(self.max).min(V::splat(self.min).max(y));
        V::select(y.eq(y), y, V::zero())
    }
}

/// The nearest whole number, the even one of two: without a call, which a function of the standard library is where the compiler may not take
/// all instructions of a processor.
#[inline(always)]
fn nearest(x: f32) -> f32 {
    /// From here on all numbers are whole, and a sum with it has none of what is behind the point.
    const WHOLE: f32 = (1_u32 << 23) as f32;
    let far = WHOLE.copysign(x);
    if x.abs() < WHOLE { x + far - far } else { x }
}

/// Writes numbers as whole ones, in the type that `of` makes of them; 0 for NaN.
///
/// ```
/// use fx_kernels::{Steps, quantize};
///
/// let steps = Steps { inverse: 2.0, zero_point: 3.0, min: -128.0, max: 127.0 };
/// let mut out = [7; 4];
/// quantize(&mut out, &[0.75, -0.3, 1e9, f32::NAN], steps, |x| x as i8);
/// assert_eq!(out, [5, 2, 127, 0]);
/// ```
///
/// # Panics
/// If there are fewer numbers.
pub fn quantize<T: Send>(out: &mut [T], x: &[f32], steps: Steps, of: impl Fn(i32) -> T + Copy + Sync) {
    quantize_at(Level::detect(), out, x, steps, of);
}

fn quantize_at<T: Send>(level: Level, out: &mut [T], x: &[f32], steps: Steps, of: impl Fn(i32) -> T + Copy + Sync) {
    in_tasks(out, x, 2, |out, x| dispatch(level, Quantize { out, x, steps, of }));
}

/// Numbers as whole ones.
struct Quantize<'a, T, F> {
    out: &'a mut [T],
    x: &'a [f32],
    steps: Steps,
    of: F,
}

impl<T, F: Fn(i32) -> T> Kernel for Quantize<'_, T, F> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        /// 2 to the power of 31: what lies within it, and within the least integer, is one.
        const BEYOND: f32 = 2_147_483_648.0;
        if [self.steps.min, self.steps.max].iter().all(|bound| (-BEYOND..BEYOND).contains(bound)) {
            // SAFETY: the number is one of the bounds, or between them, or 0.
            self.write::<V>(|x| unsafe { x.to_int_unchecked() });
        } else {
            self.write::<V>(truncated);
        }
    }
}

impl<T, F: Fn(i32) -> T> Quantize<'_, T, F> {
    /// Writes what is made of integers that numbers become by a function.
    #[inline(always)]
    fn write<V: Vector<Elem = f32>>(self, whole: impl Fn(f32) -> i32) {
        let Self { out, x, steps, of } = self;
        let (vectors, rest) = out.split_at_mut(out.len() / V::LANES * V::LANES);
        let (numbers, last) = x.split_at(vectors.len());
        for (out, x) in vectors.chunks_exact_mut(V::LANES).zip(numbers.chunks_exact(V::LANES)) {
            let mut numbers = [0.0; MOST_LANES];
            steps.whole_each(V::load(x)).store(&mut numbers);
            for (out, number) in out.iter_mut().zip(&numbers[..V::LANES]) {
                *out = of(whole(*number));
            }
        }
        rest.iter_mut().zip(last).for_each(|(out, x)| *out = of(truncated(steps.whole(*x))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_levels_quantize_alike() {
        let numbers: Vec<f32> = (0..=u32::from(u16::MAX)).map(|bits| f32::from_bits(bits << 16 | 0x1234)).collect();
        let steps = Steps { inverse: 1.7, zero_point: -3.0, min: -100.0, max: 120.0 };
        let whole = |x: f32| ((x * 1.7).round_ties_even() - 3.0).clamp(-100.0, 120.0) as i8;
        let want: Vec<i8> = numbers.iter().map(|x| whole(*x)).collect();
        for level in Level::available() {
            let mut got = vec![7; numbers.len()];
            quantize_at(level, &mut got, &numbers, steps, |x| x as i8);
            assert_eq!(got, want, "{level:?}");
        }
    }
}
