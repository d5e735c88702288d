//! Choosing elements by indices, putting them back, and ordering them.
//!
//! Indices depend on data: `infer` checks shapes and element types, `eval` that every index lies within its dimension.

mod bag;
mod eval;
mod infer;
mod order;
mod scatter;

use super::Tolerance;
use super::cost;
use super::kind::{self, Encode};
use super::table::{ops, out};
use crate::value::Call;
pub(crate) use eval::places;
pub(crate) use scatter::index_copied;

ops! {
    /// Choosing elements by indices, putting them back, and ordering them.
    pub trait Indexing;

    /// The rows of `weight` that the indices name. `padding_idx` matters to training only.
    method embedding [embedding_with: EmbeddingOptions] (input: one, weight: one;; padding_idx: opt_int = None) -> one
        = eval::embedding, infer::embedding, cost::none, tolerance Tolerance::EXACT;
    /// The `"sum"`, `"mean"` or `"max"` of the rows of `weight` that each bag of indices names: a bag is a row of
    /// `input`, or starts at an offset if `input` has one dimension. Indices equal to `padding_idx` do not count.
    method embedding_bag [embedding_bag_with: EmbeddingBagOptions] (input: one, weight: one, offsets: opt,
        per_sample_weights: opt;; mode: string = "mean".into(), include_last_offset: flag = false,
        padding_idx: opt_int = None) -> one = bag::embedding_bag, infer::embedding_bag, cost::reduction,
        tolerance Tolerance::SUMMATION;

    /// The elements at these indices along a dimension, index by index.
    method gather(input: one, index: one; dim: int;) -> one = eval::gather, infer::gather, cost::none,
        tolerance Tolerance::EXACT;
    /// The slices at these indices along a dimension.
    method index_select(input: one, index: one; dim: int;) -> one = eval::index_select, infer::index_select,
        cost::none, tolerance Tolerance::EXACT;
    /// As `gather`, after broadcasting in the other dimensions; negative indices count from the end.
    method take_along_dim(input: one, indices: one; dim: int;) -> one = eval::take_along_dim, infer::take_along_dim,
        cost::none, tolerance Tolerance::EXACT;
    /// The elements where a mask holds, in row-major order.
    method masked_select(input: one, mask: one;;) -> one = eval::masked_select, infer::masked_select, cost::none,
        tolerance Tolerance::EXACT;
    /// The indices of the elements that are not zero, one row for each.
    method nonzero(input: one;;) -> one = eval::nonzero, infer::nonzero, cost::none, tolerance Tolerance::EXACT;

    /// With elements of `src`, or one number, put at these indices along a dimension.
    method scatter(input: one, index: one, src: num; dim: int;) -> one = scatter::scatter, infer::scatter, cost::none,
        tolerance Tolerance::EXACT, like input;
    /// With elements of `src` added at these indices along a dimension.
    method scatter_add(input: one, index: one, src: one; dim: int;) -> one = scatter::scatter_add, infer::scatter_add,
        cost::pointwise, tolerance Tolerance::SUMMATION, like input;
    /// With elements of `src` combined at these indices along a dimension by `"sum"`, `"prod"`, `"mean"`, `"amax"` or
    /// `"amin"`, together with the elements that are there if `include_self`.
    method scatter_reduce [scatter_reduce_with: ScatterReduceOptions] (input: one, index: one, src: one;
        dim: int, reduce: string; include_self: flag = true) -> one
        = scatter::scatter_reduce, infer::scatter_reduce, cost::pointwise, tolerance Tolerance::SUMMATION, like input;
    /// With slices of `source`, times `alpha`, added at these indices along a dimension.
    method index_add [index_add_with: IndexAddOptions] (input: one, index: one, source: one; dim: int;
        alpha: scalar = crate::Scalar::Int(1)) -> one
        = scatter::index_add, infer::index_add, cost::pointwise, tolerance Tolerance::SUMMATION, like input;
    /// With slices of `source` put at these indices along a dimension.
    method index_copy(input: one, index: one, source: one; dim: int;) -> one = scatter::index_copy, infer::index_copy,
        cost::none, tolerance Tolerance::EXACT, like input;
    /// With one number put into the slices at these indices along a dimension.
    method index_fill(input: one, index: one, value: num; dim: int;) -> one = scatter::index_fill, infer::index_fill,
        cost::none, tolerance Tolerance::EXACT, like input;

    /// The `k` largest or smallest elements along a dimension and where they are, the foremost first; NaN is above
    /// everything.
    method topk [topk_with: TopkOptions] (input: one; k: int; dim: int = -1, largest: flag = true, sorted: flag = true)
        -> pair = order::topk, infer::topk, cost::none, tolerance Tolerance::EXACT;
    /// The elements along a dimension in order and where they were; NaN is above everything, equal elements stay in
    /// their order.
    method sort [sort_with: SortOptions] (input: one;; dim: int = -1, descending: flag = false, stable: flag = false)
        -> pair = order::sort, infer::sort, cost::none, tolerance Tolerance::EXACT;
    /// Where the elements along a dimension are, in their order.
    method argsort [argsort_with: ArgsortOptions] (input: one;; dim: int = -1, descending: flag = false,
        stable: flag = false) -> one = order::argsort, infer::argsort, cost::none, tolerance Tolerance::EXACT;
    /// Where values would have to be inserted into the rows of a sorted tensor: before equal elements, or after them
    /// if `right`.
    method searchsorted [searchsorted_with: SearchsortedOptions] (sorted_sequence: one, values: num;;
        right: flag = false) -> one = order::searchsorted, infer::searchsorted, cost::none, tolerance Tolerance::EXACT;
    /// A new last dimension with a one at each element's place, else zeros; -1 classes are as many as needed.
    method one_hot(input: one; num_classes: int;) -> one = eval::one_hot, infer::one_hot, cost::none,
        tolerance Tolerance::EXACT;
}
