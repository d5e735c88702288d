//! Shapes, parts and arrangements: views where possible, copies where not.
//!
//! What gives as many parts as a shape says takes a `count`: how many the program takes, any other number being an error.
//! `let [a, b] = x.unbind(0)` records 2, so that a capture does not take two of five.

mod eval;
mod getitem;
mod grid;
mod infer;
pub(crate) mod places;
mod resize;

use super::Tolerance;
use super::cost;
use super::kind::{self, Encode};
use super::table::{ops, out};
use crate::value::Call;

pub(crate) use eval::unflatten as eval_unflatten;
pub(crate) use grid::sampling;
pub(crate) use infer::{counted, unflatten as infer_unflatten};
pub(crate) use resize::{Lines, Taps};

ops! {
    /// Shapes, parts and arrangements of tensors.
    pub trait Structure;

    /// The size of a dimension; all sizes as a tuple without one, see `sizes`.
    raw size(input: one; dim: opt_int; count: opt_int = None) -> size = eval::size, infer::size, cost::none, tolerance Tolerance::EXACT;
    /// The number of elements.
    method numel(input: one;;) -> size = eval::numel, infer::numel, cost::none, tolerance Tolerance::EXACT;
    /// An element of a tuple or list, or a part of a tensor: integers select, slices narrow, `None` adds a
    /// dimension, `...` stands for the dimensions between, tensors of indices gather, masks choose.
    raw getitem(input: any, index: any;; count: opt_int = None) -> one = getitem::eval, getitem::infer, cost::none,
        tolerance Tolerance::EXACT;

    /// The elements in another shape; one size may be -1.
    method reshape(input: one; shape: sizes;) -> one = eval::reshape, infer::reshape, cost::none,
        tolerance Tolerance::EXACT;
    /// The elements in another shape, without a copy; one size may be -1.
    method view(input: one; shape: sizes;) -> one = eval::reshape, infer::reshape, cost::none,
        tolerance Tolerance::EXACT;
    /// The dimensions from `start_dim` to `end_dim` as one.
    method flatten [flatten_with: FlattenOptions] (input: one;; start_dim: int = 0, end_dim: int = -1) -> one
        = eval::flatten, infer::flatten, cost::none, tolerance Tolerance::EXACT;
    /// One dimension as several; one size may be -1.
    method unflatten(input: one; dim: int, sizes: sizes;) -> one = eval::unflatten, infer::unflatten, cost::none,
        tolerance Tolerance::EXACT;
    /// Without the dimensions of size 1, or without those named if their size is 1.
    method squeeze [squeeze_with: SqueezeOptions] (input: one;; dim: opt_ints = None) -> one
        = eval::squeeze, infer::squeeze, cost::none, tolerance Tolerance::EXACT;
    /// With a new dimension of size 1.
    method unsqueeze(input: one; dim: int;) -> one = eval::unsqueeze, infer::unsqueeze, cost::none,
        tolerance Tolerance::EXACT;
    /// The dimensions in another order.
    method permute(input: one; dims: ints;) -> one = eval::permute, infer::permute, cost::none,
        tolerance Tolerance::EXACT;
    /// Two dimensions swapped.
    method transpose(input: one; dim0: int, dim1: int;) -> one = eval::transpose, infer::transpose, cost::none,
        tolerance Tolerance::EXACT;
    /// Dimensions moved to other places, the others in their order.
    method movedim(input: one; source: ints, destination: ints;) -> one = eval::movedim, infer::movedim, cost::none,
        tolerance Tolerance::EXACT;
    /// Dimensions of size 1 repeated to these sizes, without a copy; -1 keeps a size.
    method expand(input: one; size: sizes;) -> one = eval::expand, infer::expand, cost::none,
        tolerance Tolerance::EXACT;
    /// Expanded to the shape of another tensor.
    method expand_as(input: one, other: one;;) -> one = eval::expand_as, infer::expand_as, cost::none,
        tolerance Tolerance::EXACT;
    /// Broadcast to a shape, without a copy.
    method broadcast_to(input: one; size: sizes;) -> one = eval::expand, infer::expand, cost::none,
        tolerance Tolerance::EXACT;
    /// Repeated along each dimension.
    method repeat(input: one; repeats: sizes;) -> one = eval::repeat, infer::repeat, cost::none,
        tolerance Tolerance::EXACT;
    /// Repeated along each dimension; counts that are missing are 1.
    method tile(input: one; dims: sizes;) -> one = eval::tile, infer::tile, cost::none,
        tolerance Tolerance::EXACT;
    /// Each element repeated in place, along a dimension or of the flattened tensor.
    method repeat_interleave [repeat_interleave_with: RepeatInterleaveOptions] (input: one; repeats: size;
        dim: opt_int = None) -> one = eval::repeat_interleave, infer::repeat_interleave, cost::none,
        tolerance Tolerance::EXACT;
    /// `length` elements from `start` along a dimension.
    method narrow(input: one; dim: int, start: size, length: size;) -> one = eval::narrow, infer::narrow, cost::none,
        tolerance Tolerance::EXACT;
    /// One element along a dimension, which goes away.
    method select(input: one; dim: int, index: size;) -> one = eval::select, infer::select, cost::none,
        tolerance Tolerance::EXACT;
    /// The diagonal of two dimensions, as a new last dimension.
    method diagonal [diagonal_with: DiagonalOptions] (input: one;; offset: int = 0, dim1: int = 0, dim2: int = 1) -> one
        = eval::diagonal, infer::diagonal, cost::none, tolerance Tolerance::EXACT;
    /// All windows of `size` elements, `step` apart, as a new last dimension.
    method unfold(input: one; dimension: int, size: int, step: int;) -> one = eval::unfold, infer::unfold, cost::none,
        tolerance Tolerance::EXACT;

    /// Tensors one after the other along a dimension.
    constructor cat [cat_with: CatOptions] (tensors: many;; dim: int = 0) -> one
        = eval::cat, infer::cat, cost::none, tolerance Tolerance::EXACT;
    /// Tensors of one shape along a new dimension.
    constructor stack [stack_with: StackOptions] (tensors: many;; dim: int = 0) -> one
        = eval::stack, infer::stack, cost::none, tolerance Tolerance::EXACT;
    /// Parts of a size, the last one smaller, or of given sizes; see `split`.
    raw split(input: one; split_size_or_sections: ints; dim: int = 0, count: opt_int = None) -> one
        = eval::split, infer::split, cost::none, tolerance Tolerance::EXACT;
    /// At most `chunks` parts of equal size, the last one smaller; see `chunk`.
    raw chunk(input: one; chunks: int; dim: int = 0, count: opt_int = None) -> one
        = eval::chunk, infer::chunk, cost::none, tolerance Tolerance::EXACT;
    /// All slices along a dimension; see `unbind`.
    raw unbind(input: one;; dim: int = 0, count: opt_int = None) -> one = eval::unbind, infer::unbind, cost::none,
        tolerance Tolerance::EXACT;

    /// Padded: pairs of amounts before and after, from the last dimension on; `mode` is `"constant"`, `"reflect"`,
    /// `"replicate"` or `"circular"`.
    method pad [pad_with: PadOptions] (input: one; pad: sizes; mode: string = "constant".into(), value: opt_float = None)
        -> one = eval::pad, infer::pad, cost::none, tolerance Tolerance::EXACT;
    /// Shifted around along dimensions, or of the flattened tensor.
    method roll [roll_with: RollOptions] (input: one; shifts: sizes; dims: opt_ints = None) -> one
        = eval::roll, infer::roll, cost::none, tolerance Tolerance::EXACT;
    /// Reversed along dimensions.
    method flip(input: one; dims: ints;) -> one = eval::flip, infer::flip, cost::none, tolerance Tolerance::EXACT;
    /// The elements on and below a diagonal, zero above it.
    method tril [tril_with: TrilOptions<V>] (input: one;; diagonal: size = 0_i64.into()) -> one
        = eval::tril, infer::matrix, cost::none, tolerance Tolerance::EXACT;
    /// The elements on and above a diagonal, zero below it.
    method triu [triu_with: TriuOptions<V>] (input: one;; diagonal: size = 0_i64.into()) -> one
        = eval::triu, infer::matrix, cost::none, tolerance Tolerance::EXACT;

    /// Resampled to a size or by a factor; `mode` is `"nearest"`, `"nearest-exact"`, `"area"`, or by the number of spatial dimensions
    /// `"linear"`, `"bilinear"`, `"bicubic"` or `"trilinear"`.
    method interpolate [interpolate_with: InterpolateOptions<V>] (input: one;; size: opt_sizes = None,
        scale_factor: opt_floats = None, mode: string = "nearest".into(), align_corners: opt_flag = None) -> one
        = resize::interpolate, resize::interpolate_shape, cost::pointwise, tolerance Tolerance::SUMMATION;
    /// Sampled at the places of a grid, `[N, H, W, 2]` with coordinates from -1 to 1, that along the width first (of volumes,
    /// `[N, D, H, W, 3]`). `mode` is `"bilinear"`, `"nearest"` or `"bicubic"`, `padding_mode` `"zeros"`, `"border"` or
    /// `"reflection"`. With `align_corners` -1 and 1 are the centres of the outermost elements, else their outer edges.
    method grid_sample [grid_sample_with: GridSampleOptions] (input: one, grid: one;; mode: string = "bilinear".into(),
        padding_mode: string = "zeros".into(), align_corners: flag = false) -> one
        = grid::grid_sample, grid::grid_sample_shape, cost::pointwise, tolerance Tolerance::SUMMATION;
    /// The grid for `grid_sample` of an affine map of each image: matrices `[N, 2, 3]` and the size `[N, C, H, W]` of the
    /// result (of volumes, `[N, 3, 4]` and `[N, C, D, H, W]`).
    method affine_grid [affine_grid_with: AffineGridOptions] (theta: one; size: sizes; align_corners: flag = false)
        -> one = grid::affine_grid, grid::affine_grid_shape, cost::pointwise, tolerance Tolerance::SUMMATION;
    /// Channels rearranged into space: `[.., C*r*r, H, W]` to `[.., C, H*r, W*r]` (Shi et al., 2016).
    method pixel_shuffle(input: one; upscale_factor: int;) -> one
        = resize::pixel_shuffle, resize::pixel_shuffle_shape, cost::none, tolerance Tolerance::EXACT;
    /// Space rearranged into channels: the inverse of `pixel_shuffle`.
    method pixel_unshuffle(input: one; downscale_factor: int;) -> one
        = resize::pixel_unshuffle, resize::pixel_unshuffle_shape, cost::none, tolerance Tolerance::EXACT;
}
