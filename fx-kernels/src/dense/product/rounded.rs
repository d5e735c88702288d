//! Products whose result is words of rounded numbers, or to which such words are added.

use super::{MOST_ROWS, Product, Split, Written};
use crate::dense::Epilogue;
use crate::dense::tile::{ByteMatrix, OfBytes};
use crate::memory::scratch;
use crate::pairs::widen_pairs;
use crate::rounded::Rounded;
use crate::threads::Shared;

/// A matrix of words that begins somewhere and has rows at a distance, if they are of bytes.
fn of_bytes(rounded: Rounded, words: *mut f32, stride: usize) -> Option<ByteMatrix> {
    let Rounded::Bytes(of) = rounded else { return None };
    Some(ByteMatrix { first: Shared(words.cast()), stride: rounded.numbers() * stride, of })
}

impl Product<'_> {
    /// Calls a function with the product of whole numbers whose tiles read and write bytes where operands are such; with any other
    /// product as it is.
    pub(super) fn in_bytes(&self, out: &Shared<f32>, stride: usize, f: impl FnOnce(&Product<'_>)) {
        if !self.panels.packing().is_whole() {
            return f(self);
        }
        let added = self.words_added(out, stride);
        let added = added.and_then(|(added, (words, distance))| of_bytes(added, words.cast_mut(), distance));
        // A function is of numbers.
        let output = self.written.output.filter(|_| self.epilogue.function().is_none());
        let written = output.and_then(|output| of_bytes(output, out.at(0), stride));
        let (mut epilogue, mut of) = (*self.epilogue, self.written);
        if added.is_some() {
            (epilogue.residual, epilogue.accumulate, of.added) = (None, false, None);
        }
        f(&Product { epilogue: &epilogue, written: of, bytes: OfBytes { added, written }, ..*self });
    }

    /// The words that are added to the sums, from the first row on, the distance of their rows, and what they are.
    pub(in crate::dense) fn words_added(
        &self,
        out: &Shared<f32>,
        stride: usize,
    ) -> Option<(Rounded, (*const f32, usize))> {
        let added = self.written.added?;
        let residual = self.epilogue.residual.map(|residual| (residual.data.as_ptr(), residual.stride));
        let words = residual.or_else(|| self.epilogue.accumulate.then(|| (out.at(0).cast_const(), stride)));
        words.map(|words| (added, words))
    }

    /// The pairs that are added to the sums, as [`words_added`](Self::words_added); tiles read bytes themselves.
    fn pairs_added(&self, out: &Shared<f32>, stride: usize) -> Option<(*const f32, usize)> {
        self.words_added(out, stride).filter(|(added, _)| *added == Rounded::Pairs).map(|(_, words)| words)
    }

    /// What follows where numbers of the words that are added stand at the result's place already.
    fn adding(&self) -> Epilogue<'_> {
        Epilogue { residual: None, accumulate: true, ..*self.epilogue }
    }

    /// Computes a product to which pairs are added.
    ///
    /// # Safety
    /// The result and the operands must hold all rows and columns.
    pub(super) unsafe fn add(&self, out: &Shared<f32>, stride: usize) {
        let width = self.panels.groups() * self.panels.columns();
        let Some(words) = self.pairs_added(out, stride) else { return };
        // SAFETY: the caller's promise.
        unsafe { widen_pairs(self.panels.level(), (out.at(0), stride), words, [self.rows, width]) };
        let written = Written { added: None, ..self.written };
        // SAFETY: as above.
        unsafe { Product { epilogue: &self.adding(), written, ..*self }.compute(0..self.panels.count(), out, stride) };
    }

    /// A block of rows times a set of panels, whose result is rounded while it is in the cache.
    #[allow(clippy::too_many_arguments, reason = "as many say where the task is")]
    pub(super) fn rounded_task(
        &self,
        split: &Split,
        group: usize,
        block: usize,
        set: usize,
        out: &Shared<f32>,
        stride: usize,
        rounded: Rounded,
    ) {
        let panels = self.panels;
        let width = 2 * panels.lanes();
        let (set, all) = (split.set(set), panels.columns());
        let columns = (set.start * width).min(all)..(set.end * width).min(all);
        let rows = split.rows(split.tiles_of(block));
        // As many for each task, so that what is copied for a block is where the next one looks for it.
        let pitch = split.range.len().div_ceil(split.sets) * width;
        scratch(split.tiles.div_ceil(split.blocks) * MOST_ROWS * pitch, |numbers| {
            let first = group * all + columns.start;
            let own = Shared(numbers.as_mut_ptr().wrapping_sub(rows.start * pitch + first));
            if self.bytes.written.is_some() {
                // Numbers are sums of some steps.
                return self.task(split, group, block, set, &own, pitch);
            }
            let size = [rows.len(), columns.len()];
            match self.pairs_added(out, stride) {
                None => self.task(split, group, block, set, &own, pitch),
                Some((words, distance)) => {
                    let words = (words.wrapping_add(rows.start * distance + first / 2), distance);
                    // SAFETY: the words have the rows and columns (`run_by` saw it), for which there is room.
                    unsafe { widen_pairs(panels.level(), (numbers.as_mut_ptr(), pitch), words, size) };
                    Product { epilogue: &self.adding(), ..*self }.task(split, group, block, set, &own, pitch);
                }
            }
            let to = (out.at(rows.start * stride + first / rounded.numbers()), stride);
            // SAFETY: the result has the rows and columns as words (`run_by` saw it), which no other task has, and as many numbers were
            // written.
            unsafe { rounded.write(panels.level(), to, (numbers.as_ptr(), pitch), size) };
        });
    }
}
