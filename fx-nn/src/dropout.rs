//! Dropout.

use fx::functional;
use fx::prelude::*;
use fx_macros::traceable;

use crate::settings::{Source, float};

macro_rules! dropouts {
    ($($(#[doc = $doc:literal])* $Dropout:ident, $name:literal, $op:ident;)+) => { $(
        $(#[doc = $doc])*
        #[traceable(leaf)]
        #[derive(Clone, Debug)]
        pub struct $Dropout {
            training: Training,
            p: f64,
        }

        #[traceable]
        impl $Dropout {
            /// With probability `p`; PyTorch's default is 0.5.
            pub fn new(p: f64) -> Self {
                Self { training: Training::new(), p }
            }

            /// The same shape as `input`.
            pub fn forward(&self, input: &Tensor) -> Tensor {
                functional::$op(input, self.p, self.training.get())
            }

            fn extra_repr(&self) -> String {
                format!("p={}, inplace=False", float(self.p))
            }

            fn constructor(&self) -> String {
                Source::new($name, format_args!("{:?}", self.p)).text()
            }
        }

        impl Default for $Dropout {
            fn default() -> Self {
                Self::new(0.5)
            }
        }
    )+ };
}
dropouts! {
    /// In training, elements become 0 with probability `p` and the others grow by `1 / (1 - p)`, as
    /// `torch.nn.Dropout`.
    Dropout, "Dropout", dropout;
    /// As [`Dropout`], for whole channels of lines, as `torch.nn.Dropout1d`.
    Dropout1d, "Dropout1d", feature_dropout;
    /// As [`Dropout`], for whole channels, as `torch.nn.Dropout2d`.
    Dropout2d, "Dropout2d", feature_dropout;
    /// As [`Dropout`], for whole channels of volumes, as `torch.nn.Dropout3d`.
    Dropout3d, "Dropout3d", feature_dropout;
}
