//! How the operands of a product are written.

use crate::dense::block::Rounding;
use crate::dense::format::Packing;
use crate::quantization::Quantization;
use crate::rounded::Rounded;
use crate::simd::Level;

/// How the operands of a product are written.
#[derive(Clone, Copy, Default)]
pub(crate) struct Written<'a> {
    /// As whole numbers, if they are.
    pub(crate) whole: Option<Quantized<'a>>,
    /// Whether the left one is words already, as the matrix's packing has them.
    pub(crate) left: bool,
    /// What is added, if it is words: the residual, or what is at the result's place, whose distances are in words then.
    pub(crate) added: Option<Rounded>,
    /// What the result is rounded to, if it is to be words.
    pub(crate) output: Option<Rounded>,
}

/// How the operands of a product are written as whole numbers.
#[derive(Clone, Copy)]
pub(crate) struct Quantized<'a> {
    /// The numbers of the left one.
    pub(crate) left: Quantization,
    /// What the products of whole numbers are multiplied by, for each column. Not used where weights are kept as the numbers
    /// that they stand for.
    pub(crate) scales: &'a [f32],
}

impl Written<'_> {
    /// What numbers of a left operand are rounded to that is multiplied with such words.
    pub(in crate::dense) fn rounding(&self, level: Level, packing: Packing) -> Rounding {
        match self.whole {
            _ if self.left => Rounding::None,
            _ if packing == Packing::Pairs => Rounding::Pairs,
            Some(quantized) if packing.is_whole() => Rounding::Words(level, packing.numbers(), quantized.left),
            Some(quantized) => Rounding::Whole(quantized.left),
            None => Rounding::None,
        }
    }

    /// What stands for 0 in such words.
    pub(in crate::dense) fn padding(&self, packing: Packing) -> f32 {
        let whole = self.whole.filter(|_| packing.is_whole());
        whole.map_or(0.0, |quantized| quantized.left.zeros(packing.numbers()))
    }
}
