//! Numbers rounded as layers read them, for what computes with them in f32.

use std::ops::Range;
use std::sync::Arc;

use fx_kernels::dense::Words;
use fx_kernels::threads::for_each_piece;
use fx_kernels::{Quantization, Rounded};
use smallvec::smallvec;

use super::{ByRows, Kernel, Lowered, Operands, Wanted, read};
use crate::compile::layout::Layout;

/// The elements that a thread rounds at a time.
const PIECE: usize = 16 * 1024;

/// Quantizes numbers and dequantizes them, wherever they lie.
#[derive(Clone)]
struct Rounding {
    quantization: Quantization,
    /// How many neighbours are a row.
    row: usize,
    words: Words,
}

pub(in super::super) fn rounding(register: usize, layout: &Layout, quantization: Quantization) -> Lowered {
    let layout = layout.dense();
    let row = layout.order().and_then(|order| order.last().map(|dim| layout.shape[*dim])).unwrap_or(1);
    let kernel = Rounding { quantization, row, words: Words::default() };
    Lowered::new(kernel, smallvec![Wanted::new(register, layout.clone())], layout)
}

impl Rounding {
    /// Writes some numbers, given those from the first of them on, or none where they are there already.
    fn write(&self, out: &mut [f32], from: Option<&[f32]>) {
        match from {
            Some(words) if self.words.input.is_some() => self.quantization.widen(out, words),
            Some(numbers) => {
                out.copy_from_slice(&numbers[..out.len()]);
                self.quantization.apply(out);
            }
            None => self.quantization.apply(out),
        }
    }

    /// From a number on, or from the word that begins with it.
    fn after<'a>(&self, first: usize, operands: &Operands<'a>) -> Option<&'a [f32]> {
        operands[0].map(|x| &x[self.words.input_len(first)..])
    }
}

impl Kernel for Rounding {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let work = 4 * out.len();
        for_each_piece(out, PIECE, work, |piece, out| self.write(out, self.after(piece * PIECE, operands)));
    }

    fn part(&self, _count: usize) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(self.clone()))
    }

    fn by_rows(&self, outputs: usize) -> Option<Arc<dyn ByRows>> {
        (outputs == self.row).then(|| Arc::new(self.clone()) as Arc<dyn ByRows>)
    }

    fn rounds(&self, _operand: usize) -> Option<Rounded> {
        Some(Rounded::Bytes(self.quantization)).filter(|bytes| self.row.is_multiple_of(bytes.numbers()))
    }

    fn reading_words(&self, _operand: usize, rounded: Rounded) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self { words: self.words.reading(rounded), ..self.clone() }))
    }

    fn overwrites(&self, _operand: usize) -> bool {
        self.words.input.is_none()
    }

    fn describe(&self) -> String {
        format!("rounded{}", read(self.words.input))
    }
}

impl ByRows for Rounding {
    fn inputs(&self) -> usize {
        1
    }

    fn run_rows(&self, rows: Range<usize>, out: &mut [f32], operands: &Operands<'_>) {
        self.write(out, self.after(rows.start * self.row, operands));
    }
}
