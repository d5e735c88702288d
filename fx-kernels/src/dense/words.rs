//! Operands that are words of several rounded numbers.

use super::product::{Quantized, Written};
use crate::rounded::Rounded;

/// Which operands of a layer are words of several neighbours each, pairs of bf16 or four bytes, and not f32.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Words {
    /// What the input is rounded to, if it is words: what the layer rounds it to otherwise.
    pub input: Option<Rounded>,
    /// What is added to the sums, if it is words. It is the residual, or what is at the result's place, in words too.
    pub added: Option<Rounded>,
    /// What the result is rounded to, if it is to be words.
    pub output: Option<Rounded>,
}

impl Words {
    /// The same with an input that is words.
    #[must_use]
    pub fn reading(self, rounded: Rounded) -> Self {
        Self { input: Some(rounded), ..self }
    }

    /// The same with a residual that is words.
    #[must_use]
    pub fn adding(self, rounded: Rounded) -> Self {
        Self { added: Some(rounded), ..self }
    }

    /// The same with a result that is to be words.
    #[must_use]
    pub fn writing(self, rounded: Rounded) -> Self {
        Self { output: Some(rounded), ..self }
    }

    /// The words, or numbers, that so many numbers of the input are.
    pub fn input_len(&self, numbers: usize) -> usize {
        Rounded::len(self.input, numbers)
    }

    /// As [`input_len`](Self::input_len), of the residual.
    pub fn added_len(&self, numbers: usize) -> usize {
        Rounded::len(self.added, numbers)
    }

    /// As [`input_len`](Self::input_len), of the result.
    pub fn output_len(&self, numbers: usize) -> usize {
        Rounded::len(self.output, numbers)
    }

    /// Checks that a layer reads, adds and writes such.
    ///
    /// # Panics
    /// If it does not.
    pub(super) fn check(&self, reads: bool, adds: impl FnOnce(Rounded) -> bool, writes: impl FnOnce(Rounded) -> bool) {
        assert!(reads || self.input.is_none(), "the layer does not read words");
        assert!(self.added.is_none_or(adds), "the layer does not add such words");
        assert!(self.output.is_none_or(writes), "the layer does not write such words");
    }

    /// How the operands of a product are written, which may be whole numbers.
    pub(super) fn written<'a>(&self, whole: Option<Quantized<'a>>) -> Written<'a> {
        Written { whole, left: self.input.is_some(), added: self.added, output: self.output }
    }
}
