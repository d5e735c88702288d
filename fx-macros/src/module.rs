//! Expanding structs: modules, and structures of tensors.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Attribute, Fields, Generics, Item, ItemStruct, Member, Type, TypeParam, WherePredicate, parse_quote};

use crate::args::Args;
use crate::context::Context;
use crate::function;
use crate::guards;
use crate::messages;
use crate::tensors::{self, Replace};
use crate::value;

/// What shares or changes its content, as no structure of tensors does.
const OF_MODULES: &[&str] = &["Arc", "Rc", "Cell", "RefCell", "Mutex", "RwLock", "OnceCell", "OnceLock"];

/// A struct: a structure of tensors if a field mentions `Tensor`, else a module.
pub(crate) fn expand(context: &mut Context, args: &Args, mut item: ItemStruct) -> TokenStream {
    if let Some(span) = args.skip {
        context.refuse(span, &messages::SKIP_HERE);
    }
    let renamed: Vec<Option<String>> =
        item.fields.iter_mut().map(|field| context.take(Args::take_name(field)).flatten()).collect();
    if item.fields.iter().any(|field| tensors::mentions(&field.ty))
        && item.fields.iter().all(|field| is_of_structure(&field.ty))
    {
        return structure(context, item);
    }
    if let Fields::Unnamed(fields) = &item.fields {
        context.refuse_tokens(fields, &messages::TUPLE_STRUCT);
    }
    if let Some(lifetime) = item.generics.lifetimes().next() {
        context.refuse_tokens(lifetime, &messages::BORROWED_FIELD);
        return item.into_token_stream();
    }
    let refused: Vec<Type> = item.fields.iter_mut().filter_map(refuse_field).collect();
    // Else their imports would be unused.
    let mentions = refused
        .iter()
        .filter(|_| item.generics.params.is_empty())
        .map(|ty| quote!(const _: ::core::option::Option<#ty> = ::core::option::Option::None;));
    let mentions = quote!(#(#mentions)*);
    let free: Vec<Ident> = unbounded(&item.generics).map(|param| param.ident.clone()).collect();
    if free.is_empty() {
        let module = module(context, args, &item, &renamed);
        return quote!(#module #mentions);
    }
    unbounded(&item.generics).for_each(|param| context.refuse_tokens(&param.ident, &messages::GENERIC_FIELD));
    let mut generics = item.generics.clone();
    let shared = free
        .iter()
        .map(|name| -> WherePredicate { parse_quote!(#name: ::core::marker::Send + ::core::marker::Sync + 'static) });
    generics.make_where_clause().predicates.extend(shared);
    let share = function::refused_body();
    let stand_in = implementations(context, &item.ident, &generics, &quote!(false), &TokenStream::new(), &share);
    quote!(#item #stand_in #mentions)
}

/// The type parameters of which nothing is said: what visits the fields cannot know whether such a one is a module.
fn unbounded(generics: &Generics) -> impl Iterator<Item = &TypeParam> {
    let bound = |param: &TypeParam| {
        generics.where_clause.iter().flat_map(|clause| &clause.predicates).any(|predicate| {
            matches!(predicate, WherePredicate::Type(predicate)
                if matches!(&predicate.bounded_ty, Type::Path(path) if path.path.is_ident(&param.ident)))
        })
    };
    generics.type_params().filter(move |param| param.bounds.is_empty() && !bound(param))
}

/// Whether a field may be meant for a structure of tensors: it has tensors, or plain data, which is refused there.
fn is_of_structure(ty: &Type) -> bool {
    let holds = if tensors::mentions(ty) { !mentions(ty, OF_MODULES) } else { tensors::is_data(ty) };
    holds && !mentions(ty, &["Parameter", "Buffer"])
}

/// Refuses a field that no module can have, and gives its type. That becomes an array whose length is the error: the compiler takes
/// that for a type that fits all uses of the field, as it does not take an error in the place of the type itself.
fn refuse_field(field: &mut syn::Field) -> Option<Type> {
    let message = match &field.ty {
        ty if tensors::mentions(ty) => &messages::MIXED_STRUCT,
        ty if mentions(ty, &["Proxy", "SymInt"]) => &messages::TRACED_FIELD,
        Type::Reference(reference) if reference.lifetime.as_ref().is_none_or(|lifetime| lifetime.ident != "static") => {
            &messages::BORROWED_FIELD
        }
        Type::Ptr(_) => &messages::UNSHARED_FIELD,
        ty if mentions(ty, &["Rc", "RefCell", "Cell"]) && !mentions(ty, &["Mutex"]) => &messages::UNSHARED_FIELD,
        _ => return None,
    };
    let error = guards::compile_error(&field.ty, message);
    Some(std::mem::replace(&mut field.ty, parse_quote!([(); #error])))
}

/// Whether a type mentions one of some names.
fn mentions(ty: &Type, names: &[&str]) -> bool {
    fn find(tokens: TokenStream, names: &[&str]) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => names.iter().any(|name| ident == name),
            TokenTree::Group(group) => find(group.stream(), names),
            _ => false,
        })
    }
    find(ty.to_token_stream(), names)
}

fn module(context: &Context, args: &Args, item: &ItemStruct, renamed: &[Option<String>]) -> TokenStream {
    let private = context.private();
    let name = &item.ident;
    let leaf = args.leaf.map_or_else(|| quote!(false), |span| quote_spanned!(span=> #private::leaf(self)));
    let fields: Vec<Member> = item.fields.members().collect();
    let names = fields.iter().zip(renamed).map(|(field, name)| name.clone().unwrap_or_else(|| path_name(field)));
    // A field that is configured away is neither visited nor shared.
    let configured: Vec<TokenStream> = item.fields.iter().map(|field| configuration(&field.attrs)).collect();
    let shares = item.fields.iter().zip(&fields).zip(&configured).map(|((field, name), cfg)| {
        let share = quote_spanned!(field.ty.span()=> #private::FieldType::share(&self.#name));
        quote!(#cfg #name: #share)
    });
    let visits = quote!(#(#configured #private::Field(&self.#fields).visit_field(path, #names, visitor);)*);
    let share = quote!(#private::Arc::new(#name { #(#shares),* }));
    let implementations = implementations(context, name, &item.generics, &leaf, &visits, &share);
    quote!(#item #implementations)
}

/// What stands in for the module that an enum or a union was meant to be, so that its uses stay right.
pub(crate) fn stand_in(context: &Context, item: &Item) -> TokenStream {
    let (name, generics) = match item {
        Item::Enum(item) => (&item.ident, &item.generics),
        Item::Union(item) => (&item.ident, &item.generics),
        _ => return TokenStream::new(),
    };
    let share = function::refused_body();
    implementations(context, name, generics, &quote!(false), &TokenStream::new(), &share)
}

/// `impl Visit` and `impl Module`.
///
/// Their functions are inline: what a crate of layers has no use for is compiled where a layer is used, and only if it is.
fn implementations(
    context: &Context,
    name: &Ident,
    generics: &Generics,
    leaf: &TokenStream,
    visits: &TokenStream,
    share: &TokenStream,
) -> TokenStream {
    let private = context.private();
    let text = name.to_string();
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let calls = ["Tensor", "Proxy"].map(|value| {
        let (method, value) = (format_ident!("call_{}", value.to_lowercase()), format_ident!("{value}"));
        quote! {
            #[inline]
            fn #method(
                &self,
                args: ::std::vec::Vec<#private::Arg<#private::#value>>,
                kwargs: &#private::Kwargs<#private::#value>,
            ) -> #private::Result<#private::Arg<#private::#value>> {
                #[allow(unused_imports, reason = "for modules without a forward")]
                use #private::NoForward as _;
                #private::Forward(self).call::<#private::#value>(args, kwargs)
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #impl_generics #private::Visit for #name #type_generics #where_clause {
            #[inline]
            fn visit<'__fx>(&'__fx self, path: &::core::primitive::str, visitor: &mut dyn #private::Visitor<'__fx>) {
                #[allow(unused_imports, reason = "for the fields that are hyper-parameters")]
                use #private::HyperField as _;
                if visitor.module(path, self) {
                    #visits
                }
            }
        }

        #[automatically_derived]
        impl #impl_generics #private::Module for #name #type_generics #where_clause {
            #[inline]
            fn type_name(&self) -> &'static ::core::primitive::str {
                #text
            }

            #[inline]
            fn is_leaf(&self) -> ::core::primitive::bool {
                #leaf
            }

            #[inline]
            fn repr_arguments(&self) -> ::std::string::String {
                #[allow(unused_imports, reason = "for modules without methods of their own")]
                use #private::DefaultDescription as _;
                self.extra_repr()
            }

            #[inline]
            fn constructor_source(&self) -> ::core::option::Option<::std::string::String> {
                #[allow(unused_imports, reason = "for modules without methods of their own")]
                use #private::DefaultDescription as _;
                ::core::convert::Into::into(self.constructor())
            }

            #[inline]
            fn signature(&self) -> &'static #private::Signature {
                #[allow(unused_imports, reason = "for modules without a forward")]
                use #private::NoForward as _;
                #private::Forward(self).signature()
            }

            #(#calls)*

            #[inline]
            fn share(&self) -> #private::Arc<dyn #private::Module> {
                #share
            }
        }
    }
}

/// The `#[cfg(..)]` among some attributes.
pub(crate) fn configuration(attrs: &[Attribute]) -> TokenStream {
    attrs.iter().filter(|attr| attr.path().is_ident("cfg")).map(ToTokens::to_token_stream).collect()
}

/// A field's name in paths: its own, but `3` for `_3`, as PyTorch's containers name their children.
fn path_name(field: &Member) -> String {
    let name = match field {
        Member::Named(name) => syn::ext::IdentExt::unraw(name).to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    };
    match name.strip_prefix('_') {
        Some(number) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => number.to_owned(),
        _ => name,
    }
}

/// A structure of tensors: generic in the value, `Tensor` by default.
fn structure(context: &Context, mut item: ItemStruct) -> TokenStream {
    let private = context.private();
    let value = value::type_parameter(&[&item.generics]);
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
    // A field that is no structure is refused at its type.
    let fields: Vec<_> = item
        .fields
        .iter()
        .map(|field| {
            let ty = &field.ty;
            quote_spanned!(ty.span()=> <#ty as #private::Tree<#value>>)
        })
        .collect();
    quote! {
        #item

        #[automatically_derived]
        impl #impl_generics #private::Tree<#value> for #name #type_generics #where_clause {
            fn to_arg(&self) -> #private::Arg<#value> {
                #private::Arg::Tuple(::std::vec![#(#fields::to_arg(&self.#members)),*])
            }

            fn from_arg(arg: #private::Arg<#value>) -> #private::Result<Self> {
                let mut __items = ::core::iter::IntoIterator::into_iter(#private::unpack(arg, #count)?);
                ::core::result::Result::Ok(Self {
                    #(#members: #fields::from_arg(__items.next().unwrap_or(#private::Arg::None))?,)*
                })
            }

            fn fill(value: &#value) -> Self {
                Self { #(#members: #fields::fill(value),)* }
            }
        }
    }
}
