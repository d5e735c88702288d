//! The arguments of the attributes.

use proc_macro2::{Span, TokenStream};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Field, Lit, Meta, Path, Token};

use crate::messages::{self, Message};

/// The arguments of `#[traceable(..)]` or `#[wrap(..)]`.
#[derive(Default)]
pub(crate) struct Args {
    /// The module is a leaf.
    pub(crate) leaf: Option<Span>,
    /// The function is left as it is.
    pub(crate) skip: Option<Span>,
    /// Where the crate `fx` is.
    pub(crate) krate: Option<Path>,
}

impl Args {
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Self> {
        let mut args = Self::default();
        let metas = Punctuated::<Meta, Token![,]>::parse_terminated.parse2(tokens)?;
        let error = |meta: &Meta, message: &Message| syn::Error::new_spanned(meta, message.error());
        for meta in &metas {
            let repeated = match meta {
                Meta::Path(path) if path.is_ident("leaf") => args.leaf.replace(path.span()).is_some(),
                Meta::Path(path) if path.is_ident("skip") => args.skip.replace(path.span()).is_some(),
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

    /// Takes `#[traceable(name = "..")]` off a field of a module: the field's name in paths, if it is not its own.
    pub(crate) fn take_name(field: &mut Field) -> syn::Result<Option<String>> {
        let place = field.attrs.iter().position(|attr| attr.path().is_ident("traceable"));
        let Some(place) = place else { return Ok(None) };
        let attr = field.attrs.remove(place);
        let error = |message: &Message| syn::Error::new_spanned(&attr.meta, message.error());
        let Meta::List(list) = &attr.meta else { return Err(error(&messages::FIELD_ARGUMENT)) };
        let Meta::NameValue(pair) = syn::parse2(list.tokens.clone())? else {
            return Err(error(&messages::FIELD_ARGUMENT));
        };
        match pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(name), .. }) if pair.path.is_ident("name") => {
                let name = name.value();
                if name.is_empty() || name.contains('.') {
                    return Err(error(&messages::FIELD_NAME));
                }
                Ok(Some(name))
            }
            _ => Err(error(&messages::FIELD_ARGUMENT)),
        }
    }
}
