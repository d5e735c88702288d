//! The model of a traceable function: its parameters, which of them hold tensors, and how each passes.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::visit_mut::VisitMut;
use syn::{
    Attribute, FnArg, GenericArgument, Pat, PathArguments, ReturnType, Signature, Token, Type, TypeParamBound,
    TypeReference,
};

use crate::context::Context;
use crate::guards;
use crate::messages::{self, Message};
use crate::tensors;

/// A parameter.
pub(crate) struct Parameter {
    /// Its name.
    pub(crate) name: Ident,
    /// Whether it was written `mut`.
    pub(crate) mutable: bool,
    /// Its type as written.
    pub(crate) ty: Type,
    /// How it passes.
    pub(crate) form: Form,
}

/// How a parameter passes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `Tensor`
    Owned,
    /// `&Tensor`
    Borrowed,
    /// Anything else that mentions `Tensor`.
    Structure,
    /// Plain Rust.
    Static,
}

/// Whether a function mentions `Tensor` in its signature and is no constructor.
pub(crate) fn is_traceable(signature: &Signature) -> bool {
    let input = |input: &FnArg| matches!(input, FnArg::Typed(input) if tensors::mentions(&input.ty));
    let output = match &signature.output {
        ReturnType::Type(_, ty) => {
            if returns_self(ty) {
                return false;
            }
            tensors::mentions(ty)
        }
        ReturnType::Default => false,
    };
    output || signature.inputs.iter().any(input)
}

fn returns_self(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path.path.segments.iter().any(|segment| {
            segment.ident == "Self"
                || matches!(&segment.arguments, PathArguments::AngleBracketed(arguments)
                    if arguments.args.iter().any(|arg| matches!(arg, GenericArgument::Type(ty) if returns_self(ty))))
        }),
        _ => false,
    }
}

/// The parameters of a function after `self`, its faults noted.
pub(crate) fn parameters(context: &mut Context, signature: &Signature) -> Vec<Parameter> {
    if let Some(token) = &signature.asyncness {
        context.refuse(token.span(), &messages::ASYNC);
    }
    if let Some(token) = &signature.unsafety {
        context.refuse(token.span(), &messages::UNSAFE);
    }
    if let Some(token) = &signature.constness {
        context.refuse(token.span(), &messages::CONST);
    }
    if let Some(abi) = &signature.abi {
        context.refuse_tokens(abi, &messages::EXTERN);
    }
    if let Some(variadic) = &signature.variadic {
        context.refuse_tokens(variadic, &messages::VARIADIC);
    }
    let mut parameters = Vec::new();
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                if receiver.reference.is_none() {
                    context.refuse_tokens(receiver, &messages::OWNED_SELF);
                } else if receiver.mutability.is_some() {
                    context.refuse_tokens(receiver, &messages::MUT_SELF);
                }
            }
            FnArg::Typed(typed) => {
                let form = form(context, &typed.ty);
                match &*typed.pat {
                    Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
                        parameters.push(Parameter {
                            name: pattern.ident.clone(),
                            mutable: pattern.mutability.is_some(),
                            ty: (*typed.ty).clone(),
                            form,
                        });
                    }
                    Pat::Wild(_) if form == Form::Static => parameters.push(Parameter {
                        name: Ident::new("_unused", typed.pat.span()),
                        mutable: false,
                        ty: (*typed.ty).clone(),
                        form,
                    }),
                    other => context.refuse_tokens(other, &messages::PARAMETER_PATTERN),
                }
            }
        }
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        // A reference into a structure that was borrowed is right; a single tensor is the function's own.
        let borrows = parameters.iter().any(|parameter| parameter.form == Form::Structure);
        if let (Some(reference), false) = (tensors::reference(ty), borrows) {
            context.refuse_tokens(reference, &messages::RETURN_REFERENCE);
        }
    }
    parameters
}

/// What a `forward` must be beside a traceable function.
pub(crate) fn check_forward(context: &mut Context, signature: &Signature, parameters: &[Parameter]) {
    if !is_traceable(signature) {
        return context.refuse_tokens(&signature.ident, &messages::FORWARD_NO_TENSOR);
    }
    let nothing = match &signature.output {
        ReturnType::Default => true,
        ReturnType::Type(_, ty) => matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty()),
    };
    if nothing {
        context.refuse_tokens(&signature.ident, &messages::NO_RESULT);
    } else if let ReturnType::Type(_, ty) = &signature.output
        && (tensors::is_data(ty) || is_opaque(ty))
    {
        context.refuse_tokens(ty, &messages::NO_RESULT);
    }
    check_held(context, signature, parameters, &messages::GENERIC_FORWARD);
}

