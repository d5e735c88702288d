//! How a value of a plan lies in memory.

use std::cmp::Reverse;

use smallvec::{SmallVec, smallvec};

use crate::sort::sort_by_key;
use crate::tensor::{DType, Dims, Tensor, dispatch_words, row_major};

/// The element type, shape and strides of a value: known before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) dtype: DType,
    pub(super) shape: Dims,
    pub(super) strides: Dims,
}

impl Layout {
    /// In row-major order without gaps.
    pub(super) fn row_major(dtype: DType, shape: &[usize]) -> Self {
        Self { dtype, shape: Dims::from_slice(shape), strides: row_major(shape) }
    }

    /// Without gaps: these dimensions, all that are larger than 1, from the slowest to the fastest in memory.
    pub(super) fn in_order(dtype: DType, shape: &[usize], dims: &[usize]) -> Self {
        let mut strides: Dims = smallvec![1; shape.len()];
        let mut stride = 1;
        for &dim in dims.iter().rev() {
            strides[dim] = stride;
            stride *= shape[dim];
        }
        Self { dtype, shape: Dims::from_slice(shape), strides }
    }

    /// Images `[N, C, H, W]`, or others of any dimensions, whose channels are neighbours in memory.
    pub(super) fn channels_last(dtype: DType, shape: &[usize]) -> Self {
        let dims: SmallVec<[usize; 6]> = [0].into_iter().chain(2..shape.len()).chain([1]).collect();
        Self::in_order(dtype, shape, &dims)
    }

    /// Images, or others of any dimensions, with the channels last or in row-major order.
    pub(super) fn images(dtype: DType, shape: &[usize], channels_last: bool) -> Self {
        if channels_last { Self::channels_last(dtype, shape) } else { Self::row_major(dtype, shape) }
    }

    /// The same with one more dimension, of size 1.
    pub(super) fn with_dim(mut self, dim: usize) -> Self {
        self.shape.insert(dim, 1);
        self.strides.insert(dim, 1);
        self
    }

    /// Whether channels are neighbours in memory, be there gaps between pixels or not.
    pub(super) fn has_channels_last(&self) -> bool {
        self.shape.len() > 2 && self.strides[1] == 1 && !self.is_row_major()
    }

    /// All dimensions from the slowest to the fastest in memory.
    pub(super) fn slowest_first(&self) -> SmallVec<[usize; 6]> {
        let mut dims: SmallVec<[usize; 6]> = (0..self.shape.len()).collect();
        sort_by_key(&mut dims, |dim| Reverse(self.strides[*dim]));
        dims
    }

    /// The same elements without gaps, in the same order as far as they have one.
    pub(super) fn dense(&self) -> Self {
        if self.order().is_some() {
            self.clone()
        } else if self.strides.contains(&0) {
            Self::row_major(self.dtype, &self.shape)
        } else {
            Self::in_order(self.dtype, &self.shape, &self.slowest_first())
        }
    }

    pub(super) fn of(tensor: &Tensor) -> Self {
        let (shape, strides) = (tensor.shape(), tensor.strides());
        Self { dtype: tensor.dtype(), shape: Dims::from_slice(shape), strides: Dims::from_slice(strides) }
    }

    pub(super) fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether elements are where they are in another layout of the same shape.
    pub(super) fn is(&self, other: &Layout) -> bool {
        self.shape == other.shape
            && self.shape.iter().zip(self.strides.iter().zip(&other.strides)).all(|(size, (a, b))| *size == 1 || a == b)
    }

    /// How the same dimensions in any order, of numbers that lie so, would lie if these lay otherwise.
    pub(super) fn over(&self, now: &Layout, otherwise: &Layout) -> Option<Self> {
        let count = |layout: &Layout| layout.shape.iter().filter(|size| **size != 1).count();
        if now.shape != otherwise.shape || count(self) != count(now) {
            return None;
        }
        let dim = |(size, stride): (&usize, &usize)| match size {
            1 => Some(*stride),
            _ => Some(
                otherwise.strides
                    [(0..now.shape.len()).find(|dim| now.shape[*dim] == *size && now.strides[*dim] == *stride)?],
            ),
        };
        let strides = self.shape.iter().zip(&self.strides).map(dim).collect::<Option<_>>()?;
        Some(Self { strides, ..self.clone() })
    }

    pub(super) fn is_row_major(&self) -> bool {
        self.is(&Self::row_major(self.dtype, &self.shape))
    }

    pub(super) fn is_channels_last(&self) -> bool {
        self.shape.len() > 2 && self.is(&Self::channels_last(self.dtype, &self.shape))
    }

    /// The dimensions larger than 1 from the slowest to the fastest in memory, if the elements have no gaps.
    pub(super) fn order(&self) -> Option<SmallVec<[usize; 6]>> {
        let mut order = self.slowest_first();
        order.retain(|dim| self.shape[*dim] != 1);
        let mut expected = 1;
        for &dim in order.iter().rev() {
            if self.strides[dim] != expected {
                return None;
            }
            expected *= self.shape[dim];
        }
        Some(order)
    }

    /// A tensor that lies so, with any elements, for asking an op what it does with strides.
    pub(super) fn example(&self) -> Tensor {
        let any = dispatch_words!(self.dtype, W => Tensor::written_words::<W>(&[self.extent()], self.dtype, |_| ()));
        any.aside(&self.shape, &self.strides, 0)
    }

    /// How many elements of storage it reaches over.
    fn extent(&self) -> usize {
        if self.numel() == 0 {
            return 0;
        }
        1 + self.shape.iter().zip(&self.strides).map(|(size, stride)| (size - 1) * stride).sum::<usize>()
    }

    pub(super) fn bytes(&self) -> usize {
        self.numel() * self.dtype.size()
    }

    /// The size of the first dimension, if the elements have no gaps and it is the slowest.
    pub(super) fn batch(&self) -> Option<usize> {
        let batch = *self.shape.first().filter(|batch| **batch > 1)?;
        (self.strides[0] * batch == self.numel() && self.order().is_some()).then_some(batch)
    }

    /// How one of so many parts of the batch lies, if there are.
    pub(super) fn part(&self, count: usize) -> Option<Self> {
        let batch = self.batch().filter(|batch| batch.is_multiple_of(count))?;
        let mut part = self.clone();
        part.shape[0] = batch / count;
        Some(part)
    }

    /// Its name in a printed plan.
    pub(super) fn name(&self) -> &'static str {
        if self.is_row_major() {
            "rows"
        } else if self.is_channels_last() {
            "channels last"
        } else {
            "strided"
        }
    }
}
