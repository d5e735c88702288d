//! Normalisation of channels, by statistics that may be kept while training.

use std::any::Any;

use fx::functional;
use fx::ops::{BatchNormOptions, InstanceNormOptions, VarOptions};
use fx::prelude::*;
use fx_macros::traceable;

use crate::init;
use crate::settings::{Source, flag, float};

/// The hyper-parameters, which both kinds have.
#[derive(Clone, Debug)]
struct Settings {
    num_features: usize,
    eps: f64,
    momentum: Option<f64>,
}

impl Settings {
    fn repr(&self, affine: bool, track: bool) -> String {
        let momentum = self.momentum.map_or_else(|| "None".to_owned(), float);
        format!(
            "{}, eps={}, momentum={momentum}, affine={affine}, bias={affine}, track_running_stats={track}",
            self.num_features,
            float(self.eps),
            affine = flag(affine),
            track = flag(track)
        )
    }

    fn source(&self, name: &str) -> Source {
        Source::new(name, self.num_features).option("eps", self.eps, 1e-5).option("momentum", self.momentum, Some(0.1))
    }
}

/// Takes the mean and the unbiased variance of each channel over `dims` into the running statistics. Where there are
/// several instances, it is their average.
///
/// Only numbers have statistics: proxies and shapes leave them as they are. So do inputs of a wrong shape, which the
/// op itself refuses.
fn update(
    input: &dyn Any,
    settings: &Settings,
    [mean, var, count]: [&Option<Buffer>; 3],
    instances: bool,
) -> Option<()> {
    let input = input.downcast_ref::<Tensor>()?;
    let (mean, var, count) = (mean.as_ref()?, var.as_ref()?, count.as_ref()?);
    // An instance norm may have its input without the dimension of the batch: then the channels come first.
    let channel = usize::from(!instances || input.shape().first() != Some(&settings.num_features) || input.ndim() > 3);
    let per_channel = input.numel() / settings.num_features.max(1);
    if input.shape().get(channel) != Some(&settings.num_features) || per_channel < 2 || !input.dtype().is_float() {
        return None;
    }
    let first = if instances { channel + 1 } else { 0 };
    let dims: Vec<usize> = (first..input.ndim()).filter(|dim| *dim != channel).collect();
    let (mut new_mean, mut new_var) =
        (input.mean_dim(dims.as_slice()), input.var_with(VarOptions::new().dim(dims.as_slice())));
    if instances && channel == 1 {
        (new_mean, new_var) = (new_mean.mean_dim(0_i64), new_var.mean_dim(0_i64));
    }
    let seen = count.tensor() + 1_i64;
    let factor = settings.momentum.unwrap_or_else(|| 1.0 / seen.item().to_f64());
    let blend = |old: Tensor, new: Tensor| old * (1.0 - factor) + new * factor;
    mean.set(blend(mean.tensor(), new_mean)).ok()?;
    var.set(blend(var.tensor(), new_var)).ok()?;
    // PyTorch's instance norms do not count their steps.
    if instances { Some(()) } else { count.set(seen).ok() }
}

