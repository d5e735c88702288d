//! Tensors as values: a call is computed at once.

use std::cell::Cell;
use std::panic::Location;

use super::{Call, Callee, Value};
use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::ops::fallible;
use crate::tensor::Tensor;

thread_local! {
    /// The line that called the outermost leaf module that runs on this thread: what is within is not the user's source.
    static LEAF: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// The call of a leaf; it ends when dropped, so that a panic does not leave it open.
struct LeafCall(Option<&'static Location<'static>>);

impl LeafCall {
    fn begin(location: &'static Location<'static>) -> Self {
        let outer = LEAF.get();
        LEAF.set(outer.or(Some(location)));
        Self(outer)
    }
}

impl Drop for LeafCall {
    fn drop(&mut self) {
        LEAF.set(self.0);
    }
}

impl From<Tensor> for Arg<Tensor> {
    fn from(tensor: Tensor) -> Self {
        Arg::Value(tensor)
    }
}

impl Value for Tensor {
    const RECORDS: bool = false;

    fn apply(call: Call<'_, Self>) -> Result<Arg<Self>> {
        match call.callee {
            Callee::Function(function) | Callee::Method(function) => {
                function.call(&call.args, &call.kwargs).map_err(|error| error.at_caller(call.location))
            }
            Callee::Module(module, forward) => {
                let _leaf = module.is_leaf().then(|| LeafCall::begin(call.location));
                forward()
            }
            Callee::Parameter(parameter) => parameter.try_tensor().map(Arg::Value),
            Callee::Buffer(buffer) => buffer.try_tensor().map(Arg::Value),
            Callee::Constant(tensor) => Ok(Arg::Value(tensor.clone())),
        }
    }

    /// Panics at the line of the op, unless the call runs for something that gives a `Result`. The message has the user's
    /// line, which within a leaf module is that of the leaf's call.
    #[track_caller]
    fn fail(error: Error) -> Self {
        if !fallible::is_open() {
            match LEAF.get() {
                Some(location) => panic!("{}", error.at_node_location(location)),
                None => panic!("{error}"),
            }
        }
        fallible::note(error);
        Tensor::scalar(0.0_f32)
    }
}
