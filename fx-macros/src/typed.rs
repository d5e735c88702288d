//! Whether the type of an expression is its own, or follows from the place where it stands.
//!
//! A guard asks for the type of what it is given, before its place is looked at: what has none of its own is not guarded.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::Expr;

use crate::guards;
use crate::taint::Taint;

/// Functions and methods whose result can be of many types.
const VAGUE: &[&str] = &["into", "try_into", "parse", "collect", "default", "from_str"];

/// Methods whose result is a part of their receiver.
const PARTS: &[&str] =
    &["unwrap", "expect", "unwrap_or", "unwrap_or_default", "unwrap_or_else", "ok", "copied", "cloned"];

impl Taint {
    /// Whether an expression has a type of its own, not one that its place gives it as to `name.into()`.
    pub(crate) fn has_type(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Paren(paren) => self.has_type(&paren.expr),
            Expr::Reference(reference) => self.has_type(&reference.expr),
            Expr::Try(part) => self.has_type(&part.expr),
            Expr::Unary(unary) => self.has_type(&unary.expr),
            Expr::Binary(binary) => guards::comparison(&binary.op).is_some() || self.has_type(&binary.left),
            Expr::MethodCall(call) if VAGUE.iter().any(|name| call.method == name) => false,
            Expr::MethodCall(call) if call.method == "sum" || call.method == "product" => {
                call.turbofish.is_some() || (!self.is_iterator(&call.receiver) && self.has_type(&call.receiver))
            }
            Expr::MethodCall(call) if PARTS.iter().any(|name| call.method == name) => self.has_type(&call.receiver),
            Expr::Call(call) => !is_vague(&call.func),
            _ => true,
        }
    }
}

/// Whether something of any type is among the tokens of an expression.
pub(crate) fn is_vague(expr: &Expr) -> bool {
    fn find(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => VAGUE.iter().any(|name| ident == name),
            TokenTree::Group(group) => find(group.stream()),
            _ => false,
        })
    }
    find(expr.to_token_stream())
}
