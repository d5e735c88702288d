//! One spelling of every call: functions instead of methods, attributes in the order of the op table, no absent operand
//! at the end.

use crate::arg::{Arg, Kwargs};
use crate::error::Result;
use crate::graph::{Node, NodeArg, NodeId, Opcode};
use crate::graph_module::GraphModule;
use crate::ops::Function;
use crate::sort::sort_by_key;

/// Writes all calls of functions and methods in one way; torch.fx's `NormalizeOperators`. Gives how many changed.
///
/// # Errors
/// None that a graph in order can give.
pub fn normalize(module: &mut GraphModule) -> Result<usize> {
    module.edit(|graph| {
        let mut count = 0;
        for id in graph.node_ids() {
            let node = &graph[id];
            let Some(function) = node.function() else { continue };
            let (args, kwargs) = (operands(node), attributes(node, function));
            let same_order = kwargs.iter().map(|(key, _)| key).eq(node.kwargs().iter().map(|(key, _)| key));
            if node.op() == Opcode::CallFunction && args.len() == node.args().len() && same_order {
                continue;
            }
            graph.set_call(id, Opcode::CallFunction, function);
            graph.set_args(id, args);
            graph.set_kwargs(id, kwargs);
            count += 1;
        }
        Ok(count)
    })
}

fn operands(node: &Node) -> Vec<NodeArg> {
    let mut args = node.args().to_vec();
    while args.last().is_some_and(Arg::is_none) {
        args.pop();
    }
    args
}

fn attributes(node: &Node, function: Function) -> Kwargs<NodeId> {
    let place = |key: &str| function.definition().attributes.iter().position(|attribute| attribute.name == key);
    let mut kwargs: Vec<_> = node.kwargs().clone().into_iter().collect();
    sort_by_key(&mut kwargs, |(key, _)| place(key).unwrap_or(usize::MAX));
    kwargs.into_iter().collect()
}
