//! Expanding functions: every function that mentions `Tensor` in its signature takes any value.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{
    Attribute, Block, FnArg, Generics, ImplItem, ImplItemFn, ItemFn, ItemImpl, Pat, ReturnType, Signature, Type,
    WherePredicate, parse_quote,
};

use crate::args::Args;
use crate::body;
use crate::context::Context;
use crate::messages;
use crate::module;
use crate::signature::{self, Form, Parameter};
use crate::taint::Taint;
use crate::tensors::{self, Replace};
use crate::value;

/// A free function.
pub(crate) fn expand_fn(context: &mut Context, mut item: ItemFn) -> TokenStream {
    let original = item.clone();
    let value = value::type_parameter(&[&item.sig.generics]);
    let mut faults = Context::new();
    let parameters = signature::parameters(&mut faults, &item.sig);
    if faults.failed() {
        stub(context, &mut item.attrs, &mut item.sig, &mut item.block, &value);
        context.append(faults);
        return item.into_token_stream();
    }
    rewrite(context, &mut item.sig, &mut item.block, &value, &parameters);
    let handle = handle(context, &original, &value, &parameters);
    let mention = mention(&original.sig);
    quote!(#item #handle #mention)
}

/// What is left of a function whose signature was refused: it can be called, so that its callers stay right.
fn stub(context: &Context, attrs: &mut Vec<Attribute>, sig: &mut Signature, block: &mut Block, value: &Ident) {
    attrs.push(parse_quote!(#[allow(unused_variables, unused_mut, reason = "the body was refused")]));
    signature::repair(sig);
    let parameters = signature::parameters(&mut Context::new(), sig);
    rewrite(context, sig, block, value, &parameters);
    *block = parse_quote!({ ::core::unimplemented!() });
}

/// Names the written `Tensor` once more: else its import would be unused, as the function no longer mentions it.
fn mention(signature: &Signature) -> TokenStream {
    tensors::first_mention(signature)
        .map(|path| quote!(const _: ::core::option::Option<#path> = ::core::option::Option::None;))
        .unwrap_or_default()
}

/// A type of the function's name, by which `trace_fn!` finds it. Functions and types have separate names.
fn handle(context: &Context, item: &ItemFn, value: &Ident, parameters: &[Parameter]) -> TokenStream {
    if !signature::can_be_captured(&item.sig, parameters) {
        return TokenStream::new();
    }
    let private = context.private();
    let (vis, name) = (&item.vis, &item.sig.ident);
    let implementation = invocation(context, value, parameters, Some(&quote!(#name)), &quote!());
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
    let mut has_forward = false;
    let (generics, self_ty) = (item.generics.clone(), (*item.self_ty).clone());
    item.items.retain_mut(|part| {
        let ImplItem::Fn(function) = part else { return true };
        let args = context.take(Args::take(&mut function.attrs)).flatten().unwrap_or_default();
        if let Some(span) = args.leaf {
            context.refuse(span, &messages::LEAF_HERE);
        }
        if let Some(attr) = signature::take_wrap(&mut function.attrs) {
            context.refuse_tokens(attr.path(), &messages::WRAP_METHOD);
            return true;
        }
        let is_forward = args.skip.is_none() && function.sig.ident == "forward" && function.sig.receiver().is_some();
        if is_forward && std::mem::replace(&mut has_forward, true) {
            context.refuse_tokens(&function.sig.ident, &messages::TWO_FORWARDS);
            return false;
        }
        if is_forward || (args.skip.is_none() && signature::is_traceable(&function.sig)) {
            mentioned = mentioned.take().or_else(|| Some(mention(&function.sig)));
            let cfg = module::configuration(&function.attrs);
            let implementations = expand_method(context, &generics, &self_ty, function, is_forward);
            extra.extend(implementations.into_iter().map(|item| quote!(#cfg #item)));
        }
        true
    });
    quote!(#item #extra #mentioned)
}

/// A function of an impl block; gives the implementations that `forward` brings.
fn expand_method(
    context: &mut Context,
    generics: &Generics,
    self_ty: &Type,
    function: &mut ImplItemFn,
    is_forward: bool,
) -> Vec<TokenStream> {
    let value = value::type_parameter(&[generics, &function.sig.generics]);
    let mut faults = Context::new();
    let parameters = signature::parameters(&mut faults, &function.sig);
    if is_forward {
        signature::check_forward(&mut faults, &function.sig, &parameters);
    }
    // A lifetime is refused on the struct.
    let borrows = generics.lifetimes().next().is_some();
    if faults.failed() || (is_forward && borrows) {
        stub(context, &mut function.attrs, &mut function.sig, &mut function.block, &value);
        context.append(faults);
        // The module can be traced by its type, so that nothing else is refused.
        let parameters: &[Parameter] = &[];
        let traceable = || traceable(context, generics, self_ty, &value, parameters, false);
        return (is_forward && !borrows).then(traceable).into_iter().collect();
    }
    let original = function.sig.clone();
    rewrite(context, &mut function.sig, &mut function.block, &value, &parameters);
    if !is_forward {
        return Vec::new();
    }
    through_call(context, function, &value, &parameters);
    let traceable = traceable(context, generics, self_ty, &value, &parameters, true);
    let layer = layer(context, generics, self_ty, &value, &original, &parameters);
    [Some(traceable), layer].into_iter().flatten().collect()
}

/// `Tensor` becomes the type parameter, tensors pass by value or by reference, the body is rewritten.
fn rewrite(context: &Context, sig: &mut Signature, block: &mut Block, value: &Ident, parameters: &[Parameter]) {
    let private = context.private();
    let mut replace = Replace(value);
    replace.visit_block_mut(block);
    let names = |forms: &'static [Form]| {
        parameters.iter().filter(|parameter| forms.contains(&parameter.form)).map(|parameter| &parameter.name)
    };
    let taint = Taint::new(names(&[Form::Owned, Form::Borrowed]), names(&[Form::Structure]), value, block);
    let borrowed: Vec<Ident> = names(&[Form::Borrowed]).cloned().collect();
    body::rewrite(context, &taint, &borrowed, &sig.output, block);
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
        .extend(value::bounds(context, value).into_iter().map(|bound| -> WherePredicate { parse_quote!(#bound) }));
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
                // What cannot be static is refused at its type.
                let at = parameter.ty.span();
                let mut value = name.clone();
                value.set_span(at);
                quote_spanned!(at=> .fixed(#text, &#value))
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
    // So is a result that is no value.
    let run = quote_spanned!(output.span()=> .run(self, move || -> #output { #(#statements)* }));
    function.block = parse_quote!({
        #(#prologue)*
        #private::ModuleCall::<#value>::new()
            #(#steps)*
            #run
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
    runs: bool,
) -> TokenStream {
    let private = context.private();
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let callee = runs.then(|| quote!(self.forward));
    let implementation = invocation(context, value, parameters, callee.as_ref(), &quote!(&self,));
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
    callee: Option<&TokenStream>,
    receiver: &TokenStream,
) -> TokenStream {
    let private = context.private();
    let name = callee.and_then(|callee| callee.clone().into_iter().last());
    let text = name.map_or_else(String::new, |name| name.to_string());
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
    let result = match callee {
        // Free functions have no other place where their result is refused.
        Some(callee) if receiver.is_empty() => quote!(#private::Tree::to_arg(&#callee(#(#passes),*))),
        Some(callee) => quote!({
            #[allow(unused_imports, reason = "for results that are refused")]
            use #private::NoStructure as _;
            #private::Output::<#value, _>::new(&#callee(#(#passes),*)).to_arg()
        }),
        None => TokenStream::new(),
    };
    let body = match callee {
        Some(_) => quote! {
            let mut __args = ::core::iter::IntoIterator::into_iter(__args);
            #(#reads)*
            ::core::result::Result::Ok(#result)
        },
        None => quote!(::core::unreachable!("the function was refused")),
    };
    let bounds = value::bounds(context, value);
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
                #body
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
) -> Option<TokenStream> {
    let gives_one = matches!(&signature.output, ReturnType::Type(_, ty) if tensors::is_plain(ty));
    let takes_one = matches!(parameters, [parameter] if matches!(parameter.form, Form::Owned | Form::Borrowed));
    if !gives_one || !takes_one {
        return None;
    }
    let private = context.private();
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let bounds = value::bounds(context, value);
    Some(quote! {
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
    })
}
