//! The front end of fx: `#[traceable]` and `#[wrap]`.
//!
//! Parse, model, validate, expand: `args` reads the attribute, `signature` models a function, `body` rewrites what
//! it does, and one file expands each kind of item. Errors are collected in a `context::Context`, so that all faults
//! of an item are reported at once, and the item is emitted nevertheless, so that nothing else turns red.

mod args;
mod body;
mod context;
mod function;
mod guards;
mod macros;
mod messages;
mod module;
mod signature;
mod taint;
mod tensors;
#[cfg(test)]
mod tests;
mod value;
mod wrap;

use proc_macro::TokenStream;
use proc_macro2::Span;
use quote::ToTokens;
use syn::Item;

use args::Args;
use context::Context;

/// Makes a struct a module, the functions of an `impl` block or a free function traceable.
///
/// On a struct: its parameters, buffers and child modules are found by type, in declaration order, in collections too;
/// other fields are hyper-parameters. A struct whose fields mention `Tensor` is a structure of tensors instead, and can
/// go in and out of a `forward`. On an `impl` block or a function: every function that mentions `Tensor` in its
/// signature is rewritten to take any value, tensors as well as proxies.
///
/// `#[traceable(leaf)]` on a struct makes the module a leaf: a trace records a call of it as one node.
/// `#[traceable(name = "self")]` on a field gives it another name in paths and state dicts, where PyTorch's is no Rust
/// identifier or no good one. `#[traceable(skip)]` on a function of an `impl` block leaves it as it is. `#[traceable(crate = ::path)]` says where
/// the crate `fx` is, if it is renamed.
#[proc_macro_attribute]
pub fn traceable(attr: TokenStream, item: TokenStream) -> TokenStream {
    let tokens = proc_macro2::TokenStream::from(item.clone());
    let Ok(item) = syn::parse::<Item>(item) else {
        // A syntax error: rustc's own message is the right one.
        return tokens.into();
    };
    let mut context = Context::new();
    let args = context.take(Args::parse(attr.into())).unwrap_or_default();
    context.set_path(&args);
    let expanded = match item {
        Item::Struct(item) => module::expand(&mut context, &args, item),
        Item::Impl(item) => function::expand_impl(&mut context, item),
        Item::Fn(item) if item.sig.receiver().is_some() => {
            context.refuse_tokens(&item.sig.ident, &messages::METHOD);
            item.into_token_stream()
        }
        Item::Fn(item) => function::expand_fn(&mut context, item),
        other => {
            context.refuse(item_keyword(&other), &messages::ITEM);
            other.into_token_stream()
        }
    };
    context.finish(expanded).into()
}

/// Makes a function of tensors a leaf: a trace records a call of it as one node, whatever its body does.
///
/// The body is plain Rust on [`Tensor`]s. Arguments that are not tensors are recorded as attributes.
///
/// [`Tensor`]: https://docs.rs/fx
#[proc_macro_attribute]
pub fn wrap(attr: TokenStream, item: TokenStream) -> TokenStream {
    let tokens = proc_macro2::TokenStream::from(item.clone());
    let Ok(item) = syn::parse::<Item>(item) else { return tokens.into() };
    let mut context = Context::new();
    let args = context.take(Args::parse(attr.into())).unwrap_or_default();
    context.set_path(&args);
    let expanded = match item {
        Item::Fn(item) => wrap::expand(&mut context, item),
        other => {
            context.refuse(item_keyword(&other), &messages::WRAP_ITEM);
            other.into_token_stream()
        }
    };
    context.finish(expanded).into()
}

/// The keyword of an item, to point at.
fn item_keyword(item: &Item) -> Span {
    match item {
        Item::Enum(item) => item.enum_token.span,
        Item::Union(item) => item.union_token.span,
        Item::Trait(item) => item.trait_token.span,
        Item::Mod(item) => item.mod_token.span,
        Item::Static(item) => item.static_token.span,
        Item::Const(item) => item.const_token.span,
        Item::Struct(item) => item.struct_token.span,
        Item::Impl(item) => item.impl_token.span,
        other => other.to_token_stream().into_iter().next().map_or_else(Span::call_site, |token| token.span()),
    }
}
