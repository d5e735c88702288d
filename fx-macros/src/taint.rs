//! What the text of a function tells of an expression: plain Rust, certainly traced, or unknown.
//!
//! Guards are written where something may be traced; they let plain Rust through, so "unknown" costs nothing but tokens.
//! "Plain" must not be said of what may be traced, and "traced" only of what is: such faults the macro reports itself.

use std::collections::{HashMap, HashSet};

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::visit::Visit;
use syn::{BinOp, Expr, ExprClosure, ExprForLoop, ExprLet, ExprMatch, Ident, Local, Macro, Pat, PatIdent, UnOp};

use crate::{tensors, typed};

/// What the text tells of an expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// No traced value, whatever the types are.
    Plain,
    /// Perhaps a traced value, perhaps a collection of them, perhaps plain Rust.
    Unknown,
    /// A traced tensor, or a reference to one.
    Traced,
}

/// Methods whose result is plain Rust on everything that has them.
const PLAIN_RESULTS: &[&str] = &[
    "len",
    "is_empty",
    "is_some",
    "is_none",
    "is_ok",
    "is_err",
    "capacity",
    "contains_key",
    "is_some_and",
    "is_none_or",
];

/// The variables of a function that are, or may hold, traced values.
pub(crate) struct Taint {
    unknown: HashSet<String>,
    traced: HashSet<String>,
    /// Variables that are maps or sets by their look.
    maps: HashSet<String>,
    /// Variables that are iterators by their look.
    iterators: HashSet<String>,
    /// Variables that are collections whose type does not depend on what follows.
    lists: HashSet<String>,
    /// The other variables of `let`.
    loose: HashSet<String>,
    value: Ident,
}

