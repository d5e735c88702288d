//! Layers one after the other.

use std::fmt;
use std::sync::Arc;

use fx::module::{Layer, Visit, Visitor};
use fx::prelude::*;
use fx::value::{Input, RefOps, ScalarOps, Tree};
use fx::{Arg, Kwargs, Tensor};
use fx_macros::traceable;

use crate::settings::beside;

/// Layers one after the other, as `torch.nn.Sequential`: named `0`, `1`, and so on, each on the output of the one
/// before.
///
/// The layers are a tuple of any layers, an array or vector of one type of layer, or a vector of [`AnyLayer`]. It is no
/// leaf: a trace goes into it.
///
/// ```
/// use fx_nn as nn;
/// let fixed = nn::Sequential::new((nn::Linear::new(4, 8), nn::ReLU::new(), nn::Linear::new(8, 2)));
/// let mut grown = nn::Sequential::new(vec![nn::AnyLayer::new(nn::Linear::new(4, 8))]);
/// grown.push(nn::ReLU::new());
/// ```
#[traceable]
#[derive(Clone, Debug)]
pub struct Sequential<L: Layers> {
    layers: Parts<L>,
}

#[traceable]
impl<L: Layers> Sequential<L> {
    /// These layers.
    pub fn new(layers: L) -> Self {
        Self { layers: Parts(layers) }
    }

    /// The layers.
    pub fn layers(&self) -> &L {
        &self.layers.0
    }

    /// What the last layer gives.
    pub fn forward(&self, input: Tensor) -> Tensor {
        self.layers.0.forward_layers(input)
    }
}

impl Sequential<Vec<AnyLayer>> {
    /// Adds a layer at the end.
    pub fn push(&mut self, layer: impl Layer) {
        self.layers.0.push(AnyLayer::new(layer));
    }
}

/// What a [`Sequential`] may hold.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no sequence of layers",
    label = "neither layers nor a collection of them",
    note = "tuples of up to 12 layers, arrays and vectors of layers, and vectors of `AnyLayer` are"
)]
pub trait Layers: Clone + Send + Sync + 'static {
    /// Shows the visitor each layer, at the path that `path` makes of its number.
    fn visit_layers<'a>(&'a self, path: &dyn Fn(usize) -> String, visitor: &mut dyn Visitor<'a>);

    /// Runs one layer after the other.
    fn forward_layers<V: Value>(&self, input: V) -> V
    where
        for<'a> &'a V: RefOps<V>,
        f64: ScalarOps<V>,
        i64: ScalarOps<V>,
        for<'a> &'a Parameter: ScalarOps<V>,
        for<'a> &'a Buffer: ScalarOps<V>;
}

/// The layers, found under the path of the module itself.
#[derive(Clone, Debug)]
struct Parts<L>(L);

impl<L: Layers> Visit for Parts<L> {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        self.0.visit_layers(&|index| beside(path, index), visitor);
    }
}

impl<T: Layer + Clone> Layers for Vec<T> {
    fn visit_layers<'a>(&'a self, path: &dyn Fn(usize) -> String, visitor: &mut dyn Visitor<'a>) {
        self.iter().enumerate().for_each(|(index, layer)| layer.visit(&path(index), visitor));
    }

    #[track_caller]
    fn forward_layers<V: Value>(&self, input: V) -> V
    where
        for<'a> &'a V: RefOps<V>,
        f64: ScalarOps<V>,
        i64: ScalarOps<V>,
        for<'a> &'a Parameter: ScalarOps<V>,
        for<'a> &'a Buffer: ScalarOps<V>,
    {
        self.iter().fold(input, |value, layer| layer.forward_layer(value))
    }
}

impl<T: Layer + Clone, const N: usize> Layers for [T; N] {
    fn visit_layers<'a>(&'a self, path: &dyn Fn(usize) -> String, visitor: &mut dyn Visitor<'a>) {
        self.iter().enumerate().for_each(|(index, layer)| layer.visit(&path(index), visitor));
    }

    #[track_caller]
    fn forward_layers<V: Value>(&self, input: V) -> V
    where
        for<'a> &'a V: RefOps<V>,
        f64: ScalarOps<V>,
        i64: ScalarOps<V>,
        for<'a> &'a Parameter: ScalarOps<V>,
        for<'a> &'a Buffer: ScalarOps<V>,
    {
        self.iter().fold(input, |value, layer| layer.forward_layer(value))
    }
}

impl Layers for Vec<AnyLayer> {
    fn visit_layers<'a>(&'a self, path: &dyn Fn(usize) -> String, visitor: &mut dyn Visitor<'a>) {
        self.iter().enumerate().for_each(|(index, layer)| layer.visit(&path(index), visitor));
    }

    #[track_caller]
    fn forward_layers<V: Value>(&self, input: V) -> V
    where
        for<'a> &'a V: RefOps<V>,
        f64: ScalarOps<V>,
        i64: ScalarOps<V>,
        for<'a> &'a Parameter: ScalarOps<V>,
        for<'a> &'a Buffer: ScalarOps<V>,
    {
        self.iter().fold(input, |value, layer| layer.forward(value))
    }
}

macro_rules! tuples {
    ($($($T:ident $i:tt),+;)+) => { $(
        impl<$($T: Layer + Clone),+> Layers for ($($T,)+) {
            fn visit_layers<'a>(&'a self, path: &dyn Fn(usize) -> String, visitor: &mut dyn Visitor<'a>) {
                $(self.$i.visit(&path($i), visitor);)+
            }

            #[track_caller]
            fn forward_layers<Input: Value>(&self, input: Input) -> Input
            where
                for<'a> &'a Input: RefOps<Input>,
                f64: ScalarOps<Input>,
                i64: ScalarOps<Input>,
                for<'a> &'a fx::Parameter: ScalarOps<Input>,
                for<'a> &'a fx::Buffer: ScalarOps<Input>,
            {
                $(let input = self.$i.forward_layer(input);)+
                input
            }
        }
    )+ };
}
tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11;
}

/// A layer of a type that is not known before the program runs. Clones are handles of the same layer.
///
/// It is no module itself: a trace sees the layer in it.
#[derive(Clone)]
pub struct AnyLayer(Arc<dyn Module>);

impl AnyLayer {
    /// Any layer.
    pub fn new(layer: impl Layer) -> Self {
        Self(Arc::new(layer))
    }

    /// The layer as a module.
    pub fn module(&self) -> &dyn Module {
        &*self.0
    }

    /// What the layer gives: for tensors, proxies and shapes, and for other values that record the call.
    #[track_caller]
    pub fn forward<V: Value>(&self, input: impl Input<V>) -> V {
        let result = self.module().call(vec![Arg::Value(input.into_value())], Kwargs::new());
        result.and_then(V::from_arg).unwrap_or_else(V::fail)
    }
}

impl Visit for AnyLayer {
    fn visit<'a>(&'a self, path: &str, visitor: &mut dyn Visitor<'a>) {
        self.0.visit(path, visitor);
    }
}

impl fmt::Debug for AnyLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.module().repr())
    }
}
