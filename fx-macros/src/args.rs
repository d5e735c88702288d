//! The arguments of the attributes.

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Meta, Path, Token};

use crate::messages::{self, Message};

/// The arguments of `#[traceable(..)]` or `#[wrap(..)]`.
#[derive(Default)]
pub(crate) struct Args {
    /// The module is a leaf.
    pub(crate) leaf: bool,
    /// The function is left as it is.
    pub(crate) skip: bool,
    /// Where the crate `fx` is.
    pub(crate) krate: Option<Path>,
}

impl Args {
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Self> {
        let mut args = Self::default();
        let metas = Punctuated::<Meta, Token![,]>::parse_terminated.parse2(tokens)?;
        let error = |meta: &Meta, message: &Message| {
            syn::Error::new(meta.span(), format!("{}\nhelp: {}", message.text, message.help))
        };
        for meta in &metas {
            let repeated = match meta {
                Meta::Path(path) if path.is_ident("leaf") => std::mem::replace(&mut args.leaf, true),
                Meta::Path(path) if path.is_ident("skip") => std::mem::replace(&mut args.skip, true),
                Meta::NameValue(pair) if pair.path.is_ident("crate") => match &pair.value {
                    Expr::Path(value) if value.path.leading_colon.is_some() => {
                        args.krate.replace(value.path.clone()).is_some()
                    }
                    _ => return Err(error(meta, &messages::CRATE_PATH)),
                },
                _ => return Err(error(meta, &messages::UNKNOWN_ARGUMENT)),
            };
            if repeated {
                return Err(error(meta, &messages::REPEATED_ARGUMENT));
            }
        }
        Ok(args)
    }

    /// Takes `#[traceable(..)]` off a function of an impl block.
    pub(crate) fn take(attrs: &mut Vec<Attribute>) -> syn::Result<Option<Self>> {
        let place =
            attrs.iter().position(|attr| attr.path().segments.last().is_some_and(|last| last.ident == "traceable"));
        let Some(place) = place else { return Ok(None) };
        let attr = attrs.remove(place);
        match attr.meta {
            Meta::List(list) => Self::parse(list.tokens).map(Some),
            _ => Ok(Some(Self::default())),
        }
    }
}
