//! Expanding functions: every function that mentions `Tensor` in its signature takes any value.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::visit_mut::VisitMut;
use syn::{
    Block, FnArg, Generics, ImplItem, ImplItemFn, ItemFn, ItemImpl, Pat, ReturnType, Signature, Type, WherePredicate,
    parse_quote,
};

use crate::args::Args;
use crate::body;
use crate::context::Context;
use crate::messages;
use crate::signature::{self, Form, Parameter};
use crate::taint::Taint;
use crate::tensors::{self, Replace};

/// A free function.
pub(crate) fn expand_fn(context: &mut Context, item: ItemFn) -> TokenStream {
    let original = item.clone();
    let mut item = item;
    let value = body::type_parameter(&[&item.sig.generics]);
    let parameters = signature::parameters(context, &item.sig);
    if context.failed() {
        return original.into_token_stream();
    }
    rewrite(context, &mut item.sig, &mut item.block, &value, &parameters);
    let handle = handle(context, &original, &value, &parameters);
    let mention = mention(&original.sig);
    quote!(#item #handle #mention)
}

/// Names the written `Tensor` once more: else its import would be unused, as the function no longer mentions it.
fn mention(signature: &Signature) -> TokenStream {
    tensors::first_mention(signature)
        .map(|path| quote!(const _: ::core::option::Option<#path> = ::core::option::Option::None;))
        .unwrap_or_default()
}

/// A type of the function's name, by which `trace_fn!` finds it. Functions and types have separate names.
fn handle(context: &Context, item: &ItemFn, value: &Ident, parameters: &[Parameter]) -> TokenStream {
    let fixed = parameters.iter().any(|p| p.form == Form::Static && matches!(p.ty, Type::Reference(_)));
    let generic = item.sig.generics.params.iter().any(|param| !matches!(param, syn::GenericParam::Lifetime(_)));
    if fixed || generic {
        return TokenStream::new();
    }
    let private = context.private();
    let (vis, name) = (&item.vis, &item.sig.ident);
    let implementation = invocation(context, value, parameters, &quote!(#name), &quote!());
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code, reason = "it has the name of the function that it stands for")]
        #vis struct #name {}

        #[automatically_derived]
        impl #private::TraceableFn for #name {
            #implementation
        }
    }
}

/// An impl block.
pub(crate) fn expand_impl(context: &mut Context, mut item: ItemImpl) -> TokenStream {
    if let Some((_, path, _)) = &item.trait_ {
        context.refuse_tokens(path, &messages::TRAIT_IMPL);
        return item.into_token_stream();
    }
    let mut extra = TokenStream::new();
    let mut mentioned = None;
    let mut forwards = 0;
    let (generics, self_ty) = (item.generics.clone(), (*item.self_ty).clone());
    for part in &mut item.items {
        let ImplItem::Fn(function) = part else { continue };
        let args = context.take(Args::take(&mut function.attrs)).flatten().unwrap_or_default();
        if args.leaf {
            context.refuse_tokens(&function.sig.ident, &messages::LEAF_HERE);
        }
        if args.skip {
            continue;
        }
        let is_forward = function.sig.ident == "forward" && function.sig.receiver().is_some();
        if is_forward {
            forwards += 1;
            if forwards > 1 {
                context.refuse_tokens(&function.sig.ident, &messages::TWO_FORWARDS);
                continue;
            }
            if !signature::is_traceable(&function.sig) {
                context.refuse_tokens(&function.sig.ident, &messages::FORWARD_NO_TENSOR);
                continue;
            }
        }
        if signature::is_traceable(&function.sig) {
            mentioned = mentioned.or_else(|| Some(mention(&function.sig)));
            extra.extend(expand_method(context, &generics, &self_ty, function, is_forward));
        }
    }
    quote!(#item #extra #mentioned)
}

/// A function of an impl block; gives the implementations that `forward` brings.
fn expand_method(
    context: &mut Context,
    generics: &Generics,
    self_ty: &Type,
    function: &mut ImplItemFn,
    is_forward: bool,
) -> TokenStream {
    let mut inner = Context::new();
    let parameters = signature::parameters(&mut inner, &function.sig);
    if inner.failed() {
        let errors = inner.finish(TokenStream::new());
        return errors;
    }
    let value = body::type_parameter(&[generics, &function.sig.generics]);
    let original = function.sig.clone();
    rewrite(context, &mut function.sig, &mut function.block, &value, &parameters);
    if !is_forward {
        return TokenStream::new();
    }
    let statics: Vec<_> = parameters.iter().filter(|parameter| parameter.form == Form::Static).collect();
    for parameter in &statics {
        if matches!(parameter.ty, Type::Reference(_)) {
            context.refuse_tokens(&parameter.ty, &messages::STATIC_REFERENCE);
        }
    }
    if context.failed() {
        return TokenStream::new();
    }
    through_call(context, function, &value, &parameters);
    let traceable = traceable(context, generics, self_ty, &value, &parameters);
    let layer = layer(context, generics, self_ty, &value, &original, &parameters);
    quote!(#traceable #layer)
}

/// `Tensor` becomes the type parameter, tensors pass by value or by reference, the body is rewritten.
fn rewrite(context: &mut Context, sig: &mut Signature, block: &mut Block, value: &Ident, parameters: &[Parameter]) {
    let private = context.private();
    let mut replace = Replace(value);
    replace.visit_block_mut(block);
    let traced = parameters.iter().filter(|parameter| parameter.form != Form::Static).map(|parameter| &parameter.name);
    let taint = Taint::new(traced, value, block);
    body::rewrite(context, &taint, block);
    for input in &mut sig.inputs {
        if let FnArg::Typed(typed) = input {
            replace.visit_type_mut(&mut typed.ty);
        }
    }
    replace.visit_return_type_mut(&mut sig.output);
    let mut prologue = Vec::new();
    let typed = sig.inputs.iter_mut().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    });
    for (typed, parameter) in typed.zip(parameters) {
        let (name, mutable) = (&parameter.name, parameter.mutable.then(|| quote!(mut)));
        match parameter.form {
            Form::Owned => prologue.push(quote!(let #mutable #name: #value = #private::Input::into_value(#name);)),
            Form::Borrowed => prologue.push(quote!(let #mutable #name: &#value = &#private::Input::into_value(#name);)),
            Form::Structure | Form::Static => continue,
        }
        *typed.ty = parse_quote!(impl #private::Input<#value>);
        if let Pat::Ident(pattern) = &mut *typed.pat {
            pattern.mutability = None;
        }
    }
    sig.generics.params.push(parse_quote!(#value: #private::Value));
    let clause = sig.generics.make_where_clause();
    clause
        .predicates
        .extend(body::bounds(context, value).into_iter().map(|bound| -> WherePredicate { parse_quote!(#bound) }));
    let statements = &block.stmts;
    *block = parse_quote!({ #(#prologue)* #(#statements)* });
}

/// The body of `forward` runs through the one place that all module calls pass.
fn through_call(context: &Context, function: &mut ImplItemFn, value: &Ident, parameters: &[Parameter]) {
    let private = context.private();
    let mut replace = Replace(value);
    let steps = parameters.iter().map(|parameter| {
        let name = &parameter.name;
        match parameter.form {
            Form::Owned => quote!(.input(|| #private::Tree::to_arg(&#name))),
            Form::Borrowed => quote!(.input(|| #private::Tree::to_arg(#name))),
            Form::Structure => {
                let mut ty = parameter.ty.clone();
                replace.visit_type_mut(&mut ty);
                let own = signature::owned(&ty, name).own;
                quote!(.input(|| #private::Tree::to_arg(&#own)))
            }
            Form::Static => {
                let text = name.to_string();
                quote!(.fixed(#text, &#name))
            }
        }
    });
    // What was put in front of the body stays in front of the call.
    let count = parameters.iter().filter(|parameter| matches!(parameter.form, Form::Owned | Form::Borrowed)).count();
    let (prologue, statements) = function.block.stmts.split_at(count);
    let output = match &function.sig.output {
        ReturnType::Type(_, ty) => quote!(#ty),
        ReturnType::Default => quote!(()),
    };
    function.block = parse_quote!({
        #(#prologue)*
        #private::ModuleCall::<#value>::new()
            #(#steps)*
            .run(self, move || -> #output { #(#statements)* })
    });
    if !function.attrs.iter().any(|attr| attr.path().is_ident("track_caller")) {
        function.attrs.push(parse_quote!(#[track_caller]));
    }
}

/// `impl Traceable for T`.
fn traceable(
    context: &Context,
    generics: &Generics,
    self_ty: &Type,
    value: &Ident,
    parameters: &[Parameter],
) -> TokenStream {
    let private = context.private();
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let implementation = invocation(context, value, parameters, &quote!(self.forward), &quote!(&self,));
    quote! {
        #[automatically_derived]
        impl #impl_generics #private::Traceable for #self_ty #where_clause {
            #implementation
        }
    }
}

/// The items of `Traceable` and `TraceableFn`: static arguments, signature, and a call with arguments of any form.
fn invocation(
    context: &Context,
    value: &Ident,
    parameters: &[Parameter],
    callee: &TokenStream,
    receiver: &TokenStream,
) -> TokenStream {
    let private = context.private();
    let text = callee.to_string().replace("self . ", "");
    let is_static = |parameter: &&Parameter| parameter.form == Form::Static;
    let names = |filter: bool| parameters.iter().filter(move |p| is_static(p) == filter).map(|p| p.name.to_string());
    let (inputs, statics) = (names(false), names(true));
    let types = parameters
        .iter()
        .filter(|parameter| !is_static(parameter))
        .map(|parameter| parameter.ty.to_token_stream().to_string().replace(' ', ""));
    let static_types = parameters.iter().filter(is_static).map(|parameter| &parameter.ty);
    let static_names: Vec<_> = parameters.iter().filter(is_static).map(|parameter| &parameter.name).collect();
    let mut replace = Replace(value);
    let reads = parameters.iter().filter(|parameter| !is_static(parameter)).map(|parameter| {
        let name = &parameter.name;
        let mut ty = parameter.ty.clone();
        replace.visit_type_mut(&mut ty);
        let ty = match parameter.form {
            Form::Structure => signature::owned(&ty, name).ty,
            _ => parse_quote!(#value),
        };
        quote!(let #name: #ty = #private::Tree::from_arg(__args.next().unwrap_or(#private::Arg::None))?;)
    });
    let passes = parameters.iter().map(|parameter| match parameter.form {
        Form::Structure => signature::owned(&parameter.ty, &parameter.name).pass,
        _ => parameter.name.to_token_stream(),
    });
    let bounds = body::bounds(context, value);
    quote! {
            type Static = (#(#static_types,)*);
            const SIGNATURE: #private::Signature = #private::Signature {
                name: ::core::concat!(::core::module_path!(), "::", #text),
                inputs: &[#(#inputs),*],
                types: &[#(#types),*],
                statics: &[#(#statics),*],
            };

            fn invoke<#value: #private::Value>(
                #receiver
                __args: ::std::vec::Vec<#private::Arg<#value>>,
                (#(#static_names,)*): Self::Static,
            ) -> #private::Result<#private::Arg<#value>>
            where
                #(#bounds,)*
            {
                let mut __args = ::core::iter::IntoIterator::into_iter(__args);
                #(#reads)*
                let __output = #callee(#(#passes),*);
                ::core::result::Result::Ok(#private::Tree::to_arg(&__output))
            }
    }
}

/// `impl Layer for T`, where `forward` takes one tensor and gives one.
fn layer(
    context: &Context,
    generics: &Generics,
    self_ty: &Type,
    value: &Ident,
    signature: &Signature,
    parameters: &[Parameter],
) -> TokenStream {
    let gives_one = matches!(&signature.output, ReturnType::Type(_, ty) if tensors::is_plain(ty));
    let takes_one = matches!(parameters, [parameter] if matches!(parameter.form, Form::Owned | Form::Borrowed));
    if !gives_one || !takes_one {
        return TokenStream::new();
    }
    let private = context.private();
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let bounds = body::bounds(context, value);
    quote! {
        #[automatically_derived]
        impl #impl_generics #private::Layer for #self_ty #where_clause {
            #[track_caller]
            fn forward_layer<#value: #private::Value>(&self, input: #value) -> #value
            where
                #(#bounds,)*
            {
                self.forward(input)
            }
        }
    }
}