impl Taint {
    /// Those that follow from the parameters: the plain tensors, and the structures of tensors.
    pub(crate) fn new<'a>(
        tensors: impl Iterator<Item = &'a Ident>,
        structures: impl Iterator<Item = &'a Ident>,
        value: &Ident,
        body: &syn::Block,
    ) -> Self {
        let mut bindings = Bindings(HashMap::new());
        bindings.visit_block(body);
        let traced: Vec<String> = tensors.map(ToString::to_string).collect();
        let mut unknown: HashSet<String> = structures.map(ToString::to_string).collect();
        unknown.extend(traced.iter().cloned());
        // A name that is bound again may mean something else.
        let traced = traced.into_iter().filter(|name| !bindings.0.contains_key(name)).collect();
        let [maps, iterators, lists, loose] = Default::default();
        let mut taint = Taint { unknown, traced, maps, iterators, lists, loose, value: value.clone() };
        loop {
            let before = taint.unknown.len() + taint.traced.len();
            Spread { taint: &mut taint, bindings: &bindings.0 }.visit_block(body);
            if taint.unknown.len() + taint.traced.len() == before {
                return taint;
            }
        }
    }

    /// The type parameter in the place of `Tensor`.
    pub(crate) fn value(&self) -> &Ident {
        &self.value
    }

    /// What the text tells of an expression.
    pub(crate) fn kind(&self, expr: &Expr) -> Kind {
        match expr {
            Expr::Lit(_) => Kind::Plain,
            Expr::Path(path) => match path.path.get_ident().map(ToString::to_string) {
                Some(name) if self.traced.contains(&name) => Kind::Traced,
                Some(name) if self.unknown.contains(&name) => Kind::Unknown,
                _ => Kind::Plain,
            },
            Expr::Paren(paren) => self.kind(&paren.expr),
            Expr::Group(group) => self.kind(&group.expr),
            Expr::Reference(reference) => self.kind(&reference.expr),
            Expr::Field(field) => self.kind(&field.base).min(Kind::Unknown),
            Expr::Unary(unary) => match unary.op {
                UnOp::Deref(_) => self.kind(&unary.expr).min(Kind::Unknown),
                _ => self.kind(&unary.expr),
            },
            Expr::Binary(binary) if is_logic(&binary.op) => Kind::Plain,
            Expr::Binary(binary) => self.kind(&binary.left).max(self.kind(&binary.right)),
            Expr::MethodCall(call) if PLAIN_RESULTS.iter().any(|name| call.method == name) => Kind::Plain,
            // `self.weight.value::<Tensor>()`
            Expr::MethodCall(call)
                if call.turbofish.as_ref().is_some_and(|types| self.is_in_tokens(quote!(#types))) =>
            {
                Kind::Unknown
            }
            Expr::MethodCall(call) if call.method == "clone" => self.kind(&call.receiver),
            Expr::MethodCall(call) => {
                let args = call.args.iter().map(|arg| self.kind(arg)).max().unwrap_or(Kind::Plain);
                self.kind(&call.receiver).max(args).min(Kind::Unknown)
            }
            other => self.mentions(other),
        }
    }

    /// Unknown if an expression mentions one of the variables.
    fn mentions(&self, expr: &Expr) -> Kind {
        struct Find<'a>(&'a Taint, bool);

        impl Visit<'_> for Find<'_> {
            fn visit_ident(&mut self, ident: &Ident) {
                self.1 |= self.0.unknown.contains(&ident.to_string()) || *ident == self.0.value;
            }

            fn visit_macro(&mut self, mac: &Macro) {
                self.1 |= self.0.is_in_tokens(mac.tokens.clone());
            }

            fn visit_expr_method_call(&mut self, call: &syn::ExprMethodCall) {
                // The name of a method or field is no variable.
                if self.0.kind(&Expr::MethodCall(call.clone())) != Kind::Plain {
                    self.visit_expr(&call.receiver);
                    call.args.iter().for_each(|arg| self.visit_expr(arg));
                }
            }

            fn visit_expr_field(&mut self, field: &syn::ExprField) {
                self.visit_expr(&field.base);
            }

            fn visit_field_value(&mut self, field: &syn::FieldValue) {
                self.visit_expr(&field.expr);
            }
        }

        let mut find = Find(self, false);
        match expr {
            // The parts of a compound expression, not the expression again.
            Expr::MethodCall(_) => return Kind::Unknown,
            other => syn::visit::visit_expr(&mut find, other),
        }
        if find.1 { Kind::Unknown } else { Kind::Plain }
    }

    pub(crate) fn is_in_tokens(&self, tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => self.unknown.contains(&ident.to_string()) || ident == self.value,
            TokenTree::Group(group) => self.is_in_tokens(group.stream()),
            TokenTree::Literal(literal) => self.is_in_literal(&literal.to_string()),
            TokenTree::Punct(_) => false,
        })
    }

    /// Whether a format string names one of the variables: `"{x}"`.
    fn is_in_literal(&self, literal: &str) -> bool {
        literal.split('{').skip(1).any(|part| {
            let name: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            self.unknown.contains(&name)
        })
    }

    /// What the text tells of a variable.
    pub(crate) fn of_name(&self, name: &str) -> Kind {
        if self.unknown.contains(name) { Kind::Unknown } else { Kind::Plain }
    }

    /// Whether an expression is a variable that is a map or a set by its look.
    pub(crate) fn is_map(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Path(path) if path.path.get_ident().is_some_and(|name| self.maps.contains(&name.to_string())))
    }

    /// Whether an expression is an iterator by its look: a range, what a method of iterators gives, or a variable of it.
    pub(crate) fn is_iterator(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Range(_) => true,
            Expr::Paren(paren) => self.is_iterator(&paren.expr),
            Expr::MethodCall(call) => ITERATORS.iter().any(|name| call.method == name),
            Expr::Call(call) => matches!(&*call.func, Expr::Path(path) if is_iterator_function(&path.path)),
            Expr::Path(path) => path.path.get_ident().is_some_and(|name| self.iterators.contains(&name.to_string())),
            _ => false,
        }
    }

    /// Whether an expression is a collection or an iterator of a type that does not depend on its place.
    pub(crate) fn is_list(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Path(path) => path.path.get_ident().is_some_and(|name| self.lists.contains(&name.to_string())),
            Expr::Array(array) => !array.elems.is_empty() && !typed::is_vague(expr),
            Expr::Macro(list) => list.mac.path.is_ident("vec") && !list.mac.tokens.is_empty() && !typed::is_vague(expr),
            Expr::MethodCall(call) => match &*call.receiver {
                Expr::Path(path)
                    if !path.path.get_ident().is_some_and(|name| self.loose.contains(&name.to_string())) =>
                {
                    self.is_iterator(expr) && !typed::is_vague(expr)
                }
                receiver => self.is_iterator(expr) && self.is_list(receiver) && !typed::is_vague(expr),
            },
            _ => false,
        }
    }

    fn add(&mut self, pattern: &Pat) {
        struct Names<'a>(&'a mut Taint);

        impl Visit<'_> for Names<'_> {
            fn visit_pat_ident(&mut self, pattern: &PatIdent) {
                self.0.unknown.insert(pattern.ident.to_string());
                syn::visit::visit_pat_ident(self, pattern);
            }
        }

        Names(self).visit_pat(pattern);
    }

    /// The pattern of an iteration: the number that `enumerate` gives is plain.
    fn add_item(&mut self, pattern: &Pat, iterator: &Expr) {
        let numbered = matches!(iterator, Expr::MethodCall(call) if call.method == "enumerate");
        match pattern {
            Pat::Tuple(tuple) if numbered => tuple.elems.iter().skip(1).for_each(|pattern| self.add(pattern)),
            pattern => self.add(pattern),
        }
    }
}

