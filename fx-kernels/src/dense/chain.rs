//! Convolutions one after the other, a few lines at a time: what lies between them never leaves the cache.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::conv::{Held, PackedConv};
use super::epilogue::Epilogue;
use super::format::Format;
use super::images::Images;
use super::shape::ConvShape;
use super::words::Words;
use crate::memory::{scratch, second_level};
use crate::rounded::Rounded;
use crate::simd::MatrixUnit;
use crate::threads::{Shared, for_each, num_threads};

/// The numbers, or words, between the convolutions that stay in the second-level cache beside weights and results.
const CACHE: usize = 144 * 1024;

/// A convolution of a chain, and what follows it.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// The convolution.
    pub conv: &'a PackedConv,
    /// What is done with its sums. Only the last link's may read other matrices than the bias.
    pub epilogue: Epilogue<'a>,
}

/// As many as most chains have links.
type Few<T> = SmallVec<[T; 6]>;

/// What lies between two links: some lines of an image, as they are needed.
#[derive(Debug)]
struct Between {
    /// The image's height.
    height: usize,
    /// What its numbers are rounded to, if they are words.
    rounded: Option<Rounded>,
    /// The numbers, or words, in a line.
    line: usize,
    /// Where its lines are in the thread's memory.
    start: usize,
    /// The lines that are there.
    held: Range<usize>,
}

/// Whether an image of so many pixels that a convolution gives another one leaves the cache in between, unless they are a
/// [chain](run_chain).
pub fn leaves_cache(before: &PackedConv, after: &PackedConv, pixels: usize) -> bool {
    /// An image of so many bytes stays in every second-level cache.
    const SMALL: usize = 256 * 1024;
    let numbers = pixels * before.shape().outputs;
    // Measured: a band's lines take longer to begin with than words that stay in the cache, or beside products of a matrix unit in a quarter
    // of it; for channels on their own it is worth it with any that leave the small cache (MobileNetV2 and EfficientNet-B0 with four images
    // take 1.04 to 1.07 of the time without).
    let part = if MatrixUnit::detect().is_some() { 4 } else { 1 };
    match hands_words(before, after) && after.format() == Format::Bf16 {
        true => numbers * 2 > SMALL.max(second_level() / part),
        false => numbers * size_of::<f32>() > SMALL,
    }
}

/// Whether a convolution writes words that another one reads: where either multiplies such (channels on their own have 0.93 to 0.96 of the time
/// of models with them so).
pub(super) fn hands_words(before: &PackedConv, after: &PackedConv) -> bool {
    let are_rounded = [after, before].iter().any(|conv| conv.format() == Format::Bf16);
    are_rounded && after.reads_words() && before.writes_words(Rounded::Pairs)
}

/// Applies convolutions to images, each to what the one before gives; the output's channels are last, without gaps.
///
/// The last convolution's output is computed a few lines at a time, and of all that comes before only the lines that these
/// need: nothing is computed twice by a thread, and what lies between two convolutions stays in the cache. The result of
/// direct convolutions is the same as that of one after the other; with Winograd's algorithm roundings depend on how the
/// lines are split. The first one's images, the residual and the result may be [words](Words); what lies between is beside products of
/// such.
///
/// # Panics
/// If an operand is too short or cannot be words, the channels of two links differ, or there are no links.
pub fn run_chain(links: &[Link<'_>], out: &mut [f32], images: &Images<'_>, words: Words) {
    run_within(links, out, images, words, CACHE);
}

/// As [`run_chain`], with so many numbers or words between the convolutions.
pub(crate) fn run_within(links: &[Link<'_>], out: &mut [f32], images: &Images<'_>, words: Words, cache: usize) {
    let (Some(first), Some(last)) = (links.first(), links.last()) else {
        panic!("a chain has at least one convolution")
    };
    words.check(
        first.conv.reads_words(),
        |added| last.conv.adds_words(added),
        |rounded| last.conv.writes_words(rounded),
    );
    let mut sizes: Few<_> = smallvec![images.size];
    for (link, next) in links.iter().zip(links.iter().skip(1).map(Some).chain([None])) {
        let [height, width] = link.conv.shape().output(sizes[sizes.len() - 1]);
        let channels = link.conv.shape().outputs;
        assert!(next.is_none_or(|next| next.conv.shape().inputs == channels), "{channels} channels are not the next's");
        assert!(next.is_none() || link.epilogue.residual.is_none() && !link.epilogue.accumulate, "only the last adds");
        sizes.push([height, width]);
    }
    let [height, width] = sizes[links.len()];
    let line = width * words.output_len(last.conv.shape().outputs);
    assert!(images.batch * height * line <= out.len(), "the result does not fit");
    if images.batch * height * line == 0 {
        return;
    }
    // An image is split only where there would be nothing to do for some threads: at a cut lines are computed twice.
    let threads = num_threads();
    let parts = if images.batch.is_multiple_of(threads) { 1 } else { threads.min(height) };
    let flops = |link: &Link<'_>, size: &[usize; 2]| 2 * size[0] * size[1] * link.conv.products();
    let work = images.batch * links.iter().zip(&sizes[1..]).map(|(link, size)| flops(link, size)).sum::<usize>();
    let out = Shared(out.as_mut_ptr());
    for_each(images.batch * parts, work, |task| {
        let (image, part) = (task / parts, task % parts);
        let lines = part * height / parts..(part + 1) * height / parts;
        let first = image * height + lines.start;
        // SAFETY: tasks have lines of their own, all of which are in the output (seen above).
        let out = unsafe { std::slice::from_raw_parts_mut(out.at(first * line), lines.len() * line) };
        let epilogue = last.epilogue.at_row(first * width);
        Task { links, sizes: &sizes, images: images.one(image), words, epilogue, cache }.run(lines, out);
    });
}

/// Some lines of an image of the output.
struct Task<'a> {
    links: &'a [Link<'a>],
    /// The sizes of the input and of what each link gives.
    sizes: &'a [[usize; 2]],
    images: Images<'a>,
    words: Words,
    /// The last link's, from the first of the lines on.
    epilogue: Epilogue<'a>,
    /// How many numbers or words may lie between the links, if possible.
    cache: usize,
}

