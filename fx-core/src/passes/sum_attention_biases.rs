//! What is added to the scores of attention is computed before them, and added up first.
//!
//! `softmax((q @ k + a) + b)` becomes `softmax(q @ k + (a + b))`, with the product after all that `a` and `b` need. Then a plan has one mask and
//! makes one step of attention.

use smallvec::SmallVec;

use super::floats::is_float;
use super::fusion::only_user;
use crate::arg::Kwargs;
use crate::error::Result;
use crate::graph::{Graph, NodeArg, NodeId, Opcode};
use crate::graph_module::GraphModule;
use crate::ops::{self, Function};

/// What gives the same numbers in another shape.
const VIEWS: [Function; 2] = [ops::view, ops::reshape];

/// Moves products whose softmax is taken behind what is added to them, and adds that up first. Gives how many there were.
///
/// # Errors
/// None that a graph in order can give.
pub fn sum_attention_biases(module: &mut GraphModule) -> Result<usize> {
    module.edit(|graph| {
        let mut count = 0;
        for id in graph.node_ids() {
            let is_softmax = graph[id].function() == Some(ops::softmax);
            let scores = graph[id].args().first().and_then(|input| input.as_value()).filter(|_| is_softmax).copied();
            let Some(chain) = scores.and_then(|scores| Chain::of(graph, scores)) else { continue };
            count += usize::from(chain.gather(graph)?);
        }
        Ok(count)
    })
}

/// The calls from a product to a softmax, each of which alone uses the one before it.
struct Chain {
    nodes: SmallVec<[NodeId; 6]>,
    /// Of those that are sums, the numbers, and what is added.
    added: SmallVec<[(usize, NodeId); 2]>,
}

impl Chain {
    /// The chain that ends with a node, if something is added in it.
    fn of(graph: &Graph, last: NodeId) -> Option<Self> {
        only_user(graph, last)?;
        let node = &graph[last];
        let function = node.function()?;
        let operand = |index: usize| node.args().get(index).and_then(|arg| arg.as_value()).copied();
        if [ops::matmul, ops::bmm].contains(&function) {
            return Some(Self { nodes: SmallVec::from_slice(&[last]), added: SmallVec::new() });
        }
        let followed = |by: usize, other: Option<NodeId>| {
            let mut chain = Self::of(graph, operand(by)?)?;
            chain.added.extend(other.map(|other| (chain.nodes.len(), other)));
            chain.nodes.push(last);
            Some(chain)
        };
        if VIEWS.contains(&function) || [ops::mul, ops::div].contains(&function) && operand(1).is_none() {
            return followed(0, None);
        }
        let [one, other] = [operand(0)?, operand(1)?];
        if function != ops::add || !node.kwargs().is_empty() || one == other {
            return None;
        }
        followed(0, Some(other)).or_else(|| followed(1, Some(one)))
    }

    /// Moves the product and adds up what is added, if that changes anything.
    fn gather(&self, graph: &mut Graph) -> Result<bool> {
        let (Some(product), Some((last, _))) = (self.nodes.first(), self.added.last()) else { return Ok(false) };
        let is_late = self.added.iter().any(|(_, other)| graph.comes_before(*product, *other));
        if is_late {
            self.nodes[..*last].iter().for_each(|id| graph.move_before(*id, self.nodes[*last]));
        }
        let mut is_summed = false;
        let mut from = 0;
        while from < self.added.len() {
            // Sums that follow each other: in between there may be another shape. Booleans would add up to one.
            let follows = |next: &usize| self.added[*next].0 == self.added[from].0 + next - from;
            let is_float = |number: &usize| is_float(graph, self.added[*number].1);
            let to = (from..self.added.len())
                .take_while(|next| follows(next) && is_float(next))
                .last()
                .map_or(from + 1, |last| last + 1);
            let [(first, mut sum), ref more @ ..] = self.added[from..to] else { break };
            let (first, own) = (self.nodes[first], sum);
            for (number, other) in more {
                let add = |graph: &mut Graph| {
                    graph.call(Opcode::CallFunction, ops::add, [sum, *other].map(NodeArg::Value), Kwargs::new())
                };
                sum = graph.inserting_before(*product, add);
                graph.replace_all_uses_with(self.nodes[*number], first);
            }
            graph.replace_input_with(first, own, sum);
            more.iter().rev().try_for_each(|(number, _)| graph.erase_node(self.nodes[*number]))?;
            is_summed |= !more.is_empty();
            from = to;
        }
        Ok(is_late || is_summed)
    }
}
