//! Products of vectors and matrices.

mod attention;
mod distance;
mod einsum;
mod eval;
mod infer;
mod product;

use super::Tolerance;
use super::cost;
use super::kind::{self, Encode};
use super::table::{ops, out};
use crate::tensor::{DType, Scalar};
use crate::value::Call;

pub(crate) use einsum::{Part as ContractionPart, parts as contraction_parts};
pub(crate) use eval::linear as eval_linear;
pub(crate) use infer::linear as infer_linear;
pub(crate) use product::affine;

ops! {
    /// Products of vectors and matrices.
    pub trait LinearAlgebra;

    /// The product of two matrices, of stacks of matrices (which broadcast), or of vectors with them.
    method matmul(input: one, other: one;;) -> one
        = eval::matmul, infer::matmul, cost::matmul, tolerance Tolerance::SUMMATION;
    /// The product of two matrices.
    method mm(input: one, mat2: one;;) -> one
        = eval::matmul, infer::mm, cost::matmul, tolerance Tolerance::SUMMATION;
    /// The products of two stacks of matrices.
    method bmm(input: one, mat2: one;;) -> one
        = eval::matmul, infer::bmm, cost::matmul, tolerance Tolerance::SUMMATION;
    /// The product of a matrix and a vector.
    method mv(input: one, vec: one;;) -> one
        = eval::matmul, infer::mv, cost::matmul, tolerance Tolerance::SUMMATION;
    /// The sum of the products of two vectors' elements.
    method dot(input: one, other: one;;) -> one
        = eval::matmul, infer::dot, cost::matmul, tolerance Tolerance::SUMMATION;
    /// All products of one element of each of two vectors, as a matrix.
    method outer(input: one, vec2: one;;) -> one = eval::outer, infer::outer, cost::pointwise;
    /// `beta * input + alpha * (mat1 @ mat2)`; with `beta` 0 the input is not looked at.
    method addmm [addmm_with: AddmmOptions] (input: one, mat1: one, mat2: one;;
        beta: scalar = Scalar::Int(1), alpha: scalar = Scalar::Int(1)) -> one
        = eval::addmm, infer::addmm, cost::addmm, tolerance Tolerance::SUMMATION;
    /// `beta * input + alpha * (batch1 @ batch2)` of stacks of matrices; with `beta` 0 the input is not looked at.
    method baddbmm [baddbmm_with: BaddbmmOptions] (input: one, batch1: one, batch2: one;;
        beta: scalar = Scalar::Int(1), alpha: scalar = Scalar::Int(1)) -> one
        = eval::addmm, infer::baddbmm, cost::addmm, tolerance Tolerance::SUMMATION;
    /// `input @ weight.T + bias`, where the weight is `[out_features, in_features]`.
    method linear(input: one, weight: one, bias: opt;;) -> one
        = eval::linear, infer::linear, cost::matmul, tolerance Tolerance::SUMMATION;
    /// `input1 @ weight[o] @ input2 + bias[o]` for each output `o`.
    method bilinear(input1: one, input2: one, weight: one, bias: opt;;) -> one
        = eval::bilinear, infer::bilinear, cost::bilinear, tolerance Tolerance::SUMMATION;
    /// Sums of products in Einstein's notation: `bij,bjk->bik`.
    constructor einsum(operands: many; equation: string;) -> one
        = einsum::einsum, einsum::shape, einsum::flops, tolerance Tolerance::SUMMATION;
    /// `softmax(query @ key.T * scale + attn_mask) @ value` over the last two dimensions.
    ///
    /// A boolean mask is true where a query may look at a key. `scale` is one over the square root of the width by
    /// default. With `enable_gqa` the keys and values have fewer heads, each used by several heads of the query. Keys after the
    /// last that a mask lets a query see need not be there yet: they are not read, where PyTorch multiplies NaN in them with 0.
    method scaled_dot_product_attention [scaled_dot_product_attention_with: AttentionOptions]
        (query: one, key: one, value: one, attn_mask: opt;; dropout_p: float = 0.0, is_causal: flag = false,
        scale: opt_float = None, enable_gqa: flag = false) -> one
        = attention::attention, attention::shape, cost::attention, tolerance Tolerance::SUMMATION, effect Random;
    /// A mask of attention as numbers that are added to scores. A boolean one is true where a query may not look at a key, which
    /// becomes -inf; numbers stay as they are. A mask for each head, `[N * num_heads, L, S]`, becomes `[N, num_heads, L, S]`.
    method canonical_mask [canonical_mask_with: CanonicalMaskOptions]
        (mask: one;; num_heads: int = 1, dtype: dtype = DType::F32) -> one
        = attention::canonical_mask, attention::mask_shape, cost::none, tolerance Tolerance::EXACT;
    /// The `p`-norms of the differences between each row of the first and each of the second of two (stacks of) matrices.
    method cdist [cdist_with: CdistOptions] (x1: one, x2: one;; p: float = 2.0) -> one
        = distance::cdist, distance::shape, cost::matmul, tolerance Tolerance::SUMMATION;
    /// The cosine of the angle between vectors along a dimension; norms are taken as at least `eps`.
    method cosine_similarity [cosine_similarity_with: CosineSimilarityOptions] (x1: one, x2: one;;
        dim: int = 1, eps: float = 1e-8) -> one
        = eval::cosine_similarity, infer::cosine_similarity, cost::reduction, tolerance Tolerance::SUMMATION;
}
