//! Quantization after training: layers whose inputs and weights are integers of 8 bits, as PyTorch's
//! `torch.ao.quantization.quantize_fx` makes them.
//!
//! [`prepare_fx`] finds the layers, [`Prepared::forward`] looks at what they read, and [`Prepared::convert_fx`] writes a
//! graph that says what is kept as integers, in PyTorch's reference form: a layer of f32 whose operands are quantized and
//! dequantized. The graph holds no observers: they are beside it.

mod config;
mod convert;
mod histogram;
mod observer;
mod places;

pub use config::{ActivationConfig, Observer, QConfig, QConfigMapping, WeightConfig};

use rustc_hash::FxHashMap;

use self::places::Places;
use super::fusion::{only_user, sum_after};
use super::{
    as_one, decompose_modules, eliminate_common_subexpressions, fuse_conv_bn, fuse_linear_bn, matmul_to_linear,
    remove_identities,
};
use crate::arg::Arg;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, Node, NodeArg, NodeId, Opcode};
use crate::graph_module::{GraphModule, Inputs, State};
use crate::interpreter::{Hooks, Interpreter, Run};
use crate::ops::{self, Function, is_mean, is_view};
use crate::prelude::*;
use crate::value::Tree;

/// What can be quantized.
const LAYERS: [Function; 6] =
    [ops::linear, ops::conv1d, ops::conv2d, ops::conv3d, ops::conv_transpose1d, ops::conv_transpose2d];

/// The dimension of a layer's weight that has an index for each output.
pub(super) fn output_axis(layer: Function) -> i64 {
    i64::from(layer == ops::conv_transpose1d || layer == ops::conv_transpose2d)
}

/// Makes a model ready to be quantized: modules become functions, batch norms go into the layers before them, and each
/// layer that `mapping` names gets an observer for its input. Layers are `linear`, `conv1d`, `conv2d`, `conv3d` and transposed
/// convolutions of one and two dimensions with a weight in f32 that is state of the model. Layers that read the same value in the same way share
/// an observer, also where one reads it through max pooling or beside others in a concatenation: then it is written as integers once.
///
/// A sum after a layer adds the integers too where its other operand is what layers read, as a residual block has it, or what another
/// layer gives to the sum alone, as a block that changes the number of channels has it: PyTorch's layers with sums in them, such as
/// `ConvAdd2d`, do. A mapping that has nothing for [`ops::add`] leaves it in f32. A mean and an average pooling read what layers read
/// as these do, if the mapping has the same for them.
///
/// ```
/// use fx_core::passes::{QConfigMapping, prepare_fx};
/// # use fx_core::{GraphModule, Result, Tensor};
/// # fn quantized(traced: &GraphModule, data: &[Tensor]) -> Result<GraphModule> {
/// let mut prepared = prepare_fx(traced, &QConfigMapping::new())?;
/// for x in data {
///     prepared.forward(x)?;
/// }
/// prepared.convert_fx()
/// # }
/// ```
///
/// # Errors
/// If a module is training, the `forward` of a module cannot be captured, or a configuration has a range that there is
/// not.
pub fn prepare_fx(module: &GraphModule, mapping: &QConfigMapping) -> Result<Prepared> {
    require_evaluation(module)?;
    let mut module = module.clone();
    as_one(&mut module, |module| {
        let passes: [fn(&mut GraphModule) -> Result<usize>; 6] = [
            decompose_modules,
            remove_identities,
            matmul_to_linear,
            eliminate_common_subexpressions,
            fuse_conv_bn,
            fuse_linear_bn,
        ];
        passes.iter().try_fold(0, |count, pass| Ok(count + pass(module)?))
    })?;
    let (mut readers, mut places) = (FxHashMap::default(), Places::default());
    let graph = module.graph();
    for (id, node) in graph.nodes() {
        let Some((weight, config)) = wanted(&module, node, mapping) else { continue };
        let Some(&input) = node.args()[0].as_value() else { continue };
        config.activation.check().map_err(|error| error.at_node(|| graph.format_node(id)))?;
        let place = places.of(graph, input, config.activation);
        readers.insert(id, Reader { node: id, operand: 0, place, weight: Some((weight, config.weight)) });
    }
    let order = graph.node_ids();
    for id in &order {
        // Sums are among the readers too, and are no layers.
        if readers.get(id).is_some_and(|reader| reader.weight.is_some())
            && let Some(sum) = added(graph, *id, &readers, mapping, &mut places)?
        {
            readers.insert(sum.node, sum);
        }
    }
    readers.extend(graph.nodes().filter_map(|(id, node)| Some((id, averaged(id, node, mapping, &places)?))));
    let readers = order.iter().filter_map(|id| readers.remove(id)).collect();
    Ok(Prepared { module, readers, places })
}

