//! What a node does beside giving its result.

use crate::graph::{Node, Opcode};
use crate::graph_module::State;
use crate::module::{Entry, Module, entries};
use crate::ops::Effect;
use crate::trace::{Leaves, trace_call};

/// The effect of a node, of whichever opcode.
///
/// A module's is that of the functions in its `forward`. Where that cannot be captured, and for a module in training that
/// has buffers, which it may write to, it is [`Effect::Impure`].
pub fn effect(state: &State, node: &Node) -> Effect {
    match node.op() {
        Opcode::Placeholder | Opcode::Output => Effect::Impure,
        Opcode::GetAttr => Effect::Pure,
        Opcode::CallFunction | Opcode::CallMethod => {
            node.function().map_or(Effect::Impure, |function| function.effect())
        }
        Opcode::CallModule => match state.modules.get(node.target().name()) {
            Some(module) if !writes_buffers(&**module) => effect_of_forward(&**module, node),
            _ => Effect::Impure,
        },
    }
}

fn writes_buffers(module: &dyn Module) -> bool {
    module.is_training() && entries(module).iter().any(|(_, entry)| matches!(entry, Entry::Buffer(_)))
}

fn effect_of_forward(module: &dyn Module, node: &Node) -> Effect {
    let Ok((body, _)) = trace_call(Leaves::None, module, node.args(), node.kwargs()) else { return Effect::Impure };
    let calls = body.graph().nodes().filter(|(_, node)| !matches!(node.op(), Opcode::Placeholder | Opcode::Output));
    let effects: Vec<_> = calls.map(|(_, node)| effect(body.state(), node)).collect();
    let strongest = [Effect::Impure, Effect::Random].into_iter().find(|effect| effects.contains(effect));
    strongest.unwrap_or(Effect::Pure)
}
