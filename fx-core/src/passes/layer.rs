//! Layers that a scale and a shift can be folded into: convolutions and linear layers whose parameters are state.

mod affine;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use crate::arg::Arg;
use crate::error::Result;
use crate::graph::{Graph, Node, NodeArg, NodeId, Opcode};
use crate::graph_module::State;
use crate::module::{Make, Parameter};
use crate::ops::{self, Function};
use crate::prelude::*;
pub(crate) use affine::Affine;

/// Convolutions that are not transposed.
pub(crate) const CONVS: [Function; 3] = [ops::conv1d, ops::conv2d, ops::conv3d];

const TRANSPOSED: [Function; 3] = [ops::conv_transpose1d, ops::conv_transpose2d, ops::conv_transpose3d];

/// A layer as a call of a function. What is folded into its parameters is computed in f64 and rounded once, mostly when
/// they are first read.
pub(crate) struct Layer {
    /// The call.
    pub(crate) node: NodeId,
    /// What is called.
    pub(crate) function: Function,
    weight: Parameter,
    bias: Option<Parameter>,
    groups: i64,
    dtype: DType,
}

/// The functions of layers over channels: convolutions, transposed or not.
pub(crate) fn convolutions() -> Vec<Function> {
    CONVS.into_iter().chain(TRANSPOSED).collect()
}

/// Whether a call of a layer, or of pooling, puts nothing around its input.
pub(crate) fn pads_nothing(node: &Node) -> bool {
    match node.kwargs().get("padding") {
        None => true,
        Some(Arg::Str(word)) => word == "valid",
        Some(arg) => arg.as_items().is_some_and(|sizes| sizes.iter().all(|size| size.as_int() == Some(0))),
    }
}

impl Layer {
    /// The layer that a node calls, if it is one of these functions.
    pub(crate) fn of(graph: &Graph, state: &State, node: NodeId, functions: &[Function]) -> Option<Self> {
        let call = &graph[node];
        let function = call.function().filter(|function| functions.contains(function))?;
        let weight = state.parameter_of(graph, call.args().get(1)?)?;
        let bias = match call.args().get(2) {
            None | Some(Arg::None) => None,
            Some(arg) => Some(state.parameter_of(graph, arg)?),
        };
        let groups = call.kwargs().get("groups").map_or(Some(1), Arg::as_int)?;
        // What the function itself would refuse is no layer.
        if weight.shape().len() < 2 || groups < 1 || groups > weight.shape()[0] as i64 {
            return None;
        }
        Some(Self { node, function, dtype: weight.dtype(), weight, bias, groups })
    }

    /// The number of dimensions of its result, given a batch: that of its weight.
    pub(crate) fn rank(&self) -> usize {
        self.weight.shape().len()
    }

    /// The element type of its weight.
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of channels that it makes.
    pub(crate) fn outputs(&self) -> usize {
        let [first, second] = [self.weight.shape()[0], self.weight.shape()[1]];
        if self.is_transposed() { second * self.groups as usize } else { first }
    }

    /// The number of channels that it reads, if it is not transposed.
    pub(crate) fn inputs(&self) -> usize {
        self.weight.shape()[1] * self.groups()
    }

    /// The number of groups that its channels are in.
    pub(crate) fn groups(&self) -> usize {
        self.groups as usize
    }

    /// Whether something is added to each channel.
    pub(crate) fn has_bias(&self) -> bool {
        self.bias.is_some()
    }

    /// Whether it sees one pixel at a time.
    pub(crate) fn is_of_pixels(&self) -> bool {
        self.weight.shape()[2..].iter().all(|size| *size == 1)
    }

    fn is_transposed(&self) -> bool {
        TRANSPOSED.contains(&self.function)
    }

    /// The weight in this shape and the bias, zeros if there is none, in f64.
    fn wide(&self, shape: [i64; 4]) -> (Tensor, Tensor) {
        let bias = self.bias.as_ref().map(|bias| bias.tensor().to_dtype(DType::F64));
        let bias = bias.unwrap_or_else(|| Tensor::filled([self.outputs()], 0.0, DType::F64));
        (self.weight.tensor().to_dtype(DType::F64).reshape(shape), bias)
    }

    fn with(self, weight: &Tensor, bias: &Tensor) -> Self {
        let size: Vec<i64> = self.weight.shape().iter().map(|size| *size as i64).collect();
        let parameter = |tensor: &Tensor| Parameter::new(tensor.to_dtype(self.dtype));
        Self { weight: parameter(&weight.reshape(size)), bias: Some(parameter(bias)), ..self }
    }

