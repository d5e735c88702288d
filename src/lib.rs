//! torch.fx for Rust: write a neural network once, run it eagerly, capture it as an editable graph, and turn it back
//! into Rust.
#![doc = include_str!("../README.md")]

pub use fx_core::*;
pub use fx_macros::{traceable, wrap};
pub use fx_nn as nn;

#[doc(hidden)]
pub use fx_core::__private;

/// What a model's source needs: `use fx::prelude::*`.
pub mod prelude {
    pub use fx_core::prelude::*;
    pub use fx_macros::traceable;
}

/// The examples of the documentation are tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/for-torch-fx-users.md")]
struct ForTorchFxUsers;
