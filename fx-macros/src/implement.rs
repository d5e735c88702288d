//! The implementations that captures need beside a rewritten function: `Capture`, `TraceableFn`, `Layer`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Generics, ItemFn, Lifetime, Type, parse_quote};

use crate::context::Context;
use crate::function;
use crate::signature::{self, Form, Parameter};
use crate::tensors::Replace;
use crate::value;

/// The generics of an implementation for a module. That the type is one is demanded for every lifetime, which the
/// compiler checks where the implementation is used: `Capture` says it, once, where the attribute is missing.
fn of_module(context: &Context, generics: &Generics, self_ty: &Type) -> Generics {
    let private = context.private();
    let mut generics = generics.clone();
    generics.make_where_clause().predicates.push(parse_quote!(for<'__fx> #self_ty: #private::Module));
    generics
}

/// `impl Capture for T`. What is no module is refused here, at its name, and nowhere else.
pub(crate) fn capture(context: &Context, generics: &Generics, self_ty: &Type, invocation: &TokenStream) -> TokenStream {
    let module = quote_spanned!(Span::call_site().located_at(self_ty.span())=> self);
    capture_as(context, generics, self_ty, &module, invocation)
}

/// `impl Capture for T` of what was refused.
pub(crate) fn capture_refused(context: &Context, generics: &Generics, self_ty: &Type, value: &Ident) -> TokenStream {
    let invocation = refused(context, value, &quote!(&self,));
    capture_as(context, generics, self_ty, &function::refused_body(), &invocation)
}

fn capture_as(
    context: &Context,
    generics: &Generics,
    self_ty: &Type,
    module: &TokenStream,
    invocation: &TokenStream,
) -> TokenStream {
    let private = context.private();
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #private::Capture for #self_ty #where_clause {
            #invocation

            fn as_module(&self) -> &dyn #private::Module {
                #module
            }
        }
    }
}

/// `impl Layer for T`, where `forward` takes one tensor and gives one.
pub(crate) fn layer(
    context: &Context,
    generics: &Generics,
    self_ty: &Type,
    value: &Ident,
    body: &TokenStream,
) -> TokenStream {
    let private = context.private();
    let generics = of_module(context, generics, self_ty);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let bounds = value::bounds(context, value);
    quote! {
        #[automatically_derived]
        impl #impl_generics #private::Layer for #self_ty #where_clause {
            #[track_caller]
            fn forward_layer<#value: #private::Value>(&self, input: #value) -> #value
            where
                #(#bounds,)*
            {
                #body
            }
        }
    }
}

/// `impl TraceableFn` for a type of the function's name, by which `trace_fn!` finds it. Functions and types have separate names.
pub(crate) fn traceable_fn(context: &Context, item: &ItemFn, invocation: &TokenStream) -> TokenStream {
    let private = context.private();
    let (vis, name) = (&item.vis, &item.sig.ident);
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code, reason = "it has the name of the function that it stands for")]
        #vis struct #name {}

        #[automatically_derived]
        impl #private::TraceableFn for #name {
            #invocation
        }
    }
}

