//! A call: the one funnel through which everything is computed, recorded or replayed.

use std::convert::Infallible;
use std::panic::Location;

use super::{Operand, OptOperand, Scalarlike, Tree, Value};
use crate::arg::{Arg, Key, Kwargs};
use crate::error::Result;
use crate::module::{Buffer, Module, Parameter};
use crate::ops::Function;
use crate::tensor::Tensor;

/// What is called.
pub enum Callee<'a, V> {
    /// A function: `relu(x)`, `x + y`.
    Function(Function),
    /// The same, written as a method: `x.relu()`.
    Method(Function),
    /// A module, with the way to run its `forward` on the values at hand.
    Module(&'a dyn Module, &'a mut dyn FnMut() -> Result<Arg<V>>),
    /// A parameter that is read.
    Parameter(&'a Parameter),
    /// A buffer that is read.
    Buffer(&'a Buffer),
    /// A tensor that is no state of any module.
    Constant(&'a Tensor),
}

/// A callee with its arguments and the user's source line.
pub struct Call<'a, V> {
    /// What is called.
    pub callee: Callee<'a, V>,
    /// Tensor and scalar operands, by position.
    pub args: Vec<Arg<V>>,
    /// Attributes, by name; those at their default are absent.
    pub kwargs: Kwargs<V>,
    /// Where the user wrote the call.
    pub location: &'static Location<'static>,
}

/// What options hold in the place of values: none, or values of the call.
pub trait Held<V> {
    /// The value.
    fn held(&self) -> V;
}

impl<V> Held<V> for Infallible {
    fn held(&self) -> V {
        match *self {}
    }
}

impl<V: Value> Held<V> for V {
    fn held(&self) -> V {
        self.clone()
    }
}

impl<'a, V> Call<'a, V> {
    /// A call of `callee` from the caller's source line, without arguments so far.
    #[track_caller]
    pub fn new(callee: Callee<'a, V>) -> Self {
        Self { callee, args: Vec::new(), kwargs: Kwargs::new(), location: Location::caller() }
    }

    /// A call of `function` as a function.
    #[track_caller]
    pub fn function(function: Function) -> Self {
        Self::new(Callee::Function(function))
    }

    /// A call of `function` as a method.
    #[track_caller]
    pub fn method(function: Function) -> Self {
        Self::new(Callee::Method(function))
    }

    /// A tensor that is no state of any module, as a value.
    #[track_caller]
    pub fn constant(tensor: &'a Tensor) -> Self {
        Self::new(Callee::Constant(tensor))
    }

    /// Adds a positional argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<Arg<V>>) -> Self {
        self.push(arg.into());
        self
    }

    // Once for all ops: every method of every value is made of these.
    #[inline(never)]
    fn push(&mut self, arg: Arg<V>) {
        self.args.push(arg);
    }

    /// Adds a keyword argument.
    #[must_use]
    pub fn kwarg(mut self, key: impl Into<Key>, arg: impl Into<Arg<V>>) -> Self {
        self.kwargs.insert(key, arg.into());
        self
    }

    /// Adds a required attribute; `None` is left out.
    #[must_use]
    pub fn attribute(mut self, key: &'static str, arg: Arg<V>) -> Self {
        if !arg.is_none() {
            self.kwargs.insert(key, arg);
        }
        self
    }

    /// Adds the attributes of an options struct.
    #[must_use]
    pub fn options<H: Held<V>>(mut self, options: Kwargs<H>) -> Self {
        for (key, arg) in options.iter() {
            self.kwargs.insert(key.clone(), arg.map(&mut H::held));
        }
        self
    }

    /// Visits every value among the arguments.
    pub fn for_each_value(&self, mut f: impl FnMut(&V)) {
        self.args.iter().for_each(|arg| arg.for_each(&mut f));
        self.kwargs.iter().for_each(|(_, arg)| arg.for_each(&mut f));
    }
}

impl<V: Value> Call<'_, V> {
    /// Adds a value operand.
    #[must_use]
    #[track_caller]
    pub fn operand(self, operand: impl Operand<V>) -> Self {
        let operand = operand.into_operand();
        self.arg(operand)
    }

    /// Adds a value or number operand.
    #[must_use]
    #[track_caller]
    pub fn scalarlike(self, operand: impl Scalarlike<V>) -> Self {
        let operand = operand.into_scalarlike();
        self.arg(operand)
    }

    /// Adds an optional value operand.
    #[must_use]
    #[track_caller]
    pub fn opt_operand(self, operand: impl OptOperand<V>) -> Self {
        let operand = operand.into_opt_operand();
        self.arg(operand)
    }

    /// Calls a function of two operands, as an operator does; errors go to [`Value::fail`].
    #[inline(never)]
    #[track_caller]
    pub fn binary(function: Function, left: Arg<V>, right: Arg<V>) -> V {
        Call::function(function).arg(left).arg(right).output()
    }

    /// Applies the call.
    ///
    /// # Errors
    /// If the callee does not take these arguments.
    #[inline(never)]
    pub fn apply(mut self) -> Result<Arg<V>> {
        // Trailing absent operands are not written: one spelling for every call.
        while self.args.last().is_some_and(Arg::is_none) {
            self.args.pop();
        }
        V::apply(self)
    }

    /// Applies the call and gives its result as `R`; errors go to [`Value::fail`].
    #[track_caller]
    pub fn output<R: Tree<V>>(self) -> R {
        R::read(self.apply())
    }
}
