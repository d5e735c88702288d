//! Nodes that nobody uses go, unless calling them has an effect.

use super::effect;
use crate::error::Result;
use crate::graph_module::GraphModule;
use crate::ops::Effect;

/// Removes nodes without users, those that only they used, and the state that is then not referred to. Inputs, the output
/// and calls with an effect stay: unlike torch.fx's, this never drops an effect.
///
/// # Errors
/// None that a graph in order can give.
pub fn eliminate_dead_code(module: &mut GraphModule) -> Result<usize> {
    module.edit_with_state(|graph, state| {
        let before = graph.len();
        if graph.eliminate_dead_code(|graph, id| effect(state, &graph[id]) == Effect::Impure) {
            state.retain_used(graph);
        }
        Ok(before - graph.len())
    })
}