/// The items of `Capture` for a `forward`.
pub(crate) fn forward(context: &Context, value: &Ident, parameters: &[Parameter]) -> TokenStream {
    let private = context.private();
    let passes = passes(parameters);
    // A result that is no structure of tensors is refused where `forward` is written.
    let result = quote!({
        #[allow(unused_imports, reason = "for results that are refused")]
        use #private::NoStructure as _;
        let __output = self.forward(#passes);
        #private::Structure::<#value, _>::of(&__output).to_arg(&__output)
    });
    invocation(context, value, parameters, &quote!(&self,), "forward", &result)
}

/// The items of `TraceableFn` for a function, which is refused here if its result is no structure of tensors.
pub(crate) fn function(context: &Context, value: &Ident, parameters: &[Parameter], item: &ItemFn) -> TokenStream {
    struct Elide;

    impl VisitMut for Elide {
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            lifetime.ident = format_ident!("_");
        }
    }

    let private = context.private();
    let (name, passes) = (&item.sig.ident, passes(parameters));
    let mut ty = signature::output(&item.sig);
    Replace(value).visit_type_mut(&mut ty);
    // Its lifetimes are those of the function.
    Elide.visit_type_mut(&mut ty);
    let result = quote!(<#ty as #private::Tree<#value>>::to_arg(&#name(#passes)));
    invocation(context, value, parameters, &quote!(), &name.to_string(), &result)
}

/// The items of `Capture` or `TraceableFn` for what was refused: all static arguments fit.
pub(crate) fn refused(context: &Context, value: &Ident, receiver: &TokenStream) -> TokenStream {
    let private = context.private();
    let body = function::refused_body();
    let none = quote!(&[]);
    let constant = signature_constant(context, "", &none, &none, &none);
    let invoke = invoke(context, value, receiver, &quote!(_), &body);
    quote! {
        type Static = #private::RefusedStatics;
        #constant
        #invoke
    }
}

/// The items of `Capture` and `TraceableFn`: static arguments, signature, and a call with arguments of any form.
fn invocation(
    context: &Context,
    value: &Ident,
    parameters: &[Parameter],
    receiver: &TokenStream,
    name: &str,
    result: &TokenStream,
) -> TokenStream {
    let private = context.private();
    let (statics, inputs): (Vec<_>, Vec<_>) = parameters.iter().partition(|parameter| parameter.form == Form::Static);
    let names = |parameters: &[&Parameter]| {
        let names = parameters.iter().map(|parameter| parameter.name.to_string());
        quote!(&[#(#names),*])
    };
    let types = inputs.iter().map(|parameter| parameter.ty.to_token_stream().to_string().replace(' ', ""));
    let constant = signature_constant(context, name, &names(&inputs), &quote!(&[#(#types),*]), &names(&statics));
    let mut replace = Replace(value);
    let reads = inputs.iter().map(|parameter| {
        let name = &parameter.name;
        let mut ty = parameter.ty.clone();
        replace.visit_type_mut(&mut ty);
        let ty = match parameter.form {
            Form::Structure => signature::owned(&ty, name).ty,
            _ => parse_quote!(#value),
        };
        // What is no structure of tensors is refused at its type.
        quote!(let #name = <#ty as #private::Tree<#value>>::from_next(__args)?;)
    });
    let body = quote! {
        #(#reads)*
        ::core::result::Result::Ok(#result)
    };
    let static_names = statics.iter().map(|parameter| &parameter.name);
    let static_types = statics.iter().map(|parameter| &parameter.ty);
    let invoke = invoke(context, value, receiver, &quote!((#(#static_names,)*)), &body);
    quote! {
        type Static = (#(#static_types,)*);
        #constant
        #invoke
    }
}

/// The arguments of the call, from variables of their names.
fn passes(parameters: &[Parameter]) -> TokenStream {
    let passes = parameters.iter().map(|parameter| match parameter.form {
        Form::Structure => signature::owned(&parameter.ty, &parameter.name).pass,
        _ => parameter.name.to_token_stream(),
    });
    quote!(#(#passes),*)
}

fn signature_constant(
    context: &Context,
    name: &str,
    inputs: &TokenStream,
    types: &TokenStream,
    statics: &TokenStream,
) -> TokenStream {
    let private = context.private();
    quote! {
        const SIGNATURE: #private::Signature = #private::Signature {
            name: ::core::concat!(::core::module_path!(), "::", #name),
            inputs: #inputs,
            types: #types,
            statics: #statics,
        };
    }
}

fn invoke(
    context: &Context,
    value: &Ident,
    receiver: &TokenStream,
    statics: &TokenStream,
    body: &TokenStream,
) -> TokenStream {
    let private = context.private();
    let bounds = value::bounds(context, value);
    quote! {
        fn invoke<#value: #private::Value>(
            #receiver
            __args: &mut #private::Arguments<#value>,
            #statics: Self::Static,
        ) -> #private::Result<#private::Arg<#value>>
        where
            #(#bounds,)*
        {
            #body
        }
    }
}