macro_rules! statistics_norm {
    (
        $(#[doc = $doc:literal])* $Norm:ident, $name:literal, instances $instances:literal,
        affine $affine:literal, track $track:literal, $op:ident, $Options:ident, $use_batch:ident
    ) => {
        $(#[doc = $doc])*
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Norm {
            /// `[num_features]`, starts as ones
            pub weight: Option<Parameter>,
            /// `[num_features]`, starts as zeros
            pub bias: Option<Parameter>,
            /// `[num_features]`, starts as zeros
            pub running_mean: Option<Buffer>,
            /// `[num_features]`, starts as ones
            pub running_var: Option<Buffer>,
            /// The number of training steps
            pub num_batches_tracked: Option<Buffer>,
            training: Training,
            settings: Settings,
        }

        #[traceable]
        impl $Norm {
            /// For `num_features` channels.
            pub fn new(num_features: usize) -> Self {
                let settings = Settings { num_features, eps: 1e-5, momentum: Some(0.1) };
                let norm = Self {
                    weight: None,
                    bias: None,
                    running_mean: None,
                    running_var: None,
                    num_batches_tracked: None,
                    training: Training::new(),
                    settings,
                };
                norm.affine($affine).track_running_stats($track)
            }

            /// Sets what is added to the variance.
            #[must_use]
            pub fn eps(mut self, eps: f64) -> Self {
                self.settings.eps = eps;
                self
            }

            /// Sets how much a step counts in the running statistics; with `None` all steps count the same.
            #[must_use]
            pub fn momentum(mut self, momentum: impl Into<Option<f64>>) -> Self {
                self.settings.momentum = momentum.into();
                self
            }

            /// Sets whether there are a weight and a bias.
            #[must_use]
            pub fn affine(mut self, affine: bool) -> Self {
                let size = [self.settings.num_features];
                self.weight = affine.then(|| init::ones(&size));
                self.bias = affine.then(|| init::zeros(&size));
                self
            }

            /// Sets whether running statistics are kept while training, and used in evaluation.
            #[must_use]
            pub fn track_running_stats(mut self, track_running_stats: bool) -> Self {
                let size = [self.settings.num_features];
                self.running_mean = track_running_stats.then(|| Buffer::new(Tensor::zeros(&size[..])));
                self.running_var = track_running_stats.then(|| Buffer::new(Tensor::ones(&size[..])));
                self.num_batches_tracked = track_running_stats.then(|| Buffer::new(Tensor::scalar(0_i64)));
                self
            }

            /// The same shape as `input`.
            pub fn forward(&self, input: &Tensor) -> Tensor {
                let use_batch = self.training.get() || self.running_mean.is_none();
                let (mean, var) = (&self.running_mean, &self.running_var);
                let options = $Options::new().$use_batch(use_batch).eps(self.settings.eps);
                let output = functional::$op(input, mean, var, &self.weight, &self.bias, options);
                if self.training.get() {
                    update(input, &self.settings, [mean, var, &self.num_batches_tracked], $instances);
                }
                output
            }

            fn extra_repr(&self) -> String {
                self.settings.repr(self.weight.is_some(), self.running_mean.is_some())
            }

            fn constructor(&self) -> String {
                self.settings
                    .source($name)
                    .option("affine", self.weight.is_some(), $affine)
                    .option("track_running_stats", self.running_mean.is_some(), $track)
                    .text()
            }
        }
    };
}

macro_rules! batch_norms {
    ($($(#[doc = $doc:literal])* $Norm:ident, $name:literal;)+) => { $(
        statistics_norm! {
            $(#[doc = $doc])*
            ///
            /// Training uses the statistics of the batch and takes them into `running_mean` and `running_var`;
            /// evaluation uses these.
            $Norm, $name, instances false, affine true, track true, batch_norm_with, BatchNormOptions, training
        }
    )+ };
}
batch_norms! {
    /// Normalises channels over the batch, as `torch.nn.BatchNorm1d`: `[N, C]` or `[N, C, L]` (Ioffe and Szegedy, 2015).
    BatchNorm1d, "BatchNorm1d";
    /// Normalises channels over the batch, as `torch.nn.BatchNorm2d`: `[N, C, H, W]`.
    BatchNorm2d, "BatchNorm2d";
    /// Normalises channels over the batch, as `torch.nn.BatchNorm3d`: `[N, C, D, H, W]`.
    BatchNorm3d, "BatchNorm3d";
}

macro_rules! instance_norms {
    ($($(#[doc = $doc:literal])* $Norm:ident, $name:literal;)+) => { $(
        statistics_norm! {
            $(#[doc = $doc])*
            $Norm, $name, instances true, affine false, track false,
            instance_norm_with, InstanceNormOptions, use_input_stats
        }
    )+ };
}
instance_norms! {
    /// Normalises the channels of each instance, as `torch.nn.InstanceNorm1d`: `[N, C, L]` (Ulyanov et al., 2016).
    InstanceNorm1d, "InstanceNorm1d";
    /// Normalises the channels of each instance, as `torch.nn.InstanceNorm2d`: `[N, C, H, W]`.
    InstanceNorm2d, "InstanceNorm2d";
    /// Normalises the channels of each instance, as `torch.nn.InstanceNorm3d`: `[N, C, D, H, W]`.
    InstanceNorm3d, "InstanceNorm3d";
}
