//! Tensors: shared storage, a layout over it, and the element types.
//!
//! A tensor is a window on storage that others may share: slices, transposes and expansions copy nothing, and a
//! clone costs a reference count. What is shared is never written; a kernel writes only into storage of its own.
//! Elements are seen through [`ndarray`] views. The ops are in [`crate::ops`]; here is what they are made of.

mod buffer;
mod create;
mod display;
mod dtype;
mod element;
pub mod iter;
pub mod random;
mod safetensors;
mod scalar;
mod storage;
pub mod view;

use std::any::Any;
use std::sync::Arc;

use fx_kernels::memory::{into_values, values, values_mut};
use ndarray::{ArrayViewD, IxDyn, ShapeBuilder};
use smallvec::SmallVec;

pub use buffer::Buffer;
use buffer::LINE;
pub use dtype::DType;
pub use element::{Element, Float, cast, num};
pub(crate) use element::{by_dtype, dispatch, dispatch_float, dispatch_words};
pub(crate) use safetensors::Archive;
pub use safetensors::{load_safetensors, load_safetensors_bytes, load_safetensors_with, save_safetensors};
pub use scalar::Scalar;
pub(crate) use storage::Storage;
#[doc(hidden)]
pub use storage::Word;

use crate::error::{Error, Result};

/// The dimensions of a tensor.
pub type Dims = SmallVec<[usize; 6]>;

/// A tensor: elements of one type in a box of any number of dimensions.
///
/// ```
/// use fx_core::Tensor;
/// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
/// assert_eq!(x.shape(), [2, 2]);
/// assert_eq!(x.to_vec::<f32>(), [1.0, 2.0, 3.0, 4.0]);
/// ```
pub struct Tensor {
    storage: Storage,
    shape: Dims,
    strides: Dims,
    offset: usize,
}

// Not derived: sizes are copied as a whole, and not one by one.
impl Clone for Tensor {
    fn clone(&self) -> Self {
        self.aside(&self.shape, &self.strides, 0)
    }
}

