//! Items with a syntax error, for which the compiler's own message is the right one, and the only one.
//!
//! The item is emitted as it is, but configured away: the compiler reads it, says what is wrong, and forgets it. Beside
//! it stands the item with other bodies in the place of those that are wrong, so that its uses stay right.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;
use syn::{Block, Item};

/// What an attribute makes of an item that cannot be parsed.
pub(crate) fn expand(tokens: TokenStream, by: impl FnOnce(Item) -> TokenStream) -> TokenStream {
    let mended = mend(tokens.clone());
    let allow = quote!(#[allow(unused, unreachable_code, reason = "a body has a syntax error")]);
    match syn::parse2(quote!(#allow #mended)) {
        Ok(item) => {
            let expanded = by(item);
            // Last, as the compiler reads nothing after an error.
            quote!(#expanded #[cfg(any())] #tokens)
        }
        Err(_) => tokens,
    }
}

/// An item with `unreachable!()` for the bodies that cannot be parsed.
fn mend(tokens: TokenStream) -> TokenStream {
    let is_function = tokens.clone().into_iter().any(|token| matches!(token, TokenTree::Ident(ident) if ident == "fn"));
    let mend = |token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !is_block(&group) => {
            let inner = match is_function {
                true => quote!(::core::unreachable!("it has a syntax error")),
                false => mend(group.stream()),
            };
            TokenTree::Group(Group::new(Delimiter::Brace, inner))
        }
        other => other,
    };
    tokens.into_iter().map(mend).collect()
}

fn is_block(group: &Group) -> bool {
    syn::parse2::<Block>(TokenTree::Group(group.clone()).into()).is_ok()
}
