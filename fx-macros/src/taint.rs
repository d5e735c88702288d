//! Which local variables may hold traced values: those that come from a tensor, as far as the text tells.
//!
//! It decides where comparisons and conditions are rewritten. It may say yes too often, for what is rewritten still
//! takes plain Rust; it must not say no where a traced value is compared.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Expr, ExprClosure, ExprForLoop, ExprLet, ExprMatch, Ident, Local, Macro, Pat, PatIdent};

/// The variables of a function that may hold traced values.
#[derive(Default)]
pub(crate) struct Taint(HashSet<String>);

impl Taint {
    /// Those that follow from the given parameters.
    pub(crate) fn new<'a>(parameters: impl Iterator<Item = &'a Ident>, value: &Ident, body: &syn::Block) -> Self {
        let mut taint = Taint(parameters.map(ToString::to_string).collect());
        // Tensors made in the function are traced as well.
        taint.0.insert(value.to_string());
        loop {
            let before = taint.0.len();
            Spread(&mut taint).visit_block(body);
            if taint.0.len() == before {
                return taint;
            }
        }
    }

    /// Whether an expression mentions one of them.
    pub(crate) fn is_in(&self, expr: &Expr) -> bool {
        struct Find<'a>(&'a Taint, bool);

        impl Visit<'_> for Find<'_> {
            fn visit_ident(&mut self, ident: &Ident) {
                self.1 |= self.0.0.contains(&ident.to_string());
            }

            fn visit_macro(&mut self, mac: &Macro) {
                self.1 |= self.0.is_in_tokens(mac.tokens.clone());
            }

            fn visit_field(&mut self, _: &syn::Field) {}

            fn visit_expr_method_call(&mut self, call: &syn::ExprMethodCall) {
                // The name of a method or field is no variable.
                self.visit_expr(&call.receiver);
                call.args.iter().for_each(|arg| self.visit_expr(arg));
            }

            fn visit_expr_field(&mut self, field: &syn::ExprField) {
                self.visit_expr(&field.base);
            }

            fn visit_field_value(&mut self, field: &syn::FieldValue) {
                self.visit_expr(&field.expr);
            }
        }

        let mut find = Find(self, false);
        find.visit_expr(expr);
        find.1
    }

    pub(crate) fn is_in_tokens(&self, tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => self.0.contains(&ident.to_string()),
            TokenTree::Group(group) => self.is_in_tokens(group.stream()),
            _ => false,
        })
    }

    fn add(&mut self, pattern: &Pat) {
        struct Names<'a>(&'a mut Taint);

        impl Visit<'_> for Names<'_> {
            fn visit_pat_ident(&mut self, pattern: &PatIdent) {
                self.0.0.insert(pattern.ident.to_string());
            }
        }

        Names(self).visit_pat(pattern);
    }
}

/// Finds the patterns that are bound to tainted expressions.
struct Spread<'a>(&'a mut Taint);

impl<'ast> Visit<'ast> for Spread<'_> {
    fn visit_local(&mut self, local: &'ast Local) {
        syn::visit::visit_local(self, local);
        if local.init.as_ref().is_some_and(|init| self.0.is_in(&init.expr)) {
            self.0.add(&local.pat);
        }
    }

    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        syn::visit::visit_expr_assign(self, assign);
        if let (Expr::Path(left), true) = (&*assign.left, self.0.is_in(&assign.right))
            && let Some(ident) = left.path.get_ident()
        {
            self.0.0.insert(ident.to_string());
        }
    }

    fn visit_expr_for_loop(&mut self, for_loop: &'ast ExprForLoop) {
        if self.0.is_in(&for_loop.expr) {
            self.0.add(&for_loop.pat);
        }
        syn::visit::visit_expr_for_loop(self, for_loop);
    }

    fn visit_expr_let(&mut self, expr: &'ast ExprLet) {
        if self.0.is_in(&expr.expr) {
            self.0.add(&expr.pat);
        }
        syn::visit::visit_expr_let(self, expr);
    }

    fn visit_expr_match(&mut self, expr: &'ast ExprMatch) {
        if self.0.is_in(&expr.expr) {
            expr.arms.iter().for_each(|arm| self.0.add(&arm.pat));
        }
        syn::visit::visit_expr_match(self, expr);
    }

    fn visit_expr_closure(&mut self, closure: &'ast ExprClosure) {
        // Who calls a closure is not known: its parameters may be traced.
        closure.inputs.iter().for_each(|pattern| self.0.add(pattern));
        syn::visit::visit_expr_closure(self, closure);
    }
}
