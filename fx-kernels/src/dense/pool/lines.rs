//! Windows of one line of a result: first the lines of the image that they see become one, which stays in the cache, then its pixels.
//!
//! Whatever the channels, vectors are full where the lines become one, and where the windows' pixels are beside each other.

use std::marker::PhantomData;
use std::ops::Range;

use smallvec::SmallVec;

use super::{Divisor, PoolShape};
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::{
    ByteKernel, Bytes, Kernel, Lanes, Level, PairKernel, Pairs, Vector, dispatch, dispatch_bytes, dispatch_pairs,
};
use crate::threads::{Shared, for_each};

/// Vectors at a time, and the numbers of the longest.
const VECTORS: usize = 4;
const SOME: usize = 16 * VECTORS;
/// How many numbers what lines become may have, so that it stays in the first-level cache: of more channels some are pooled after the others.
const NEAR: usize = 1 << 12;

/// The pooling of some images.
pub(super) struct Lines<'a> {
    /// The windows; its channels are words, if the images are.
    pub(super) shape: PoolShape,
    /// What means are divided by, or none for the largest.
    pub(super) divisor: Option<Divisor>,
    /// The images: of how many lines and pixels each, and how far these are apart.
    pub(super) data: &'a [f32],
    pub(super) batch: usize,
    pub(super) size: [usize; 2],
    pub(super) pixel: usize,
    /// What the numbers are rounded to, if they are words: so is the result.
    pub(super) rounded: Option<Rounded>,
    /// What the result is rounded to, if it is to be words and the images are not.
    pub(super) written: Option<Rounded>,
}

impl Lines<'_> {
    /// Pools all images, into pixels that are `stride` apart.
    ///
    /// # Panics
    /// If an operand is too short.
    pub(super) fn run(&self, level: Level, out: &mut [f32], stride: usize) {
        let PoolShape { channels, kernel, output: [height, width], .. } = self.shape;
        let (lines, [lines_in, width_in]) = (self.batch * height, self.size);
        if lines * width * channels == 0 {
            return;
        }
        let (pixels, written) = (self.batch * lines_in * width_in, Rounded::len(self.written, channels));
        assert!(pixels == 0 || (pixels - 1) * self.pixel + channels <= self.data.len(), "the images are too short");
        assert!(stride >= written && (lines * width - 1) * stride + written <= out.len(), "the result does not fit");
        let columns = self.columns();
        let out = Shared(out.as_mut_ptr());
        for_each(lines, 2 * lines * width * channels * (kernel[0] + kernel[1]), |index| {
            let to = out.at(index * width * stride);
            let Some(rounded) = self.written else {
                return self.line(level, index, &columns, (to, stride));
            };
            scratch(width * channels, |numbers| {
                self.line(level, index, &columns, (numbers.as_mut_ptr(), channels));
                // SAFETY: the numbers are as many, and no other task has the line.
                unsafe { rounded.write(level, (to, stride), (numbers.as_ptr(), channels), [width, channels]) };
            });
        });
    }

    /// Pools a line of the result, into pixels at a place and a distance.
    fn line(&self, level: Level, index: usize, columns: &[(Range<usize>, usize)], to: (*mut f32, usize)) {
        // Means of words are those of both numbers of pairs.
        let planes = if self.rounded.is_some() && self.divisor.is_some() { OfPairs::<true>::PLANES } else { 1 };
        let around = self.around();
        let some = self.shape.channels.min((NEAR / (around * planes)).next_multiple_of(SOME));
        let mut line = Line::new(self, index, columns, to);
        // Lent out here: what a vector is known in is inlined in one function.
        scratch(if line.is_high() || line.is_apart() { 0 } else { planes * around * some }, |between| {
            line.between = (between.as_mut_ptr(), some);
            match (self.rounded, self.divisor) {
                (None, None) => dispatch(level, Run::<OfNumbers<false>>(line, PhantomData)),
                (None, Some(_)) => dispatch(level, Run::<OfNumbers<true>>(line, PhantomData)),
                (Some(Rounded::Pairs), None) => dispatch_pairs(Run::<OfPairs<false>>(line, PhantomData)),
                (Some(Rounded::Pairs), Some(_)) => dispatch_pairs(Run::<OfPairs<true>>(line, PhantomData)),
                (Some(Rounded::Bytes(_)), _) => dispatch_bytes(level, false, Run::<OfBytes>(line, PhantomData)),
            }
        });
    }

    /// The pixels of a line, with those around it that windows see.
    fn around(&self) -> usize {
        let PoolShape { kernel, stride, dilation, before, output, .. } = self.shape;
        let last = (output[1] - 1) * stride[1] + (kernel[1] - 1) * dilation[1] + 1;
        last.max(before[1] + self.size[1])
    }

    /// The pixels of a line of the result, in runs of those whose windows have as many columns that count.
    fn columns(&self) -> SmallVec<[(Range<usize>, usize); 4]> {
        let mut runs: SmallVec<[(Range<usize>, usize); 4]> = SmallVec::new();
        for place in 0..self.shape.output[1] {
            let count = self.counted(1, place);
            match runs.last_mut().filter(|(_, of_run)| *of_run == count) {
                Some((run, _)) => run.end = place + 1,
                None => runs.push((place..place + 1, count)),
            }
        }
        runs
    }

    /// The taps of a window, at a place along lines or columns, that count in the divisor.
    fn counted(&self, axis: usize, place: usize) -> usize {
        let PoolShape { kernel, stride, dilation, before, after, .. } = self.shape;
        let first = place * stride[axis];
        let counted = match self.divisor {
            None | Some(Divisor::Fixed(_)) => return 1,
            Some(Divisor::Inside) => before[axis]..before[axis] + self.size[axis],
            Some(Divisor::Padded) => 0..before[axis] + self.size[axis] + after[axis],
        };
        (0..kernel[axis]).filter(|tap| counted.contains(&(first + tap * dilation[axis]))).count()
    }
}

