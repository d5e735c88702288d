//! What a copy has to do: its dimensions in order, joined where they continue each other.

use super::MOST_DIMS as MOST;
use crate::sort::sort_few;

/// A dimension: its size, and how far apart its elements are on each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dim {
    pub(super) size: usize,
    pub(super) to: usize,
    pub(super) from: usize,
}

impl Dim {
    /// Up to so many elements from one on.
    pub(super) fn part(self, first: usize, most: usize) -> Self {
        Self { size: most.min(self.size - first), ..self }
    }
}

/// A dimension that there is not.
const NONE: Dim = Dim { size: 1, to: 0, from: 0 };

/// The two dimensions that are copied at once, rows and columns, and the others around them.
#[derive(Debug)]
pub(super) struct Plan {
    outer: [Dim; MOST],
    pub(super) inner: [Dim; 2],
}

impl Plan {
    /// The dimensions in the order of the output; none if there is no element.
    pub(super) fn new(to: &[usize], from: &[usize], shape: &[usize]) -> Option<Self> {
        assert!(to.len() == shape.len() && from.len() == shape.len(), "there are strides for each of {shape:?}");
        if shape.contains(&0) {
            return None;
        }
        let (mut dims, mut count) = ([NONE; MOST], 0_usize);
        for ((&to, &from), &size) in to.iter().zip(from).zip(shape) {
            if size == 1 {
                continue;
            }
            let dim = Dim { size, to, from };
            let previous = count.checked_sub(1).map(|previous| &mut dims[previous]);
            match previous {
                Some(last) if last.to == to * size && last.from == from * size => {
                    *last = Dim { size: last.size * size, to, from };
                }
                _ => {
                    assert!(count < MOST, "a copy has at most {MOST} dimensions");
                    dims[count] = dim;
                    count += 1;
                }
            }
        }
        let dims_used = &mut dims[..count];
        // Neighbours in the output last, so that it is written in order.
        sort_few(dims_used, |dim| std::cmp::Reverse(dim.to));
        let columns = if count > 0 { count - 1 } else { MOST - 1 };
        // The rows are what is neighbours in the operand, or else the next dimension.
        let rows = (0..columns).filter(|_| count > 0).find(|&i| dims[i].from == 1 && dims[columns].from != 1);
        let rows = rows.or_else(|| columns.checked_sub(1)).unwrap_or(MOST - 1);
        let inner = [if rows == columns { NONE } else { dims[rows] }, dims[columns]];
        dims[columns] = NONE;
        dims[rows] = NONE;
        Some(Self { outer: dims, inner })
    }

    /// How many places the outer dimensions have.
    pub(super) fn count(&self) -> usize {
        self.outer.iter().map(|dim| dim.size).product()
    }

    /// Where an outer place is on each side.
    pub(super) fn place(&self, mut index: usize) -> (usize, usize) {
        let (mut to, mut from) = (0, 0);
        for dim in self.outer.iter().rev().filter(|dim| dim.size > 1) {
            let i = index % dim.size;
            index /= dim.size;
            to += i * dim.to;
            from += i * dim.from;
        }
        (to, from)
    }

    fn dims(&self) -> impl Iterator<Item = &Dim> {
        self.outer.iter().chain(&self.inner)
    }

    /// How many elements a side must have.
    pub(super) fn reach(&self, stride: impl Fn(&Dim) -> usize) -> usize {
        // Strides may be anything: a reach that is too large for a number is too large for a slice.
        self.dims().fold(1, |reach: usize, dim| reach.saturating_add((dim.size - 1).saturating_mul(stride(dim))))
    }

    /// Whether no two elements have the same place in the output.
    pub(super) fn is_injective(&self) -> bool {
        let mut dims = [NONE; MOST + 2];
        dims.iter_mut().zip(self.dims()).for_each(|(to, dim)| *to = *dim);
        sort_few(&mut dims, |dim| dim.to);
        let mut reach = 1;
        dims.iter().filter(|dim| dim.size > 1).all(|dim| {
            let fits = dim.to >= reach;
            reach += (dim.size - 1) * dim.to;
            fits
        })
    }
}
