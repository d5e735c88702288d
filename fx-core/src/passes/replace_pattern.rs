//! Replacing what matches a pattern.

use super::splice::Splicer;
use super::{Match, Part, Pattern};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, NodeArg, NodeId, NodeMap};
use crate::graph_module::{GraphModule, State};

/// Replaces every match of a pattern; torch.fx's `replace_pattern`. Pattern and replacement are captured functions or
/// modules, or graphs, with the same number of inputs and results. [`Pattern`] has options.
///
/// Gives the matches. The module is as it was if anything fails.
///
/// # Errors
/// If the pattern is none, or the replacement has another number of inputs or results.
pub fn replace_pattern(
    module: &mut GraphModule,
    pattern: impl Into<Part>,
    replacement: impl Into<Part>,
) -> Result<Vec<Match>> {
    Pattern::new(pattern)?.replace(module, replacement)
}

impl Pattern {
    /// Replaces every match.
    ///
    /// # Errors
    /// If the replacement has another number of inputs or results than the pattern, or the matches do not come to an end.
    pub fn replace(&self, module: &mut GraphModule, replacement: impl Into<Part>) -> Result<Vec<Match>> {
        let replacement = replacement.into();
        self.replace_with(module, |_, _, _| Ok(Some(replacement.clone())))
    }

    /// Replaces every match by what `f` gives for it; where that is None, it stays.
    ///
    /// # Errors
    /// What `f` gives, and as [`Pattern::replace`].
    pub fn replace_with(
        &self,
        module: &mut GraphModule,
        mut f: impl FnMut(&Graph, &State, &Match) -> Result<Option<Part>>,
    ) -> Result<Vec<Match>> {
        module.edit_with_state(|graph, state| {
            let mut splicer = Splicer::default();
            let mut all = Vec::new();
            for _ in 0..self.rounds {
                let matches = self.find_in(graph, state);
                let mut replaced = self.replace_round(graph, state, &mut splicer, matches, &mut f)?;
                if replaced.is_empty() {
                    break;
                }
                all.append(&mut replaced);
            }
            if self.rounds > 1 && !self.find_in(graph, state).is_empty() && !all.is_empty() {
                let message = format!("the pattern still matches after {} rounds", self.rounds);
                return Err(Error::new(ErrorKind::Graph, message)
                    .help("see that what replaces it does not match it again, or allow more rounds"));
            }
            state.retain_used(graph);
            Ok(all)
        })
    }

    fn replace_round(
        &self,
        graph: &mut Graph,
        state: &mut State,
        splicer: &mut Splicer,
        matches: Vec<Match>,
        f: &mut impl FnMut(&Graph, &State, &Match) -> Result<Option<Part>>,
    ) -> Result<Vec<Match>> {
        // What a match gave may be an input of the next one.
        let mut moved = NodeMap::new();
        let mut replaced = Vec::new();
        for mut found in matches {
            let Some(part) = f(graph, state, &found)? else { continue };
            let outputs = self.check(&part)?;
            let bound = |id: &NodeId| resolve(&moved, &found.bindings[id]);
            let inputs = part.graph.placeholders().into_iter().zip(self.inputs());
            let map: NodeMap = inputs.map(|(input, bound_to)| (input, bound(bound_to))).collect();
            let mut all = Vec::new();
            found.bindings.values().for_each(|arg| arg.for_each(&mut |id| all.push(*id)));
            all.retain(|id| graph.contains(*id));
            let place = graph.last_of(all).unwrap_or(found.anchor);
            let (_, copies) = splicer.splice(graph, state, &part, map.clone(), place)?;
            let copy_of = copies_of(&part, &map, &copies);
            for (old, new) in self.outputs().iter().zip(outputs) {
                let NodeArg::Value(old) = found.bindings[old] else { continue };
                let new = copy_of[&new].clone();
                graph.keep_shape(old, &new);
                graph.replace_all_uses_with_arg(old, &new);
                moved.insert(old, new);
            }
            let inputs = self.inputs();
            let matched =
                found.bindings.iter().filter(|(id, _)| !inputs.contains(id)).filter_map(|(_, arg)| arg.as_value());
            let mut matched: Vec<_> = matched.copied().collect();
            graph.sort_by_order(&mut matched);
            graph.erase_unused(matched);
            found.replacements = copies;
            replaced.push(found);
        }
        if self.outputs().len() > 1 {
            graph.sort_topologically()?;
        }
        Ok(replaced)
    }

    /// The nodes that a replacement gives, which are as many as the pattern's.
    fn check(&self, part: &Part) -> Result<Vec<NodeId>> {
        let (wanted, found) = (self.inputs().len(), part.graph.placeholders().len());
        if wanted != found {
            return Err(Error::argument(format!("the pattern has {wanted} inputs, its replacement {found}"))
                .help("give both the same inputs, in the same order"));
        }
        let mut outputs = Vec::new();
        if let Some(arg) = part.graph.output_arg() {
            arg.for_each(&mut |id| outputs.push(*id));
        }
        let (wanted, found) = (self.outputs().len(), outputs.len());
        if wanted != found {
            return Err(Error::argument(format!("the pattern gives {wanted} results, its replacement {found}")));
        }
        Ok(outputs)
    }
}

/// What each node of a part became.
fn copies_of(part: &Part, map: &NodeMap, copies: &[NodeId]) -> NodeMap {
    let mut result = map.clone();
    let copied = part.graph.node_ids().into_iter().filter(|id| !map.contains_key(id));
    result.extend(copied.zip(copies.iter().map(|copy| NodeArg::Value(*copy))));
    result
}

/// An argument in terms of what took the place of its nodes.
fn resolve(moved: &NodeMap, arg: &NodeArg) -> NodeArg {
    let find =
        &mut |id: &NodeId| Ok::<_, std::convert::Infallible>(moved.get(id).cloned().unwrap_or(NodeArg::Value(*id)));
    match arg.try_flat_map(find) {
        Ok(arg) => arg,
        Err(never) => match never {},
    }
}
