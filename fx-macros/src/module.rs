//! Expanding structs: modules, and structures of tensors.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Fields, Ident, ItemStruct, parse_quote};

use crate::args::Args;
use crate::body;
use crate::context::Context;
use crate::messages;
use crate::tensors::{self, Replace};

/// A struct: a structure of tensors if a field mentions `Tensor`, else a module.
pub(crate) fn expand(context: &mut Context, args: &Args, mut item: ItemStruct) -> TokenStream {
    if args.skip {
        context.refuse(item.struct_token.span(), &messages::SKIP_HERE);
    }
    let renamed: Vec<Option<String>> =
        item.fields.iter_mut().map(|field| context.take(Args::take_name(field)).flatten()).collect();
    let tensors = item.fields.iter().any(|field| tensors::mentions(&field.ty));
    if tensors {
        let state = item.fields.iter().find(|field| {
            let text = field.ty.to_token_stream().to_string();
            ["Parameter", "Buffer"]
                .iter()
                .any(|name| text.split(|c: char| !c.is_alphanumeric()).any(|word| word == *name))
        });
        if let Some(field) = state {
            context.refuse_tokens(&field.ty, &messages::MIXED_STRUCT);
            return item.into_token_stream();
        }
        return structure(context, item);
    }
    if let Fields::Unnamed(fields) = &item.fields {
        context.refuse_tokens(fields, &messages::TUPLE_STRUCT);
        return item.into_token_stream();
    }
    module(context, args, &item, &renamed)
}

fn module(context: &Context, args: &Args, item: &ItemStruct, renamed: &[Option<String>]) -> TokenStream {
    let private = context.private();
    let name = &item.ident;
    let text = name.to_string();
    let leaf = args.leaf;
    let (impl_generics, type_generics, where_clause) = item.generics.split_for_impl();
    let fields: Vec<&Ident> = item.fields.iter().filter_map(|field| field.ident.as_ref()).collect();
    let names = fields.iter().zip(renamed).map(|(field, name)| name.clone().unwrap_or_else(|| path_name(field)));
    quote! {
        #item

        #[automatically_derived]
        impl #impl_generics #private::Visit for #name #type_generics #where_clause {
            fn visit<'fx>(&'fx self, path: &::core::primitive::str, visitor: &mut dyn #private::Visitor<'fx>) {
                #[allow(unused_imports, reason = "for the fields that are hyper-parameters")]
                use #private::HyperField as _;
                if visitor.module(path, self) {
                    #(#private::Field(&self.#fields).visit_field(path, #names, visitor);)*
                }
            }
        }

        #[automatically_derived]
        impl #impl_generics #private::Module for #name #type_generics #where_clause {
            fn type_name(&self) -> &'static ::core::primitive::str {
                #text
            }

            fn is_leaf(&self) -> ::core::primitive::bool {
                #leaf
            }

            fn repr_arguments(&self) -> ::std::string::String {
                #[allow(unused_imports, reason = "for modules without methods of their own")]
                use #private::DefaultDescription as _;
                self.extra_repr()
            }

            fn constructor_source(&self) -> ::core::option::Option<::std::string::String> {
                #[allow(unused_imports, reason = "for modules without methods of their own")]
                use #private::DefaultDescription as _;
                ::core::convert::Into::into(self.constructor())
            }

            fn signature(&self) -> &'static #private::Signature {
                #[allow(unused_imports, reason = "for modules without a forward")]
                use #private::NoForward as _;
                #private::Forward(self).signature()
            }

            fn call_tensor(
                &self,
                args: ::std::vec::Vec<#private::Arg<#private::Tensor>>,
                kwargs: &#private::Kwargs<#private::Tensor>,
            ) -> #private::Result<#private::Arg<#private::Tensor>> {
                #[allow(unused_imports, reason = "for modules without a forward")]
                use #private::NoForward as _;
                #private::Forward(self).call::<#private::Tensor>(args, kwargs)
            }

            fn call_proxy(
                &self,
                args: ::std::vec::Vec<#private::Arg<#private::Proxy>>,
                kwargs: &#private::Kwargs<#private::Proxy>,
            ) -> #private::Result<#private::Arg<#private::Proxy>> {
                #[allow(unused_imports, reason = "for modules without a forward")]
                use #private::NoForward as _;
                #private::Forward(self).call::<#private::Proxy>(args, kwargs)
            }

            fn call_meta(
                &self,
                args: ::std::vec::Vec<#private::Arg<#private::Meta>>,
                kwargs: &#private::Kwargs<#private::Meta>,
            ) -> #private::Result<#private::Arg<#private::Meta>> {
                #[allow(unused_imports, reason = "for modules without a forward")]
                use #private::NoForward as _;
                #private::Forward(self).call::<#private::Meta>(args, kwargs)
            }

            fn share(&self) -> #private::Arc<dyn #private::Module> {
                #private::Arc::new(#name { #(#fields: ::core::clone::Clone::clone(&self.#fields)),* })
            }
        }
    }
}

/// A field's name in paths: its own, but `3` for `_3`, as PyTorch's containers name their children.
fn path_name(field: &Ident) -> String {
    let name = syn::ext::IdentExt::unraw(field).to_string();
    match name.strip_prefix('_') {
        Some(number) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => number.to_owned(),
        _ => name,
    }
}

/// A structure of tensors: generic in the value, `Tensor` by default.
fn structure(context: &Context, mut item: ItemStruct) -> TokenStream {
    let private = context.private();
    let value = body::type_parameter(&[&item.generics]);
    for field in &mut item.fields {
        Replace(&value).visit_type_mut(&mut field.ty);
    }
    let mut implemented = item.generics.clone();
    implemented.params.push(parse_quote!(#value: #private::Value));
    item.generics.params.push(parse_quote!(#value = #private::Tensor));
    let name = &item.ident;
    let (impl_generics, _, where_clause) = implemented.split_for_impl();
    let (_, type_generics, _) = item.generics.split_for_impl();
    let members: Vec<_> = item.fields.members().collect();
    let count = members.len();
    quote! {
        #item

        #[automatically_derived]
        impl #impl_generics #private::Tree<#value> for #name #type_generics #where_clause {
            fn to_arg(&self) -> #private::Arg<#value> {
                #private::Arg::Tuple(::std::vec![#(#private::Tree::to_arg(&self.#members)),*])
            }

            fn from_arg(arg: #private::Arg<#value>) -> #private::Result<Self> {
                let mut __items = ::core::iter::IntoIterator::into_iter(#private::unpack(arg, #count)?);
                ::core::result::Result::Ok(Self {
                    #(#members: #private::Tree::from_arg(__items.next().unwrap_or(#private::Arg::None))?,)*
                })
            }

            fn fill(value: &#value) -> Self {
                Self { #(#members: #private::Tree::fill(value),)* }
            }
        }
    }
}
