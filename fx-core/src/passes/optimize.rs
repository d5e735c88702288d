//! What a captured model goes through before it is compiled.

use super::{
    as_one, decompose_modules_if, eliminate_dead_code, fuse_conv_bn, fuse_linear_bn, fuse_pointwise, matmul_to_linear,
    remove_identities,
};
use crate::error::Result;
use crate::graph_module::GraphModule;
use crate::module::{Entry, Module, entries};

/// Makes a module fast to run: modules become functions, products with parameters linear layers, batch norms go into the layers before them, sums and
/// activations into the products before them, and what does nothing goes. Gives the number of changes.
///
/// Modules that are training stay as they are. The result is what [`GraphModule::forward`] runs.
///
/// # Errors
/// If the `forward` of a module cannot be captured.
pub fn optimize(module: &mut GraphModule) -> Result<usize> {
    as_one(module, |module| {
        let decomposed = decompose_modules_if(module, |_, _, leaf| !is_training(leaf))?;
        let passes: &[fn(&mut GraphModule) -> Result<usize>] =
            &[remove_identities, matmul_to_linear, fuse_conv_bn, fuse_linear_bn, eliminate_dead_code, fuse_pointwise];
        passes.iter().try_fold(decomposed, |count, pass| Ok(count + pass(module)?))
    })
}

fn is_training(module: &dyn Module) -> bool {
    entries(module).iter().any(|(_, entry)| matches!(entry, Entry::Training(flag) if flag.get()))
}
