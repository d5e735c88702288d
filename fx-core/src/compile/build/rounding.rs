//! Values that are quantized and dequantized: a plan rounds them at once, and makes no integers of them that it does not hand on.

use fx_kernels::Quantization;

use super::Builder;
use crate::arg::Arg;
use crate::compile::kernels::rounding;
use crate::compile::known::Known;
use crate::compile::layout::Layout;
use crate::graph::{NodeArg, NodeId};
use crate::ops::{Function, functions as ops, is_mean};
use crate::passes::{Rounded, rounded};
use crate::tensor::DType;

impl Builder<'_> {
    /// The result of a call that dequantizes what the call before quantizes: none if means alone read it, which round what they read.
    /// The call before has none, if all that read it are such calls.
    pub(super) fn round(&mut self, id: NodeId, function: Function) -> Option<Arg<Known>> {
        let graph = self.module.graph();
        // A call may be planned as several, some of which are such.
        let node = graph.get(id).filter(|node| node.function() == Some(function))?;
        if function == ops::quantize_per_tensor {
            return node.users().all(|user| self.rounds(user).is_some()).then_some(Arg::None);
        }
        let (register, layout, quantization) = self.rounds(id)?;
        let are_means = node.users().all(|user| graph[user].function().is_some_and(is_mean));
        Some(if are_means { Arg::None } else { self.kernel(id, rounding(register, &layout, quantization)) })
    }

    /// Rounds what a mean reads, if that has not been done.
    pub(super) fn round_operand(&mut self, id: NodeId, args: &mut [Arg<Known>]) {
        let operand = self.module.graph().get(id).and_then(|node| node.args().first()?.as_value()).copied();
        let (Some(operand), Some(arg @ Arg::None)) = (operand, args.first_mut()) else { return };
        let Some((register, layout, quantization)) = self.rounds(operand) else { return };
        self.work = (layout.numel() as u64, 2 * layout.bytes());
        *arg = self.kernel(id, rounding(register, &layout, quantization));
    }

    /// What a call rounds, if it does, and to what.
    fn rounds(&self, id: NodeId) -> Option<(usize, Layout, Quantization)> {
        let Rounded { input, qparams: Some([scale, zero_point]), range: [min, max], .. } =
            rounded(self.module.graph(), &NodeArg::from(id))?
        else {
            return None;
        };
        let Known::Value(layout, register) = self.values.get(input.as_value()?)?.place.as_value()? else { return None };
        let (scale, [zero_point, min, max]) =
            (scale.as_float()? as f32, [zero_point.as_int()?, min, max].map(|whole| whole as i32));
        let quantization = Quantization { scale, zero_point, min, max };
        (layout.dtype == DType::F32 && layout.numel() > 0).then(|| (*register, layout.clone(), quantization))
    }
}