/// A line of the result.
struct Line<'a> {
    pooling: &'a Lines<'a>,
    /// The first of the lines that its windows see, how many of them there are, and how far apart.
    from: *const f32,
    lines: usize,
    step: usize,
    /// The lines that count.
    counted: usize,
    columns: &'a [(Range<usize>, usize)],
    /// Memory for what the lines become, of so many channels at a time.
    between: (*mut f32, usize),
    to: (*mut f32, usize),
}

impl<'a> Line<'a> {
    fn new(pooling: &'a Lines<'a>, index: usize, columns: &'a [(Range<usize>, usize)], to: (*mut f32, usize)) -> Self {
        let PoolShape { kernel, stride, dilation, before, output, .. } = pooling.shape;
        let ([height, width], (image, line)) = (pooling.size, (index / output[0], index % output[0]));
        let seen =
            |tap: usize| (line * stride[0] + tap * dilation[0]).checked_sub(before[0]).filter(|seen| *seen < height);
        let mut lines = (0..kernel[0]).filter_map(seen);
        let first = lines.next();
        let (count, first) = (first.map_or(0, |_| 1 + lines.count()), first.unwrap_or(0));
        let distance = width * pooling.pixel;
        let from = pooling.data.as_ptr().wrapping_add((image * height + first) * distance);
        let (step, counted) = (dilation[0] * distance, pooling.counted(0, line));
        Self { pooling, from, lines: count, step, counted, columns, between: (std::ptr::null_mut(), 0), to }
    }

    /// Whether windows are one pixel wide and see lines, each pixel of which is one of the result, and nothing is between these.
    fn is_high(&self) -> bool {
        let Lines { shape, size, pixel, .. } = *self.pooling;
        let PoolShape { channels, kernel, stride, before, output, .. } = shape;
        let sees_each = [kernel[1], stride[1]] == [1; 2] && before[1] == 0 && output[1] == size[1];
        sees_each && [pixel, self.to.1] == [channels; 2] && self.lines > 0
    }