/// Methods that give iterators.
const ITERATORS: &[&str] = &[
    "iter",
    "iter_mut",
    "into_iter",
    "enumerate",
    "zip",
    "rev",
    "map",
    "filter",
    "skip",
    "take",
    "step_by",
    "chain",
    "chunks",
    "chunks_exact",
    "windows",
    "keys",
    "values",
    "copied",
    "cloned",
    "filter_map",
    "flat_map",
    "peekable",
];

/// `std::iter::repeat` and its like.
fn is_iterator_function(path: &syn::Path) -> bool {
    let names = ["repeat", "repeat_n", "repeat_with", "successors", "from_fn", "once", "zip"];
    path.segments.last().is_some_and(|last| names.iter().any(|name| last.ident == name))
}

/// Whether a variable is a map or a set: `let seen: HashMap<..>`, `let seen = HashMap::new()`. One whose keys are tensors
/// by its type is refused for that, and not for what is put in.
fn is_map(local: &Local, value: &Ident) -> bool {
    let is_tensor = |key: &syn::Type| tensors::is_plain_or(key, value);
    let names = |path: &syn::Path| {
        path.segments.iter().any(|segment| tensors::is_map(&segment.ident.to_string()))
            && !path.segments.iter().filter_map(tensors::key).any(is_tensor)
    };
    let written =
        matches!(&local.pat, Pat::Type(typed) if matches!(&*typed.ty, syn::Type::Path(ty) if names(&ty.path)));
    let made = local.init.as_ref().is_some_and(|init| match &*init.expr {
        Expr::Call(call) => matches!(&*call.func, Expr::Path(path) if names(&path.path)),
        _ => false,
    });
    let refused = |path: &syn::Path| path.segments.iter().filter_map(tensors::key).any(is_tensor);
    (written || made)
        && !matches!(&local.pat, Pat::Type(typed) if matches!(&*typed.ty, syn::Type::Path(ty) if refused(&ty.path)))
}

fn is_logic(op: &BinOp) -> bool {
    matches!(op, BinOp::And(_) | BinOp::Or(_))
}

/// Counts how often each name is bound.
struct Bindings(HashMap<String, usize>);

impl Visit<'_> for Bindings {
    fn visit_pat_ident(&mut self, pattern: &PatIdent) {
        *self.0.entry(pattern.ident.to_string()).or_default() += 1;
        syn::visit::visit_pat_ident(self, pattern);
    }

    fn visit_item(&mut self, _: &syn::Item) {}
}

/// Finds the patterns that are bound to tainted expressions.
struct Spread<'a> {
    taint: &'a mut Taint,
    bindings: &'a HashMap<String, usize>,
}

impl Spread<'_> {
    /// What a call may have put among its arguments, `fill(&mut ys, x)`; whether one of them may be traced.
    fn add_arguments<'a>(&mut self, args: impl IntoIterator<Item = &'a Expr> + Copy) -> bool {
        let traced = args.into_iter().any(|arg| self.taint.kind(arg) != Kind::Plain);
        for arg in args.into_iter().filter(|_| traced) {
            if let Expr::Reference(reference) = arg
                && reference.mutability.is_some()
            {
                self.add_root(&reference.expr);
            }
        }
        traced
    }

    /// The variable that a place is a part of: `ys` of `ys[0].last`.
    fn add_root(&mut self, place: &Expr) {
        match place {
            Expr::Path(path) => {
                if let Some(ident) = path.path.get_ident().filter(|ident| *ident != "self") {
                    self.taint.unknown.insert(ident.to_string());
                }
            }
            Expr::Field(field) => self.add_root(&field.base),
            Expr::Index(index) => self.add_root(&index.expr),
            Expr::MethodCall(call) => self.add_root(&call.receiver),
            Expr::Paren(paren) => self.add_root(&paren.expr),
            Expr::Unary(unary) => self.add_root(&unary.expr),
            _ => {}
        }
    }
}

