//! Expanding functions: every function that mentions `Tensor` in its signature takes any value.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{
    Attribute, Block, FnArg, Generics, ImplItem, ImplItemFn, ItemFn, ItemImpl, Pat, Signature, Type, WherePredicate,
    parse_quote,
};

use crate::args::Args;
use crate::body;
use crate::context::Context;
use crate::implement;
use crate::messages;
use crate::module;
use crate::signature::{self, Form, Owned, Parameter};
use crate::taint::Taint;
use crate::tensors::{self, Replace};
use crate::value;

/// A free function; one that mentions no tensor stays as it is.
pub(crate) fn expand_fn(context: &mut Context, mut item: ItemFn) -> TokenStream {
    // A node is traceable as it is.
    if !signature::is_traceable(&item.sig) || signature::take_wrap(&mut item.attrs.clone()).is_some() {
        return item.into_token_stream();
    }
    let original = item.clone();
    let value = value::type_parameter(&[&item.sig.generics]);
    let mut faults = Context::new();
    let parameters = signature::parameters(&mut faults, &item.sig);
    if faults.failed() {
        let stand_in = match signature::suits_body(&item.sig) {
            true => uncaptured_fn(context, &mut faults, item),
            false => refused_fn(context, &mut faults, item),
        };
        context.append(faults);
        return stand_in;
    }
    rewrite(context, &mut item.sig, &mut item.block, &value, &parameters);
    let handle = signature::can_be_captured(&original.sig, &parameters).then(|| {
        implement::traceable_fn(context, &original, &implement::function(context, &value, &parameters, &original))
    });
    let mention = mention(&original.sig);
    quote!(#item #handle #mention)
}

/// A function that was refused, for its signature or its place: it can be called and captured, so that its uses stay
/// right.
pub(crate) fn refused_fn(context: &Context, faults: &mut Context, mut item: ItemFn) -> TokenStream {
    if !signature::is_traceable(&item.sig) {
        return item.into_token_stream();
    }
    refuse_body(&mut item.attrs, &mut item.block);
    if item.sig.receiver().is_some() {
        let value = value::type_parameter(&[&item.sig.generics]);
        repair(context, faults, &mut item.sig, &mut item.block, &value);
        return item.into_token_stream();
    }
    uncaptured_fn(context, faults, item)
}

/// A function that was refused for what its body does not see: the faults of the body are reported too.
fn uncaptured_fn(context: &Context, faults: &mut Context, mut item: ItemFn) -> TokenStream {
    let original = item.clone();
    let value = value::type_parameter(&[&item.sig.generics]);
    repair(context, faults, &mut item.sig, &mut item.block, &value);
    let handle = implement::traceable_fn(context, &original, &implement::refused(context, &value, &quote!()));
    let mention = mention(&original.sig);
    quote!(#item #handle #mention)
}

/// Rewrites a function whose signature was refused, so that it can be called. One of its faults becomes its result: to
/// the compiler, what uses that is right, however it does so.
fn repair(context: &Context, faults: &mut Context, sig: &mut Signature, block: &mut Block, value: &Ident) {
    let is_async = sig.asyncness.take().is_some();
    signature::repair(sig);
    let parameters = signature::parameters(&mut Context::new(), sig);
    let fault = faults.take_as_type();
    // A result that is no tensor may be what is refused: then the body has no fault for giving it.
    if let (Some(fault), true) = (&fault, tensors::is_data(&signature::output(sig))) {
        sig.output = parse_quote!(-> #fault);
    }
    rewrite(context, sig, block, value, &parameters);
    if is_async {
        let (private, output, body) = (context.private(), signature::output(sig), refused_body());
        *block = parse_quote!({
            #private::unawaited::<#output>(async move #block);
            #body
        });
    }
    if let Some(fault) = fault {
        sig.output = parse_quote!(-> #fault);
    }
}

/// Drops a body that is written for what was refused.
fn refuse_body(attrs: &mut Vec<Attribute>, block: &mut Block) {
    attrs.push(parse_quote!(#[allow(unused_variables, unused_mut, reason = "the body was refused")]));
    let body = refused_body();
    *block = parse_quote!({ #body });
}

/// The body of what was refused. It fits every result, and nothing runs it, as the crate does not compile.
pub(crate) fn refused_body() -> TokenStream {
    quote!(::core::unreachable!("it was refused"))
}

/// Names the written `Tensor` once more: else its import would be unused, as the function no longer mentions it.
fn mention(signature: &Signature) -> TokenStream {
    tensors::first_mention(signature)
        .map(|path| quote!(const _: ::core::option::Option<#path> = ::core::option::Option::None;))
        .unwrap_or_default()
}

/// An impl block.
pub(crate) fn expand_impl(context: &mut Context, mut item: ItemImpl) -> TokenStream {
    if let Some((_, path, _)) = &item.trait_ {
        context.refuse_tokens(path, &messages::TRAIT_IMPL);
        let is_forward = |part: &ImplItem| matches!(part, ImplItem::Fn(function) if function.sig.ident == "forward");
        let value = value::type_parameter(&[&item.generics]);
        let capture = item
            .items
            .iter()
            .any(is_forward)
            .then(|| implement::capture_refused(context, &item.generics, &item.self_ty, &value));
        return quote!(#item #capture);
    }
    let mut extra = TokenStream::new();
    let mut mentioned = None;
    let mut has_forward = false;
    let (generics, self_ty) = (item.generics.clone(), (*item.self_ty).clone());
    note_helpers(context, &item);
    item.items.retain_mut(|part| {
        let ImplItem::Fn(function) = part else { return true };
        let args = context.take(Args::take(&mut function.attrs)).flatten().unwrap_or_default();
        if let Some(span) = args.leaf {
            context.refuse(span, &messages::LEAF_HERE);
        }
        if let Some(attr) = signature::take_wrap(&mut function.attrs) {
            context.refuse_tokens(attr.path(), &messages::WRAP_METHOD);
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

/// Notes the functions that stay as they are written; of two that are configured, both have to.
fn note_helpers(context: &mut Context, item: &ItemImpl) {
    let functions = || {
        item.items.iter().filter_map(|part| match part {
            ImplItem::Fn(function) => Some(function),
            _ => None,
        })
    };
    let stays = |function: &ImplItemFn| {
        !signature::is_traceable(&function.sig)
            || matches!(Args::take(&mut function.attrs.clone()), Ok(Some(args)) if args.skip.is_some())
    };
    for function in functions() {
        if functions().filter(|other| other.sig.ident == function.sig.ident).all(stays) {
            context.add_helper(&function.sig);
        }
    }
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
        if !signature::suits_body(&function.sig) {
            refuse_body(&mut function.attrs, &mut function.block);
        }
        if signature::is_traceable(&function.sig) {
            repair(context, &mut faults, &mut function.sig, &mut function.block, &value);
        }
        context.append(faults);
        // The module can be traced and be a layer, so that nothing else is refused.
        let refused = || {
            let layer = || implement::layer(context, generics, self_ty, &value, &refused_body());
            let mut implementations = vec![implement::capture_refused(context, generics, self_ty, &value)];
            implementations.extend((!borrows).then(layer));
            implementations
        };
        return is_forward.then(refused).unwrap_or_default();
    }
    let original = function.sig.clone();
    rewrite(context, &mut function.sig, &mut function.block, &value, &parameters);
    if !is_forward {
        return Vec::new();
    }
    through_call(context, function, &value, &parameters);
    let invocation = implement::forward(context, &value, &parameters);
    let layer = || implement::layer(context, generics, self_ty, &value, &quote!(self.forward(input)));
    let mut implementations = vec![implement::capture(context, generics, self_ty, &invocation)];
    implementations.extend(signature::is_layer(&original, &parameters).then(layer));
    implementations
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
            Form::Owned => quote!(.input(&#name)),
            Form::Borrowed => quote!(.input(#name)),
            Form::Structure => {
                let mut ty = parameter.ty.clone();
                replace.visit_type_mut(&mut ty);
                let Owned { ty, own, .. } = signature::owned(&ty, name);
                quote!(.input_with(|| <#ty as #private::Tree<#value>>::to_arg(&#own)))
            }
            Form::Static => {
                let text = name.to_string();
                // What cannot be static is refused at its type.
                let at = parameter.ty.span();
                let mut value = name.clone();
                value.set_span(value.span().located_at(at));
                quote_spanned!(at=> .fixed(#text, &#value))
            }
        }
    });
    // What was put in front of the body stays in front of the call.
    let count = parameters.iter().filter(|parameter| matches!(parameter.form, Form::Owned | Form::Borrowed)).count();
    let (prologue, statements) = function.block.stmts.split_at(count);
    let output = signature::output(&function.sig);
    // A result that is no value is refused at its type.
    let run = quote_spanned!(output.span()=> .run::<#output>);
    function.block = parse_quote!({
        #(#prologue)*
        #private::ModuleCall::<#value>::new()
            #(#steps)*
            #run(self, move || { #(#statements)* })
    });
    if !function.attrs.iter().any(|attr| attr.path().is_ident("track_caller")) {
        function.attrs.push(parse_quote!(#[track_caller]));
    }
}
