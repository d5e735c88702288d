//! Which functions give a view of their first operand: no data is copied, no memory taken.

use super::{Function, functions as f};

/// Whether a call's result shares the storage of its first operand.
///
/// A `reshape` of a tensor whose strides do not allow it copies; without strides that cannot be told, and is rare.
pub(crate) fn is_view(function: Function) -> bool {
    let others = [f::reshape, f::view, f::flatten, f::expand_as, f::size, f::numel];
    others.contains(&function) || is_view_of_any(function)
}

/// Whether a function gives views of its first argument however that lies, and reads nothing else.
pub(crate) fn is_view_of_any(function: Function) -> bool {
    let views = [
        f::unflatten,
        f::squeeze,
        f::unsqueeze,
        f::permute,
        f::transpose,
        f::movedim,
        f::expand,
        f::broadcast_to,
        f::narrow,
        f::select,
        f::diagonal,
        f::unfold,
        f::split,
        f::chunk,
        f::unbind,
        f::getitem,
    ];
    views.contains(&function)
}