/// Quantizes all layers, with ranges of inputs that are found in each run: PyTorch's `quantize_dynamic`, of convolutions too.
/// Gives how many layers there were.
///
/// # Errors
/// As [`prepare_fx`] and [`Prepared::convert_fx`].
pub fn quantize_dynamic(module: &mut GraphModule) -> Result<usize> {
    let prepared = prepare_fx(module, &QConfigMapping::new().set_global(QConfig::dynamic()))?;
    let count = prepared.layer_count();
    if count > 0 {
        *module = prepared.convert_fx()?;
    }
    Ok(count)
}

/// A model that is ready to be quantized, with what was seen of the values that its layers read.
#[derive(Clone, Debug)]
pub struct Prepared {
    module: GraphModule,
    /// In the graph's order.
    readers: Vec<Reader>,
    places: Places,
}

/// What reads a value that is quantized: a layer, which has a weight that will be quantized, the sum after one, or a mean.
#[derive(Clone, Debug)]
struct Reader {
    node: NodeId,
    operand: usize,
    place: usize,
    weight: Option<(Weight, WeightConfig)>,
}

/// The weight of a layer: state, or a view of it, as a part of several layers' weights is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Weight {
    path: String,
    /// The read, and the calls after it that give views.
    nodes: Vec<NodeId>,
}

impl Prepared {
    /// The model whose layers are observed: it computes in f32.
    pub fn module(&self) -> &GraphModule {
        &self.module
    }

    /// How many layers [`Prepared::convert_fx`] will quantize.
    pub fn layer_count(&self) -> usize {
        self.readers.iter().filter(|reader| reader.weight.is_some()).count()
    }

    /// Runs the model in f32, and looks at the inputs of its layers: calibration.
    ///
    /// # Errors
    /// As [`GraphModule::forward`].
    pub fn forward(&mut self, inputs: impl Inputs) -> Result<Tensor> {
        let output = self.run(inputs.into_args())?;
        Tensor::from_arg(output).map_err(|error| error.help("`Prepared::forward_as` gives results of other forms"))
    }

    /// As [`Prepared::forward`], and gives the result as a tuple, a list or another structure.
    ///
    /// # Errors
    /// As [`GraphModule::forward_as`].
    pub fn forward_as<R: Tree<Tensor>>(&mut self, inputs: impl Inputs) -> Result<R> {
        R::from_arg(self.run(inputs.into_args())?)
    }

    /// As [`Prepared::forward`], on arguments of any form.
    ///
    /// # Errors
    /// As [`GraphModule::run`].
    pub fn run(&mut self, args: Vec<Arg<Tensor>>) -> Result<Arg<Tensor>> {
        Interpreter::with_hooks(&self.module, Observe(&mut self.places)).run(args)
    }

    /// The quantized model. Before each layer stand `quantize_per_tensor` and `dequantize_per_tensor` of its input, which sums after
    /// layers and means read too, and the weight is read as `dequantize_per_channel` of the buffers `conv.weight_int8` and `conv.weight_scale`, for a
    /// parameter `conv.weight`. A parameter that nothing reads any more goes. Other data may be observed afterwards.
    ///
    /// # Errors
    /// If an observer has seen no data, or a value or a weight is not finite; the error names the layer.
    pub fn convert_fx(&self) -> Result<GraphModule> {
        let mut converted = self.module.clone();
        as_one(&mut converted, |module| module.edit_with_state(|graph, state| convert::convert(self, graph, state)))?;
        Ok(converted)
    }
}

/// Shows observers what a run computes.
struct Observe<'a>(&'a mut Places);

impl Hooks<Tensor> for Observe<'_> {
    fn run_node(&mut self, run: &mut Run<'_, Tensor>, id: NodeId) -> Result<Arg<Tensor>> {
        let value = run.dispatch(self, id)?;
        if let Some(tensor) = value.as_value() {
            self.0.observe(id, tensor);
        }
        Ok(value)
    }
}

/// Checks that no module is training: its batch norms could not go into other layers.
fn require_evaluation(module: &GraphModule) -> Result<()> {
    for (id, node) in module.graph().nodes() {
        if let Some(callee) = module.state().callee(node).filter(|callee| callee.is_training()) {
            let message = format!("the module `{}` ({}) is training", node.target(), callee.type_name());
            return Err(Error::new(ErrorKind::State, message)
                .at_node(|| module.graph().format_node(id))
                .help("call `eval()` on the model, or `train(false)` on the captured one, before it is quantized"));
        }
    }
    Ok(())
}

