//! Methods that are compositions of ops, and those whose rows take their arguments in more than one form.

use super::kind::{self, Encode, Ints};
use super::{Function, functions as targets};
use crate::arg::Arg;
use crate::tensor::Tensor;
use crate::value::{Call, Index, SymInt, Tree, Value};

/// Methods of every value that are not rows of the table themselves.
pub trait Derived: Sized {
    /// The size of a dimension, as a symbolic integer; negative dimensions count from the end.
    #[track_caller]
    fn size(&self, dim: i64) -> SymInt<Self>
    where
        Self: Value,
    {
        Call::method(targets::size).operand(self).kwarg("dim", dim).output()
    }

    /// The sizes of all `N` dimensions: `let [n, c, h, w] = x.sizes();` Another number of dimensions is an error.
    #[track_caller]
    fn sizes<const N: usize>(&self) -> [SymInt<Self>; N]
    where
        Self: Value,
    {
        counted(Call::method(targets::size).operand(self), N).output()
    }

    /// A tensor that is no parameter or buffer, as a value: in a trace a constant of the graph, once for each tensor.
    #[track_caller]
    fn constant(tensor: &Tensor) -> Self
    where
        Self: Value,
    {
        Call::constant(tensor).output()
    }

    /// This where the condition holds, else `other`.
    #[track_caller]
    fn where_(&self, condition: impl Encode<kind::one, Self>, other: impl Encode<kind::num, Self>) -> Self
    where
        Self: Value,
    {
        Call::function(targets::where_).arg(condition.encode()).operand(self).arg(other.encode()).output()
    }

    /// The transposed matrix.
    #[track_caller]
    fn t(&self) -> Self
    where
        Self: Value,
    {
        Call::method(targets::transpose).operand(self).kwarg("dim0", 0_i64).kwarg("dim1", 1_i64).output()
    }

    /// The sum over these dimensions, which go away.
    #[track_caller]
    fn sum_dim(&self, dim: impl Ints) -> Self
    where
        Self: Value,
    {
        over(targets::sum, self, dim.into_arg(), false)
    }

    /// The sum over these dimensions, which keep the size 1.
    #[track_caller]
    fn sum_keepdim(&self, dim: impl Ints) -> Self
    where
        Self: Value,
    {
        over(targets::sum, self, dim.into_arg(), true)
    }

    /// The mean over these dimensions, which go away.
    #[track_caller]
    fn mean_dim(&self, dim: impl Ints) -> Self
    where
        Self: Value,
    {
        over(targets::mean, self, dim.into_arg(), false)
    }

    /// The mean over these dimensions, which keep the size 1.
    #[track_caller]
    fn mean_keepdim(&self, dim: impl Ints) -> Self
    where
        Self: Value,
    {
        over(targets::mean, self, dim.into_arg(), true)
    }

    /// The variance over these dimensions, which go away.
    #[track_caller]
    fn var_dim(&self, dim: impl Ints) -> Self
    where
        Self: Value,
    {
        over(targets::var, self, dim.into_arg(), false)
    }

    /// The variance over these dimensions, which keep the size 1.
    #[track_caller]
    fn var_keepdim(&self, dim: impl Ints) -> Self
    where
        Self: Value,
    {
        over(targets::var, self, dim.into_arg(), true)
    }

    /// The square root of the variance over these dimensions, which go away.
    #[track_caller]
    fn std_dim(&self, dim: impl Ints) -> Self
    where
        Self: Value,
    {
        over(targets::std, self, dim.into_arg(), false)
    }

    /// The square root of the variance over these dimensions, which keep the size 1.
    #[track_caller]
    fn std_keepdim(&self, dim: impl Ints) -> Self
    where
        Self: Value,
    {
        over(targets::std, self, dim.into_arg(), true)
    }

    /// The largest element.
    #[track_caller]
    fn max(&self) -> Self
    where
        Self: Value,
    {
        Call::method(targets::max).operand(self).output()
    }

    /// The smallest element.
    #[track_caller]
    fn min(&self) -> Self
    where
        Self: Value,
    {
        Call::method(targets::min).operand(self).output()
    }

