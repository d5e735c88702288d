//! Turning a graph back into Rust.

use crate::graph_module::GraphModule;

/// The graph as Rust source.
pub fn code(module: &GraphModule) -> String {
    module.graph().to_string()
}