/// The sum that alone uses what a layer gives, if its other operand is a value that layers read as it would be quantized for a sum, or what
/// another layer gives to the sum alone. Of two layers it goes with the first operand, as in PyTorch.
fn added(
    graph: &Graph,
    layer: NodeId,
    readers: &FxHashMap<NodeId, Reader>,
    mapping: &QConfigMapping,
    places: &mut Places,
) -> Result<Option<Reader>> {
    let Some((sum, Arg::Value(other))) = sum_after(graph, layer) else { return Ok(None) };
    let Some(config) = without_weight(mapping, ops::add, &graph[sum]) else { return Ok(None) };
    let operand = usize::from(graph[sum].args()[0].as_value() != Some(&other));
    let place = match places.find(other, config.activation) {
        Some(place) => place,
        None if operand == 1 && readers.contains_key(&other) && only_user(graph, other) == Some(sum) => {
            config.activation.check().map_err(|error| error.at_node(|| graph.format_node(sum)))?;
            places.of(graph, other, config.activation)
        }
        None => return Ok(None),
    };
    Ok(Some(Reader { node: sum, operand, place, weight: None }))
}

/// A mean of a value that layers read as it would be quantized for a mean.
fn averaged(id: NodeId, node: &Node, mapping: &QConfigMapping, places: &Places) -> Option<Reader> {
    let function = node.function().filter(|function| is_mean(*function))?;
    let config = without_weight(mapping, function, node)?;
    let place = places.find(*node.args().first()?.as_value()?, config.activation)?;
    Some(Reader { node: id, operand: 0, place, weight: None })
}

/// The configuration of a call that has no weight: ranges of each run are for layers.
fn without_weight(mapping: &QConfigMapping, function: Function, node: &Node) -> Option<QConfig> {
    mapping.of(function, frame(node)).filter(|config| config.activation.observer != Observer::Dynamic)
}

/// The module that made a call; nothing without one.
fn frame(node: &Node) -> &str {
    node.meta().module_stack().last().map_or("", |frame| frame.path.as_str())
}

/// The weight and the configuration of a call, if it is a layer that is to be quantized.
fn wanted(module: &GraphModule, node: &Node, mapping: &QConfigMapping) -> Option<(Weight, QConfig)> {
    let function = node.function().filter(|function| LAYERS.contains(function))?;
    let weight = Weight::of(module.graph(), module.state(), node.args().get(1)?)?;
    // The module that made the call; without one, the module that has the weight.
    let owner = weight.path.rsplit_once('.').map_or("", |(owner, _)| owner);
    let config = mapping.of(function, Some(frame(node)).filter(|frame| !frame.is_empty()).unwrap_or(owner))?;
    Some((weight, config))
}

impl Weight {
    /// What an argument is, if it is a weight in f32 that is state, or a view of that.
    fn of(graph: &Graph, state: &State, arg: &NodeArg) -> Option<Self> {
        let mut nodes = vec![*arg.as_value()?];
        while graph[nodes[0]].op() != Opcode::GetAttr {
            let node = &graph[nodes[0]];
            // A view is of its first operand, and depends on nothing else.
            let from = *node.args().first()?.as_value()?;
            node.function().filter(|function| is_view(*function) && node.inputs().len() == 1)?;
            nodes.insert(0, from);
        }
        let weight = Self { path: graph[nodes[0]].target().name().to_owned(), nodes };
        let tensor = weight.tensor(graph, state)?;
        let is_weight = tensor.ndim() > 1 && tensor.numel() > 0 && tensor.dtype() == DType::F32;
        is_weight.then_some(weight)
    }

    /// The weight itself.
    fn tensor(&self, graph: &Graph, state: &State) -> Option<Tensor> {
        let (mut value, mut before) = (Arg::Value(state.tensor(&self.path)?), self.nodes[0]);
        for id in &self.nodes[1..] {
            let node = &graph[*id];
            let argument =
                |arg: &NodeArg| arg.try_flat_map(&mut |id| if *id == before { Ok(value.clone()) } else { Err(()) });
            let args = node.args().iter().map(argument).collect::<std::result::Result<Vec<_>, _>>().ok()?;
            let kwargs = node.kwargs().try_map(&mut |_| Err(())).ok()?;
            (value, before) = (node.function()?.eval(&args, &kwargs).ok()?, *id);
        }
        value.as_value().cloned()
    }
}
