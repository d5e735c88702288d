//! Rewriting what a traceable function does: comparisons give masks, conditions must be plain Rust.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{BinOp, Block, Expr, ExprBinary, Lit};

use crate::context::Context;
use crate::taint::Taint;

/// Rewrites the body of a function.
pub(crate) fn rewrite(context: &mut Context, taint: &Taint, body: &mut Block) {
    let private = context.private();
    Rewrite { taint, private }.visit_block_mut(body);
}

struct Rewrite<'a> {
    taint: &'a Taint,
    private: TokenStream,
}

impl Rewrite<'_> {
    /// `(&Compare(&a, &b)).gt()`
    fn comparison(&self, binary: &ExprBinary) -> Option<Expr> {
        let method = comparison(&binary.op)?;
        let (left, right) = (&binary.left, &binary.right);
        if !self.taint.is_in(left) && !self.taint.is_in(right) || (is_literal(left) && is_literal(right)) {
            return None;
        }
        let (span, private) = (binary.span(), &self.private);
        let method = Ident::new(method, span);
        let compare = quote_spanned!(span=> (&#private::Compare(&(#left), &(#right))).#method());
        // The traits are in scope by a block, so that nothing is needed at the top of the user's file.
        syn::parse2(quote_spanned!(span=> {
            #[allow(unused_imports, reason = "one of them is used")]
            use #private::{PlainCompare as _, TracedCompare as _};
            #compare
        }))
        .ok()
    }

    /// `condition(c)`
    fn condition(&self, expr: &mut Expr) {
        match expr {
            Expr::Let(_) => {}
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) => {}
            Expr::Paren(paren) => self.condition(&mut paren.expr),
            expr if self.taint.is_in(expr) => {
                let (span, private) = (expr.span(), &self.private);
                if let Ok(rewritten) = syn::parse2(quote_spanned!(span=> #private::condition(#expr))) {
                    *expr = rewritten;
                }
            }
            _ => {}
        }
    }
}

impl VisitMut for Rewrite<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match expr {
            Expr::If(expr) => self.condition(&mut expr.cond),
            Expr::While(expr) => self.condition(&mut expr.cond),
            Expr::Match(expr) => {
                for arm in &mut expr.arms {
                    if let Some((_, guard)) = &mut arm.guard {
                        self.condition(guard);
                    }
                }
            }
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) => {
                self.condition(&mut binary.left);
                self.condition(&mut binary.right);
            }
            _ => {}
        }
        syn::visit_mut::visit_expr_mut(self, expr);
        if let Expr::Binary(binary) = expr
            && let Some(comparison) = self.comparison(binary)
        {
            *expr = comparison;
        }
    }

    // Items in a body are functions of their own.
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

fn comparison(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Eq(_) => "eq",
        BinOp::Ne(_) => "ne",
        BinOp::Lt(_) => "lt",
        BinOp::Le(_) => "le",
        BinOp::Gt(_) => "gt",
        BinOp::Ge(_) => "ge",
        _ => return None,
    })
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Lit(lit) if !matches!(lit.lit, Lit::Verbatim(_)))
}

/// A name for the value's type parameter that the function does not use: `V`.
pub(crate) fn type_parameter(generics: &[&syn::Generics]) -> Ident {
    let taken = |name: &Ident| {
        generics.iter().any(|generics| {
            generics.params.iter().any(|param| match param {
                syn::GenericParam::Type(param) => param.ident == *name,
                syn::GenericParam::Const(param) => param.ident == *name,
                syn::GenericParam::Lifetime(_) => false,
            })
        })
    };
    let candidates = ["V", "Value", "TracedValue"].into_iter().map(|name| format_ident!("{name}"));
    candidates.into_iter().find(|name| !taken(name)).unwrap_or_else(|| format_ident!("__FxValue"))
}

/// The bounds of the value's type parameter.
pub(crate) fn bounds(context: &Context, value: &Ident) -> Vec<TokenStream> {
    let private = context.private();
    vec![
        quote!(for<'fx> &'fx #value: #private::RefOps<#value>),
        quote!(::core::primitive::f64: #private::ScalarOps<#value>),
        quote!(::core::primitive::i64: #private::ScalarOps<#value>),
        quote!(for<'fx> &'fx #private::Parameter: #private::ScalarOps<#value>),
        quote!(for<'fx> &'fx #private::Buffer: #private::ScalarOps<#value>),
    ]
}
