//! Products whose result is words of rounded numbers, or to which such words are added.

use super::{MOST_ROWS, Product, Split};
use crate::dense::format::Packing;
use crate::dense::tile::{OfWords, Tile, WordMatrix};
use crate::elementwise::Unary;
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::Level;
use crate::threads::Shared;

impl Product<'_> {
    /// Whether tiles themselves read and write words of what is rounded so.
    fn has_tiles_of(&self, rounded: Rounded) -> bool {
        match rounded {
            Rounded::Pairs => self.panels.packing() == Packing::Pairs,
            Rounded::Bytes(_) => self.panels.packing().is_whole(),
        }
    }

    /// Whether tiles may compute all columns of a panel that is not full: with masks they read and write only as many as there are, but for
    /// bytes that are added.
    pub(super) fn has_masks(&self) -> bool {
        let is_full = |matrix: WordMatrix| matrix.of != Rounded::Pairs;
        self.panels.level() == Level::Avx512 && !self.words.added.is_some_and(is_full)
    }

    /// The activation that tiles apply to what they write, and that which follows them.
    pub(super) fn functions(&self) -> [Option<Unary>; 2] {
        let written = self.words.written.map(|matrix| matrix.of);
        let applies = |function: &Unary| Tile::applies(*function, self.panels.packing(), written);
        let function = self.epilogue.function();
        [function.filter(applies), function.filter(|function| !applies(function))]
    }

    /// Calls a function with the product whose tiles read and write words where operands are such; with any other product as it is.
    pub(super) fn in_words(&self, out: &Shared<f32>, stride: usize, f: impl FnOnce(&Product<'_>)) {
        let matrix = |of: Rounded, words: *mut f32, distance: usize| {
            let matrix = WordMatrix { first: Shared(words.cast()), stride: of.numbers() * distance, of };
            self.has_tiles_of(of).then_some(matrix)
        };
        let added = self.words_added(out, stride);
        let added = added.and_then(|(of, (words, distance))| matrix(of, words.cast_mut(), distance));
        let function = self.epilogue.function();
        let is_applied =
            |of: &Rounded| function.is_none_or(|function| Tile::applies(function, self.panels.packing(), Some(*of)));
        let output = self.written.output.filter(is_applied);
        let written = output.and_then(|of| matrix(of, out.at(0), stride));
        let (mut epilogue, mut of) = (*self.epilogue, self.written);
        if added.is_some() {
            (epilogue.residual, epilogue.accumulate, of.added) = (None, false, None);
        }
        f(&Product { epilogue: &epilogue, written: of, words: OfWords { added, written }, ..*self });
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
            self.task(split, group, block, set, &own, pitch);
            if self.words.written.is_some() {
                // Numbers were sums of some steps.
                return;
            }
            let size = [rows.len(), columns.len()];
            let to = (out.at(rows.start * stride + first / rounded.numbers()), stride);
            // SAFETY: the result has the rows and columns as words (`run_by` saw it), which no other task has, and as many numbers were
            // written.
            unsafe { rounded.write(panels.level(), to, (numbers.as_ptr(), pitch), size) };
        });
    }
}
