//! Printing tensors as PyTorch does: aligned columns, four digits, long dimensions shortened.

use std::fmt;

use super::{Tensor, dispatch, view};
use crate::tensor::{Element, Scalar};

/// Above this many elements the middle of each dimension is left out.
const THRESHOLD: usize = 1000;
/// How many elements are shown at each end of a shortened dimension.
const EDGE: usize = 3;

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shorten = self.numel() > THRESHOLD;
        let width = shown(self, shorten).iter().map(|text| text.len()).max().unwrap_or(0);
        f.write_str("tensor(")?;
        write(self, f, shorten, width, "tensor(".len())?;
        write!(f, ", {})", self.dtype())
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.numel() <= 16 {
            return fmt::Display::fmt(self, f);
        }
        write!(f, "Tensor({}{:?})", self.dtype(), self.shape())
    }
}

fn write(x: &Tensor, f: &mut fmt::Formatter<'_>, shorten: bool, width: usize, indent: usize) -> fmt::Result {
    if x.ndim() == 0 {
        return write!(f, "{:>width$}", text(x));
    }
    f.write_str("[")?;
    let len = x.shape()[0];
    for i in places(len, shorten) {
        if i > 0 {
            f.write_str(",")?;
            if x.ndim() == 1 {
                f.write_str(" ")?;
            } else {
                write!(f, "{}{:indent$}", "\n".repeat(x.ndim() - 1), "", indent = indent + 1)?;
            }
        }
        if shorten && len > 2 * EDGE && i == EDGE {
            f.write_str("...")?;
        } else {
            write(&view::select(x, 0, i), f, shorten, width, indent + 1)?;
        }
    }
    f.write_str("]")
}

/// The indices to write along a dimension; in a shortened one index `EDGE` stands for all that is left out.
fn places(len: usize, shorten: bool) -> Vec<usize> {
    if shorten && len > 2 * EDGE { (0..=EDGE).chain(len - EDGE..len).collect() } else { (0..len).collect() }
}

fn shown(x: &Tensor, shorten: bool) -> Vec<String> {
    if x.ndim() == 0 {
        return vec![text(x)];
    }
    places(x.shape()[0], shorten).into_iter().flat_map(|i| shown(&view::select(x, 0, i), shorten)).collect()
}

fn text(x: &Tensor) -> String {
    let number = dispatch!(x.dtype(), T => x.view::<T>().first().map(|x| x.to_scalar()));
    match number {
        Some(Scalar::Float(x)) if x != 0.0 && x.is_finite() && (x.abs() >= 1e5 || x.abs() < 1e-4) => format!("{x:.4e}"),
        Some(Scalar::Float(x)) => format!("{x:.4}"),
        Some(Scalar::Int(x)) => x.to_string(),
        Some(Scalar::Bool(x)) => x.to_string(),
        None => String::new(),
    }
}
