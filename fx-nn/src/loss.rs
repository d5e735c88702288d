//! Losses as layers.

use fx::functional;
use fx::ops::{
    BinaryCrossEntropyOptions, BinaryCrossEntropyWithLogitsOptions, CrossEntropyOptions, HuberLossOptions,
    KlDivOptions, L1LossOptions, MseLossOptions, NllLossOptions, SmoothL1LossOptions,
};
use fx::prelude::*;
use fx_macros::traceable;

use crate::settings::Source;

macro_rules! losses {
    ($(
        $(#[doc = $doc:literal])* $Loss:ident, $name:literal, $op:ident, $Options:ident,
        weights [$($(#[doc = $weight_doc:literal])* $weight:ident),*],
        options { $($(#[doc = $field_doc:literal])* $field:ident: $ty:ty = $default:expr),* };
    )+) => { $(
        $(#[doc = $doc])*
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Loss {
            $($(#[doc = $weight_doc])* pub $weight: Option<Buffer>,)*
            reduction: &'static str,
            $($field: $ty,)*
        }

        #[traceable]
        impl $Loss {
            /// The mean of the losses of all elements.
            pub fn new() -> Self {
                Self { $($weight: None,)* reduction: "mean", $($field: $default),* }
            }

            /// Sets what becomes of the losses of the elements: `"mean"`, `"sum"` or `"none"`.
            #[must_use]
            pub fn reduction(mut self, reduction: &'static str) -> Self {
                self.reduction = reduction;
                self
            }

            $(
                $(#[doc = $weight_doc])*
                #[must_use]
                #[traceable(skip)]
                pub fn $weight(mut self, $weight: Tensor) -> Self {
                    self.$weight = Some(Buffer::new($weight));
                    self
                }
            )*

            $(
                $(#[doc = $field_doc])*
                #[must_use]
                pub fn $field(mut self, $field: $ty) -> Self {
                    self.$field = $field;
                    self
                }
            )*

            /// The loss of `input` against `target`.
            pub fn forward(&self, input: &Tensor, target: &Tensor) -> Tensor {
                let options = $Options::new().reduction(self.reduction)$(.$field(self.$field))*;
                functional::$op(input, target, $(&self.$weight,)* options)
            }

            fn constructor(&self) -> Option<String> {
                let weights: [bool; losses!(@count $($weight)*)] = [$(self.$weight.is_some()),*];
                let source = Source::new($name, "").option("reduction", self.reduction, "mean");
                // A weight has no expression of its own.
                weights.iter().all(|present| !present).then(|| {
                    source$(.option(stringify!($field), self.$field, $default))*.text()
                })
            }
        }

        impl Default for $Loss {
            fn default() -> Self {
                Self::new()
            }
        }
    )+ };
    (@count) => { 0 };
    (@count $first:ident $($rest:ident)*) => { 1 + losses!(@count $($rest)*) };
}
losses! {
    /// The squared difference, as `torch.nn.MSELoss`.
    MSELoss, "MSELoss", mse_loss_with, MseLossOptions, weights [], options {};
    /// The absolute difference, as `torch.nn.L1Loss`.
    L1Loss, "L1Loss", l1_loss_with, L1LossOptions, weights [], options {};
    /// The squared difference below `beta`, the absolute one above, as `torch.nn.SmoothL1Loss`.
    SmoothL1Loss, "SmoothL1Loss", smooth_l1_loss_with, SmoothL1LossOptions, weights [], options {
        /// Sets the difference where one becomes the other.
        beta: f64 = 1.0
    };
    /// The squared difference below `delta`, the absolute one above, as `torch.nn.HuberLoss`.
    HuberLoss, "HuberLoss", huber_loss_with, HuberLossOptions, weights [], options {
        /// Sets the difference where one becomes the other.
        delta: f64 = 1.0
    };
    /// The cross entropy of scores and classes, or probabilities of classes, as `torch.nn.CrossEntropyLoss`.
    CrossEntropyLoss, "CrossEntropyLoss", cross_entropy_with, CrossEntropyOptions, weights [
        /// The weight of each class.
        weight
    ], options {
        /// Sets the class that does not count.
        ignore_index: i64 = -100,
        /// Sets how much of the target is spread over all classes.
        label_smoothing: f64 = 0.0
    };
    /// The negative logarithm of the probability of the right class, from logarithms, as `torch.nn.NLLLoss`.
    NLLLoss, "NLLLoss", nll_loss_with, NllLossOptions, weights [
        /// The weight of each class.
        weight
    ], options {
        /// Sets the class that does not count.
        ignore_index: i64 = -100
    };
    /// The cross entropy of two classes, from probabilities, as `torch.nn.BCELoss`.
    BCELoss, "BCELoss", binary_cross_entropy_with, BinaryCrossEntropyOptions, weights [
        /// The weight of each element of the batch.
        weight
    ], options {};
    /// The cross entropy of two classes, from scores, as `torch.nn.BCEWithLogitsLoss`.
    BCEWithLogitsLoss, "BCEWithLogitsLoss", binary_cross_entropy_with_logits_with,
    BinaryCrossEntropyWithLogitsOptions, weights [
        /// The weight of each element of the batch.
        weight,
        /// The weight of the positive class.
        pos_weight
    ], options {};
    /// The Kullback-Leibler divergence, from logarithms of probabilities, as `torch.nn.KLDivLoss`; `reduction` may
    /// also be `"batchmean"`.
    KLDivLoss, "KLDivLoss", kl_div_with, KlDivOptions, weights [], options {
        /// Sets whether the target is given as logarithms.
        log_target: bool = false
    };
}
