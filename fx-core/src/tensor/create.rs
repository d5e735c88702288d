//! Making tensors out of Rust data.

use std::sync::Arc;

use fx_kernels::memory::{into_words, values_mut};
use ndarray::{Array, ArrayD, Dimension, IxDyn};

use super::{Buffer, DType, Dims, Element, Scalar, Tensor, Word, dispatch, dispatch_words, numel, row_major};
use crate::error::{Error, Result};

impl Tensor {
    /// A tensor of `shape` with these elements in row-major order.
    ///
    /// # Panics
    /// If the number of elements is not that of the shape.
    #[track_caller]
    pub fn from_vec<T: Element>(shape: impl AsRef<[usize]>, elements: Vec<T>) -> Self {
        match Self::try_from_vec(shape, elements) {
            Ok(tensor) => tensor,
            Err(error) => panic!("{error}"),
        }
    }

    /// A tensor of `shape` with these elements in row-major order.
    ///
    /// # Errors
    /// If the number of elements is not that of the shape.
    pub fn try_from_vec<T: Element>(shape: impl AsRef<[usize]>, elements: Vec<T>) -> Result<Self> {
        Self::try_of_words(shape.as_ref(), T::DTYPE, into_words(elements))
    }

    /// A tensor of `shape` with elements as words in row-major order.
    ///
    /// # Panics
    /// If the number of elements is not that of the shape, or elements of the type are no such words.
    #[track_caller]
    pub(crate) fn of_words<W: Word>(shape: &[usize], dtype: DType, words: Vec<W>) -> Self {
        match Self::try_of_words(shape, dtype, words) {
            Ok(tensor) => tensor,
            Err(error) => panic!("{error}"),
        }
    }

    pub(super) fn try_of_words<W: Word>(shape: &[usize], dtype: DType, words: Vec<W>) -> Result<Self> {
        let (len, storage) = (words.len(), W::wrap(dtype, Arc::new(words.into())));
        let numel = shape.iter().try_fold(1_usize, |numel, &dim| numel.checked_mul(dim));
        if numel != Some(len) {
            return Err(Error::shape(format!("{len} elements do not fill the shape {shape:?}")));
        }
        Ok(Self { storage, shape: Dims::from_slice(shape), strides: row_major(shape), offset: 0 })
    }

    /// A tensor of `shape` whose elements `write` writes, all of them; what they are before is of no meaning.
    pub(crate) fn written<T: Element>(shape: &[usize], mut write: impl FnMut(&mut [T])) -> Self {
        Self::written_by(shape, T::DTYPE, &mut |words| write(values_mut::<T>(words)))
    }

    /// As [`written`](Self::written), for elements as words.
    pub(crate) fn written_words<W: Word>(shape: &[usize], dtype: DType, mut write: impl FnMut(&mut [W])) -> Self {
        Self::written_by(shape, dtype, &mut write)
    }

    /// Compiled once for all that write.
    fn written_by<W: Word>(shape: &[usize], dtype: DType, write: &mut dyn FnMut(&mut [W])) -> Self {
        let (mut buffer, place) = Buffer::unwritten(numel(shape));
        let offset = place.start;
        write(buffer.elements_mut(place));
        let (shape, strides) = (Dims::from_slice(shape), row_major(shape));
        Self { storage: W::wrap(dtype, Arc::new(buffer)), shape, strides, offset }
    }

    /// A tensor without dimensions.
    pub fn scalar<T: Element>(element: T) -> Self {
        Self::from_vec([], vec![element])
    }

    /// A tensor of `shape` with the same number everywhere.
    #[track_caller]
    pub fn filled(shape: impl AsRef<[usize]>, number: impl Into<Scalar>, dtype: DType) -> Self {
        Self::filled_by(shape.as_ref(), number.into(), dtype)
    }

    /// Compiled once for all forms of shapes and numbers.
    #[track_caller]
    fn filled_by(shape: &[usize], number: Scalar, dtype: DType) -> Self {
        if shape.is_empty() {
            return dispatch!(dtype, T => Tensor::scalar(T::from_scalar(number)));
        }
        dispatch_words!(dtype, W => Tensor::of_words(shape, dtype, vec![number.word::<W>(dtype); numel(shape)]))
    }

    /// The elements as an `ndarray` array, copied.
    ///
    /// # Panics
    /// If the elements are not of type `T`.
    #[track_caller]
    pub fn to_array<T: Element>(&self) -> ArrayD<T> {
        self.view::<T>().to_owned()
    }
}

impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor {
    fn from(array: Array<T, D>) -> Self {
        let shape: Dims = array.shape().iter().copied().collect();
        let array = array.into_dyn();
        let elements = if array.is_standard_layout() {
            let (elements, offset) = array.into_raw_vec_and_offset();
            let start = offset.unwrap_or(0);
            let numel = numel(&shape);
            if start == 0 && elements.len() == numel { elements } else { elements[start..start + numel].to_vec() }
        } else {
            array.iter().copied().collect()
        };
        Tensor::from_vec(shape, elements)
    }
}

impl<T: Element> TryFrom<&Tensor> for ArrayD<T> {
    type Error = Error;

    fn try_from(tensor: &Tensor) -> Result<Self> {
        if tensor.dtype() != T::DTYPE {
            return Err(Error::dtype(format!("expected elements of type {}, found {}", T::DTYPE, tensor.dtype())));
        }
        let elements = tensor.to_vec::<T>();
        ArrayD::from_shape_vec(IxDyn(tensor.shape()), elements).map_err(|error| Error::shape(error.to_string()))
    }
}

impl<T: Element> From<Vec<T>> for Tensor {
    fn from(elements: Vec<T>) -> Self {
        Tensor::from_vec([elements.len()], elements)
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Tensor {
    fn from(elements: [T; N]) -> Self {
        Tensor::from_vec([N], elements.to_vec())
    }
}

impl<T: Element, const N: usize, const M: usize> From<[[T; M]; N]> for Tensor {
    fn from(elements: [[T; M]; N]) -> Self {
        Tensor::from_vec([N, M], elements.concat())
    }
}

impl<T: Element, const N: usize, const M: usize, const L: usize> From<[[[T; L]; M]; N]> for Tensor {
    fn from(elements: [[[T; L]; M]; N]) -> Self {
        Tensor::from_vec([N, M, L], elements.concat().concat())
    }
}
