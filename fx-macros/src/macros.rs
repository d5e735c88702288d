//! Macros in a body, as far as their arguments are expressions: `assert!`, `vec!`, `println!` and their like.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser};
use syn::visit_mut::VisitMut;
use syn::{Expr, ExprAssign, ExprLit, ExprRepeat, Lit, Macro, Pat, Token};

use crate::body::{Arguments, Rewrite};
use crate::taint::Kind;

/// Rewrites the arguments of the macros that are known.
pub(crate) fn rewrite(rewrite: &mut Rewrite, mac: &mut Macro) {
    let Some(name) = mac.path.segments.last().map(|last| last.ident.to_string()) else { return };
    if !rewrite.taint.is_in_tokens(mac.tokens.clone()) {
        return;
    }
    let tokens = match &*name {
        "vec" => vec(rewrite, &mac.tokens),
        "assert" | "debug_assert" => arguments(rewrite, &mac.tokens, 1, |rewrite, args| {
            if let Some(condition) = args.first_mut() {
                rewrite.condition(condition);
            }
        }),
        "assert_eq" | "assert_ne" | "debug_assert_eq" | "debug_assert_ne" => {
            arguments(rewrite, &mac.tokens, 2, |rewrite, args| {
                // One guard is enough: two would say the same twice.
                if let Some(side) = args.iter_mut().take(2).find(|side| rewrite.taint.kind(side) != Kind::Plain) {
                    rewrite.guards.guard_place(side, "condition");
                }
            })
        }
        "println" | "print" | "eprintln" | "eprint" | "format" | "panic" | "unreachable" | "todo" | "unimplemented"
        | "format_args" => arguments(rewrite, &mac.tokens, 0, |_, _| {}),
        "write" | "writeln" => arguments(rewrite, &mac.tokens, 1, |_, _| {}),
        "matches" => matches(rewrite, &mac.tokens),
        "dbg" => arguments(rewrite, &mac.tokens, usize::MAX, |_, _| {}),
        _ => None,
    };
    if let Some(tokens) = tokens {
        mac.tokens = tokens;
    }
}

/// Arguments of which the first `before` come before a format string; none if they are no expressions.
fn arguments(
    rewrite: &mut Rewrite,
    tokens: &TokenStream,
    before: usize,
    guard: impl FnOnce(&Rewrite, &mut Arguments),
) -> Option<TokenStream> {
    let mut args = Arguments::parse_terminated.parse2(tokens.clone()).ok()?;
    guard(rewrite, &mut args);
    formatted(rewrite, &mut args, before);
    for arg in &mut args {
        // The name of a named argument is no assignment.
        match arg {
            Expr::Assign(ExprAssign { right, .. }) => rewrite.visit_expr_mut(right),
            arg => rewrite.visit_expr_mut(arg),
        }
    }
    Some(args.into_token_stream())
}

/// Guards what a format string displays; `{:?}` may show traced values.
fn formatted(rewrite: &Rewrite, args: &mut Arguments, before: usize) {
    let Some(Expr::Lit(ExprLit { lit: Lit::Str(format), .. })) = args.get(before) else { return };
    let format = format.clone();
    let mut next = 0;
    let mut displayed = Vec::new();
    for (name, spec) in placeholders(&format.value()) {
        let name = if name.is_empty() {
            next += 1;
            (next - 1).to_string()
        } else {
            name
        };
        if !spec.ends_with('?') {
            displayed.push(name);
        }
    }
    for name in displayed {
        let given = args.iter_mut().skip(before + 1).enumerate().find_map(|(index, arg)| match arg {
            Expr::Assign(ExprAssign { left, right, .. }) => {
                matches!(&**left, Expr::Path(path) if path.path.is_ident(&name)).then_some(&mut **right)
            }
            arg => (index.to_string() == name).then_some(arg),
        });
        match given {
            Some(arg) if rewrite.taint.kind(arg) != Kind::Plain => rewrite.guards.guard_place(arg, "printable"),
            Some(_) => {}
            None if rewrite.taint.of_name(&name) != Kind::Plain => {
                let ident = syn::Ident::new(&name, format.span());
                let mut value: Expr = syn::parse_quote!(#ident);
                rewrite.guards.guard_place(&mut value, "printable");
                args.push(syn::parse_quote!(#ident = #value));
            }
            None => {}
        }
    }
}

/// The names and the specifications of a format string: `{x:>5}` is `("x", ">5")`.
fn placeholders(format: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let text = format.replace("{{", "").replace("}}", "");
    for part in text.split('{').skip(1) {
        let inner = part.split('}').next().unwrap_or_default();
        let (name, spec) = inner.split_once(':').unwrap_or((inner, ""));
        found.push((name.trim().to_owned(), spec.trim().to_owned()));
    }
    found
}

/// `vec![a, b]`, `vec![a; n]`
fn vec(rewrite: &mut Rewrite, tokens: &TokenStream) -> Option<TokenStream> {
    if let Some(tokens) = arguments(rewrite, tokens, usize::MAX, |_, _| {}) {
        return Some(tokens);
    }
    let mut array: Expr = syn::parse2(quote!([#tokens])).ok()?;
    let Expr::Repeat(ExprRepeat { expr, len, .. }) = &mut array else { return None };
    rewrite.guard(len, "count");
    rewrite.visit_expr_mut(expr);
    rewrite.visit_expr_mut(len);
    Some(quote!(#expr; #len))
}

/// `matches!(expr, pattern if guard)`
fn matches(rewrite: &mut Rewrite, tokens: &TokenStream) -> Option<TokenStream> {
    let parse = |input: ParseStream| {
        let expr: Expr = input.parse()?;
        input.parse::<Token![,]>()?;
        let pattern = Pat::parse_multi_with_leading_vert(input)?;
        let guard = if input.parse::<Option<Token![if]>>()?.is_some() { Some(input.parse::<Expr>()?) } else { None };
        input.parse::<Option<Token![,]>>()?;
        Ok((expr, pattern, guard))
    };
    let (mut expr, pattern, mut guard) = parse.parse2(tokens.clone()).ok()?;
    rewrite.scrutinee(&mut expr, &[&pattern]);
    rewrite.visit_expr_mut(&mut expr);
    if let Some(guard) = &mut guard {
        rewrite.condition(guard);
        rewrite.visit_expr_mut(guard);
    }
    let guard = guard.map(|guard| quote!(if #guard));
    Some(quote!(#expr, #pattern #guard))
}
