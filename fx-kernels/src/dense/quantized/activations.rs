//! The operands of layers of whole numbers.

use super::super::epilogue::{Epilogue, Residual};
use super::super::words::Words;
use crate::memory::scratch;
use crate::quantization::Quantization;
use crate::threads::for_each_piece;

/// What the operands of a layer of whole numbers are rounded to, and which of them are words already.
#[derive(Clone, Copy, Debug)]
pub struct Activations {
    /// What the input is rounded to.
    pub input: Quantization,
    /// What is added to the sums is rounded to this, if it is: the residual, or what is at the result's place.
    pub added: Option<Quantization>,
    /// Which operands are words.
    pub words: Words,
}

impl From<Quantization> for Activations {
    /// No operand is words, and what is added is not rounded.
    fn from(input: Quantization) -> Self {
        Self { input, added: None, words: Words::default() }
    }
}

/// How many numbers a thread rounds at a time.
const PIECE: usize = 1 << 14;

impl Activations {
    /// Calls a function with a result, in rows of so many numbers that are so far apart, and what follows, where what is added is
    /// rounded, unless it is words: that is.
    pub(super) fn with_added(
        &self,
        out: &mut [f32],
        [rows, width, stride]: [usize; 3],
        epilogue: &Epilogue<'_>,
        f: impl FnOnce(&mut [f32], &Epilogue<'_>),
    ) {
        let Some(quantization) = self.added.filter(|_| self.words.added.is_none()) else { return f(out, epilogue) };
        if epilogue.accumulate && rows * width > 0 {
            let (len, stride) = ((rows - 1) * stride + width, stride.max(width));
            for_each_piece(&mut out[..len], PIECE.div_ceil(stride) * stride, rows * width, |_, rows| {
                rows.chunks_mut(stride).for_each(|row| quantization.apply(&mut row[..width]));
            });
        }
        let Some(Residual { data, stride }) = epilogue.residual else { return f(out, epilogue) };
        epilogue.check(rows, width);
        let len = rows.saturating_sub(1) * stride + width;
        rounded(&data[..len.min(data.len())], quantization, |data| {
            f(out, &Epilogue { residual: Some(Residual { data, stride }), ..*epilogue });
        });
    }
}

/// Calls a function with numbers rounded to what whole ones stand for.
pub(super) fn rounded(x: &[f32], quantization: Quantization, f: impl FnOnce(&[f32])) {
    scratch(x.len(), |numbers| {
        for_each_piece(numbers, PIECE, x.len(), |piece, numbers| {
            numbers.copy_from_slice(&x[piece * PIECE..][..numbers.len()]);
            quantization.apply(numbers);
        });
        f(numbers);
    });
}
