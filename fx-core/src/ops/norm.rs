//! Normalisations: values brought to mean 0 and variance 1 over batches, layers, groups or instances.

mod eval;
mod infer;

use super::Tolerance;
use super::cost;
use super::kind::{self, Encode};
use super::table::{ops, out};
use crate::value::Call;

pub(crate) use eval::channel_factors;

ops! {
    /// Normalisations.
    pub trait Normalization;

    /// Normalises every channel over the batch: with the running statistics, or with the input's in training.
    ///
    /// The running statistics are not written: `momentum` is for what a module does with them.
    method batch_norm [batch_norm_with: BatchNormOptions] (input: one, running_mean: opt, running_var: opt,
        weight: opt, bias: opt;; training: flag = false, momentum: float = 0.1, eps: float = 1e-5) -> one
        = eval::batch_norm, infer::batch_norm, cost::normalisation, tolerance Tolerance::SUMMATION;
    /// Normalises over the last dimensions, whose sizes are `normalized_shape`.
    method layer_norm [layer_norm_with: LayerNormOptions] (input: one, weight: opt, bias: opt; normalized_shape: ints;
        eps: float = 1e-5) -> one
        = eval::layer_norm, infer::layer_norm, cost::normalisation, tolerance Tolerance::SUMMATION;
    /// Normalises over groups of channels of each image.
    method group_norm [group_norm_with: GroupNormOptions] (input: one, weight: opt, bias: opt; num_groups: int;
        eps: float = 1e-5) -> one
        = eval::group_norm, infer::group_norm, cost::normalisation, tolerance Tolerance::SUMMATION;
    /// Normalises every channel of every image, or with `use_input_stats` false as `batch_norm`.
    method instance_norm [instance_norm_with: InstanceNormOptions] (input: one, running_mean: opt, running_var: opt,
        weight: opt, bias: opt;; use_input_stats: flag = true, momentum: float = 0.1, eps: float = 1e-5) -> one
        = eval::instance_norm, infer::instance_norm, cost::normalisation, tolerance Tolerance::SUMMATION;
    /// Divides by the root of the mean square over the last dimensions; `eps` is the type's epsilon by default.
    method rms_norm [rms_norm_with: RmsNormOptions] (input: one, weight: opt; normalized_shape: ints;
        eps: opt_float = None) -> one
        = eval::rms_norm, infer::rms_norm, cost::normalisation, tolerance Tolerance::SUMMATION;
    /// Divides by a power of the mean square over `size` neighbouring channels.
    method local_response_norm [local_response_norm_with: LocalResponseNormOptions] (input: one; size: int;
        alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> one
        = eval::local_response_norm, infer::local_response_norm, cost::normalisation,
        tolerance Tolerance::SUMMATION;
}
