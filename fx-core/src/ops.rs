//! The ops: what each is, and what is known about it. One file a family, with its rows and its functions.
//!
//! [`table`] describes the form of a row and what is derived from it.
//!
//! The functions stand here as targets of nodes, `fx::ops::relu`, and are constants. After `use fx::ops::*` a name like `mean` or
//! `sum` in a `let` would be such a constant, as a pattern, and not a new variable. Options are imported by name,
//! `use fx::ops::{CatOptions, FlattenOptions};`, or all of them with `use fx::ops::options::*;`.

mod composed;
pub mod cost;
pub mod derived;
pub mod fallible;
mod fast;
pub mod function;
pub mod kind;
mod rank;
mod read;
mod shape;
pub mod table;
mod view;
mod wide;

/// Declares the families: their files, their rows, and the supertraits that they make.
macro_rules! families {
    ($($file:ident: $Family:ident,)+) => {
        $(mod $file;)+

        $(#[doc(inline)] pub use $file::{targets::*, *};)+

        /// All functions of the op table, as targets of nodes.
        pub mod functions {
            $(pub use super::$file::targets::*;)+
        }

        /// The options of all functions, and nothing else: `use fx::ops::options::*` hides no name of yours.
        pub mod options {
            $(pub use super::$file::options::*;)+
            pub use super::composed::PairwiseDistanceOptions;
        }

        /// All functions of the op table, as PyTorch's `torch.nn.functional` and `torch` have them.
        pub mod functional {
            $(pub use super::$file::functional::*;)+
            pub use super::composed::{
                channel_shuffle, cross, diff, meshgrid, pairwise_distance, pairwise_distance_with,
            };
        }

        /// All families.
        pub fn families() -> &'static [&'static Family] {
            static FAMILIES: &[&Family] = &[$(&$file::FAMILY),+];
            FAMILIES
        }

        /// The methods of all families: what every value has.
        pub trait Families: $($Family +)+ derived::Derived {}

        impl<V: $($Family +)+ derived::Derived> Families for V {}

        /// The families' methods in scope, for a prelude.
        pub mod methods {
            $(pub use super::$Family as _;)+
            pub use super::derived::Derived as _;
        }
    };
}
families! {
    activation: Activation,
    conv: Convolution,
    creation: Creation,
    elementwise: Elementwise,
    fusion: Fusion,
    index: Indexing,
    linalg: LinearAlgebra,
    loss: Loss,
    norm: Normalization,
    pool: Pooling,
    quantize: Quantization,
    reduction: Reduction,
    rnn: Recurrent,
    structure: Structure,
}

#[doc(inline)]
pub use composed::PairwiseDistanceOptions;
#[doc(inline)]
pub use function::{Definition, Effect, Function, Source, Style, Tolerance};
pub(crate) use linalg::{ContractionPart, contraction_parts};
pub(crate) use pool::{AVERAGES, is_mean};
pub(crate) use quantize::{EPS as QPARAMS_EPS, chosen as chosen_qparams, is_bytes, is_scale};
pub(crate) use view::{is_view, is_view_of_any};

/// A family of ops.
#[derive(Debug)]
pub struct Family {
    /// Its name, that of its trait.
    pub name: &'static str,
    /// Its functions, in the order of their rows.
    pub functions: &'static [Function],
}
