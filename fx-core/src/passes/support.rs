//! What a backend can run: torch.fx's operator support.

use crate::graph::NodeId;
use crate::graph_module::GraphModule;
use crate::tensor::DType;
use crate::value::Meta;

/// Says which nodes a backend can run. A function of a module and a node is one.
pub trait OperatorSupport {
    /// Whether it can run the node.
    fn is_node_supported(&self, module: &GraphModule, node: NodeId) -> bool;
}

impl<F: Fn(&GraphModule, NodeId) -> bool> OperatorSupport for F {
    fn is_node_supported(&self, module: &GraphModule, node: NodeId) -> bool {
        self(module, node)
    }
}

/// What all of them support.
pub fn chain(supports: Vec<Box<dyn OperatorSupport>>) -> impl OperatorSupport {
    move |module: &GraphModule, id: NodeId| supports.iter().all(|support| support.is_node_supported(module, id))
}

/// What one of them supports.
pub fn any_chain(supports: Vec<Box<dyn OperatorSupport>>) -> impl OperatorSupport {
    move |module: &GraphModule, id: NodeId| supports.iter().any(|support| support.is_node_supported(module, id))
}

/// Everything but nodes with an input of this element type, as far as shapes were propagated.
pub fn decline_input_dtype(dtype: DType) -> impl OperatorSupport {
    move |module: &GraphModule, id: NodeId| {
        let graph = module.graph();
        let mut found = false;
        for input in graph[id].inputs() {
            if let Some(shape) = graph[input].meta().shape() {
                shape.for_each(&mut |meta: &Meta| {
                    found |= meta.as_tensor().is_some_and(|tensor| tensor.dtype == dtype);
                });
            }
        }
        !found
    }
}

/// Everything but the nodes with these names.
pub fn decline_names(names: &[&str]) -> impl OperatorSupport {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    move |module: &GraphModule, id: NodeId| !names.iter().any(|name| name == module.graph()[id].name())
}
