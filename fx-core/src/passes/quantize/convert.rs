//! The graph in PyTorch's reference form: layers of f32 whose operands are quantized and dequantized.

use rustc_hash::FxHashMap;

use super::places::{Place, Places};
use super::{Observer, Prepared, Reader, Weight, WeightConfig, output_axis};
use crate::arg::{Arg, Key, Kwargs};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, ModuleStack, NodeArg, NodeId, Opcode, SourceLocation};
use crate::graph_module::State;
use crate::ops::{self, AmaxOptions, Function};
use crate::prelude::*;

/// Writes the operands of all layers, of the sums after them and of means, as quantized; gives how many operands there are.
pub(super) fn convert(prepared: &Prepared, graph: &mut Graph, state: &mut State) -> Result<usize> {
    let places = &prepared.places;
    let mut conversion =
        Conversion { graph, state, places, inputs: vec![None; places.len()], weights: FxHashMap::default() };
    for reader in &prepared.readers {
        let node = conversion.graph.format_node(reader.node);
        conversion.reader(places.get(reader.place), reader).map_err(|error| error.at_node(|| node))?;
    }
    conversion.state.retain_used(conversion.graph);
    Ok(prepared.readers.len())
}

/// A graph being written, and what layers share.
struct Conversion<'a> {
    graph: &'a mut Graph,
    state: &'a mut State,
    places: &'a Places,
    /// The dequantized value of each place that had its turn.
    inputs: Vec<Option<NodeId>>,
    weights: FxHashMap<(Weight, WeightConfig), NodeId>,
}

impl Conversion<'_> {
    fn reader(&mut self, place: &Place, reader: &Reader) -> Result<()> {
        let input = match self.inputs[reader.place] {
            Some(input) => input,
            None => self.input(place, reader.node)?,
        };
        self.inputs[reader.place] = Some(input);
        self.graph.update_arg(reader.node, reader.operand, input);
        let Some(key) = &reader.weight else { return Ok(()) };
        let weight = match self.weights.get(key) {
            Some(weight) => *weight,
            None => self.weight(reader.node, key)?,
        };
        self.weights.insert(key.clone(), weight);
        self.graph.update_arg(reader.node, 1, weight);
        // Views go with the read that they are of.
        self.graph.erase_unused(key.0.nodes.iter().copied());
        Ok(())
    }

    /// The dequantized value at a place, before a call that reads it.
    fn input(&mut self, place: &Place, reader: NodeId) -> Result<NodeId> {
        let config = &place.config;
        let [scale, zero_point]: [NodeArg; 2] = match config.observer {
            Observer::Dynamic => {
                let pair = self.call(reader, ops::choose_qparams, vec![place.value.into()], config.range());
                let part = |index| vec![pair.into(), Arg::Int(index)];
                [part(0), part(1)].map(|args| self.call(reader, ops::getitem, args, Kwargs::new()).into())
            }
            _ => self.qparams(place)?,
        };
        let args = vec![place.value.into(), scale.clone(), zero_point.clone()];
        let quantized = self.call(reader, ops::quantize_per_tensor, args, config.attributes());
        let args = vec![quantized.into(), scale, zero_point];
        Ok(self.call(reader, ops::dequantize_per_tensor, args, Kwargs::new()))
    }

    /// The scale and the zero point for what was observed.
    fn qparams(&self, place: &Place) -> Result<[NodeArg; 2]> {
        let value = self.graph[place.value].name();
        let Some((least, most)) = self.places.range(place) else {
            return Err(Error::new(ErrorKind::State, format!("no data was observed of %{value}"))
                .help("run `Prepared::forward` on inputs before `convert_fx`, or use `QConfig::dynamic()`"));
        };
        if !least.is_finite() || !most.is_finite() {
            return Err(Error::new(ErrorKind::State, format!("%{value} was not finite: from {least} to {most}")).help(
                "look for the input that gives this, or use `Observer::Histogram`, which leaves infinities out",
            ));
        }
        // As the op does it for each run.
        let (scale, zero_point) =
            Tensor::from([least, most]).choose_qparams(place.config.quant_min, place.config.quant_max);
        Ok([Arg::Float(scale.item().to_f64()), Arg::Int(zero_point.item().to_i64())])
    }

    /// The dequantized weight of a layer.
    fn weight(&mut self, layer: NodeId, (weight, config): &(Weight, WeightConfig)) -> Result<NodeId> {
        let (path, stem) = (&weight.path, stem(&weight.path));
        let Some(tensor) = weight.tensor(self.graph, self.state).map(|tensor| tensor.contiguous()) else {
            return Err(Error::not_found(format!("there is no parameter or buffer at `{path}`")));
        };
        let axis = self.graph[layer].function().map_or(0, output_axis);
        let scale = symmetric_scale(&tensor, *config, axis);
        if !scale.sum().item().to_f64().is_finite() {
            return Err(Error::new(ErrorKind::State, format!("`{path}` has elements that are not finite"))
                .help("leave the layer in f32: `QConfigMapping::set_module_name(path, None)`"));
        }
        let int8 = tensor.quantize_per_channel(&scale, None::<&Tensor>, axis, -128, 127, DType::I8);
        let args = vec![
            self.buffer(layer, &format!("{stem}_int8"), int8),
            self.buffer(layer, &format!("{stem}_scale"), scale),
        ];
        let axis = [(Key::from("axis"), Arg::Int(axis))].into_iter().collect();
        Ok(self.call(layer, ops::dequantize_per_channel, args, axis))
    }

    /// A read of a new buffer, before a layer.
    fn buffer(&mut self, layer: NodeId, path: &str, tensor: Tensor) -> NodeArg {
        let path = self.state.free_path(path);
        self.state.buffers.insert(path.clone(), Buffer::new(tensor));
        let read = self.graph.inserting_before(layer, |graph| graph.get_attr(&path));
        read.into()
    }

    /// A call before one that reads it, from that one's place in the user's source.
    fn call(&mut self, reader: NodeId, function: Function, args: Vec<NodeArg>, kwargs: Kwargs<NodeId>) -> NodeId {
        let (location, stack) = {
            let meta = self.graph[reader].meta();
            (meta.get::<SourceLocation>().cloned(), meta.get::<ModuleStack>().cloned())
        };
        let id = self.graph.inserting_before(reader, |graph| graph.call(Opcode::CallFunction, function, args, kwargs));
        if let Some(meta) = self.graph.meta_mut(id) {
            location.into_iter().for_each(|location| meta.insert(location));
            stack.into_iter().for_each(|stack| meta.insert(stack));
        }
        id
    }
}

/// The scales of the outputs with which i8 from -128 to 127 hold a weight; 0 is 0.
fn symmetric_scale(weight: &Tensor, config: WeightConfig, axis: i64) -> Tensor {
    let weight = weight.movedim(axis, 0_i64);
    let outputs = weight.shape()[0] as i64;
    let rows = if config == WeightConfig::PerTensor { 1 } else { outputs };
    // PyTorch's range is half a step wider than the largest integer.
    let scale = weight.reshape([rows, -1]).abs().amax_with(AmaxOptions::new().dim(1)) / 127.5;
    scale.maximum(f64::from(f32::EPSILON)).expand([outputs]).contiguous()
}

/// What the paths of a weight's integers and scales begin with. An element of a list has no name of its own that a field
/// could have.
fn stem(path: &str) -> String {
    let name = path.rsplit('.').next().unwrap_or(path);
    if name.starts_with(|c: char| c.is_ascii_digit()) { path.replace('.', "_") } else { path.to_owned() }
}
