//! A mean of windows and a convolution of single pixels give the same in either order: the cheaper one is taken.
//!
//! `avg_pool2d(conv2d(x, w, b), 2)` becomes `conv2d(avg_pool2d(x, 2), w, b)`, which multiplies a quarter of the pixels. Windows that overlap
//! go behind a convolution that makes fewer channels: `conv2d(avg_pool2d(x, 3, stride=1, padding=1), w, b)` becomes
//! `avg_pool2d(conv2d(x, w), 3, stride=1, padding=1) + b`, for zeros around the image are in its means too.

use super::fusion::{only_user, replace_chain};
use super::layer::{CONVS, Layer, pads_nothing};
use crate::arg::{Arg, Key, Kwargs};
use crate::error::Result;
use crate::graph::{Graph, Node, NodeArg, NodeId, Opcode};
use crate::graph_module::{GraphModule, State};
use crate::ops::{self, AVERAGES};

/// How many multiplications take as long as a number that goes into a mean, or that something is added to.
const OF_MEAN: usize = 4;
/// The outputs that are multiplied at once, be they fewer.
const TOGETHER: usize = 16;

/// Puts every mean of windows and the convolution of single pixels beside it in the order that takes less work, if nothing else uses
/// what is between. Gives how many changed places.
///
/// # Errors
/// None that a graph in order can give.
pub fn reorder_avg_pools(module: &mut GraphModule) -> Result<usize> {
    module.edit_with_state(|graph, state| {
        let mut count = 0;
        loop {
            let before = count;
            for id in graph.node_ids() {
                // The second of a pair is gone when its turn comes.
                let Some(pair) = graph.get(id).and_then(|_| Pair::at(graph, state, id)) else { continue };
                if pair.is_dear() {
                    pair.reorder(graph)?;
                    count += 1;
                }
            }
            // What has changed places may stand beside another.
            if count == before {
                return Ok(count);
            }
        }
    })
}

/// A mean and a convolution, of which the second alone uses the first.
struct Pair {
    conv: NodeId,
    pool: NodeId,
    is_conv_first: bool,
    mean: Mean,
    /// The convolution itself.
    layer: Layer,
}

/// What is known of windows and their means.
struct Mean {
    /// The numbers of a window, and how many pixels there are for one of the result; none if all pixels become one.
    sizes: Option<[usize; 2]>,
    /// Whether the mean of a number that is everywhere is that number.
    keeps_constants: bool,
}

impl Pair {
    /// The pair whose first is a node.
    fn at(graph: &Graph, state: &State, first: NodeId) -> Option<Self> {
        let second = only_user(graph, first)?;
        let is_conv_first = graph[first].function().is_some_and(|function| CONVS.contains(&function));
        let (conv, pool) = if is_conv_first { (first, second) } else { (second, first) };
        let layer =
            Layer::of(graph, state, conv, &CONVS).filter(|layer| layer.is_of_pixels() && layer.dtype().is_float())?;
        let dims = layer.rank() - 2;
        let is_at_each = pads_nothing(&graph[conv]) && sizes(&graph[conv], "stride", 1, dims)? == 1;
        let is_input = graph[second].args().first()?.as_value() == Some(&first);
        let mean = Mean::of(&graph[pool], dims).filter(|_| is_at_each && is_input)?;
        Some(Self { conv, pool, is_conv_first, mean, layer })
    }

    /// Whether the other order takes less work and gives the same.
    fn is_dear(&self) -> bool {
        let [inputs, outputs] = [self.layer.inputs(), self.layer.outputs()];
        let products = outputs.next_multiple_of(TOGETHER) * inputs / self.layer.groups();
        let splits = self.splits_bias();
        let Some([window, step]) = self.mean.sizes else { return self.is_conv_first };
        // For a pixel of the result.
        let of_sum = if splits { 2 * OF_MEAN * outputs } else { 0 };
        let conv_first = step * products + window * OF_MEAN * outputs;
        let pool_first = products + window * OF_MEAN * inputs;
        match self.is_conv_first {
            // Its bias would have to be pooled.
            true => !splits && pool_first < conv_first,
            false => conv_first + of_sum < pool_first,
        }
    }

    /// Whether the bias has to be added after both.
    fn splits_bias(&self) -> bool {
        self.layer.has_bias() && !self.mean.keeps_constants
    }

    fn reorder(self, graph: &mut Graph) -> Result<()> {
        let [first, second] = if self.is_conv_first { [self.conv, self.pool] } else { [self.pool, self.conv] };
        let calls = [first, second].map(|id| graph[id].clone());
        let bias = calls[1].args().get(2).filter(|_| self.splits_bias()).cloned();
        replace_chain(graph, &[first, second], |graph| {
            let mut result = calls[0].args()[0].clone();
            for node in calls.iter().rev() {
                let operands = if bias.is_some() { 1..node.args().len().min(2) } else { 1..node.args().len() };
                let args = [result].into_iter().chain(node.args()[operands].iter().cloned());
                result = graph.call(node.op(), node.target().clone(), args, node.kwargs().clone()).into();
            }
            if let Some(bias) = bias {
                let shape =
                    [-1].into_iter().chain(std::iter::repeat_n(1, self.layer.rank() - 2)).map(Arg::Int).collect();
                let shape: Kwargs<NodeId> = [(Key::from("shape"), Arg::List(shape))].into_iter().collect();
                let bias = graph.call(Opcode::CallFunction, ops::view, [bias], shape);
                result = graph.call_function(ops::add, [result, bias.into()]).into();
            }
            *result.as_value().expect("invariant: a call is a value")
        })
    }
}

impl Mean {
    /// The means that a node calls for, over so many dimensions.
    fn of(node: &Node, dims: usize) -> Option<Self> {
        let function = node.function()?;
        let place = AVERAGES.iter().position(|known| *known == function).filter(|place| place % 3 + 1 == dims)?;
        // Those that are told the size of the result come last.
        if place >= 3 {
            return (sizes(node, "output_size", 0, dims)? == 1).then_some(Self { sizes: None, keeps_constants: true });
        }
        let window = sizes(node, "kernel_size", 0, dims)?;
        let step = match node.kwargs().get("stride") {
            None | Some(Arg::None) => window,
            Some(_) => sizes(node, "stride", 1, dims)?,
        };
        let counts_padding = node.kwargs().get("count_include_pad").is_none_or(|flag| flag.as_bool() != Some(false));
        let is_divided_by_count = node.kwargs().get("divisor_override").is_none_or(Arg::is_none);
        let keeps_constants = is_divided_by_count && (pads_nothing(node) || !counts_padding);
        Some(Self { sizes: Some([window, step]), keeps_constants })
    }
}

/// The product of an attribute's sizes, each the default if it is not said; none if it is not known.
fn sizes(node: &Node, name: &str, default: usize, dims: usize) -> Option<usize> {
    let Some(arg) = node.kwargs().get(name) else { return Some(default.pow(dims as u32)) };
    let size = |arg: &NodeArg| arg.as_int().and_then(|size| usize::try_from(size).ok());
    match arg.as_items() {
        Some(items) => items.iter().map(size).product(),
        None => size(arg).map(|size| size.pow(dims as u32)),
    }
}