/// What a function must be that a graph refers to: of one type, with arguments that a graph can hold.
pub(crate) fn check_held(context: &mut Context, signature: &Signature, parameters: &[Parameter], is_generic: &Message) {
    let generic = |param: &&syn::GenericParam| !matches!(param, syn::GenericParam::Lifetime(_));
    if let Some(param) = signature.generics.params.iter().find(generic) {
        context.refuse_tokens(param, is_generic);
    }
    for parameter in parameters.iter().filter(|parameter| is_only_for_calls(parameter)) {
        let message = match (parameter.form, &parameter.ty) {
            (Form::Static, ty) if is_opaque(ty) => &messages::IMPL_STATIC,
            (Form::Static, _) => &messages::STATIC_REFERENCE,
            (_, Type::Reference(_)) => &messages::MUT_TENSOR,
            _ => &messages::IMPL_TENSOR,
        };
        context.refuse_tokens(&parameter.ty, message);
    }
}

/// Whether a function can be captured by itself: it gives tensors, and a graph can hold its arguments.
pub(crate) fn can_be_captured(signature: &Signature, parameters: &[Parameter]) -> bool {
    let gives_tensors = matches!(&signature.output, ReturnType::Type(_, ty) if tensors::mentions(ty) && !is_opaque(ty));
    let generic = signature.generics.params.iter().any(|param| !matches!(param, syn::GenericParam::Lifetime(_)));
    gives_tensors && !generic && !parameters.iter().any(is_only_for_calls)
}

/// Whether a `forward` takes one tensor and gives one.
pub(crate) fn is_layer(signature: &Signature, parameters: &[Parameter]) -> bool {
    let gives_one = matches!(&signature.output, ReturnType::Type(_, ty) if tensors::is_plain(ty));
    gives_one && matches!(parameters, [parameter] if matches!(parameter.form, Form::Owned | Form::Borrowed))
}

/// Whether a parameter can be given by a caller and not by a graph: it is borrowed plain Rust, changed in place, or a
/// closure.
fn is_only_for_calls(parameter: &Parameter) -> bool {
    struct Borrowed(bool);

    impl Visit<'_> for Borrowed {
        fn visit_type_reference(&mut self, _: &TypeReference) {
            self.0 = true;
        }
    }

    let borrowed = match &parameter.ty {
        ty if parameter.form == Form::Static => {
            let mut find = Borrowed(false);
            find.visit_type(ty);
            find.0
        }
        Type::Reference(reference) => reference.mutability.is_some(),
        _ => false,
    };
    borrowed || is_opaque(&parameter.ty)
}

/// Whether a type is not named in full: `impl Fn`, `dyn Fn`, `fn`.
fn is_opaque(ty: &Type) -> bool {
    struct Find(bool);

    impl Visit<'_> for Find {
        fn visit_type_impl_trait(&mut self, _: &syn::TypeImplTrait) {
            self.0 = true;
        }

        fn visit_type_trait_object(&mut self, _: &syn::TypeTraitObject) {
            self.0 = true;
        }

        fn visit_type_bare_fn(&mut self, _: &syn::TypeBareFn) {
            self.0 = true;
        }
    }

    let mut find = Find(false);
    find.visit_type(ty);
    find.0
}

/// What a function gives.
pub(crate) fn output(signature: &Signature) -> Type {
    match &signature.output {
        ReturnType::Type(_, ty) => (**ty).clone(),
        ReturnType::Default => syn::parse_quote!(()),
    }
}

/// Whether what is wrong with a signature makes no difference to the body: `const`, `async` and the like.
pub(crate) fn suits_body(signature: &Signature) -> bool {
    let mut signature = signature.clone();
    (signature.asyncness, signature.unsafety, signature.constness) = (None, None, None);
    (signature.abi, signature.variadic) = (None, None);
    let mut faults = Context::new();
    parameters(&mut faults, &signature);
    !faults.failed()
}

/// Puts right what was refused, so that the function can be called.
pub(crate) fn repair(signature: &mut Signature) {
    signature.constness = None;
    signature.variadic = None;
    for input in &mut signature.inputs {
        match input {
            FnArg::Receiver(_) => *input = syn::parse_quote!(&self),
            FnArg::Typed(typed) if !matches!(&*typed.pat, Pat::Ident(_)) => *typed.pat = syn::parse_quote!(_unnamed),
            FnArg::Typed(_) => {}
        }
    }
    if let ReturnType::Type(_, ty) = &mut signature.output {
        Owning.visit_type_mut(ty);
    }
}

