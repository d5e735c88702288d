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
pub mod view;

use std::any::Any;
use std::sync::Arc;

use half::{bf16, f16};
use ndarray::{ArrayViewD, IxDyn, ShapeBuilder};
use smallvec::SmallVec;

pub use buffer::Buffer;
use buffer::LINE;
pub use dtype::DType;
pub use element::{Element, Float, cast, num};
pub(crate) use element::{dispatch, dispatch_float};
pub(crate) use safetensors::Archive;
pub use safetensors::{load_safetensors, load_safetensors_bytes, load_safetensors_with, save_safetensors};
pub use scalar::Scalar;

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

/// The elements that a tensor is a window on, by their type.
#[doc(hidden)]
#[derive(Clone)]
pub enum Storage {
    Bool(Arc<Buffer<bool>>),
    U8(Arc<Buffer<u8>>),
    I8(Arc<Buffer<i8>>),
    I32(Arc<Buffer<i32>>),
    I64(Arc<Buffer<i64>>),
    F16(Arc<Buffer<f16>>),
    BF16(Arc<Buffer<bf16>>),
    F32(Arc<Buffer<f32>>),
    F64(Arc<Buffer<f64>>),
}

impl Storage {
    fn dtype(&self) -> DType {
        match self {
            Storage::Bool(_) => DType::Bool,
            Storage::U8(_) => DType::U8,
            Storage::I8(_) => DType::I8,
            Storage::I32(_) => DType::I32,
            Storage::I64(_) => DType::I64,
            Storage::F16(_) => DType::F16,
            Storage::BF16(_) => DType::BF16,
            Storage::F32(_) => DType::F32,
            Storage::F64(_) => DType::F64,
        }
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
        dispatch!(self.dtype(), T => T::unwrap(&self.storage).map_or(0, |elements| Arc::as_ptr(elements).addr()))
    }

    /// The elements in row-major order, if they lie so in storage.
    ///
    /// # Panics
    /// If the elements are not of type `T`.
    #[track_caller]
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        let elements = self.elements::<T>();
        match self.numel() {
            0 => Some(&[]),
            numel => self.is_contiguous().then(|| &elements[self.offset..self.offset + numel]),
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
            None => iter::gather(self),
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
            && let Some(elements) = T::unwrap_mut(&mut self.storage).and_then(Buffer::get_mut)
            && (first + numel..=numel + LINE / size_of::<T>()).contains(&elements.len())
        {
            let mut elements = std::mem::take(elements);
            elements.truncate(first + numel);
            elements.drain(..first);
            return elements;
        }
        self.to_vec()
    }

    /// A window on storage that is shared with the caller, whose first element is at `offset`.
    ///
    /// # Panics
    /// If the layout does not lie within the storage.
    pub(crate) fn window<T: Element>(storage: Arc<Buffer<T>>, offset: usize, shape: Dims, strides: Dims) -> Self {
        let last =
            offset + shape.iter().zip(&strides).map(|(size, stride)| size.saturating_sub(1) * stride).sum::<usize>();
        assert!(shape.contains(&0) || last < storage.len(), "the layout must lie within the storage");
        Self { storage: T::wrap(storage), shape, strides, offset }
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
        if !self.is_contiguous() || self.numel() == 0 {
            return None;
        }
        let range = self.offset..self.offset + self.numel();
        T::unwrap_mut(&mut self.storage).and_then(Buffer::get_mut).map(|elements| &mut elements[range])
    }

    /// The tensor after `f` changed its elements, in row-major order: in place if nobody shares them.
    ///
    /// # Panics
    /// If the elements are not of type `T`.
    #[track_caller]
    pub(crate) fn changed<T: Element>(mut self, f: impl FnOnce(&mut [T])) -> Self {
        f(self.own_elements());
        self
    }

    /// The elements for writing, in row-major order: copied first if others share them.
    #[track_caller]
    #[inline(never)]
    fn own_elements<T: Element>(&mut self) -> &mut [T] {
        if self.numel() > 0 && self.unique_slice_mut::<T>().is_none() {
            *self = iter::map::<T, T>(self, |x| x);
        }
        self.unique_slice_mut().unwrap_or_default()
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
        dispatch!(self.dtype(), T => Tensor::from_vec(&self.shape, iter::gather::<T>(self)))
    }

    /// The elements converted to another type; shared if they have it already.
    #[must_use]
    pub fn to_dtype(&self, dtype: DType) -> Tensor {
        if dtype == self.dtype() {
            return self.clone();
        }
        match (self.dtype(), dtype) {
            // Half of an f32's bits, which are many numbers at once for the compiler.
            (DType::BF16, DType::F32) => iter::map(self, element::widened),
            (DType::F32, DType::BF16) => iter::map(self, element::rounded),
            _ => dispatch!(self.dtype(), T => dispatch!(dtype, U => iter::map::<T, U>(self, cast))),
        }
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
        match T::unwrap(&self.storage) {
            Some(elements) => elements,
            None => panic!("a tensor of {} has no elements of type {}", self.dtype(), T::DTYPE),
        }
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
