//! Prints what the attributes of a file expand to: `cargo run -p fx-macros --example expand < model.rs | rustfmt`.
//!
//! Attributes within functions and modules stay as they are.

#![allow(dead_code, reason = "the test of the messages needs more of them")]

#[path = "../src/args.rs"]
mod args;
#[path = "../src/body.rs"]
mod body;
#[path = "../src/context.rs"]
mod context;
#[path = "../src/function.rs"]
mod function;
#[path = "../src/guards.rs"]
mod guards;
#[path = "../src/implement.rs"]
mod implement;
#[path = "../src/item.rs"]
mod item;
#[path = "../src/macros.rs"]
mod macros;
#[path = "../src/messages.rs"]
mod messages;
#[path = "../src/module.rs"]
mod module;
#[path = "../src/signature.rs"]
mod signature;
#[path = "../src/taint.rs"]
mod taint;
#[path = "../src/tensors.rs"]
mod tensors;
#[path = "../src/typed.rs"]
mod typed;
#[path = "../src/value.rs"]
mod value;
#[path = "../src/wrap.rs"]
mod wrap;

use std::io::Read as _;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, Item, Meta};

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("a file of Rust on the standard input");
    let file = syn::parse_file(&text).expect("a file of Rust");
    let attrs = &file.attrs;
    let items = file.items.into_iter().map(expanded);
    println!("{}", quote::quote!(#(#attrs)* #(#items)*));
}

fn expanded(mut item: Item) -> TokenStream {
    let attrs = match &mut item {
        Item::Struct(item) => &mut item.attrs,
        Item::Impl(item) => &mut item.attrs,
        Item::Fn(item) => &mut item.attrs,
        _ => return item.into_token_stream(),
    };
    let named = |attr: &Attribute, name: &str| attr.path().segments.last().is_some_and(|last| last.ident == name);
    for (name, by) in [("traceable", item::traceable as fn(_, _) -> _), ("wrap", item::wrap)] {
        if let Some(place) = attrs.iter().position(|attr| named(attr, name)) {
            let arguments = match attrs.remove(place).meta {
                Meta::List(list) => list.tokens,
                _ => TokenStream::new(),
            };
            return by(arguments, item);
        }
    }
    item.into_token_stream()
}
