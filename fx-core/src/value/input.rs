//! How a traced function takes a tensor: by value or by reference, as the caller likes.

use super::Value;

/// A tensor given to a traced function, by value or by reference.
///
/// `#[traceable]` writes this trait into signatures: a parameter `x: &Tensor` takes `x` and `&x` alike, and the
/// value's type follows from the argument.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a traceable function where a tensor is expected",
    label = "not a tensor",
    note = "pass a tensor by value or by reference; read a parameter with `.value::<Tensor>()`"
)]
pub trait Input<V> {
    /// The value itself, cloned if it was given by reference.
    fn into_value(self) -> V;
}

impl<V: Value> Input<V> for V {
    fn into_value(self) -> V {
        self
    }
}

impl<V: Value> Input<V> for &V {
    fn into_value(self) -> V {
        self.clone()
    }
}
