//! The type parameter that stands for `Tensor` in what is rewritten.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::context::Context;

/// A name for it that the function does not use. It is the name that the compiler's own messages say: what is expected
/// to be a `Tensor` and found to be a `TracedTensor`.
pub(crate) fn type_parameter(generics: &[&syn::Generics]) -> Ident {
    let taken = |name: &Ident| {
        generics.iter().any(|generics| {
            generics.params.iter().any(|param| match param {
                syn::GenericParam::Type(param) => param.ident == *name,
                syn::GenericParam::Const(param) => param.ident == *name,
                syn::GenericParam::Lifetime(_) => false,
            })
        })
    };
    let candidates = ["TracedTensor", "TracedValue"].into_iter().map(|name| format_ident!("{name}"));
    candidates.into_iter().find(|name| !taken(name)).unwrap_or_else(|| format_ident!("__FxTracedTensor"))
}

/// Its bounds.
pub(crate) fn bounds(context: &Context, value: &Ident) -> Vec<TokenStream> {
    let private = context.private();
    vec![
        quote!(for<'__fx> &'__fx #value: #private::RefOps<#value>),
        quote!(::core::primitive::f64: #private::ScalarOps<#value>),
        quote!(::core::primitive::i64: #private::ScalarOps<#value>),
        quote!(for<'__fx> &'__fx #private::Parameter: #private::ScalarOps<#value>),
        quote!(for<'__fx> &'__fx #private::Buffer: #private::ScalarOps<#value>),
    ]
}
