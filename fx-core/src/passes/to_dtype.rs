//! Parameters and buffers of another floating-point type, as PyTorch's `module.to(dtype)`.

use super::{as_one, decompose_modules};
use crate::error::{Error, Result};
use crate::graph_module::GraphModule;
use crate::module::{Buffer, Parameter};
use crate::tensor::{DType, Tensor};

/// Converts all floating-point parameters and buffers; the model that was captured keeps its own. Modules become
/// functions first, for a leaf module's state is shared with the model. Gives how many tensors were converted.
///
/// # Errors
/// If `dtype` is no floating-point type, or the `forward` of a module cannot be captured.
pub fn to_dtype(module: &mut GraphModule, dtype: DType) -> Result<usize> {
    if !dtype.is_float() {
        return Err(Error::dtype(format!("parameters cannot be converted to {dtype}"))
            .help("only floating-point types hold what parameters do"));
    }
    as_one(module, |module| {
        decompose_modules(module)?;
        module.edit_with_state(|_, state| {
            let mut count = 0;
            let mut convert = |tensor: Tensor| {
                let other = tensor.dtype().is_float() && tensor.dtype() != dtype;
                count += usize::from(other);
                other.then(|| tensor.to_dtype(dtype))
            };
            for parameter in state.parameters.values_mut() {
                if let Some(tensor) = convert(parameter.tensor()) {
                    *parameter = Parameter::new(tensor);
                }
            }
            for buffer in state.buffers.values_mut() {
                if let Some(tensor) = convert(buffer.tensor()) {
                    *buffer = Buffer::new(tensor);
                }
            }
            Ok(count)
        })
    })
}