    /// Whether no pixel is seen twice and none is around, and there are channels for whole vectors.
    fn is_apart(&self) -> bool {
        let PoolShape { channels, kernel, stride, dilation, before, .. } = self.pooling.shape;
        let has_none_around = before[1] == 0 && self.pooling.around() == self.pooling.size[1];
        let sees_once = dilation[1] == 1 && stride[1] >= kernel[1];
        sees_once && has_none_around && channels >= SOME && self.lines > 0
    }

    /// What means of windows with so many columns that count are multiplied by.
    fn scale(&self, columns: usize) -> f32 {
        match self.pooling.divisor {
            Some(Divisor::Fixed(number)) => 1.0 / number,
            _ => 1.0 / (self.counted * columns) as f32,
        }
    }

    /// Pools the line.
    #[inline(always)]
    fn pool<V: Vector<Elem = f32>, P: Pooling<V>>(&self) {
        let Lines { shape, size: [_, width], pixel, .. } = *self.pooling;
        let PoolShape { channels, kernel, stride, dilation, before, .. } = shape;
        let ((between, some), (out, distance)) = (self.between, self.to);
        let (around, lines) = (self.pooling.around(), self.lines);
        let plane = around * some;
        let seen = Span { from: self.from, step: self.step, taps: lines, beside: pixel, columns: 1, plane, scale: 1.0 };
        if self.is_high() {
            let line = Span { scale: self.scale(1), ..seen };
            // SAFETY: the images have the lines that windows see, and the result has room for one (seen before).
            return unsafe { line.reduce::<V, P, true, true>(out, width * channels) };
        }
        if self.is_apart() {
            for (pixels, columns) in self.columns {
                let line = Span { columns: kernel[1], scale: self.scale(*columns), ..seen };
                for place in pixels.clone() {
                    let (line, to) = (line.at(place * stride[1] * pixel), out.wrapping_add(place * distance));
                    // SAFETY: as above, with all columns.
                    unsafe { line.reduce::<V, P, true, true>(to, channels) };
                }
            }
            return;
        }
        let mut channel = 0;
        while channel < channels {
            let count = some.min(channels - channel);
            let line = seen.at(channel);
            let to = between.wrapping_add(before[1] * count);
            // SAFETY: as above; the memory between has room for all pixels of a line and around it, with so many channels.
            unsafe {
                if lines == 0 {
                    fill::<V, P>(between, around * count, plane);
                } else {
                    fill::<V, P>(between, before[1] * count, plane);
                    let end = (before[1] + width) * count;
                    fill::<V, P>(between.wrapping_add(end), around * count - end, plane);
                    let (pixels, words) = if pixel == count { (1, width * count) } else { (width, count) };
                    for place in 0..pixels {
                        line.at(place * pixel).reduce::<V, P, true, false>(to.wrapping_add(place * count), words);
                    }
                }
                for (pixels, columns) in self.columns {
                    let scale = self.scale(*columns);
                    let (step, taps) = (dilation[1] * count, kernel[1]);
                    let line = Span { from: between, step, taps, scale, ..seen };
                    let are_beside = stride[1] == 1 && distance == count;
                    let (steps, words) = if are_beside { (1, pixels.len() * count) } else { (pixels.len(), count) };
                    for place in pixels.start..pixels.start + steps {
                        let to = out.wrapping_add(place * distance + channel);
                        line.at(place * stride[1] * count).reduce::<V, P, false, true>(to, words);
                    }
                }
            }
            channel += some;
        }
    }
}

/// Words in so many places at equal distances, that become those at one.
#[derive(Clone, Copy)]
struct Span {
    from: *const f32,
    step: usize,
    taps: usize,
    /// How many columns there are at each, and how far apart.
    columns: usize,
    beside: usize,
    /// The distance of planes.
    plane: usize,
    scale: f32,
}

