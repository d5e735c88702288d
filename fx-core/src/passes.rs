//! Transforms of a captured model, one file each, written with the public interface only.
//!
//! A pass is a function of a [`GraphModule`] that gives the number of its changes. What it gives lints, computes the same
//! unless the pass says otherwise, and can be printed; a pass that fails, or changes nothing, leaves the module as it
//! was. Options, where there are any, are a second argument.

mod canonicalize;
mod compose_modules;
mod cse;
mod dead_code;
mod decompose_modules;
mod effects;
mod fold_constants;
mod fold_scale_bias;
mod fuse_bn_conv;
mod fuse_conv_bn;
mod fuse_linear_bn;
mod fuse_pointwise;
mod layer;
mod manager;
mod normalize;
mod optimize;
mod patch;
pub mod pattern;
mod remove_identities;
mod replace_pattern;
mod splice;
mod to_dtype;

pub use canonicalize::canonicalize;
pub use compose_modules::compose_modules;
pub use cse::eliminate_common_subexpressions;
pub use dead_code::eliminate_dead_code;
pub use decompose_modules::{decompose_modules, decompose_modules_if};
pub use effects::effect;
pub use fold_constants::{Constants, fold_constants, split_constants};
pub use fold_scale_bias::fold_scale_bias;
pub use fuse_bn_conv::fuse_bn_conv;
pub use fuse_conv_bn::fuse_conv_bn;
pub use fuse_linear_bn::fuse_linear_bn;
pub use fuse_pointwise::fuse_pointwise;
pub use manager::{Log, LogEntry, PassManager};
pub use normalize::normalize;
pub use optimize::optimize;
pub use patch::Patch;
pub use pattern::{Match, Pattern};
pub use remove_identities::{remove_dropout, remove_identities};
pub use replace_pattern::replace_pattern;
pub use splice::Part;
pub use to_dtype::to_dtype;

use crate::error::Result;
use crate::graph_module::GraphModule;
use crate::ops::fallible;

/// Runs several edits as one: the module changes if all succeed and there is something to change. Tensors may be computed
/// with in it: what cannot be computed, because state has shapes that do not fit, is an error.
pub(crate) fn as_one(module: &mut GraphModule, f: impl FnOnce(&mut GraphModule) -> Result<usize>) -> Result<usize> {
    let mut copy = module.clone();
    let count = fallible::scope(|| f(&mut copy))??;
    if count > 0 {
        *module = copy;
    }
    Ok(count)
}
