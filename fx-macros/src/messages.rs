//! What the front end refuses, in one voice: the fault, and what to do instead.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::Item;
use syn::spanned::Spanned;

/// A fault: what is wrong, and what to write instead.
pub(crate) struct Message {
    /// The first line.
    pub(crate) text: &'static str,
    /// What to do.
    pub(crate) help: &'static str,
}

macro_rules! messages {
    ($($name:ident: $text:literal, $help:literal;)+) => {
        $(pub(crate) const $name: Message = Message { text: $text, help: $help };)+
    };
}
messages! {
    NOT_TRACEABLE_ITEM: "`#[traceable]` cannot be used here",
        "it goes on a struct, an `impl` block or a function";
    WRAP_ITEM: "`#[wrap]` cannot be used here",
        "it goes on a free function";
    WRAP_METHOD: "`#[wrap]` cannot be used on a method",
        "make it a free function, or the module a leaf with `#[traceable(leaf)]`";
    UNKNOWN_ARGUMENT: "unknown argument of the attribute",
        "the arguments are `leaf`, `skip` and `crate = ::path`";
    REPEATED_ARGUMENT: "the argument is given twice",
        "remove one of them";
    FIELD_ARGUMENT: "unknown argument of the attribute on a field",
        "write `#[traceable(name = \"..\")]`: the field's name in paths and state dicts";
    FIELD_NAME: "the name of a field in paths is not empty and has no dot",
        "make a module for each part of a path";
    CRATE_PATH: "`crate` takes a path from the root",
        "write `crate = ::name`";
    SKIP_HERE: "`skip` is for functions of an `impl` block",
        "remove the attribute instead";
    LEAF_HERE: "`leaf` is for structs",
        "put `#[traceable(leaf)]` on the struct";
    TRAIT_IMPL: "`#[traceable]` cannot be used on the implementation of a trait",
        "put the function into an `impl` block of the type itself";
    TUPLE_STRUCT: "a module has named fields",
        "name the fields: they are the names in paths such as `layers.0.weight`";
    MIXED_STRUCT: "a struct holds tensors or module state, not both",
        "for a tensor that belongs to a module use `Parameter` or `Buffer`";
    MUT_SELF: "a traceable function takes `&self`",
        "a graph has no place for changes to the module: give back what changes as a result";
    OWNED_SELF: "a traceable function takes `&self`",
        "the module is still needed after the call";
    ASYNC: "a traceable function cannot be `async`",
        "call it from the async function";
    UNSAFE: "a traceable function cannot be `unsafe`",
        "put the unsafe part into a function marked `#[fx::wrap]`";
    CONST: "a traceable function cannot be `const`",
        "remove `const`";
    EXTERN: "a traceable function cannot have an ABI",
        "call it from the `extern` function";
    PATTERN: "a parameter that holds tensors needs a name",
        "name it, and take it apart with `let`";
    MUT_TENSOR: "a traceable function cannot change a tensor in place",
        "take it by value or by reference, and give back the result";
    IMPL_TENSOR: "a tensor parameter has a plain type",
        "write `Tensor` or `&Tensor`";
    TWO_FORWARDS: "a module has one `forward`",
        "give the other function another name";
    FORWARD_NO_TENSOR: "`forward` takes and gives tensors",
        "give it a parameter of type `&Tensor` and a result, or mark it `#[traceable(skip)]`";
    STATIC_REFERENCE: "a static argument of `forward` is owned",
        "take it by value, such as `String` instead of `&str`, or make it a field of the module";
}

/// The keyword of an item, to point at.
pub(crate) fn item_keyword(item: &Item) -> Span {
    match item {
        Item::Enum(item) => item.enum_token.span(),
        Item::Union(item) => item.union_token.span(),
        Item::Trait(item) => item.trait_token.span(),
        Item::Mod(item) => item.mod_token.span(),
        Item::Static(item) => item.static_token.span(),
        Item::Const(item) => item.const_token.span(),
        Item::Struct(item) => item.struct_token.span(),
        Item::Impl(item) => item.impl_token.span(),
        other => first_token(other),
    }
}

fn first_token(item: &impl ToTokens) -> Span {
    let mut tokens = TokenStream::new();
    item.to_tokens(&mut tokens);
    tokens.into_iter().next().map_or_else(Span::call_site, |token| token.span())
}
