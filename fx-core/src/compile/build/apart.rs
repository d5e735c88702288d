//! Products whose kernels do not add what their calls add: steps of their own do.

use super::{Builder, Held, single};
use crate::arg::{Arg, Key, Kwargs};
use crate::compile::known::Known;
use crate::error::Result;
use crate::graph::NodeId;
use crate::ops::{Attr, Function, OF_ADDED, added_operand, functions as ops};
use crate::tensor::DType;
use crate::value::Meta;

/// Whether the product that a call computes is repeated for what is added to it, which is larger.
pub(super) fn is_repeated(function: Function, metas: &[Arg<Meta>], options: &Kwargs<Meta>, result: &Arg<Meta>) -> bool {
    let other = added_operand(function).filter(|other| metas.len() > *other);
    let product = other.and_then(|other| function.infer(&metas[..other], options).ok());
    product.is_some_and(|product| single(&product) != single(result))
}

/// How a call quantizes what it adds.
struct Rounding {
    scale: f64,
    zero_point: i64,
    min: i64,
    max: i64,
}

impl Rounding {
    /// Takes it out of a call's attributes.
    fn take<V>(attributes: &mut Kwargs<V>) -> Option<Self> {
        let [scale, zero_point, min, max] = OF_ADDED.map(|name| attributes.remove(name));
        let whole = |value: Option<Arg<V>>, default| value.and_then(|whole| whole.as_int()).unwrap_or(default);
        Some(Self {
            scale: scale?.as_float()?,
            zero_point: whole(zero_point, 0),
            min: whole(min, 0),
            max: whole(max, 255),
        })
    }

    fn args<V>(&self, value: Arg<V>) -> Vec<Arg<V>> {
        vec![value, Arg::Float(self.scale), Arg::Int(self.zero_point)]
    }

    /// The arguments and the attributes of `quantize_per_tensor`.
    fn quantize<V>(&self, value: Arg<V>) -> (Vec<Arg<V>>, Kwargs<V>) {
        let dtype = if self.min < 0 { DType::I8 } else { DType::U8 };
        let range = [("quant_min", Arg::Int(self.min)), ("quant_max", Arg::Int(self.max))];
        let attributes = range.into_iter().chain([("dtype", Arg::DType(dtype))]);
        (self.args(value), attributes.map(|(key, value)| (Key::from(key), value)).collect())
    }
}

impl Builder<'_> {
    /// The product of a call that a sum and an activation are part of, then these: where the other operand or the product repeats
    /// for the result, or the other operand is known.
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
        let rounding = Rounding::take(&mut plain);
        Rounding::take(&mut of_plain);
        let product = (metas[..other].to_vec(), of_plain);
        let Held { place, meta } = self.planned(id, function, product, (args[..other].to_vec(), plain)).ok()?;
        let mut other = Held { place: added.clone(), meta: addend.clone() };
        if let Some(rounding) = rounding {
            other = self.rounded(id, other, &rounding).ok()?;
        }
        Some(self.followed(id, Held { place, meta }, Some(other), attr.as_ref()).ok()?.place)
    }

    /// A value that is quantized and dequantized.
    fn rounded(&mut self, id: NodeId, value: Held, rounding: &Rounding) -> Result<Held> {
        let Held { place, meta } = value;
        let (place, meta) = (rounding.quantize(place), rounding.quantize(meta));
        let Held { place, meta } = self.planned(id, ops::quantize_per_tensor, meta, place)?;
        let (place, meta) = (rounding.args(place), rounding.args(meta));
        self.planned(id, ops::dequantize_per_tensor, (meta, Kwargs::new()), (place, Kwargs::new()))
    }

    /// A product, the sum with another operand and the activation that are part of its call.
    pub(super) fn followed(
        &mut self,
        id: NodeId,
        product: Held,
        other: Option<Held>,
        attr: Option<&Arg<Known>>,
    ) -> Result<Held> {
        let Held { mut place, mut meta } = product;
        if let Some(other) = other {
            let sum = ((vec![meta, other.meta], Kwargs::new()), (vec![place, other.place], Kwargs::new()));
            Held { place, meta } = self.planned(id, ops::add, sum.0, sum.1)?;
        }
        let Some(Arg::Str(attr)) = attr else { return Ok(Held { place, meta }) };
        let attr: Attr = attr.parse()?;
        let ((function, options), (_, kwargs)) = (attr.call(), attr.call());
        self.planned(id, function, (vec![meta], options), (vec![place], kwargs))
    }
}
