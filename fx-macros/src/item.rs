//! Expanding an item by its kind.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::Item;

use crate::args::Args;
use crate::context::Context;
use crate::{function, messages, module};

/// `#[traceable(..)]` on an item.
pub(crate) fn traceable(attr: TokenStream, item: Item) -> TokenStream {
    let (mut context, args) = start(attr);
    let expanded = match item {
        Item::Struct(item) => module::expand(&mut context, &args, item),
        Item::Impl(item) => function::expand_impl(&mut context, item),
        Item::Fn(item) if item.sig.receiver().is_some() => {
            let mut faults = Context::new();
            faults.refuse_tokens(&item.sig.ident, &messages::METHOD);
            let stand_in = function::refused_fn(&context, &mut faults, item);
            context.append(faults);
            stand_in
        }
        Item::Fn(item) => function::expand_fn(&mut context, item),
        other => {
            context.refuse(keyword(&other), &messages::ITEM);
            let stand_in = module::stand_in(&context, &other);
            quote!(#other #stand_in)
        }
    };
    context.finish(expanded)
}

/// `#[wrap(..)]` on an item.
pub(crate) fn wrap(attr: TokenStream, item: Item) -> TokenStream {
    let (mut context, _) = start(attr);
    let expanded = match item {
        Item::Fn(item) => crate::wrap::expand(&mut context, item),
        other => {
            context.refuse(keyword(&other), &messages::WRAP_ITEM);
            other.into_token_stream()
        }
    };
    context.finish(expanded)
}

fn start(attr: TokenStream) -> (Context, Args) {
    let mut context = Context::new();
    let args = context.take(Args::parse(attr)).unwrap_or_default();
    context.set_path(&args);
    (context, args)
}

/// The keyword of an item, to point at.
fn keyword(item: &Item) -> Span {
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