    /// With every output channel times a scale and plus a shift.
    #[must_use]
    pub(crate) fn then(self, affine: Affine) -> Self {
        // What does not fit is refused below.
        let fits = affine.channels == 1 || affine.channels == self.outputs();
        if fits && self.dtype == DType::F32 && !self.is_transposed() {
            let (outputs, dtype, old) = (self.outputs(), self.dtype, self.bias.as_ref().map(Parameter::tensor));
            let all = move |x: Vec<f64>| if x.len() == outputs { x } else { x.repeat(outputs) };
            let factors = affine.numbers.clone();
            let bias = Parameter::lazy(&[outputs], dtype, move || {
                let [scale, shift] = (affine.numbers)().map(all);
                let old = old.as_ref().map_or_else(|| vec![0.0; outputs], |old| old.to_dtype(DType::F64).to_vec());
                let bias =
                    old.iter().zip(&scale).zip(&shift).map(|((old, scale), shift)| old * scale + shift).collect();
                Tensor::from_vec([outputs], bias).to_dtype(dtype)
            });
            let scale =
                LazyLock::new(Box::new(move || all(factors().into_iter().next().unwrap_or_default())) as Numbers);
            let scaled = Arc::new(Scaled { weight: self.weight.snapshot(), scale });
            return Self { weight: Parameter::made_by(&self.weight.shape(), dtype, scaled), bias: Some(bias), ..self };
        }
        let [first, second] = [self.weight.shape()[0] as i64, self.weight.shape()[1] as i64];
        // A transposed convolution has the outputs of each group in its second dimension.
        let shape = match self.is_transposed() {
            true => [self.groups, first / self.groups, second, -1],
            false => [first, 1, 1, -1],
        };
        let [scale, shift] = affine.tensors();
        let (weight, bias) = self.wide(shape);
        let per_output = scale.expand([self.outputs()]).reshape([shape[0], 1, shape[2], 1]);
        self.with(&(weight * per_output), &(bias * scale + shift))
    }

    /// With every input channel times a scale and plus a shift before, for a layer that is not transposed and pads with
    /// nothing.
    #[must_use]
    pub(crate) fn after(self, affine: &Affine) -> Self {
        let [scale, shift] = affine.tensors();
        let [first, second] = [self.weight.shape()[0] as i64, self.weight.shape()[1] as i64];
        let (weight, bias) = self.wide([self.groups, first / self.groups, second, -1]);
        let inputs = [self.groups * second];
        let per_input = |x: &Tensor| x.expand(inputs).reshape([self.groups, 1, second, 1]);
        let moved = (&weight * per_input(&shift)).sum_dim([2, 3]).reshape([first]);
        let weight = weight * per_input(&scale);
        self.with(&weight, &(bias + moved))
    }

    /// Writes the parameters into the state: at the paths of the old ones, or at new ones where these are shared.
    pub(crate) fn store(self, graph: &mut Graph, state: &mut State, shared: &HashSet<String>) {
        let old = graph[self.node].args().to_vec();
        let path_of = |arg: &NodeArg| Some(graph[*arg.as_value()?].target().to_string());
        let (weight, bias) = (path_of(&old[1]).unwrap_or_default(), old.get(2).and_then(path_of));
        let beside = weight.strip_suffix("weight").map_or(format!("{weight}_bias"), |stem| format!("{stem}bias"));
        let mut args = vec![old[0].clone()];
        let mut store = |own: Option<&String>, wanted: &str, parameter: Parameter| {
            let (path, arg) = match own.filter(|own| !shared.contains(*own)) {
                Some(own) => (own.clone(), old[args.len()].clone()),
                None => {
                    let path = state.free_path(wanted);
                    let read = graph.inserting_before(self.node, |graph| graph.get_attr(&path));
                    (path, read.into())
                }
            };
            state.buffers.shift_remove(&path);
            state.parameters.insert(path, parameter);
            args.push(arg);
        };
        store(Some(&weight), &weight, self.weight);
        if let Some(parameter) = self.bias {
            store(bias.as_ref(), &beside, parameter);
        }
        graph.set_args(self.node, args);
        let reads = old[1..].iter().filter_map(|arg| arg.as_value().copied());
        let reads: Vec<_> = reads.filter(|id| graph[*id].op() == Opcode::GetAttr).collect();
        graph.erase_unused(reads);
    }
}

/// Numbers that are computed when they are first asked for.
type Numbers = Box<dyn FnOnce() -> Vec<f64> + Send>;

/// An f32 weight with each row times a number.
struct Scaled {
    weight: Arc<dyn Make>,
    scale: LazyLock<Vec<f64>, Numbers>,
}

impl Make for Scaled {
    /// In its own memory if nobody else has it.
    fn tensor(&self) -> Result<Tensor> {
        let mut weight = self.weight.tensor()?;
        if weight.unique_slice_mut::<f32>().is_none() {
            weight = Tensor::from_vec(weight.shape(), weight.to_vec::<f32>());
        }
        scale_rows(weight.unique_slice_mut::<f32>().unwrap_or_default(), &self.scale);
        Ok(weight)
    }

    fn is_by_rows(&self) -> bool {
        self.weight.is_by_rows()
    }

    fn read_rows(&self, rows: &Range<usize>, to: &mut [f32]) -> Result<()> {
        self.weight.read_rows(rows, to)?;
        scale_rows(to, &self.scale[rows.clone()]);
        Ok(())
    }
}

fn scale_rows(rows: &mut [f32], scale: &[f64]) {
    let len = (rows.len() / scale.len().max(1)).max(1);
    for (row, scale) in rows.chunks_exact_mut(len).zip(scale) {
        row.iter_mut().for_each(|x| *x = (f64::from(*x) * scale) as f32);
    }
}
