//! Methods that are compositions of ops, and those whose rows take their arguments in more than one form.

use super::composed::{self, PairwiseDistanceOptions};
use super::kind::{self, Encode, Ints};
use super::{Function, functions as targets};
use crate::arg::Arg;
use crate::tensor::Tensor;
use crate::value::{Call, Index, Operand, SymInt, Tree, Value};

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

    /// The elements, `min` for those below it: `clamp(min, None)`, as `torch.clamp_min`.
    #[track_caller]
    fn clamp_min(&self, min: impl Encode<kind::scalar, Self>) -> Self
    where
        Self: Value,
    {
        Call::method(targets::clamp).operand(self).attribute("min", min.encode()).output()
    }

    /// The elements, `max` for those above it: `clamp(None, max)`, as `torch.clamp_max`.
    #[track_caller]
    fn clamp_max(&self, max: impl Encode<kind::scalar, Self>) -> Self
    where
        Self: Value,
    {
        Call::method(targets::clamp).operand(self).attribute("max", max.encode()).output()
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

    /// Grids of coordinates, one for each of `N` tensors of one dimension: the tensor along a dimension of its own, expanded
    /// over those of the others. `indexing` is `"ij"`, which is PyTorch's default, or `"xy"`, which swaps the first two dimensions.
    ///
    /// A trace has the sizes, a `reshape` and an `expand` of each tensor.
    ///
    /// ```
    /// use fx_core::prelude::*;
    ///
    /// let (rows, columns) = (Tensor::from([0.0, 1.0]), Tensor::from([5.0, 6.0, 7.0]));
    /// let [y, x] = Tensor::meshgrid([&rows, &columns], "ij");
    /// assert_eq!(y, Tensor::from([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]));
    /// assert_eq!(x, Tensor::from([[5.0, 6.0, 7.0], [5.0, 6.0, 7.0]]));
    /// ```
    #[track_caller]
    fn meshgrid<const N: usize>(tensors: [impl Operand<Self>; N], indexing: &str) -> [Self; N]
    where
        Self: Value,
    {
        composed::meshgrid(tensors, indexing)
    }

    /// The channels, which are dimension 1, dealt out: the first of each of the groups, then the second of each
    /// (Zhang et al., 2018).
    ///
    /// A trace has `unflatten`, `transpose` and `flatten`.
    ///
    /// ```
    /// use fx_core::prelude::*;
    ///
    /// let x = Tensor::arange(6).reshape((1, 6, 1, 1));
    /// assert_eq!(x.channel_shuffle(2).reshape(-1), Tensor::from([0_i64, 3, 1, 4, 2, 5]));
    /// ```
    #[track_caller]
    fn channel_shuffle(&self, groups: impl Encode<kind::int, Self>) -> Self
    where
        Self: Value,
    {
        composed::channel_shuffle(self, groups)
    }

    /// The `p`-norm of the difference of two vectors, along the last dimension, with broadcasting; `p` is 2 unless it is set.
    ///
    /// A trace has `sub`, `add` of `eps` and `norm`.
    ///
    /// ```
    /// use fx_core::ops::PairwiseDistanceOptions;
    /// use fx_core::prelude::*;
    ///
    /// let (a, b) = (Tensor::from([[0.0, 0.0], [1.0, 1.0]]), Tensor::from([3.0, 4.0]));
    /// assert!(a.pairwise_distance(&b).all_close(&Tensor::from([5.0, 13.0_f32.sqrt()]), 1e-5, 0.0));
    /// let options = PairwiseDistanceOptions::new().p(1.0).keepdim(true);
    /// assert!(a.pairwise_distance_with(&b, options).all_close(&Tensor::from([[7.0], [5.0]]), 1e-5, 0.0));
    /// ```
    #[track_caller]
    fn pairwise_distance(&self, x2: impl Operand<Self>) -> Self
    where
        Self: Value,
    {
        composed::pairwise_distance(self, x2)
    }

    /// As [`Self::pairwise_distance`], with options.
    #[track_caller]
    fn pairwise_distance_with(&self, x2: impl Operand<Self>, options: PairwiseDistanceOptions) -> Self
    where
        Self: Value,
    {
        composed::pairwise_distance_with(self, x2, options)
    }

    /// The cross product of vectors of three elements along a dimension, as `torch.linalg.cross`, whose default is -1. The other
    /// dimensions broadcast; with different numbers of dimensions, `dim` is negative.
    ///
    /// A trace has `unbind`, products, differences and a `stack`.
    ///
    /// ```
    /// use fx_core::prelude::*;
    ///
    /// let (x, y) = (Tensor::from([1.0, 0.0, 0.0]), Tensor::from([0.0, 1.0, 0.0]));
    /// assert_eq!(x.cross(&y, -1), Tensor::from([0.0, 0.0, 1.0]));
    /// ```
    #[track_caller]
    fn cross(&self, other: impl Operand<Self>, dim: i64) -> Self
    where
        Self: Value,
    {
        composed::cross(self, other, dim)
    }

    /// The differences of neighbours along a dimension, taken `n` times, as `torch.diff`, whose defaults are 1 and -1. `n` is
    /// at most the size; of booleans there are none.
    ///
    /// A trace has the size, two `narrow`s and their difference, `n` times.
    ///
    /// ```
    /// use fx_core::prelude::*;
    ///
    /// let x = Tensor::from([1.0, 4.0, 9.0, 16.0]);
    /// assert_eq!(x.diff(1, -1), Tensor::from([3.0, 5.0, 7.0]));
    /// assert_eq!(x.diff(2, -1), Tensor::from([2.0, 2.0]));
    /// ```
    #[track_caller]
    fn diff(&self, n: usize, dim: i64) -> Self
    where
        Self: Value,
    {
        composed::diff(self, n, dim)
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
