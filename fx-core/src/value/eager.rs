//! Tensors as values: a call is computed at once.

use super::{Call, Callee, Value};
use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::ops::fallible;
use crate::tensor::Tensor;

impl Value for Tensor {
    const RECORDS: bool = false;

    fn apply(call: Call<'_, Self>) -> Result<Arg<Self>> {
        match call.callee {
            Callee::Function(function) | Callee::Method(function) => {
                function.call(&call.args, &call.kwargs).map_err(|error| error.at_caller(call.location))
            }
            Callee::Module(_, forward) => forward(),
            Callee::Parameter(parameter) => parameter.try_tensor().map(Arg::Value),
            Callee::Buffer(buffer) => buffer.try_tensor().map(Arg::Value),
            Callee::Constant(tensor) => Ok(Arg::Value(tensor.clone())),
        }
    }

    /// Panics at the user's line, unless the call runs for something that gives a `Result`.
    #[track_caller]
    fn fail(error: Error) -> Self {
        if !fallible::is_open() {
            panic!("{error}");
        }
        fallible::note(error);
        Tensor::scalar(0.0_f32)
    }
}
