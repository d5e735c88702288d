//! What a captured model goes through before it is compiled.

use super::{
    as_one, compose_activations, decompose_modules_if, eliminate_common_subexpressions, eliminate_dead_code,
    fold_constants_within, fold_scale_bias, fuse_bn_conv, fuse_conv_bn, fuse_linear_bn, fuse_pointwise, fuse_quantized,
    matmul_to_linear, remove_identities, reorder_avg_pools, sum_attention_biases,
};
use crate::error::Result;
use crate::graph_module::GraphModule;

/// How many bytes constants may take beyond those of the state that they are computed from.
const CONSTANTS: usize = 1 << 20;

/// Makes a module fast to run: modules become functions, products with parameters linear layers, what is constant or
/// computed twice is computed once, layers of quantized values are products of integers, batch norms, scales and shifts go
/// into the layers beside them, means of windows go where they take less work, activations that are written out are one call, what is
/// added to scores is added up before, sums and activations go into the products before them, and what does nothing goes. Gives the
/// number of changes.
///
/// Modules that are training stay as they are. The result is what [`GraphModule::forward`] runs.
///
/// # Errors
/// If the `forward` of a module cannot be captured, or a constant cannot be computed.
pub fn optimize(module: &mut GraphModule) -> Result<usize> {
    as_one(module, |module| {
        let decomposed = decompose_modules_if(module, |_, _, leaf| !leaf.is_training())?;
        let passes: [fn(&mut GraphModule) -> Result<usize>; 11] = [
            remove_identities,
            fuse_quantized,
            eliminate_dead_code,
            eliminate_common_subexpressions,
            matmul_to_linear,
            |module| fold_constants_within(module, CONSTANTS),
            fold_into_layers,
            reorder_avg_pools,
            compose_activations,
            sum_attention_biases,
            fuse_pointwise,
        ];
        passes.iter().try_fold(decomposed, |count, pass| Ok(count + pass(module)?))
    })
}

/// Batch norms, scales and shifts go into the layers beside them, in whatever order they stand there: what follows a scale that
/// has gone stands beside the layer then.
fn fold_into_layers(module: &mut GraphModule) -> Result<usize> {
    let mut total = 0;
    loop {
        total += fuse_conv_bn(module)? + fuse_linear_bn(module)? + fuse_bn_conv(module)?;
        match fold_scale_bias(module)? {
            0 => return Ok(total),
            count => total += count,
        }
    }
}
