//! Running a function over all elements: one, two or three tensors at a time, with broadcasting.
//!
//! Contiguous elements are run over as slices; a second operand that repeats (a bias along a dimension) is run over
//! in blocks. Everything else goes through `ndarray`.

use ndarray::Zip;

use super::{Dims, Element, Tensor, view};

/// `f` of every element.
pub fn map<T: Element, U: Element>(x: &Tensor, f: impl Fn(T) -> U) -> Tensor {
    let elements = match x.as_slice::<T>() {
        Some(elements) => elements.iter().map(|&x| f(x)).collect(),
        None => x.view::<T>().iter().map(|&x| f(x)).collect(),
    };
    Tensor::from_vec(x.shape(), elements)
}

/// `f` of every element, written in place if nobody else has the elements.
pub fn map_owned<T: Element>(mut x: Tensor, f: impl Fn(T) -> T) -> Tensor {
    match x.unique_slice_mut::<T>() {
        Some(elements) => {
            elements.iter_mut().for_each(|x| *x = f(*x));
            x
        }
        None => map(&x, f),
    }
}

/// `f` of the elements in the same place after broadcasting.
///
/// # Panics
/// If the shapes do not broadcast.
#[track_caller]
pub fn zip<A: Element, B: Element, U: Element>(a: &Tensor, b: &Tensor, f: impl Fn(A, B) -> U) -> Tensor {
    if a.shape() == b.shape() {
        if let (Some(x), Some(y)) = (a.as_slice::<A>(), b.as_slice::<B>()) {
            return Tensor::from_vec(a.shape(), x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect());
        }
    }
    let shape = view::broadcast_shape(&[a.shape(), b.shape()]).expect("shapes that broadcast");
    if let (Some(x), Some(y)) = (a.as_slice::<A>(), b.as_slice::<B>()) {
        if a.shape() == shape.as_slice() {
            if let Some((period, inner)) = repeat(b.shape(), &shape) {
                return Tensor::from_vec(&shape, blocks(x, y, period, inner, &f));
            }
        } else if b.shape() == shape.as_slice() {
            if let Some((period, inner)) = repeat(a.shape(), &shape) {
                return Tensor::from_vec(&shape, blocks(y, x, period, inner, &|y, x| f(x, y)));
            }
        }
    }
    let (a, b) = (view::expand(a, &shape), view::expand(b, &shape));
    Zip::from(a.view::<A>()).and(b.view::<B>()).map_collect(|&x, &y| f(x, y)).into()
}

/// `f` of the elements of three tensors in the same place after broadcasting.
///
/// # Panics
/// If the shapes do not broadcast.
#[track_caller]
pub fn zip3<A: Element, B: Element, C: Element, U: Element>(
    a: &Tensor,
    b: &Tensor,
    c: &Tensor,
    f: impl Fn(A, B, C) -> U,
) -> Tensor {
    let shape = view::broadcast_shape(&[a.shape(), b.shape(), c.shape()]).expect("shapes that broadcast");
    let (a, b, c) = (view::expand(a, &shape), view::expand(b, &shape), view::expand(c, &shape));
    Zip::from(a.view::<A>()).and(b.view::<B>()).and(c.view::<C>()).map_collect(|&x, &y, &z| f(x, y, z)).into()
}

/// If a small shape lies in one run of dimensions of a large one: the number of its elements and how often each is
/// repeated in a row. `[C, 1, 1]` in `[N, C, H, W]` is `(C, H * W)`.
fn repeat(small: &[usize], large: &[usize]) -> Option<(usize, usize)> {
    let tail = &large[large.len() - small.len()..];
    let first = small.iter().position(|&dim| dim != 1).unwrap_or(small.len());
    let last = small.iter().rposition(|&dim| dim != 1).map_or(first, |last| last + 1);
    (small[first..last] == tail[first..last])
        .then(|| (small[first..last].iter().product(), tail[last..].iter().product()))
}

fn blocks<A: Element, B: Element, U: Element>(
    x: &[A],
    y: &[B],
    period: usize,
    inner: usize,
    f: &impl Fn(A, B) -> U,
) -> Vec<U> {
    let mut out = Vec::with_capacity(x.len());
    if period == 0 || inner == 0 {
        return out;
    }
    if period == 1 {
        out.extend(x.iter().map(|&x| f(x, y[0])));
    } else if inner == 1 {
        for row in x.chunks_exact(period) {
            out.extend(row.iter().zip(y).map(|(&x, &y)| f(x, y)));
        }
    } else {
        for (row, &y) in x.chunks_exact(inner).zip(y.iter().cycle()) {
            out.extend(row.iter().map(|&x| f(x, y)));
        }
    }
    out
}

/// The elements in row-major order, copied.
pub(super) fn gather<T: Element>(x: &Tensor) -> Vec<T> {
    let view = x.view::<T>();
    let mut out = Vec::with_capacity(x.numel());
    if x.ndim() == 0 || x.strides()[x.ndim() - 1] == 1 {
        for row in view.rows() {
            match row.as_slice() {
                Some(row) => out.extend_from_slice(row),
                None => out.extend(row.iter().copied()),
            }
        }
    } else {
        out.extend(view.iter().copied());
    }
    out
}

/// A tensor with the reduced dimensions last and contiguous: rows to reduce.
#[derive(Debug)]
pub struct Lanes {
    /// The rearranged tensor, contiguous.
    pub rows: Tensor,
    /// The length of a row.
    pub len: usize,
    /// The shape of what is left.
    pub shape: Dims,
}

/// The tensor as rows along `dims`. Without elements to reduce, rows have length 0.
pub fn lanes(x: &Tensor, dims: &[usize]) -> Lanes {
    let kept: Dims = (0..x.ndim()).filter(|dim| !dims.contains(dim)).collect();
    let shape: Dims = kept.iter().map(|&dim| x.shape()[dim]).collect();
    let len = dims.iter().map(|&dim| x.shape()[dim]).product();
    let mut order = kept;
    order.extend(dims.iter().copied());
    Lanes { rows: view::permute(x, &order).contiguous(), len, shape }
}

impl Lanes {
    /// `f` of every row.
    #[must_use]
    pub fn map<T: Element, U: Element>(&self, f: impl Fn(&[T]) -> U) -> Tensor {
        let count = self.shape.iter().product::<usize>();
        let elements = self.rows.as_slice::<T>().expect("invariant: rows are contiguous");
        let out = (0..count).map(|row| f(&elements[row * self.len..(row + 1) * self.len])).collect();
        Tensor::from_vec(&self.shape, out)
    }
}
