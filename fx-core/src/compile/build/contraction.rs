//! Contractions in Einstein's notation: a plan has the calls that they stand for, each with its own kernel.

use std::convert::Infallible;

use super::{Builder, Held, single};
use crate::arg::{Arg, Kwargs};
use crate::compile::known::Known;
use crate::graph::NodeId;
use crate::ops::{ContractionPart as Part, Function, contraction_parts, functions as ops};
use crate::tensor::DType;
use crate::value::Meta;

impl Builder<'_> {
    /// A contraction of f32 operands of known shapes, which are not empty.
    pub(super) fn contraction(
        &mut self,
        id: NodeId,
        function: Function,
        metas: &[Arg<Meta>],
        args: &[Arg<Known>],
        kwargs: &Kwargs<Known>,
        meta: &Arg<Meta>,
    ) -> Option<Arg<Known>> {
        let (metas, places) = (metas.first()?.as_items()?, args.first()?.as_items()?);
        let Some(Arg::Str(equation)) = kwargs.get("equation").filter(|_| function == ops::einsum) else { return None };
        let layouts = metas.iter().map(single).collect::<Option<Vec<_>>>()?;
        if single(meta)?.dtype != DType::F32 || layouts.iter().any(|layout| layout.numel() == 0) {
            return None;
        }
        let held = |(meta, place): (&Arg<Meta>, &Arg<Known>)| Held { meta: meta.clone(), place: place.clone() };
        let mut values: Vec<Held> = metas.iter().zip(places).map(held).collect();
        let shapes = layouts.into_iter().map(|layout| layout.shape).collect();
        // The equation fits the operands (`infer` has seen it), and so do the parts.
        let (parts, result) = contraction_parts(equation, shapes, DType::F32).ok()?;
        for Part { function, args, kwargs } in parts {
            let metas = (args.iter().map(|value| values[*value].meta.clone()).collect(), kwargs.map(&mut never));
            let places = (args.iter().map(|value| values[*value].place.clone()).collect(), kwargs.map(&mut never));
            values.push(self.planned(id, function, metas, places).ok()?);
        }
        Some(values.swap_remove(result).place)
    }
}

fn never<T>(never: &Infallible) -> T {
    match *never {}
}
