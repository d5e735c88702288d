//! Methods that Rust's collections and numbers have and a traced value cannot have.
//!
//! An expansion brings the trait into scope where a body calls one of them. A type's own method comes first, so only
//! a traced value finds these. They are generic where users write type arguments.

use super::faults::{Hashable, Iterable, KnownLength, KnownShape, Mutable, Ordered, Readable};
use super::{SymbolicSize, TracedTensor};
use crate::value::{SymInt, Value};

macro_rules! untraceable {
    ($(#[$doc:meta])+ $Trait:ident { $($Fault:ident: $($method:ident($($arg:ident),*) $(<$T:ident>)?),+;)+ }) => {
        $(#[$doc])+
        #[allow(clippy::len_without_is_empty, clippy::should_implement_trait, clippy::wrong_self_convention,
            reason = "their names are what users write")]
        pub trait $Trait {
            /// The name of the type in messages.
            type Name;

            $($(
                #[doc = concat!("Refused: `", stringify!($method), "`.")]
                #[allow(non_camel_case_types, reason = "each argument has a type of its own, named like it")]
                fn $method<$($T,)? $($arg),*>(&self $(, $arg: $arg)*) -> <Self::Name as $Fault>::Output
                where
                    Self::Name: $Fault,
                {
                    $(let _ = $arg;)*
                    unreachable!("a traced value does not pass the compiler here")
                }
            )+)+
        }
    };
}
untraceable! {
    /// Methods that a traced value does not have, each refused with a message of its own.
    Untraceable {
        KnownLength: len(), is_empty(), count();
        KnownShape: shape(), ndim(), dim(), dtype(), strides();
        Iterable: iter(), iter_mut(), into_iter();
        Readable: item(), tolist(), numpy(), data(), to_vec()<T>, as_slice()<T>, try_item();
        Hashable: hash(state);
        Ordered: cmp(other), partial_cmp(other), total_cmp(other);
        Mutable: add_(other), sub_(other), mul_(other), div_(other), relu_(), sigmoid_(), tanh_(), exp_(), sqrt_(), abs_(),
            neg_(), zero_(), fill_(value), copy_(source), clamp_(min, max), clamp_min_(min), clamp_max_(max),
            masked_fill_(mask, value), index_copy_(dim, index, source), index_add_(dim, index, source),
            scatter_(dim, index, source), unsqueeze_(dim), squeeze_(dim), transpose_(a, b), t_(), pow_(exponent);
    }
}
untraceable! {
    /// Methods that a tensor has and a symbolic size does not.
    UntraceableSize {
        Ordered: max(other), min(other);
    }
}

impl<V: Value> Untraceable for V {
    type Name = &'static TracedTensor;
}

impl<V: Value> Untraceable for SymInt<V> {
    type Name = &'static SymbolicSize;
}

impl<V: Value> UntraceableSize for SymInt<V> {
    type Name = &'static SymbolicSize;
}
