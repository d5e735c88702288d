//! A batch norm in evaluation after a linear layer goes into its weight and bias, as after a convolution.

use super::fuse_conv_bn::fuse_pairs;
use crate::error::Result;
use crate::graph_module::GraphModule;
use crate::ops;

/// Fuses every linear layer with the batch norm after it, as [`fuse_conv_bn`](super::fuse_conv_bn).
///
/// Of `[N, C, L]` a batch norm scales the second dimension and a linear layer the last: fused is where the shape that is
/// noted for the linear layer has two dimensions, and nothing where shapes are not noted.
///
/// # Errors
/// If the `forward` of such a module cannot be captured, or parameters have shapes that do not fit each other.
pub fn fuse_linear_bn(module: &mut GraphModule) -> Result<usize> {
    fuse_pairs(module, &[ops::linear])
}
