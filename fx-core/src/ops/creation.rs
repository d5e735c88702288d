//! Tensors made from nothing: constants, ranges and random numbers.
//!
//! Random rows draw from the generator of the process ([`crate::tensor::random`]), which they hold for one call.

mod eval;
mod infer;
mod random;

use super::Tolerance;
use super::cost;
use super::kind::{self, Encode};
use super::table::{ops, out};
use crate::tensor::DType;
use crate::value::Call;

ops! {
    /// Tensors made from nothing.
    pub trait Creation;

    /// Zeros.
    constructor zeros [zeros_with: ZerosOptions] (; size: sizes; dtype: dtype = DType::F32) -> one
        = eval::zeros, infer::sized, cost::none, tolerance Tolerance::EXACT;
    /// Ones.
    constructor ones [ones_with: OnesOptions] (; size: sizes; dtype: dtype = DType::F32) -> one
        = eval::ones, infer::sized, cost::none, tolerance Tolerance::EXACT;
    /// The same number everywhere; the element type is that of the number unless it is given.
    constructor full [full_with: FullOptions] (; size: sizes, fill_value: scalar; dtype: opt_dtype = None) -> one
        = eval::full, infer::full, cost::none, tolerance Tolerance::EXACT;
    /// The numbers from `start` up to but without `end`, `step` apart: i64 if all three are integers, else f32.
    constructor arange [arange_with: ArangeOptions<V>] (; end: number; start: number = kind::Number::Size(0_i64.into()),
        step: number = kind::Number::Size(1_i64.into()), dtype: opt_dtype = None) -> one
        = eval::arange, infer::arange, cost::none;
    /// `steps` numbers at equal distances from `start` to `end`, both included.
    constructor linspace [linspace_with: LinspaceOptions] (; start: float, end: float, steps: int;
        dtype: dtype = DType::F32) -> one = eval::linspace, infer::linspace, cost::none;
    /// `base` to the power of `steps` numbers at equal distances from `start` to `end`, both included.
    constructor logspace [logspace_with: LogspaceOptions] (; start: float, end: float, steps: int;
        base: float = 10.0, dtype: dtype = DType::F32) -> one = eval::logspace, infer::logspace, cost::none;
    /// A matrix with ones on the diagonal and zeros elsewhere, square unless `m` gives the number of columns.
    constructor eye [eye_with: EyeOptions<V>] (; n: size; m: opt_size = None, dtype: dtype = DType::F32) -> one
        = eval::eye, infer::eye, cost::none, tolerance Tolerance::EXACT;

    /// Random numbers, uniform in `[0, 1)`.
    constructor rand [rand_with: RandOptions] (; size: sizes; dtype: dtype = DType::F32) -> one
        = random::rand, infer::random, cost::none, effect Random;
    /// Random numbers, normal with mean 0 and standard deviation 1.
    constructor randn [randn_with: RandnOptions] (; size: sizes; dtype: dtype = DType::F32) -> one
        = random::randn, infer::random, cost::none, effect Random;
    /// Random integers, uniform from `low` up to but without `high`.
    constructor randint [randint_with: RandintOptions] (; low: int, high: int, size: sizes; dtype: dtype = DType::I64)
        -> one = random::randint, infer::randint, cost::none, effect Random;
    /// The integers from 0 up to but without `n` in random order.
    constructor randperm [randperm_with: RandpermOptions] (; n: int; dtype: dtype = DType::I64) -> one
        = random::randperm, infer::randperm, cost::none, effect Random;

    /// Zeros in the shape of a tensor, and of its element type unless one is given.
    method zeros_like [zeros_like_with: ZerosLikeOptions] (input: one;; dtype: opt_dtype = None) -> one
        = eval::zeros_like, infer::like, cost::none, tolerance Tolerance::EXACT;
    /// Ones in the shape of a tensor, and of its element type unless one is given.
    method ones_like [ones_like_with: OnesLikeOptions] (input: one;; dtype: opt_dtype = None) -> one
        = eval::ones_like, infer::like, cost::none, tolerance Tolerance::EXACT;
    /// The same number everywhere in the shape of a tensor, and of its element type unless one is given.
    method full_like [full_like_with: FullLikeOptions] (input: one; fill_value: scalar; dtype: opt_dtype = None) -> one
        = eval::full_like, infer::full_like, cost::none, tolerance Tolerance::EXACT;
    /// Random numbers, uniform in `[0, 1)`, in the shape of a tensor.
    method rand_like [rand_like_with: RandLikeOptions] (input: one;; dtype: opt_dtype = None) -> one
        = random::rand_like, infer::random_like, cost::none, effect Random;
    /// Normal random numbers in the shape of a tensor.
    method randn_like [randn_like_with: RandnLikeOptions] (input: one;; dtype: opt_dtype = None) -> one
        = random::randn_like, infer::random_like, cost::none, effect Random;
    /// Ones with the probabilities that the elements are, else zeros.
    method bernoulli(input: one;;) -> one = random::bernoulli, infer::bernoulli, cost::none, effect Random;
    /// Random places in each row, with the weights that the elements are.
    method multinomial [multinomial_with: MultinomialOptions] (input: one; num_samples: int; replacement: flag = false)
        -> one = random::multinomial, infer::multinomial, cost::none, effect Random;
}
