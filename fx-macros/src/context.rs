//! What every step of an expansion needs: the path of the crate, and the faults so far.

use std::collections::HashMap;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{FnArg, Path, Signature, Type};

use crate::args::Args;
use crate::messages::Message;

/// The path of the crate, the faults of one item, and the functions beside the one that is expanded.
pub(crate) struct Context {
    path: Path,
    errors: Vec<syn::Error>,
    helpers: HashMap<String, Vec<Type>>,
}

impl Context {
    pub(crate) fn new() -> Self {
        Self { path: syn::parse_quote!(::fx), errors: Vec::new(), helpers: HashMap::new() }
    }

    /// Takes the crate's path from the attribute.
    pub(crate) fn set_path(&mut self, args: &Args) {
        if let Some(path) = &args.krate {
            self.path = path.clone();
        }
    }

    /// The module that holds what expansions refer to.
    pub(crate) fn private(&self) -> TokenStream {
        let path = &self.path;
        quote!(#path::__private)
    }

    /// Notes a function of the `impl` block that stays as it is written.
    pub(crate) fn add_helper(&mut self, signature: &Signature) {
        let types = signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some((*typed.ty).clone()),
            FnArg::Receiver(_) => None,
        });
        self.helpers.insert(signature.ident.to_string(), types.collect());
    }

    /// The types of the parameters of such a function, after `self`.
    pub(crate) fn helper(&self, name: &Ident) -> Option<&[Type]> {
        self.helpers.get(&name.to_string()).map(Vec::as_slice)
    }

    /// Notes a fault at a place.
    pub(crate) fn refuse(&mut self, span: Span, message: &Message) {
        self.errors.push(syn::Error::new(span, message.error()));
    }

    /// Notes a fault at some tokens.
    pub(crate) fn refuse_tokens(&mut self, tokens: impl ToTokens, message: &Message) {
        self.errors.push(syn::Error::new_spanned(tokens, message.error()));
    }

    /// Takes over the faults of another.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.errors.append(&mut other.errors);
    }

    /// Takes out the last fault, as a type: what an operator gives that an array has not whose length is the error. The
    /// compiler takes that for a type that fits all uses, as it does not take an error in the place of the type itself.
    pub(crate) fn take_as_type(&mut self) -> Option<Type> {
        let error = self.errors.pop()?.to_compile_error();
        Some(syn::parse_quote!(<[(); #error] as ::core::ops::Not>::Output))
    }

    /// The value, or nothing and its fault noted.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.errors.push(error)).ok()
    }

    /// Whether there are faults.
    pub(crate) fn failed(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The expansion, with the faults as compile errors.
    pub(crate) fn finish(self, expanded: TokenStream) -> TokenStream {
        let errors = self.errors.into_iter().map(|error| error.to_compile_error());
        quote!(#(#errors)* #expanded)
    }
}