impl Tensor {
    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.storage.dtype()
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The distance in storage between neighbours along each dimension, in elements.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// The place of the first element in storage.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of dimensions.
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        for (&dim, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if dim != 1 {
                if stride != expected && self.numel() != 0 {
                    return false;
                }
                expected = expected.saturating_mul(dim);
            }
        }
        true
    }

    /// The identity of the storage: equal for tensors that share it.
    pub fn storage_id(&self) -> usize {
        dispatch_words!(self.dtype(), W => W::unwrap(&self.storage).map_or(0, |words| Arc::as_ptr(words).addr()))
    }

    /// The elements in row-major order, if they lie so in storage.
    ///
    /// # Panics
    /// If the elements are not of type `T`.
    #[track_caller]
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        self.require(T::DTYPE);
        self.words::<T::Word>().map(values::<T>)
    }

    /// The elements in row-major order as words, if they lie so in storage.
    ///
    /// # Panics
    /// If the elements are no such words.
    #[track_caller]
    pub(crate) fn words<W: Word>(&self) -> Option<&[W]> {
        let words = self.storage::<W>();
        match self.numel() {
            0 => Some(&[]),
            numel => self.is_contiguous().then(|| &words[self.offset..self.offset + numel]),
        }
    }

    /// The elements as an `ndarray` view.
    ///
    /// # Panics
    /// If the elements are not of type `T`.
    #[track_caller]
    pub fn view<T: Element>(&self) -> ArrayViewD<'_, T> {
        let elements = self.elements::<T>();
        let shape = IxDyn(&self.shape);
        let view = if self.numel() == 0 {
            // Strides of a tensor without elements would point outside the empty slice.
            ArrayViewD::from_shape(shape, &[])
        } else {
            ArrayViewD::from_shape(shape.strides(IxDyn(&self.strides)), &elements[self.offset..])
        };
        view.expect("invariant: the layout lies within the storage")
    }

    /// The elements in row-major order, copied.
    ///
    /// # Panics
    /// If the elements are not of type `T`.
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Vec<T> {
        match self.as_slice::<T>() {
            Some(elements) => elements.to_vec(),
            None => into_values(iter::gather(self)),
        }
    }

    /// The elements in row-major order, converted.
    pub fn to_vec_as<T: Element>(&self) -> Vec<T> {
        self.to_dtype(T::DTYPE).into_vec()
    }

    /// The elements in row-major order, moved out if nobody shares them.
    ///
    /// # Panics
    /// If the elements are not of type `T`.
    #[track_caller]
    pub fn into_vec<T: Element>(mut self) -> Vec<T> {
        let (first, numel) = (self.offset, self.numel());
        if self.is_contiguous()
            && self.dtype() == T::DTYPE
            && let Some(words) = T::Word::unwrap_mut(&mut self.storage).and_then(Buffer::get_mut)
            && (first + numel..=numel + LINE / size_of::<T>()).contains(&words.len())
        {
            let mut words = std::mem::take(words);
            words.truncate(first + numel);
            words.drain(..first);
            return into_values(words);
        }
        self.to_vec()
    }

    /// A window on storage that is shared with the caller, whose first element is at `offset`.
    ///
    /// # Panics
    /// If the layout does not lie within the storage.
    pub(crate) fn window<W: Word>(
        dtype: DType,
        storage: Arc<Buffer<W>>,
        offset: usize,
        shape: Dims,
        strides: Dims,
    ) -> Self {
        let last =
            offset + shape.iter().zip(&strides).map(|(size, stride)| size.saturating_sub(1) * stride).sum::<usize>();
        assert!(shape.contains(&0) || last < storage.len(), "the layout must lie within the storage");
        Self { storage: W::wrap(dtype, storage), shape, strides, offset }
    }

    /// The same storage through another layout, whose first element is `offset` after this one's.
    pub(crate) fn aside(&self, shape: &[usize], strides: &[usize], offset: usize) -> Self {
        let offset = self.offset + offset;
        Self {
            storage: self.storage.clone(),
            shape: Dims::from_slice(shape),
            strides: Dims::from_slice(strides),
            offset,
        }
    }

    /// Another form of the elements: see [`Buffer::form`].
    pub(crate) fn form<F: Any + Send + Sync>(&self, fits: impl Fn(&F) -> bool, make: impl FnOnce() -> F) -> Arc<F> {
        match &self.storage {
            Storage::F32(buffer) => buffer.form(fits, make),
            _ => Arc::new(make()),
        }
    }

    /// The elements for writing, if they are contiguous and nobody shares them.
    pub(crate) fn unique_slice_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        if self.dtype() == T::DTYPE { self.unique_words_mut::<T::Word>().map(values_mut::<T>) } else { None }
    }

    fn unique_words_mut<W: Word>(&mut self) -> Option<&mut [W]> {
        if !self.is_contiguous() || self.numel() == 0 {
            return None;
        }
        let range = self.offset..self.offset + self.numel();
        W::unwrap_mut(&mut self.storage).and_then(Buffer::get_mut).map(|words| &mut words[range])
    }

    /// The tensor after `f` changed its elements, in row-major order: in place if nobody shares them.
    ///
    /// # Panics
    /// If the elements are not of type `T`.
    #[track_caller]
    pub(crate) fn changed<T: Element>(mut self, f: impl FnOnce(&mut [T])) -> Self {
        self.require(T::DTYPE);
        f(values_mut::<T>(self.own_words()));
        self
    }

    /// As [`changed`](Self::changed), for elements as words.
    ///
    /// # Panics
    /// If the elements are no such words.
    #[track_caller]
    pub(crate) fn changed_words<W: Word>(mut self, f: impl FnOnce(&mut [W])) -> Self {
        f(self.own_words());
        self
    }

    /// The elements for writing, in row-major order: copied first if others share them.
    #[track_caller]
    #[inline(never)]
    fn own_words<W: Word>(&mut self) -> &mut [W] {
        if self.numel() > 0 && self.unique_words_mut::<W>().is_none() {
            let x = self.contiguous();
            let words = x.words::<W>().unwrap_or_default();
            *self = Tensor::written_words(&self.shape, self.dtype(), |out| out.copy_from_slice(words));
        }
        self.unique_words_mut().unwrap_or_default()
    }

    /// The single element.
    ///
    /// # Panics
    /// If there is not exactly one.
    #[track_caller]
    pub fn item(&self) -> Scalar {
        match self.try_item() {
            Ok(item) => item,
            Err(error) => panic!("{error}"),
        }
    }

    /// The single element.
    ///
    /// # Errors
    /// If there is not exactly one.
    pub fn try_item(&self) -> Result<Scalar> {
        if self.numel() != 1 {
            return Err(Error::shape(format!("a tensor with {} elements is not a number", self.numel()))
                .help("reduce it first, for example with `sum` or `select`"));
        }
        Ok(dispatch!(self.dtype(), T => self.elements::<T>()[self.offset].to_scalar()))
    }

    /// The same elements in row-major order without gaps; copies only if they are not so already.
    #[must_use]
    pub fn contiguous(&self) -> Tensor {
        if self.is_contiguous() {
            return self.clone();
        }
        if self.dtype() == DType::F32 && self.numel() > 0 && self.ndim() <= fx_kernels::copy::MOST_DIMS {
            return Tensor::written(&self.shape, |out| {
                let x = self.strided::<f32>();
                fx_kernels::copy::copy(out, &row_major(&self.shape), x, &self.strides, &self.shape);
            });
        }
        dispatch_words!(self.dtype(), W => Tensor::of_words(&self.shape, self.dtype(), iter::gather::<W>(self)))
    }

    /// The elements converted to another type; shared if they have it already.
    #[must_use]
    pub fn to_dtype(&self, dtype: DType) -> Tensor {
        if dtype == self.dtype() { self.clone() } else { iter::converted(self, dtype) }
    }

    /// Whether all elements are close: `|a - b| <= atol + rtol * |b|`; NaN is close to NaN, shapes must be equal.
    pub fn all_close(&self, other: &Tensor, rtol: f64, atol: f64) -> bool {
        self.shape == other.shape
            && self
                .to_vec_as::<f64>()
                .iter()
                .zip(&other.to_vec_as::<f64>())
                .all(|(&a, &b)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= atol + rtol * b.abs())
    }

    /// The largest difference between elements in the same place; infinite if the shapes differ.
    pub fn max_abs_diff(&self, other: &Tensor) -> f64 {
        if self.shape != other.shape {
            return f64::INFINITY;
        }
        let (a, b) = (self.to_vec_as::<f64>(), other.to_vec_as::<f64>());
        a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    /// The storage from the first element on: what the strides are steps in. Empty if there are no elements.
    ///
    /// # Panics
    /// If the elements are not of type `T`.
    #[track_caller]
    pub(crate) fn strided<T: Element>(&self) -> &[T] {
        let elements = self.elements::<T>();
        if self.numel() == 0 { &[] } else { &elements[self.offset..] }
    }

    #[track_caller]
    fn elements<T: Element>(&self) -> &[T] {
        self.require(T::DTYPE);
        values(self.storage::<T::Word>())
    }

    #[track_caller]
    fn require(&self, dtype: DType) {
        assert!(self.dtype() == dtype, "a tensor of {} has no elements of type {dtype}", self.dtype());
    }

    #[track_caller]
    fn storage<W: Word>(&self) -> &[W] {
        W::unwrap(&self.storage).expect("elements of another type are no such words")
    }
}

/// Equal element types, shapes and elements; NaN differs from everything.
impl PartialEq for Tensor {
    fn eq(&self, other: &Self) -> bool {
        self.dtype() == other.dtype()
            && self.shape == other.shape
            && dispatch!(self.dtype(), T => self.contiguous().as_slice::<T>() == other.contiguous().as_slice::<T>())
    }
}

/// The number of elements of a tensor of this shape.
// Compiled once: inlined, the product of a few sizes becomes a page of vector code at each place.
#[inline(never)]
pub(crate) fn numel(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// The row-major strides of a shape.
pub(crate) fn row_major(shape: &[usize]) -> Dims {
    let mut strides = Dims::from_elem(1, shape.len());
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i].max(1);
    }
    strides
}