/// Makes `Tensor` of `&Tensor`.
struct Owning;

impl VisitMut for Owning {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Type::Reference(reference) = ty
            && tensors::is_plain(&reference.elem)
        {
            *ty = (*reference.elem).clone();
        }
        syn::visit_mut::visit_type_mut(self, ty);
    }
}

/// Takes `#[wrap]` off a function.
pub(crate) fn take_wrap(attrs: &mut Vec<Attribute>) -> Option<Attribute> {
    let place = attrs.iter().position(|attr| attr.path().segments.last().is_some_and(|last| last.ident == "wrap"))?;
    Some(attrs.remove(place))
}

fn form(context: &mut Context, ty: &Type) -> Form {
    if !tensors::mentions(ty) {
        return Form::Static;
    }
    match ty {
        ty if tensors::is_plain(ty) => Form::Owned,
        Type::Reference(TypeReference { mutability: Some(_), elem, .. }) if tensors::is_plain(elem) => {
            context.refuse_tokens(ty, &messages::MUT_TENSOR);
            Form::Structure
        }
        Type::Reference(reference) if tensors::is_plain(&reference.elem) => Form::Borrowed,
        // A closure or an iterator of tensors is no tensor.
        ty if bounds(ty).is_some_and(|bounds| bounds.iter().any(is_conversion)) => {
            context.refuse_tokens(ty, &messages::IMPL_TENSOR);
            Form::Structure
        }
        _ => Form::Structure,
    }
}

/// The bounds of `impl Trait`, `dyn Trait` and a reference to these.
fn bounds(ty: &Type) -> Option<&Punctuated<TypeParamBound, Token![+]>> {
    match ty {
        Type::ImplTrait(ty) => Some(&ty.bounds),
        Type::TraitObject(ty) => Some(&ty.bounds),
        Type::Reference(reference) => bounds(&reference.elem),
        _ => None,
    }
}

/// A bound that stands for a tensor: `Into<Tensor>`.
fn is_conversion(bound: &TypeParamBound) -> bool {
    let TypeParamBound::Trait(bound) = bound else { return false };
    let names = ["Into", "TryInto", "AsRef", "Borrow", "Deref"];
    bound.path.segments.last().is_some_and(|last| names.iter().any(|name| last.ident == name))
}

/// A structure as it is read from an argument, and how that passes as the type that was written.
pub(crate) struct Owned {
    /// The owned type: `Vec<V>` for `&[V]`.
    pub(crate) ty: Type,
    /// From the owned value `value` to what the parameter takes.
    pub(crate) pass: TokenStream,
    /// From the parameter `value` to the owned value.
    pub(crate) own: TokenStream,
}

/// How a structure of values passes through an argument.
pub(crate) fn owned(ty: &Type, value: &Ident) -> Owned {
    match ty {
        Type::Reference(reference) => match &*reference.elem {
            Type::Slice(slice) => Owned {
                ty: of(ty, &quote!(::std::vec::Vec), &slice.elem),
                pass: quote!(&#value),
                own: quote!(#value.to_vec()),
            },
            inner => {
                Owned { ty: inner.clone(), pass: quote!(&#value), own: quote!(::core::clone::Clone::clone(#value)) }
            }
        },
        ty => match optional_reference(ty) {
            Some(inner) => Owned {
                ty: of(ty, &quote!(::core::option::Option), inner),
                pass: quote!(#value.as_ref()),
                own: quote!(#value.cloned()),
            },
            None => Owned { ty: ty.clone(), pass: quote!(#value), own: quote!(::core::clone::Clone::clone(&#value)) },
        },
    }
}

/// `Vec<T>` in the place of `&[T]`, where a fault is reported.
fn of(place: &Type, name: &TokenStream, element: &Type) -> Type {
    let (start, end) = guards::ends(place);
    let (open, close) = (quote_spanned!(start=> <), quote_spanned!(end=> >));
    let name = guards::respan(name, start);
    syn::parse_quote!(#name #open #element #close)
}

/// `T` of `Option<&T>`.
fn optional_reference(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(Type::Reference(reference)) => Some(&reference.elem),
        _ => None,
    }
}
