//! What is folded into layers: scales and shifts of channels.

use std::sync::Arc;

use crate::arg::Arg;
use crate::graph::{Graph, Node};
use crate::graph_module::State;
use crate::prelude::*;

/// A scale and a shift of each channel, computed in f64 when they are asked for.
pub(crate) struct Affine {
    /// How many channels there are, or 1 where it is the same for all.
    pub(super) channels: usize,
    pub(super) numbers: Arc<dyn Fn() -> [Vec<f64>; 2] + Send + Sync>,
}

impl Affine {
    /// Tensors with a number, or one for each channel.
    pub(crate) fn of(scale: Tensor, shift: Tensor) -> Self {
        let channels = scale.numel().max(shift.numel());
        let all = move |x: &Tensor| x.expand([channels]).to_vec::<f64>();
        Self { channels, numbers: Arc::new(move || [all(&scale), all(&shift)]) }
    }

    /// What a batch norm in evaluation does.
    pub(crate) fn of_norm(graph: &Graph, state: &State, norm: &Node) -> Option<Self> {
        if norm.kwargs().get("training") == Some(&Arg::Bool(true)) {
            return None;
        }
        let eps = norm.kwargs().get("eps").map_or(Some(1e-5), Arg::as_float)?;
        let optional = |index: usize| match norm.args().get(index) {
            None | Some(Arg::None) => Some(None),
            Some(arg) => state.tensor_of(graph, arg).map(Some),
        };
        let known = [optional(1)?, optional(2)?, optional(3)?, optional(4)?];
        let channels = known[0].as_ref()?.numel();
        if known[1].is_none() || known.iter().flatten().any(|tensor| *tensor.shape() != [channels]) {
            return None;
        }
        let numbers = move || {
            let or = |index: usize, default: f64| {
                let known = known[index].as_ref().map(|tensor| tensor.to_dtype(DType::F64).to_vec::<f64>());
                known.unwrap_or_else(|| vec![default; channels])
            };
            let (mean, mut scale, gamma, mut shift) = (or(0, 0.0), or(1, 1.0), or(2, 1.0), or(3, 0.0));
            for (((scale, shift), gamma), mean) in scale.iter_mut().zip(&mut shift).zip(&gamma).zip(&mean) {
                *scale = gamma / (*scale + eps).sqrt();
                *shift -= mean * *scale;
            }
            [scale, shift]
        };
        Some(Self { channels, numbers: Arc::new(numbers) })
    }

    pub(super) fn tensors(&self) -> [Tensor; 2] {
        (self.numbers)().map(|numbers| Tensor::from_vec([self.channels], numbers))
    }
}