impl Span {
    /// The same so many words further.
    #[inline(always)]
    fn at(&self, words: usize) -> Self {
        Self { from: self.from.wrapping_add(words), ..*self }
    }

    /// Writes so many words, from words if they are the first to be read, and to words if they are the last to be written; what is between
    /// is planes.
    ///
    /// # Safety
    /// They must be there to read and to write.
    #[inline(always)]
    unsafe fn reduce<V: Vector<Elem = f32>, P: Pooling<V>, const FIRST: bool, const LAST: bool>(
        &self,
        to: *mut f32,
        words: usize,
    ) {
        let mut word = 0;
        // SAFETY: the caller's promise.
        unsafe {
            while word + VECTORS * V::LANES <= words {
                self.some::<V, P, FIRST, LAST, VECTORS>(to, word, usize::MAX);
                word += VECTORS * V::LANES;
            }
            while word < words {
                self.some::<V, P, FIRST, LAST, 1>(to, word, words - word);
                word += V::LANES;
            }
        }
    }

    /// Some vectors of it; of the last one no more than so many lanes.
    ///
    /// # Safety
    /// As for all.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    unsafe fn some<V: Vector<Elem = f32>, P: Pooling<V>, const FIRST: bool, const LAST: bool, const N: usize>(
        &self,
        to: *mut f32,
        word: usize,
        count: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let from = self.from.wrapping_add(word);
            let mut sums = [P::open(V::splat(f32::from_bits(P::NOTHING))); N];
            for tap in 0..self.taps {
                for column in 0..self.columns {
                    let from = from.wrapping_add(tap * self.step + column * self.beside);
                    for n in 0..N {
                        sums[n] = P::join(sums[n], self.load::<V, P, FIRST>(from.wrapping_add(n * V::LANES), count));
                    }
                }
            }
            let to = to.wrapping_add(word);
            for n in 0..N {
                let to = to.wrapping_add(n * V::LANES);
                if LAST {
                    store(P::close(sums[n], V::splat(self.scale)), to, count);
                } else {
                    store(sums[n][0], to, count);
                    if P::PLANES > 1 {
                        store(sums[n][1], to.wrapping_add(self.plane), count);
                    }
                }
            }
        }
    }

    /// A vector of words, or of each plane, or no more than so many of its lanes.
    ///
    /// # Safety
    /// As for all.
    #[inline(always)]
    unsafe fn load<V: Vector<Elem = f32>, P: Pooling<V>, const FIRST: bool>(
        &self,
        from: *const f32,
        count: usize,
    ) -> [V; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let words = if count < V::LANES { V::load_first(from, count) } else { V::load_at(from) };
            if FIRST {
                return P::open(words);
            }
            if P::PLANES == 1 {
                return [words, V::zero()];
            }
            let from = from.wrapping_add(self.plane);
            [words, if count < V::LANES { V::load_first(from, count) } else { V::load_at(from) }]
        }
    }
}

/// Writes a vector, or no more than so many of its lanes.
///
/// # Safety
/// They must be there to write.
#[inline(always)]
unsafe fn store<V: Vector<Elem = f32>>(x: V, to: *mut f32, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { if count < V::LANES { x.store_first(to, count) } else { x.store_at(to) } };
}

/// Writes so many words as if there was nothing, in all planes.
///
/// # Safety
/// They must be there to write.
#[inline(always)]
unsafe fn fill<V: Vector<Elem = f32>, P: Pooling<V>>(to: *mut f32, words: usize, plane: usize) {
    let nothing = P::open(V::splat(f32::from_bits(P::NOTHING)));
    for (number, nothing) in nothing.into_iter().enumerate().take(P::PLANES) {
        let to = to.wrapping_add(number * plane);
        for word in (0..words).step_by(V::LANES) {
            // SAFETY: the caller's promise.
            unsafe { nothing.store_first(to.wrapping_add(word), V::LANES.min(words - word)) };
        }
    }
}

