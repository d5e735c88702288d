//! Contractions in Einstein's notation: a plan has the calls that they stand for, each with its own kernel.

use std::convert::Infallible;

use super::{Builder, Held, single};
use crate::arg::{Arg, Kwargs};
use crate::compile::known::Known;
use crate::compile::layout::Layout;
use crate::error::Result;
use crate::graph::NodeId;
use crate::ops::{ContractionPart as Part, contraction_parts, functions as ops};
use crate::tensor::DType;
use crate::value::Meta;

impl Builder<'_> {
    /// The result of a contraction, if its operands are in f32, of known shapes and not empty.
    pub(super) fn contraction(
        &mut self,
        id: NodeId,
        metas: &[Arg<Meta>],
        kwargs: &Kwargs<Meta>,
        places: &[Arg<Known>],
    ) -> Result<Option<Held>> {
        // What is wrong is said of the equation.
        let result = ops::einsum.infer(metas, kwargs)?;
        let operands = |metas: &[Arg<Meta>]| {
            let layouts = metas.first()?.as_items()?.iter().map(single).collect::<Option<Vec<_>>>()?;
            let fits = |layout: &Layout| layout.dtype == DType::F32 && layout.numel() > 0;
            layouts.iter().all(fits).then_some(layouts)
        };
        let (Some(layouts), Some(Arg::Str(equation))) = (operands(metas), kwargs.get("equation")) else {
            return Ok(None);
        };
        let items = metas.first().and_then(Arg::as_items).zip(places.first().and_then(Arg::as_items));
        let Some((metas, places)) = items.filter(|_| single(&result).is_some()) else { return Ok(None) };
        let held = |(meta, place): (&Arg<Meta>, &Arg<Known>)| Held { meta: meta.clone(), place: place.clone() };
        let mut values: Vec<Held> = metas.iter().zip(places).map(held).collect();
        let shapes = layouts.into_iter().map(|layout| layout.shape).collect();
        let (parts, result) = contraction_parts(equation, shapes, DType::F32)?;
        for Part { function, args, kwargs } in parts {
            let metas = (args.iter().map(|value| values[*value].meta.clone()).collect(), kwargs.map(&mut never));
            let places = (args.iter().map(|value| values[*value].place.clone()).collect(), kwargs.map(&mut never));
            values.push(self.planned(id, function, metas, places)?);
        }
        Ok(Some(values.swap_remove(result)))
    }
}

fn never<T>(never: &Infallible) -> T {
    match *never {}
}
