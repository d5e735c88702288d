//! How the operands of elementwise ops meet a result.

use std::ops::Range;

use smallvec::SmallVec;

use crate::compile::layout::Layout;
use crate::tensor::Tensor;

/// An operand.
#[derive(Clone)]
pub(super) enum Side {
    Number(f32),
    /// The next value.
    Value(Spread),
    /// The next value, whose elements each meet one of the result, as words of pairs.
    Pairs,
    /// Rows of the next value, each met once.
    Rows(Rows),
    /// Rows of the next values side by side: of so many elements each, and whether they are words of pairs.
    Joined(SmallVec<[(usize, bool); 4]>),
    /// A known tensor, in the order in which the result meets its elements.
    Known(Tensor, Spread),
}

impl Side {
    /// How many values it takes.
    pub(super) fn values(&self) -> usize {
        match self {
            Side::Number(_) | Side::Known(..) => 0,
            Side::Value(_) | Side::Pairs | Side::Rows(_) => 1,
            Side::Joined(rows) => rows.len(),
        }
    }

    pub(super) fn spread(&self) -> Option<Spread> {
        match self {
            Side::Number(_) | Side::Pairs | Side::Rows(_) | Side::Joined(_) => None,
            Side::Value(spread) | Side::Known(_, spread) => Some(*spread),
        }
    }
}

/// How an operand meets a result, as often as is said: in each of some equal parts of it, the elements of as many equal parts of the
/// operand each meet some of the result in a row, again and again.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) times: usize,
    pub(super) parts: usize,
    /// The operand's elements, of all parts.
    pub(super) count: usize,
    /// How many of the result an element meets in a row.
    pub(super) run: usize,
}

impl Spread {
    /// An operand of `len` elements, for as many of the result.
    pub(super) fn full(len: usize) -> Self {
        Self { times: 1, parts: 1, count: len, run: 1 }
    }

    /// How an operand of a shape meets a result that lies so, and how it has to lie for that.
    pub(super) fn of(shape: &[usize], result: &Layout) -> Option<(Self, Layout)> {
        let lead = result.shape.len().checked_sub(shape.len())?;
        let has = |dim: &usize| *dim >= lead && shape[*dim - lead] != 1;
        let order = result.order()?;
        // From the slowest: dimensions that the operand does not have, others, and so on.
        let mut rest = order.iter().copied().peekable();
        let mut numel = |has: &dyn Fn(&usize) -> bool| {
            let mut numel = 1;
            while let Some(dim) = rest.next_if(has) {
                numel *= result.shape[dim];
            }
            numel
        };
        let has_not = |dim: &usize| !has(dim);
        let [times, parts, between, count, run] =
            [numel(&has_not), numel(&has), numel(&has_not), numel(&has), numel(&has_not)];
        if rest.next().is_some() {
            return None;
        }
        // What meets all of a result again and again does so anyway.
        let spread = match count {
            1 => Self { times: 1, parts: 1, count: parts, run: between },
            _ if parts == 1 => Self { times: 1, parts, count, run },
            _ => Self { times, parts, count: parts * count, run },
        };
        let dims: SmallVec<[usize; 6]> = order.into_iter().filter(has).map(|dim| dim - lead).collect();
        Some((spread, Layout::in_order(result.dtype, shape, &dims)))
    }

    /// Whether each part of a result has elements of its own, not all the same.
    pub(super) fn is_split(self, len: usize) -> bool {
        self.parts > 1 || self.count * self.run == len
    }

    /// Whether it can be met in so many equal parts of a result, one after the other.
    pub(super) fn fits(self, parts: usize, len: usize) -> bool {
        if self.is_split(len) {
            self.parts == 1 && self.count.is_multiple_of(parts) || self.times * self.parts == parts
        } else {
            (len / parts).is_multiple_of(self.count * self.run)
        }
    }

    /// The elements that meet one of so many equal parts of a result.
    pub(super) fn elements(self, part: usize, parts: usize, len: usize) -> Range<usize> {
        if !self.is_split(len) {
            return 0..self.count;
        }
        let (part, own) = match self.parts {
            1 => (part, self.count / parts),
            own => (part % own, self.count / own),
        };
        part * own..(part + 1) * own
    }
}

/// Rows of neighbours in a value that lie one after the other in a result.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// Where the first one begins.
    pub(super) first: usize,
    /// The elements of one.
    pub(super) len: usize,
    /// How far apart they begin.
    pub(super) stride: usize,
}

impl Rows {
    /// Those of a value with gaps that lies in the order of a result.
    pub(super) fn of(value: &Layout, result: &Layout) -> Option<Self> {
        if value.shape != result.shape || value.order().is_some() {
            return None;
        }
        let (mut len, mut outer) = (1, None);
        for dim in result.order()?.into_iter().rev() {
            let (size, stride) = (value.shape[dim], value.strides[dim]);
            match &mut outer {
                None if stride == len => len *= size,
                None if stride > len && len > 1 => outer = Some((stride, stride * size)),
                Some((_, next)) if stride == *next => *next *= size,
                _ => return None,
            }
        }
        let (stride, _) = outer?;
        Some(Self { first: 0, len, stride })
    }
}