impl<'ast> Visit<'ast> for Spread<'_> {
    fn visit_local(&mut self, local: &'ast Local) {
        syn::visit::visit_local(self, local);
        let (pattern, annotated) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, tensors::is_plain_or(&typed.ty, &self.taint.value)),
            pattern => (pattern, false),
        };
        if let Pat::Ident(ident) = pattern {
            let name = ident.ident.to_string();
            let once = self.bindings.get(&name) == Some(&1);
            if is_map(local, &self.taint.value) {
                self.taint.maps.insert(name.clone());
            }
            if let Some(init) = local.init.as_ref().filter(|_| once) {
                if self.taint.is_iterator(&init.expr) {
                    self.taint.iterators.insert(name.clone());
                }
                if self.taint.is_list(&init.expr) {
                    self.taint.lists.insert(name.clone());
                }
            }
            if !self.taint.lists.contains(&name) {
                self.taint.loose.insert(name);
            }
        }
        let kind = local.init.as_ref().map_or(Kind::Plain, |init| self.taint.kind(&init.expr));
        if let Pat::Ident(ident) = pattern
            && (annotated || kind == Kind::Traced)
            && self.bindings.get(&ident.ident.to_string()) == Some(&1)
        {
            self.taint.traced.insert(ident.ident.to_string());
        }
        if annotated || kind != Kind::Plain {
            self.taint.add(pattern);
        }
    }

    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        syn::visit::visit_expr_assign(self, assign);
        if self.taint.kind(&assign.right) != Kind::Plain {
            self.add_root(&assign.left);
        }
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        syn::visit::visit_expr_call(self, call);
        self.add_arguments(&call.args);
    }

    fn visit_expr_for_loop(&mut self, for_loop: &'ast ExprForLoop) {
        if self.taint.kind(&for_loop.expr) != Kind::Plain {
            self.taint.add_item(&for_loop.pat, &for_loop.expr);
        }
        syn::visit::visit_expr_for_loop(self, for_loop);
    }

    fn visit_expr_let(&mut self, expr: &'ast ExprLet) {
        if self.taint.kind(&expr.expr) != Kind::Plain {
            self.taint.add(&expr.pat);
        }
        syn::visit::visit_expr_let(self, expr);
    }

    fn visit_expr_match(&mut self, expr: &'ast ExprMatch) {
        if self.taint.kind(&expr.expr) != Kind::Plain {
            expr.arms.iter().for_each(|arm| self.taint.add(&arm.pat));
        }
        syn::visit::visit_expr_match(self, expr);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.visit_expr(&call.receiver);
        let others = call.args.iter().filter(|arg| !matches!(arg, Expr::Closure(_)));
        let plain = self.taint.is_iterator(&call.receiver)
            && self.taint.kind(&call.receiver) == Kind::Plain
            && others.map(|arg| self.taint.kind(arg)).all(|kind| kind == Kind::Plain);
        for arg in &call.args {
            match arg {
                // What a closure gets from plain Rust is plain.
                Expr::Closure(closure) if plain => self.visit_expr(&closure.body),
                Expr::Closure(closure) => {
                    closure.inputs.iter().for_each(|pattern| self.taint.add_item(pattern, &call.receiver));
                    self.visit_expr(&closure.body);
                }
                arg => self.visit_expr(arg),
            }
        }
        // `ys.push(x)`
        if self.add_arguments(&call.args) {
            self.add_root(&call.receiver);
        }
    }

    fn visit_expr_closure(&mut self, closure: &'ast ExprClosure) {
        // Who calls it is not known: its parameters may be traced.
        closure.inputs.iter().for_each(|pattern| self.taint.add(pattern));
        syn::visit::visit_expr_closure(self, closure);
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}
