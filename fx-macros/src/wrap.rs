//! Expanding `#[wrap]`: a function of tensors that a trace records as one node.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::visit_mut::VisitMut;
use syn::{FnArg, ItemFn, ReturnType, parse_quote};

use crate::context::Context;
use crate::messages;
use crate::signature::{self, Form};
use crate::tensors::Replace;
use crate::value;

/// A wrapped function: the function as written on tensors, its definition, and the function that calls or records it.
pub(crate) fn expand(context: &mut Context, item: ItemFn) -> TokenStream {
    if item.sig.receiver().is_some() {
        context.refuse_tokens(&item.sig.ident, &messages::WRAP_METHOD);
        return item.into_token_stream();
    }
    let parameters = signature::parameters(context, &item.sig);
    if context.failed() {
        return item.into_token_stream();
    }
    let private = context.private();
    let value = value::type_parameter(&[&item.sig.generics]);
    let name = &item.sig.ident;
    let text = name.to_string();
    let ItemFn { attrs, vis, sig, block } = &item;
    let mut inner = sig.clone();
    inner.ident = format_ident!("__inner");
    let output = match &sig.output {
        ReturnType::Type(_, ty) => (**ty).clone(),
        ReturnType::Default => parse_quote!(()),
    };
    let mut outer = sig.clone();
    for input in &mut outer.inputs {
        if let FnArg::Typed(typed) = input {
            Replace(&value).visit_type_mut(&mut typed.ty);
        }
    }
    Replace(&value).visit_return_type_mut(&mut outer.output);
    outer.generics.params.push(parse_quote!(#value: #private::Value));
    let (mut records, mut reads, mut passes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut operands, mut attributes) = (Vec::new(), Vec::new());
    let typed = outer.inputs.iter_mut().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    });
    for (typed, parameter) in typed.zip(&parameters) {
        let (name, label) = (&parameter.name, parameter.name.to_string());
        let owned = signature::owned(&parameter.ty, name);
        let next = quote!(__args.next().cloned().unwrap_or(#private::Arg::None));
        match parameter.form {
            Form::Static => {
                let ty = &parameter.ty;
                records.push(
                    quote!(.kwarg(#label, #private::StaticArg::to_immediate(&#name).map(&mut |never| match *never {}))),
                );
                reads.push(quote!(let #name: #ty = #private::read_static(#label, __kwargs)?;));
                passes.push(quote!(#name));
                attributes.push(label);
                continue;
            }
            Form::Structure => {
                let mut ty = parameter.ty.clone();
                Replace(&value).visit_type_mut(&mut ty);
                let own = signature::owned(&ty, name).own;
                records.push(quote!(.arg(#private::Tree::to_arg(&#own))));
                let ty = &owned.ty;
                reads.push(quote!(let #name: #ty = #private::Tree::from_arg(#next)?;));
                passes.push(owned.pass);
            }
            Form::Owned | Form::Borrowed => {
                *typed.ty = parse_quote!(impl #private::Input<#value>);
                records.push(quote!(.arg(#private::Arg::Value(#private::Input::into_value(#name)))));
                reads.push(quote!(let #name: #private::Tensor = #private::Tree::from_arg(#next)?;));
                passes.push(if parameter.form == Form::Borrowed { quote!(&#name) } else { quote!(#name) });
            }
        }
        operands.push(label);
    }
    quote! {
        #(#attrs)*
        #[track_caller]
        #vis #outer {
            #inner #block

            static __DEFINITION: #private::Definition = #private::Definition {
                name: ::core::concat!(::core::module_path!(), "::", #text),
                doc: &[],
                operands: &[#(#private::Operand { name: #operands, kind: #private::OperandKind::Any }),*],
                attributes: &[#(#private::Attribute { name: #attributes, kind: "static", default: ::core::option::Option::None }),*],
                source: #private::Source::WRAPPED,
                effect: #private::Effect::Pure,
                tolerance: #private::Tolerance::ROUNDING,
                eval: |__args, __kwargs| {
                    #[allow(unused_mut, unused_variables, reason = "not every function has both kinds of arguments")]
                    let mut __args = __args.iter();
                    #(#reads)*
                    let __output: #output = #private::fallible::scope(|| __inner(#(#passes),*))?;
                    ::core::result::Result::Ok(#private::Tree::to_arg(&__output))
                },
                infer: |_, _| ::core::result::Result::Ok(#private::Arg::Value(#private::Meta::Unknown)),
                flops: |_, _, _| #private::Dim::Int(0),
            };
            const __FUNCTION: #private::Function = #private::Function::new(&__DEFINITION);
            __FUNCTION.register();
            #private::Call::<#value>::function(__FUNCTION) #(#records)* .output()
        }
    }
}
