//! Reductions over dimensions and scans along one.

mod eval;
mod infer;

use super::Tolerance;
use super::cost;
use super::kind::{self, Encode};
use super::table::{ops, out};
use crate::value::Call;

pub(crate) use eval::{divisor_norms, norm_rows, sum_of_each};

ops! {
    /// Reductions over dimensions and scans along one.
    pub trait Reduction;

    /// The sum over all or some dimensions; integers are summed as i64.
    method sum [sum_with: SumOptions] (input: one;; dim: opt_ints = None, keepdim: flag = false, dtype: opt_dtype = None)
        -> one = eval::sum, infer::sum, cost::reduction, tolerance Tolerance::SUMMATION;
    /// The mean over all or some dimensions.
    method mean [mean_with: MeanOptions] (input: one;; dim: opt_ints = None, keepdim: flag = false,
        dtype: opt_dtype = None) -> one = eval::mean, infer::mean, cost::reduction, tolerance Tolerance::SUMMATION;
    /// The product over all elements or one dimension.
    method prod [prod_with: ProdOptions] (input: one;; dim: opt_int = None, keepdim: flag = false,
        dtype: opt_dtype = None) -> one = eval::prod, infer::prod, cost::reduction, tolerance Tolerance::SUMMATION;
    /// The variance over all or some dimensions, divided by the count less `correction`.
    method var [var_with: VarOptions] (input: one;; dim: opt_ints = None, correction: scalar = crate::Scalar::Int(1),
        keepdim: flag = false) -> one = eval::var, infer::var, cost::reduction, tolerance Tolerance::SUMMATION;
    /// The square root of the variance.
    method std [std_with: StdOptions] (input: one;; dim: opt_ints = None, correction: scalar = crate::Scalar::Int(1),
        keepdim: flag = false) -> one = eval::std, infer::var, cost::reduction, tolerance Tolerance::SUMMATION;
    /// The largest element; with `dim`, the largest along it and where they are. See `max_dim`.
    raw max(input: one;; dim: opt_int = None, keepdim: flag = false) -> one
        = eval::max, infer::extreme, cost::reduction, tolerance Tolerance::EXACT;
    /// The smallest element; with `dim`, the smallest along it and where they are. See `min_dim`.
    raw min(input: one;; dim: opt_int = None, keepdim: flag = false) -> one
        = eval::min, infer::extreme, cost::reduction, tolerance Tolerance::EXACT;
    /// The largest elements over dimensions.
    method amax [amax_with: AmaxOptions] (input: one;; dim: opt_ints = None, keepdim: flag = false) -> one
        = eval::amax, infer::amax, cost::reduction, tolerance Tolerance::EXACT;
    /// The smallest elements over dimensions.
    method amin [amin_with: AminOptions] (input: one;; dim: opt_ints = None, keepdim: flag = false) -> one
        = eval::amin, infer::amax, cost::reduction, tolerance Tolerance::EXACT;
    /// Where the largest element is, along a dimension or in the flattened tensor.
    method argmax [argmax_with: ArgmaxOptions] (input: one;; dim: opt_int = None, keepdim: flag = false) -> one
        = eval::argmax, infer::arg, cost::reduction, tolerance Tolerance::EXACT;
    /// Where the smallest element is, along a dimension or in the flattened tensor.
    method argmin [argmin_with: ArgminOptions] (input: one;; dim: opt_int = None, keepdim: flag = false) -> one
        = eval::argmin, infer::arg, cost::reduction, tolerance Tolerance::EXACT;
    /// Whether any element is not zero.
    method any [any_with: AnyOptions] (input: one;; dim: opt_ints = None, keepdim: flag = false) -> one
        = eval::any, infer::test, cost::reduction, tolerance Tolerance::EXACT;
    /// Whether all elements are not zero.
    method all [all_with: AllOptions] (input: one;; dim: opt_ints = None, keepdim: flag = false) -> one
        = eval::all, infer::test, cost::reduction, tolerance Tolerance::EXACT;
    /// The number of elements that are not zero.
    method count_nonzero [count_nonzero_with: CountNonzeroOptions] (input: one;; dim: opt_ints = None) -> one
        = eval::count_nonzero, infer::count_nonzero, cost::reduction, tolerance Tolerance::EXACT;
    /// The `p`-norm of the elements as a vector, over all or some dimensions.
    method norm [norm_with: NormOptions] (input: one;; p: float = 2.0, dim: opt_ints = None, keepdim: flag = false)
        -> one = eval::norm, infer::norm, cost::reduction, tolerance Tolerance::SUMMATION;
    /// `log(sum(exp(x)))` over dimensions, without overflow.
    method logsumexp [logsumexp_with: LogsumexpOptions] (input: one; dim: ints; keepdim: flag = false) -> one
        = eval::logsumexp, infer::logsumexp, cost::reduction, tolerance Tolerance::SUMMATION;
    /// The sums of the elements up to each place along a dimension; integers as i64.
    method cumsum(input: one; dim: int;) -> one = eval::cumsum, infer::scan, cost::reduction,
        tolerance Tolerance::SUMMATION;
    /// The products of the elements up to each place along a dimension; integers as i64.
    method cumprod(input: one; dim: int;) -> one = eval::cumprod, infer::scan, cost::reduction,
        tolerance Tolerance::SUMMATION;
}