    /// The largest elements along a dimension, and where they are.
    #[track_caller]
    fn max_dim(&self, dim: i64) -> (Self, Self)
    where
        Self: Value,
    {
        Call::method(targets::max).operand(self).kwarg("dim", dim).output()
    }

    /// The smallest elements along a dimension, and where they are.
    #[track_caller]
    fn min_dim(&self, dim: i64) -> (Self, Self)
    where
        Self: Value,
    {
        Call::method(targets::min).operand(self).kwarg("dim", dim).output()
    }

    /// `N` parts along a dimension, as `torch.chunk`: of equal size but for the last.
    ///
    /// A size that does not give `N` parts (5 in 4 parts is 2, 2, 1) is an error: the number of parts is part of
    /// the program.
    #[track_caller]
    fn chunk<const N: usize>(&self, dim: i64) -> [Self; N]
    where
        Self: Value,
    {
        let call = Call::method(targets::chunk).operand(self).kwarg("chunks", N as i64);
        counted(along(call, dim), N).output()
    }

    /// `N` parts of `size` elements along a dimension, the last one smaller. Another number of parts is an error.
    #[track_caller]
    fn split<const N: usize>(&self, size: i64, dim: i64) -> [Self; N]
    where
        Self: Value,
    {
        let call = Call::method(targets::split).operand(self).kwarg("split_size_or_sections", size);
        counted(along(call, dim), N).output()
    }

    /// Parts of these sizes along a dimension.
    #[track_caller]
    fn split_sizes(&self, sizes: &[i64], dim: i64) -> Vec<Self>
    where
        Self: Value,
    {
        let call = Call::method(targets::split).operand(self).kwarg("split_size_or_sections", sizes.into_arg());
        let call = along(call, dim);
        // One size alone is that of every part.
        parts(if sizes.len() == 1 { counted(call, 1) } else { call }, sizes.len())
    }

    /// All `N` slices along a dimension, which goes away. Another number of slices is an error.
    #[track_caller]
    fn unbind<const N: usize>(&self, dim: i64) -> [Self; N]
    where
        Self: Value,
    {
        counted(along(Call::method(targets::unbind).operand(self), dim), N).output()
    }

    /// One slice along the first dimension, which goes away: `x[index]`.
    #[track_caller]
    fn get(&self, index: impl Into<SymInt<Self>>) -> Self
    where
        Self: Value,
    {
        let index = index.into();
        Call::method(targets::select).operand(self).kwarg("dim", 0_i64).kwarg("index", index.as_arg().clone()).output()
    }

    /// A part of the tensor, by Python's rules: `x.index((0, 1..-1))` is `x[0, 1:-1]`.
    ///
    /// Integers select, ranges narrow, tensors gather or choose; see [`Index`] for all that may stand there.
    #[track_caller]
    fn index(&self, index: impl Index<Self>) -> Self
    where
        Self: Value,
    {
        Call::function(targets::getitem).operand(self).arg(index.into_index()).output()
    }
}

impl<V: Value> Derived for V {}

/// A reduction over dimensions.
#[track_caller]
fn over<V: Value>(function: Function, x: &V, dim: Arg<V>, keepdim: bool) -> V {
    let call = Call::method(function).operand(x).kwarg("dim", dim);
    if keepdim { call.kwarg("keepdim", true) } else { call }.output()
}

/// Adds `dim` where it is not at its default.
fn along<V: Value>(call: Call<'_, V>, dim: i64) -> Call<'_, V> {
    if dim == 0 { call } else { call.kwarg("dim", dim) }
}

/// Adds how many parts the program takes.
fn counted<V: Value>(call: Call<'_, V>, count: usize) -> Call<'_, V> {
    call.kwarg("count", count)
}

/// The parts of a call's result, whose number is known.
#[track_caller]
fn parts<V: Value>(call: Call<'_, V>, count: usize) -> Vec<V> {
    let unpacked = match call.apply() {
        Ok(arg) => crate::value::unpack(arg, count),
        Err(error) => Err(error),
    };
    match unpacked.and_then(|items| items.into_iter().map(V::from_arg).collect()) {
        Ok(parts) => parts,
        Err(error) => vec![V::fail(error); count],
    }
}
