//! Methods that Rust's collections and numbers have and a traced value cannot have.
//!
//! An expansion brings the trait into scope where a body calls one of them. A type's own method comes first, so only
//! a traced value finds these. They are generic where users write type arguments.

use super::faults::{
    Hashable, Iterable, KnownCondition, KnownLength, KnownShape, Mutable, Ordered, Readable, RustNumber,
};
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
        KnownCondition: then(f), then_some(value);
        Mutable: add_(other), sub_(other), mul_(other), div_(other), relu_(), sigmoid_(), tanh_(), exp_(), sqrt_(), abs_(),
            neg_(), zero_(), fill_(value), copy_(source), clamp_(min, max), clamp_min_(min), clamp_max_(max),
            masked_fill_(mask, value), index_copy_(dim, index, source), index_add_(dim, index, source),
            scatter_(dim, index, source), unsqueeze_(dim), squeeze_(dim), transpose_(a, b), t_(), pow_(exponent),
            ceil_(), floor_(), round_(), log_(), log1p_(), sin_(), cos_(), erf_(), rsqrt_(), reciprocal_(), square_(),
            gelu_(), silu_(), softmax_(dim), cumsum_(dim), lerp_(end, weight), remainder_(other), addcmul_(a, b),
            logical_not_(), triu_(diagonal), tril_(diagonal), index_fill_(dim, index, value), index_put_(index, value),
            scatter_add_(dim, index, source), normal_(mean, std), uniform_(from, to), detach_(), requires_grad_(flag);
    }
}
untraceable! {
    /// Methods that a tensor has and a symbolic size does not.
    UntraceableSize {
        Ordered: max(other), min(other);
        RustNumber: sqrt(), ln(), log2(), exp(), abs(), pow(exponent), powi(exponent), powf(exponent), div_ceil(divisor),
            div_euclid(divisor), rem_euclid(divisor), to_f64();
    }
}
untraceable! {
    /// Methods that a list of plain values has and one of traced values does not.
    UntraceableList {
        Ordered: sort(), sort_unstable(), is_sorted(), binary_search(value);
        KnownCondition: contains(value), dedup();
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

impl<V: Value> UntraceableList for Vec<V> {
    type Name = &'static TracedTensor;
}

impl<V: Value, const N: usize> UntraceableList for [V; N] {
    type Name = &'static TracedTensor;
}
