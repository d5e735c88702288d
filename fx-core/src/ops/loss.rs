//! Losses. `reduction` is `"mean"`, `"sum"` or `"none"`.

mod classes;
mod distance;
mod eval;
mod infer;

use super::Tolerance;
use super::cost;
use super::kind::{self, Encode};
use super::table::{ops, out};
use crate::value::Call;

ops! {
    /// Losses.
    pub trait Loss;

    /// The squares of the differences.
    method mse_loss [mse_loss_with: MseLossOptions] (input: one, target: one;; reduction: string = "mean".into())
        -> one = eval::mse_loss, infer::mse_loss, cost::reduction, tolerance Tolerance::SUMMATION;
    /// The absolute differences.
    method l1_loss [l1_loss_with: L1LossOptions] (input: one, target: one;; reduction: string = "mean".into())
        -> one = eval::l1_loss, infer::l1_loss, cost::reduction, tolerance Tolerance::SUMMATION;
    /// Squares of differences below `beta`, divided by `2 * beta`; absolute differences above it, less `beta / 2`.
    method smooth_l1_loss [smooth_l1_loss_with: SmoothL1LossOptions] (input: one, target: one;;
        reduction: string = "mean".into(), beta: float = 1.0) -> one
        = eval::smooth_l1_loss, infer::smooth_l1_loss, cost::reduction, tolerance Tolerance::SUMMATION;
    /// Half the squares of differences below `delta`; `delta` times absolute differences above it, less `delta / 2`.
    method huber_loss [huber_loss_with: HuberLossOptions] (input: one, target: one;;
        reduction: string = "mean".into(), delta: float = 1.0) -> one
        = eval::huber_loss, infer::huber_loss, cost::reduction, tolerance Tolerance::SUMMATION;

    /// The negative logarithm of the softmax over the classes, at the class that is the target, or weighted by the
    /// target where that has the input's shape and holds probabilities. The classes are dimension 1.
    method cross_entropy [cross_entropy_with: CrossEntropyOptions] (input: one, target: one, weight: opt;;
        ignore_index: int = -100, reduction: string = "mean".into(), label_smoothing: float = 0.0) -> one
        = classes::cross_entropy, infer::cross_entropy, cost::normalisation, tolerance Tolerance::SUMMATION;
    /// The negative input at the class that is the target. The classes are dimension 1.
    method nll_loss [nll_loss_with: NllLossOptions] (input: one, target: one, weight: opt;;
        ignore_index: int = -100, reduction: string = "mean".into()) -> one
        = classes::nll_loss, infer::nll_loss, cost::reduction, tolerance Tolerance::SUMMATION;
    /// The cross entropy of probabilities of two classes; logarithms are at least -100.
    method binary_cross_entropy [binary_cross_entropy_with: BinaryCrossEntropyOptions] (input: one, target: one,
        weight: opt;; reduction: string = "mean".into()) -> one = eval::binary_cross_entropy,
        infer::binary_cross_entropy, cost::reduction, tolerance Tolerance::SUMMATION;
    /// The cross entropy of two classes, of which the input is the logit; `pos_weight` weighs positive targets.
    method binary_cross_entropy_with_logits
        [binary_cross_entropy_with_logits_with: BinaryCrossEntropyWithLogitsOptions] (input: one, target: one,
        weight: opt, pos_weight: opt;; reduction: string = "mean".into()) -> one
        = eval::binary_cross_entropy_with_logits, infer::binary_cross_entropy_with_logits, cost::reduction,
        tolerance Tolerance::SUMMATION;
    /// The Kullback-Leibler divergence of an input of logarithms; `reduction` may be `"batchmean"` also.
    method kl_div [kl_div_with: KlDivOptions] (input: one, target: one;; reduction: string = "mean".into(),
        log_target: flag = false) -> one = eval::kl_div, infer::kl_div, cost::reduction,
        tolerance Tolerance::SUMMATION;
    /// The negative logarithm of the likelihood of counts, of which the input is the (logarithm of the) rate; `full`
    /// adds Stirling's approximation of the constant part.
    method poisson_nll_loss [poisson_nll_loss_with: PoissonNllLossOptions] (input: one, target: one;;
        log_input: flag = true, full: flag = false, eps: float = 1e-8, reduction: string = "mean".into()) -> one
        = eval::poisson_nll_loss, infer::poisson_nll_loss, cost::reduction, tolerance Tolerance::SUMMATION;

    /// The input where the target is 1, what it lacks to `margin` where it is -1.
    method hinge_embedding_loss [hinge_embedding_loss_with: HingeEmbeddingLossOptions] (input: one, target: one;;
        margin: float = 1.0, reduction: string = "mean".into()) -> one
        = eval::hinge_embedding_loss, infer::hinge_embedding_loss, cost::reduction, tolerance Tolerance::SUMMATION;
    /// What the first input lacks to being `margin` above the second where the target is 1, below where it is -1.
    method margin_ranking_loss [margin_ranking_loss_with: MarginRankingLossOptions] (input1: one, input2: one,
        target: one;; margin: float = 0.0, reduction: string = "mean".into()) -> one
        = distance::margin_ranking_loss, infer::margin_ranking_loss, cost::reduction,
        tolerance Tolerance::SUMMATION;
    /// One less the cosine of two vectors where the target is 1, the cosine above `margin` where it is -1.
    method cosine_embedding_loss [cosine_embedding_loss_with: CosineEmbeddingLossOptions] (input1: one, input2: one,
        target: one;; margin: float = 0.0, reduction: string = "mean".into()) -> one
        = distance::cosine_embedding_loss, infer::cosine_embedding_loss, cost::normalisation,
        tolerance Tolerance::SUMMATION;
    /// What the distance to `negative` lacks to being `margin` above the distance to `positive`, in the `p`-norm.
    method triplet_margin_loss [triplet_margin_loss_with: TripletMarginLossOptions] (anchor: one, positive: one,
        negative: one;; margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, reduction: string = "mean".into())
        -> one = distance::triplet_margin_loss, infer::triplet_margin_loss, cost::normalisation,
        tolerance Tolerance::SUMMATION;
}
