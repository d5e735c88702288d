//! Passes on a captured model, one file each, written with the public interface only: transforms, analyses, splits.
//!
//! A transform is a function of a [`GraphModule`] that gives the number of its changes. What it gives lints, computes the same
//! unless the pass says otherwise, and can be printed; a pass that fails, or changes nothing, leaves the module as it
//! was. Options, where there are any, are a second argument.

mod canonicalize;
mod compose_activations;
mod compose_modules;
mod cse;
mod dead_code;
mod decompose_modules;
mod effects;
mod floats;
mod fold_constants;
mod fold_scale_bias;
mod fuse_bn_conv;
mod fuse_conv_bn;
mod fuse_linear_bn;
mod fuse_pointwise;
mod fuse_quantized;
mod fusion;
mod layer;
mod manager;
mod matmul_to_linear;
mod normalize;
mod optimize;
mod patch;
pub mod pattern;
pub mod quantize;
mod remove_identities;
mod reorder_avg_pools;
mod replace_pattern;
mod splice;
mod sum_attention_biases;
mod to_dtype;

pub use canonicalize::canonicalize;
pub use compose_activations::compose_activations;
pub use compose_modules::compose_modules;
pub use cse::eliminate_common_subexpressions;
pub use dead_code::eliminate_dead_code;
pub use decompose_modules::{decompose_modules, decompose_modules_if};
pub use effects::effect;
pub use fold_constants::{Constants, fold_constants, fold_constants_within, split_constants};
pub use fold_scale_bias::fold_scale_bias;
pub use fuse_bn_conv::fuse_bn_conv;
pub use fuse_conv_bn::fuse_conv_bn;
pub use fuse_linear_bn::fuse_linear_bn;
pub use fuse_pointwise::fuse_pointwise;
pub use fuse_quantized::fuse_quantized;
pub(crate) use fuse_quantized::{Rounded, rounded};
pub use manager::{Log, LogEntry, PassManager};
pub use matmul_to_linear::matmul_to_linear;
pub use normalize::normalize;
pub use optimize::optimize;
pub use patch::Patch;
pub use pattern::{Match, Pattern};
pub use quantize::{Prepared, QConfig, QConfigMapping, prepare_fx, quantize_dynamic};
pub use remove_identities::{remove_dropout, remove_identities};
pub use reorder_avg_pools::reorder_avg_pools;
pub use replace_pattern::replace_pattern;
pub use splice::Part;
pub use sum_attention_biases::sum_attention_biases;
pub use to_dtype::to_dtype;

// Analysis: what is found out about a model.
mod compare;
mod cost;
mod halve;
mod memory;
mod roofline;
mod shape_prop;
mod timeline;

pub use compare::{Difference, bisect, compare, minimize, prefix};
pub use cost::{Cost, CostReport, NodeCost, cost};
pub use memory::{MemoryProfile, peak_memory, peak_memory_of};
pub use roofline::{Bound, Device, Estimate, Roofline, roofline};
pub use shape_prop::{Inferred, Strides, infer_shapes, propagate_shapes};
pub use timeline::{Event, Timeline, timeline};

// Splitting: one graph into several, and back.
mod extract;
mod inline;
mod partition;
mod split;
mod splitter;
mod support;

pub use extract::Partition;
pub use inline::inline_submodules;
pub use partition::CapabilityBasedPartitioner;
pub use split::{Tag, split_by_tags, split_module};
pub use splitter::{SplitSettings, split_by_support};
pub use support::{OperatorSupport, any_chain, chain, decline_input_dtype, decline_names};

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
