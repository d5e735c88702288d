//! Expanding `#[wrap]`: a function of tensors that a trace records as one node.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::visit_mut::VisitMut;
use syn::{FnArg, ItemFn, Signature, parse_quote};

use crate::context::Context;
use crate::function;
use crate::messages;
use crate::signature::{self, Form, Owned, Parameter};
use crate::tensors::Replace;
use crate::value;

/// A wrapped function: the function as written on tensors, its definition, and the function that calls or records it.
pub(crate) fn expand(context: &mut Context, item: ItemFn) -> TokenStream {
    let mut faults = Context::new();
    let mut parameters = Vec::new();
    if item.sig.receiver().is_some() {
        faults.refuse_tokens(&item.sig.ident, &messages::WRAP_METHOD);
    } else {
        parameters = signature::parameters(&mut faults, &item.sig);
        signature::check_held(&mut faults, &item.sig, &parameters, &messages::GENERIC_WRAP);
    }
    if faults.failed() || context.failed() {
        let stand_in = function::refused_fn(context, &mut faults, item);
        context.append(faults);
        return stand_in;
    }
    let private = context.private();
    let value = value::type_parameter(&[&item.sig.generics]);
    let ItemFn { attrs, vis, sig, block } = &item;
    let mut inner = sig.clone();
    inner.ident = format_ident!("__inner");
    let outer = outer(context, sig, &parameters, &value);
    let recorded = signature::output(&outer);
    let arguments: Vec<_> = parameters.iter().map(|parameter| Argument::new(context, parameter, &value)).collect();
    let records = arguments.iter().map(|argument| &argument.record);
    let definition = definition(context, sig, &parameters, &arguments);
    quote! {
        #(#attrs)*
        #[track_caller]
        #vis #outer {
            #inner #block

            #definition
            const __FUNCTION: #private::Function = #private::Function::new(&__DEFINITION);
            __FUNCTION.register();
            #private::Call::<#value>::function(__FUNCTION) #(#records)* .output::<#recorded>()
        }
    }
}

/// How a parameter passes through a node.
struct Argument {
    /// Adds it to the call that is recorded.
    record: TokenStream,
    /// Reads it from a call, as a variable of its name.
    read: TokenStream,
    /// Gives it to the function that was written.
    pass: TokenStream,
}

impl Argument {
    /// The types are written out where a fault of theirs is to be reported at them, in the same words each time.
    fn new(context: &Context, parameter: &Parameter, value: &Ident) -> Self {
        let private = context.private();
        let (name, label, ty) = (&parameter.name, parameter.name.to_string(), &parameter.ty);
        let next = quote!(__args.next().cloned().unwrap_or(#private::Arg::None));
        match parameter.form {
            Form::Static => {
                let recorded = quote!(<#ty as #private::StaticArg>::to_immediate(&#name));
                let held = quote!(#private::immediate(#label, __kwargs)?);
                Self {
                    record: quote!(.kwarg(#label, #recorded.map(&mut |never| match *never {}))),
                    read: quote!(let #name = <#ty as #private::StaticArg>::from_immediate(&#held)?;),
                    pass: quote!(#name),
                }
            }
            Form::Structure => {
                let mut traced = ty.clone();
                Replace(value).visit_type_mut(&mut traced);
                let traced = signature::owned(&traced, name);
                let (traced, own) = (traced.ty, traced.own);
                let Owned { ty, pass, .. } = signature::owned(ty, name);
                Self {
                    record: quote!(.arg(<#traced as #private::Tree<#value>>::to_arg(&#own))),
                    read: quote!(let #name = #private::Structure::<#private::Tensor, #ty>::new().read(#next)?;),
                    pass,
                }
            }
            Form::Owned | Form::Borrowed => Self {
                record: quote!(.arg(#private::Arg::Value(#private::Input::into_value(#name)))),
                read: quote!(let #name: #private::Tensor = #private::Tree::from_arg(#next)?;),
                pass: if parameter.form == Form::Borrowed { quote!(&#name) } else { quote!(#name) },
            },
        }
    }
}

/// The signature of the function that takes any value.
fn outer(context: &Context, signature: &Signature, parameters: &[Parameter], value: &Ident) -> Signature {
    let private = context.private();
    let mut outer = signature.clone();
    let typed = outer.inputs.iter_mut().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    });
    for (typed, parameter) in typed.zip(parameters) {
        match parameter.form {
            Form::Owned | Form::Borrowed => *typed.ty = parse_quote!(impl #private::Input<#value>),
            Form::Structure | Form::Static => Replace(value).visit_type_mut(&mut typed.ty),
        }
    }
    Replace(value).visit_return_type_mut(&mut outer.output);
    outer.generics.params.push(parse_quote!(#value: #private::Value));
    outer
}

/// The static definition of the node's function.
fn definition(
    context: &Context,
    signature: &Signature,
    parameters: &[Parameter],
    arguments: &[Argument],
) -> TokenStream {
    let private = context.private();
    let (text, output) = (signature.ident.to_string(), signature::output(signature));
    let labels = |is_static: bool| {
        let of_kind = parameters.iter().filter(move |parameter| (parameter.form == Form::Static) == is_static);
        of_kind.map(|parameter| parameter.name.to_string())
    };
    let (operands, attributes) = (labels(false), labels(true));
    let reads = arguments.iter().map(|argument| &argument.read);
    let passes = arguments.iter().map(|argument| &argument.pass);
    quote! {
        static __DEFINITION: #private::Definition = #private::Definition {
            name: ::core::concat!(::core::module_path!(), "::", #text),
            doc: &[],
            operands: &[#(#private::Operand { name: #operands, kind: #private::OperandKind::Any }),*],
            attributes: &[#(#private::Attribute {
                name: #attributes,
                kind: "static",
                default: ::core::option::Option::None,
            }),*],
            source: #private::Source::WRAPPED,
            effect: #private::Effect::Pure,
            like_input: false,
            tolerance: #private::Tolerance::ROUNDING,
            eval: |__args, __kwargs| {
                #[allow(unused_imports, reason = "for structures that are refused")]
                use #private::NoStructure as _;
                #[allow(unused_mut, unused_variables, reason = "not every function has both kinds of arguments")]
                let mut __args = __args.iter();
                #(#reads)*
                let __output: #output = #private::fallible::scope(|| __inner(#(#passes),*))?;
                let __structure = #private::Structure::<#private::Tensor, _>::of(&__output);
                ::core::result::Result::Ok(__structure.to_arg(&__output))
            },
            infer: |_, _| ::core::result::Result::Ok(#private::Arg::Value(#private::Meta::Unknown)),
            flops: |_, _, _| #private::Dim::Int(0),
        };
    }
}
