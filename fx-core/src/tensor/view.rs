//! Windows on the same storage. All take arguments that are known to be valid: the ops' shape rules check first.

use super::{Dims, Tensor, numel, row_major};

/// The elements in another shape: a window if the strides allow it, else a copy.
#[must_use]
pub fn reshape(x: &Tensor, shape: &[usize]) -> Tensor {
    try_view(x, shape).unwrap_or_else(|| {
        let x = x.contiguous();
        Tensor { strides: row_major(shape), shape: Dims::from_slice(shape), ..x }
    })
}

/// The elements in another shape, if that can be a window: each new dimension lies within a run of old dimensions
/// that is contiguous in itself.
pub fn try_view(x: &Tensor, shape: &[usize]) -> Option<Tensor> {
    debug_assert_eq!(x.numel(), numel(shape));
    if x.is_contiguous() {
        return Some(Tensor { strides: row_major(shape), shape: Dims::from_slice(shape), ..x.clone() });
    }
    let mut strides = Dims::from_elem(0, shape.len());
    let mut new = shape.len();
    let mut old = x.ndim();
    while old > 0 {
        // One run: old dimensions that continue each other.
        let base = x.strides[old - 1];
        let mut run = x.shape[old - 1];
        old -= 1;
        while old > 0 && (x.shape[old - 1] == 1 || x.strides[old - 1] == run * base) {
            run *= x.shape[old - 1];
            old -= 1;
        }
        let mut filled = 1;
        while new > 0 && (filled < run || shape[new - 1] == 1) {
            strides[new - 1] = filled * base;
            filled *= shape[new - 1];
            new -= 1;
        }
        if filled != run {
            return None;
        }
    }
    (new == 0).then(|| Tensor { shape: Dims::from_slice(shape), strides, ..x.clone() })
}

/// The dimensions in another order.
#[must_use]
pub fn permute(x: &Tensor, dims: &[usize]) -> Tensor {
    debug_assert_eq!(dims.len(), x.ndim());
    Tensor {
        shape: dims.iter().map(|&dim| x.shape[dim]).collect(),
        strides: dims.iter().map(|&dim| x.strides[dim]).collect(),
        ..x.clone()
    }
}

/// Two dimensions swapped.
#[must_use]
pub fn transpose(x: &Tensor, a: usize, b: usize) -> Tensor {
    let mut x = x.clone();
    x.shape.swap(a, b);
    x.strides.swap(a, b);
    x
}

/// Repeated without a copy: dimensions of size 1 and new leading ones get the size asked for.
#[must_use]
pub fn expand(x: &Tensor, shape: &[usize]) -> Tensor {
    let lead = shape.len() - x.ndim();
    let strides = (0..shape.len())
        .map(|i| match i.checked_sub(lead) {
            Some(dim) if x.shape[dim] == shape[i] => x.strides[dim],
            _ => 0,
        })
        .collect();
    Tensor { shape: Dims::from_slice(shape), strides, ..x.clone() }
}

/// Every `step`-th of the elements `start..stop` along a dimension.
#[must_use]
pub fn slice(x: &Tensor, dim: usize, start: usize, stop: usize, step: usize) -> Tensor {
    debug_assert!(step > 0 && stop <= x.shape[dim]);
    let mut x = x.clone();
    let len = stop.saturating_sub(start).div_ceil(step);
    if len > 0 {
        x.offset += start * x.strides[dim];
    }
    x.shape[dim] = len;
    // Of one element or none the stride does not matter.
    x.strides[dim] = x.strides[dim].saturating_mul(step);
    x
}

/// `len` elements from `start` along a dimension.
#[must_use]
pub fn narrow(x: &Tensor, dim: usize, start: usize, len: usize) -> Tensor {
    slice(x, dim, start, start + len, 1)
}

/// One element along a dimension, which goes away.
#[must_use]
pub fn select(x: &Tensor, dim: usize, index: usize) -> Tensor {
    squeeze(&narrow(x, dim, index, 1), dim)
}

/// Without a dimension, whose size is 1.
#[must_use]
pub fn squeeze(x: &Tensor, dim: usize) -> Tensor {
    debug_assert_eq!(x.shape[dim], 1);
    let mut x = x.clone();
    x.shape.remove(dim);
    x.strides.remove(dim);
    x
}

/// With a new dimension of size 1 before `dim`.
#[must_use]
pub fn unsqueeze(x: &Tensor, dim: usize) -> Tensor {
    let mut x = x.clone();
    let stride = x.shape.get(dim).map_or(1, |&size| size.max(1) * x.strides[dim]);
    x.shape.insert(dim, 1);
    x.strides.insert(dim, stride);
    x
}

/// The diagonal of two dimensions, as a new last dimension.
#[must_use]
pub fn diagonal(x: &Tensor, offset: i64, dim0: usize, dim1: usize) -> Tensor {
    let (rows, columns) = (x.shape[dim0] as i64, x.shape[dim1] as i64);
    let len = if offset >= 0 { rows.min(columns - offset) } else { (rows + offset).min(columns) }.max(0) as usize;
    let stride = x.strides[dim0] + x.strides[dim1];
    let mut y = x.clone();
    if len > 0 {
        y.offset += if offset >= 0 { offset as usize * x.strides[dim1] } else { -offset as usize * x.strides[dim0] };
    }
    for dim in [dim0.max(dim1), dim0.min(dim1)] {
        y.shape.remove(dim);
        y.strides.remove(dim);
    }
    y.shape.push(len);
    y.strides.push(stride);
    y
}

/// All windows of `size` elements, `step` apart, along a dimension, as a new last dimension.
#[must_use]
pub fn unfold(x: &Tensor, dim: usize, size: usize, step: usize) -> Tensor {
    let mut y = x.clone();
    y.shape[dim] = (x.shape[dim] - size) / step + 1;
    y.strides[dim] = x.strides[dim].saturating_mul(step);
    y.shape.push(size);
    y.strides.push(x.strides[dim]);
    y
}

/// The shape that all these shapes broadcast to.
pub fn broadcast_shape(shapes: &[&[usize]]) -> Option<Dims> {
    let ndim = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut result = Dims::from_elem(1, ndim);
    for shape in shapes {
        for (have, &dim) in result[ndim - shape.len()..].iter_mut().zip(shape.iter()) {
            if *have == 1 {
                *have = dim;
            } else if dim != 1 && dim != *have {
                return None;
            }
        }
    }
    Some(result)
}