impl Task<'_> {
    fn run(&self, lines: Range<usize>, out: &mut [f32]) {
        let count = (1..=lines.len()).find(|count| self.memory(lines.len().div_ceil(*count)).1 <= self.cache);
        let count = count.unwrap_or(lines.len());
        let (mut between, len) = self.memory(lines.len().div_ceil(count));
        let line = out.len() / lines.len();
        scratch(len, |memory| {
            let mut rest = out;
            for band in 0..count {
                let at = |band: usize| lines.start + band * lines.len() / count;
                let band = at(band)..at(band + 1);
                let (out, after) = rest.split_at_mut(band.len() * line);
                rest = after;
                self.band(band.clone(), band.start - lines.start, &mut between, memory, out);
            }
        });
    }

    /// What lies between the links for so many lines of the output at a time, and how many numbers or words that takes.
    fn memory(&self, lines: usize) -> (Few<Between>, usize) {
        let mut between = Few::new();
        let (mut lines, mut start) = (lines, 0);
        for index in (1..self.links.len()).rev() {
            let shape = self.links[index].conv.shape();
            let [height, width] = self.sizes[index];
            let window = shape.dilation[0] * (shape.kernel[0].max(1) - 1) + 1;
            lines = height.min((lines.max(1) - 1) * shape.stride[0] + window);
            let rounded = self.rounded(index);
            let line = width * Rounded::len(rounded, shape.inputs);
            between.push(Between { height, rounded, line, start, held: 0..0 });
            start += lines * line;
        }
        between.reverse();
        (between, start)
    }

    /// What a link rounds what the one before gives to, if that can write such words.
    fn rounded(&self, index: usize) -> Option<Rounded> {
        hands_words(self.links[index - 1].conv, self.links[index].conv).then_some(Rounded::Pairs)
    }

    /// A band of lines, of which so many of the task's come before.
    fn band(&self, band: Range<usize>, before: usize, between: &mut [Between], memory: &mut [f32], out: &mut [f32]) {
        // What is to be computed of what lies between, from the last to the first: what is needed and not there yet.
        let mut new: Few<_> = smallvec![band.clone(); self.links.len()];
        for (index, between) in between.iter_mut().enumerate().rev() {
            if new[index + 1].is_empty() {
                // All that is needed was computed for lines before.
                new[index] = 0..0;
                continue;
            }
            let (needed, _) = self.links[index + 1].conv.shape().lines_read(&new[index + 1], between.height);
            if between.held.contains(&needed.start) {
                let (first, end) = (needed.start - between.held.start, between.held.len());
                let from = between.start + first * between.line..between.start + end * between.line;
                memory.copy_within(from, between.start);
                between.held.start = needed.start;
            } else {
                between.held = needed.start..needed.start;
            }
            new[index] = between.held.end..needed.end;
        }
        for (index, link) in self.links.iter().enumerate() {
            let (ConvShape { inputs, outputs, .. }, lines) = (*link.conv.shape(), new[index].clone());
            if lines.is_empty() {
                continue;
            }
            let [height, width] = self.sizes[index];
            // What comes before lies behind in memory.
            let (source, target) = (index.checked_sub(1).map(|before| &between[before]), between.get(index));
            let split = source.map_or(memory.len(), |source| source.start);
            let (to, from) = memory.split_at_mut(split);
            let to = match target {
                Some(target) => &mut to[target.start + target.held.len() * target.line..],
                None => &mut *out,
            };
            let words = Words {
                input: source.map_or(self.words.input, |source| source.rounded),
                added: self.words.added.filter(|_| target.is_none()),
                output: target.map_or(self.words.output, |target| target.rounded),
            };
            let (images, first) = match source {
                Some(Between { held, line, .. }) => {
                    let data = &from[..held.len() * line];
                    (Images::pixels(data, 1, [held.len(), width], words.input_len(inputs)), held.start)
                }
                None => (self.images, 0),
            };
            let row = before * self.sizes[index + 1][1];
            let epilogue = if target.is_some() { link.epilogue } else { self.epilogue.at_row(row) };
            let held = (Held { first, height }, lines.clone());
            link.conv.run_lines(to, words.output_len(outputs), &images, held, &epilogue, words.written(None));
            if let Some(target) = between.get_mut(index) {
                target.held.end = lines.end;
            }
        }
    }
}
