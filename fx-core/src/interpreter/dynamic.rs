//! Calling a module whose type is not known before the program runs.
//!
//! A generic function cannot be called through a pointer: a module has one `call` for tensors and one for proxies, which
//! records what shapes go through, and here the one is found that fits the value.

use std::any::Any;

use super::Interpretable;
use crate::arg::{Arg, Kwargs};
use crate::error::{Error, Result};
use crate::module::Module;
use crate::value::{Call, Callee, Meta, Value};

impl dyn Module {
    /// Runs `forward` on values of any kind. Those that are neither tensors, proxies nor shapes get the call itself;
    /// if they record it, they can go on.
    ///
    /// # Errors
    /// If `forward` does not take these arguments, or an op in it fails.
    pub fn call<V: Value>(&self, args: Vec<Arg<V>>, kwargs: Kwargs<V>) -> Result<Arg<V>> {
        let given = (args, kwargs);
        let result = on(&given, |(args, kwargs)| self.call_tensor(args, &kwargs))
            .or_else(|| on(&given, |(args, kwargs)| self.call_proxy(args, &kwargs)))
            .or_else(|| on(&given, |(args, kwargs)| shapes(self, args, kwargs)));
        result.unwrap_or_else(|| {
            let mut forward = || {
                let message = format!("a {} that is not known as a type does not run on this value", self.type_name());
                Err(Error::argument(message).help("call it as the type that it is"))
            };
            let (args, kwargs) = given;
            V::apply(Call { args, kwargs, ..Call::new(Callee::Module(self, &mut forward)) })
        })
    }
}

/// Compiled once for all values.
fn shapes(module: &dyn Module, args: Vec<Arg<Meta>>, kwargs: Kwargs<Meta>) -> Result<Arg<Meta>> {
    Meta::call_module(module, args, kwargs)
}

/// The arguments of a call.
type Given<V> = (Vec<Arg<V>>, Kwargs<V>);

/// Runs `f` if the values are `W`s.
fn on<V: Value, W: Value>(given: &Given<V>, f: impl FnOnce(Given<W>) -> Result<Arg<W>>) -> Option<Result<Arg<V>>> {
    let given: &Given<W> = (given as &dyn Any).downcast_ref()?;
    let mut result = Some(f(given.clone()));
    (&mut result as &mut dyn Any).downcast_mut::<Option<Result<Arg<V>>>>()?.take()
}
