//! The front end of fx: `#[traceable]` and `#[wrap]`.
//!
//! Parse, model, validate, expand: `args` reads the attribute, `signature` models a function, `body` rewrites what
//! it does, and one file expands each kind of `item`. Errors are collected in a `context::Context`, so that all faults
//! of an item are reported at once, and the item is emitted nevertheless, so that nothing else turns red.

mod args;
mod body;
mod broken;
mod context;
mod function;
mod guards;
mod implement;
mod item;
mod macros;
mod messages;
mod module;
mod signature;
mod taint;
mod tensors;
#[cfg(test)]
mod tests;
mod typed;
mod value;
mod wrap;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as TokenStream2;
use syn::Item;

/// Makes a struct a module, the functions of an `impl` block or a free function traceable.
///
/// On a struct: its parameters, buffers and child modules are found by type, in declaration order, in collections too;
/// other fields are hyper-parameters. A struct whose fields mention `Tensor` is a structure of tensors instead, and can
/// go in and out of a `forward`. On an `impl` block or a function: every function that mentions `Tensor` in its
/// signature is rewritten to take any value, tensors as well as proxies.
///
/// `#[traceable(leaf)]` on a struct makes the module a leaf: a trace records a call of it as one node.
/// `#[traceable(name = "self")]` on a field gives it another name in paths and state dicts, where PyTorch's is no Rust
/// identifier or no good one. `#[traceable(skip)]` on a function of an `impl` block leaves it as it is.
/// `#[traceable(crate = ::path)]` says where the crate `fx` is, if it is renamed.
#[proc_macro_attribute]
pub fn traceable(attr: TokenStream, item: TokenStream) -> TokenStream {
    expand(attr, item, item::traceable)
}

/// Makes a function of tensors a leaf: a trace records a call of it as one node, whatever its body does.
///
/// The body is plain Rust on [`Tensor`]s. Arguments that are not tensors are recorded as attributes.
///
/// [`Tensor`]: https://docs.rs/fx
#[proc_macro_attribute]
pub fn wrap(attr: TokenStream, item: TokenStream) -> TokenStream {
    expand(attr, item, item::wrap)
}

fn expand(attr: TokenStream, item: TokenStream, by: fn(TokenStream2, Item) -> TokenStream2) -> TokenStream {
    match syn::parse(item.clone()) {
        Ok(parsed) => by(attr.into(), parsed).into(),
        Err(_) => broken::expand(item.into(), |item| by(attr.into(), item)).into(),
    }
}
