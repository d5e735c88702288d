//! Products whose kernels do not add what their calls add: steps of their own do.

use super::{Builder, Held};
use crate::arg::{Arg, Kwargs};
use crate::compile::known::Known;
use crate::graph::NodeId;
use crate::ops::{Attr, Function, added_operand, functions as ops};
use crate::tensor::DType;
use crate::value::Meta;

impl Builder<'_> {
    /// The product of a call that a sum and an activation are part of, then these: where the other operand repeats for the result, or is
    /// known.
    pub(super) fn apart(
        &mut self,
        id: NodeId,
        function: Function,
        (metas, options): (&[Arg<Meta>], &Kwargs<Meta>),
        (args, kwargs): (&[Arg<Known>], &Kwargs<Known>),
        meta: &Arg<Meta>,
    ) -> Option<Arg<Known>> {
        let other = added_operand(function)?;
        let ([added], [addend]) = (args.get(other..)?, metas.get(other..)?) else { return None };
        meta.as_value()?.as_tensor().filter(|result| result.dtype == DType::F32)?;
        let (mut plain, mut of_plain) = (kwargs.clone(), options.clone());
        let attr = plain.remove("attr");
        of_plain.remove("attr");
        let product = (metas[..other].to_vec(), of_plain);
        let Held { place, meta } = self.planned(id, function, product, (args[..other].to_vec(), plain)).ok()?;
        let (none, no_meta) = (Kwargs::new(), Kwargs::new());
        let sum = ((vec![meta, addend.clone()], no_meta), (vec![place, added.clone()], none));
        let Held { place, meta } = self.planned(id, ops::add, sum.0, sum.1).ok()?;
        let Some(Arg::Str(attr)) = attr else { return Some(place) };
        let attr: Attr = attr.parse().ok()?;
        let ((function, options), (_, kwargs)) = (attr.call(), attr.call());
        Some(self.planned(id, function, (vec![meta], options), (vec![place], kwargs)).ok()?.place)
    }
}
