//! Finding `Tensor` in types and expressions, and putting the value's type parameter in its place.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::Visit;
use syn::visit_mut::VisitMut;
use syn::{GenericArgument, Macro, Path, PathArguments, PathSegment, Type};

use crate::guards;
use crate::messages;

/// Whether a path means the tensor type: `Tensor`, `fx::Tensor`.
fn is_tensor(path: &Path) -> bool {
    let first = &path.segments[0].ident;
    path.segments.len() <= 2 && {
        let qualified = path.segments.len() == 2 && first == "fx";
        (path.segments.len() == 1 && first == "Tensor") || (qualified && path.segments[1].ident == "Tensor")
    }
}

/// Whether a path begins with the tensor type: `Tensor::zeros`.
fn prefix(path: &Path) -> Option<usize> {
    match &path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>()[..] {
        [first, ..] if first == "Tensor" => Some(1),
        [first, second, ..] if first == "fx" && second == "Tensor" => Some(2),
        _ => None,
    }
}

/// Whether a type mentions `Tensor`.
pub(crate) fn mentions(ty: &Type) -> bool {
    struct Find(bool);

    impl Visit<'_> for Find {
        fn visit_path(&mut self, path: &Path) {
            self.0 |= prefix(path).is_some();
            syn::visit::visit_path(self, path);
        }
    }

    let mut find = Find(false);
    find.visit_type(ty);
    find.0
}

/// The first `Tensor` that a signature mentions, as it was written.
pub(crate) fn first_mention(signature: &syn::Signature) -> Option<Path> {
    struct Find(Option<Path>);

    impl Visit<'_> for Find {
        fn visit_path(&mut self, path: &Path) {
            if let (None, Some(count)) = (&self.0, prefix(path)) {
                let segments = path.segments.iter().take(count).cloned().collect();
                self.0 = Some(Path { leading_colon: path.leading_colon, segments });
            }
            syn::visit::visit_path(self, path);
        }
    }

    let mut find = Find(None);
    find.visit_signature(signature);
    find.0
}

/// Whether a type is `Tensor` itself.
pub(crate) fn is_plain(ty: &Type) -> bool {
    matches!(ty, Type::Path(ty) if ty.qself.is_none() && is_tensor(&ty.path))
}

/// Whether a type is `Tensor`, or the type parameter in its place, or a reference to it.
pub(crate) fn is_plain_or(ty: &Type, value: &Ident) -> bool {
    match ty {
        Type::Reference(reference) => is_plain_or(&reference.elem, value),
        Type::Path(path) => is_plain(ty) || path.path.is_ident(value),
        _ => false,
    }
}

/// The first `&Tensor` in a type: `Option<&Tensor>`.
pub(crate) fn reference(ty: &Type) -> Option<&syn::TypeReference> {
    struct Find<'a>(Option<&'a syn::TypeReference>);

    impl<'a> Visit<'a> for Find<'a> {
        fn visit_type_reference(&mut self, reference: &'a syn::TypeReference) {
            if is_plain(&reference.elem) {
                self.0 = self.0.or(Some(reference));
            }
            syn::visit::visit_type_reference(self, reference);
        }
    }

    let mut find = Find(None);
    find.visit_type(ty);
    find.0
}

/// Whether a type is plain data by its look: numbers, texts, and lists of them.
pub(crate) fn is_data(ty: &Type) -> bool {
    const DATA: &[&str] = &[
        "String", "str", "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64",
        "usize", "DType", "Vec", "Option",
    ];

    fn all(tokens: TokenStream) -> bool {
        tokens.into_iter().all(|token| match token {
            TokenTree::Ident(ident) => DATA.iter().any(|name| ident == name),
            TokenTree::Group(group) => all(group.stream()),
            _ => true,
        })
    }

    all(ty.to_token_stream())
}

/// Whether a name is that of a collection that hashes or orders its keys.
pub(crate) fn is_map(name: &str) -> bool {
    ["HashMap", "HashSet", "BTreeMap", "BTreeSet", "IndexMap", "IndexSet"].contains(&name)
}

/// The key of a map's type, `Tensor` of `HashMap<Tensor, i64>`.
pub(crate) fn key(segment: &PathSegment) -> Option<&Type> {
    match &segment.arguments {
        PathArguments::AngleBracketed(arguments) if is_map(&segment.ident.to_string()) => {
            arguments.args.first().and_then(|key| match key {
                GenericArgument::Type(key) => Some(key),
                _ => None,
            })
        }
        _ => None,
    }
}

/// Refuses a tensor as the key of a map, `HashMap<Tensor, i64>`. As in `module::refuse_field`, an array whose length is
/// the error stands in its place.
pub(crate) fn refuse_key(segment: &mut PathSegment, is_tensor: impl Fn(&Type) -> bool) {
    if let PathArguments::AngleBracketed(arguments) = &mut segment.arguments
        && is_map(&segment.ident.to_string())
        && let Some(GenericArgument::Type(key)) = arguments.args.first_mut()
        && is_tensor(key)
    {
        let error = guards::compile_error(&*key, &messages::KEY);
        *key = syn::parse_quote!([(); #error]);
    }
}

/// Puts a type parameter in the place of `Tensor`.
pub(crate) struct Replace<'a>(pub(crate) &'a Ident);

impl VisitMut for Replace<'_> {
    fn visit_path_mut(&mut self, path: &mut Path) {
        if let Some(count) = prefix(path) {
            let span = path.segments[count - 1].ident.span();
            let mut ident = self.0.clone();
            ident.set_span(span);
            let rest: Vec<_> = path.segments.iter().skip(count).cloned().collect();
            path.leading_colon = None;
            path.segments = std::iter::once(PathSegment::from(ident)).chain(rest).collect();
        }
        syn::visit_mut::visit_path_mut(self, path);
    }

    // Items in a body are functions of their own.
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}

    fn visit_macro_mut(&mut self, mac: &mut Macro) {
        mac.tokens = self.tokens(std::mem::take(&mut mac.tokens));
    }
}

impl Replace<'_> {
    fn tokens(&self, tokens: TokenStream) -> TokenStream {
        let replace = |token| match token {
            TokenTree::Ident(ident) if ident == "Tensor" => {
                let mut new = self.0.clone();
                new.set_span(ident.span());
                TokenTree::Ident(new)
            }
            TokenTree::Group(group) => {
                let mut new = Group::new(group.delimiter(), self.tokens(group.stream()));
                new.set_span(group.span());
                TokenTree::Group(new)
            }
            other => other,
        };
        tokens.into_iter().map(replace).collect()
    }
}