/// How words become one: as vectors, two of them if there are two planes.
trait Pooling<V: Vector<Elem = f32>> {
    /// The vectors that are needed.
    const PLANES: usize;
    /// The bits of a word that changes nothing.
    const NOTHING: u32;

    /// Words as vectors that can be joined.
    fn open(words: V) -> [V; 2];
    /// The larger of each two, or their sum.
    fn join(one: [V; 2], other: [V; 2]) -> [V; 2];
    /// Vectors as words, sums times a number.
    fn close(joined: [V; 2], scale: V) -> V;
}

/// Numbers: their means, or the largest, NaN if there is one.
struct OfNumbers<const MEAN: bool>;

impl<V: Vector<Elem = f32>, const MEAN: bool> Pooling<V> for OfNumbers<MEAN> {
    const PLANES: usize = 1;
    const NOTHING: u32 = if MEAN { 0 } else { f32::NEG_INFINITY.to_bits() };

    #[inline(always)]
    fn open(words: V) -> [V; 2] {
        [words, V::zero()]
    }

    #[inline(always)]
    fn join([one, rest]: [V; 2], [other, _]: [V; 2]) -> [V; 2] {
        [if MEAN { one + other } else { V::select(one.eq(one), one.max(other), one) }, rest]
    }

    #[inline(always)]
    fn close([joined, _]: [V; 2], scale: V) -> V {
        if MEAN { joined * scale } else { joined }
    }
}

/// Pairs: the means of both numbers, or the larger of each.
struct OfPairs<const MEAN: bool>;

impl<const MEAN: bool> OfPairs<MEAN> {
    const PLANES: usize = if MEAN { 2 } else { 1 };
}

impl<V: Pairs, const MEAN: bool> Pooling<V> for OfPairs<MEAN> {
    const PLANES: usize = Self::PLANES;
    const NOTHING: u32 = if MEAN { 0 } else { 0xff80_ff80 };

    #[inline(always)]
    fn open(words: V) -> [V; 2] {
        if MEAN { words.halves() } else { [words.ordered(), V::zero()] }
    }

    #[inline(always)]
    fn join([one, second]: [V; 2], [other, last]: [V; 2]) -> [V; 2] {
        if MEAN { [one + other, second + last] } else { [one.later(other), second] }
    }

    #[inline(always)]
    fn close([joined, second]: [V; 2], scale: V) -> V {
        if MEAN { V::joined(joined * scale, second * scale) } else { joined.unordered() }
    }
}

/// The largest of bytes.
struct OfBytes;

/// The same, with the vectors for bytes.
struct Larger<B>(PhantomData<B>);

impl<B: Bytes> Pooling<B::Vector> for Larger<B> {
    const PLANES: usize = 1;
    const NOTHING: u32 = 0;

    #[inline(always)]
    fn open(words: B::Vector) -> [B::Vector; 2] {
        [words, B::Vector::zero()]
    }

    #[inline(always)]
    fn join([one, rest]: [B::Vector; 2], [other, _]: [B::Vector; 2]) -> [B::Vector; 2] {
        [B::larger(one, other), rest]
    }

    #[inline(always)]
    fn close([joined, _]: [B::Vector; 2], _scale: B::Vector) -> B::Vector {
        joined
    }
}

/// A line, and how its words become one.
struct Run<'a, P>(Line<'a>, PhantomData<P>);

impl<const MEAN: bool> Kernel for Run<'_, OfNumbers<MEAN>> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        self.0.pool::<V, OfNumbers<MEAN>>();
    }
}

impl<const MEAN: bool> PairKernel for Run<'_, OfPairs<MEAN>> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        self.0.pool::<V, OfPairs<MEAN>>();
    }
}

impl ByteKernel for Run<'_, OfBytes> {
    #[inline(always)]
    fn run<B: Bytes>(self) {
        self.0.pool::<B::Vector, Larger<B>>();
    }
}
