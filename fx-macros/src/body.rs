//! Rewriting what a traceable function does: comparisons give masks, and what needs plain Rust is guarded.

use proc_macro2::Ident;
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{
    BinOp, Block, Expr, ExprAssign, ExprCall, ExprMatch, ExprMethodCall, Local, Pat, ReturnType, Stmt, Token, Type,
    UnOp,
};

use crate::context::Context;
use crate::guards::{self, Guards};
use crate::macros;
use crate::messages;
use crate::taint::{Kind, Taint, is_iterator};
use crate::tensors;

/// Rewrites the body of a function.
pub(crate) fn rewrite(context: &Context, taint: &Taint, borrowed: &[Ident], output: &ReturnType, body: &mut Block) {
    let mut rewrite = Rewrite { context, taint, borrowed, guards: Guards::new(context.private()) };
    if let (ReturnType::Type(_, ty), Some(Stmt::Expr(result, None))) = (output, body.stmts.last_mut())
        && !matches!(result, Expr::If(_) | Expr::Match(_) | Expr::Block(_) | Expr::Loop(_))
    {
        rewrite.declared(ty, result);
    }
    rewrite.visit_block_mut(body);
    rewrite.guards.imports(body);
}

pub(crate) struct Rewrite<'a> {
    context: &'a Context,
    pub(crate) taint: &'a Taint,
    /// Tensors that were passed by reference.
    borrowed: &'a [Ident],
    pub(crate) guards: Guards,
}

/// Methods that Rust's collections have and traced values have not; `Untraceable` in fx-core refuses them.
const UNTRACEABLE: &[&str] = &[
    "len",
    "is_empty",
    "shape",
    "ndim",
    "dim",
    "dtype",
    "strides",
    "iter",
    "iter_mut",
    "into_iter",
    "item",
    "tolist",
    "numpy",
    "data",
    "to_vec",
    "as_slice",
    "try_item",
    "hash",
    "cmp",
    "partial_cmp",
    "total_cmp",
];

/// Methods of maps and sets that take a key.
const KEYED: &[&str] = &["insert", "get", "get_mut", "contains_key", "contains", "entry", "remove"];

const NUMBERS: &[&str] =
    &["f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize"];

impl Rewrite<'_> {
    /// What must be a bool.
    pub(crate) fn condition(&self, expr: &mut Expr) {
        match expr {
            Expr::Let(_) => {}
            // Each side is a condition of its own.
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) => {}
            Expr::Paren(paren) => self.condition(&mut paren.expr),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => self.condition(&mut unary.expr),
            expr => self.guard(expr, "condition"),
        }
    }

    /// A guard, where the expression may be traced.
    pub(crate) fn guard(&self, expr: &mut Expr, method: &str) {
        if self.taint.kind(expr) != Kind::Plain {
            self.guards.guard(expr, method);
        }
    }

    /// An expression of a declared type.
    fn declared(&self, ty: &Type, expr: &mut Expr) {
        match ty {
            Type::Path(path) if path.path.is_ident("bool") => self.guard(expr, "truth"),
            ty if is_number(ty) => self.guard(expr, "number"),
            _ => {}
        }
    }

    /// What a loop runs over, or an adaptor of iterators takes.
    fn iterable(&self, expr: &mut Expr) {
        match expr {
            Expr::Range(_) => self.range(expr),
            expr if !is_iterator(expr) => self.guard(expr, "iterable"),
            _ => {}
        }
    }

    /// A range that something iterates over.
    fn range(&self, expr: &mut Expr) {
        match expr {
            Expr::Paren(paren) => self.range(&mut paren.expr),
            Expr::Range(range) => {
                [&mut range.start, &mut range.end].into_iter().flatten().for_each(|bound| self.guard(bound, "count"));
            }
            _ => {}
        }
    }

    pub(crate) fn scrutinee(&self, expr: &mut Expr, patterns: &mut dyn Iterator<Item = &Pat>) {
        let mut literal = false;
        let mut spreads = false;
        for pattern in patterns {
            literal |= is_literal(pattern);
            spreads |= matches!(pattern, Pat::Slice(_) | Pat::Tuple(_));
        }
        if spreads && self.taint.kind(expr) == Kind::Traced {
            let at = expr.clone();
            guards::refuse(expr, at, &messages::SPREAD);
        } else if literal {
            self.guard(expr, "pattern");
        }
    }

    fn method_call(&self, call: &mut ExprMethodCall) {
        let receiver = self.taint.kind(&call.receiver);
        let name = call.method.to_string();
        if receiver != Kind::Plain && (UNTRACEABLE.contains(&&*name) || name.ends_with('_')) {
            self.guards.needs_methods();
        }
        // A tensor's have no argument.
        if receiver != Kind::Plain && matches!(&*name, "max" | "min") && call.args.len() == 1 {
            self.guards.needs_size_methods();
        }
        match &*name {
            "to_string" if receiver != Kind::Plain => self.guards.guard_reference(&mut call.receiver, "printable"),
            "zip" | "chain" | "extend" if receiver != Kind::Traced => {
                call.args.iter_mut().for_each(|arg| self.iterable(arg));
            }
            "take" | "skip" | "step_by" | "nth" if is_iterator(&call.receiver) => {
                call.args.iter_mut().for_each(|arg| self.guard(arg, "count"));
            }
            name if KEYED.contains(&name) && self.taint.is_map(&call.receiver) => {
                call.args.first_mut().filter(|key| has_type(key)).into_iter().for_each(|key| self.guard(key, "key"));
            }
            _ => {}
        }
        if is_self(&call.receiver) {
            self.helper(&call.method, &mut call.args);
        }
        self.range(&mut call.receiver);
    }

    fn call(&self, call: &mut ExprCall) {
        let Expr::Path(path) = &*call.func else { return };
        let names: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match names[..] {
            [.., "zip"] => call.args.iter_mut().for_each(|arg| self.iterable(arg)),
            [number, "from" | "try_from"] if NUMBERS.contains(&number) => {
                call.args.iter_mut().for_each(|arg| self.guard(arg, "number"));
            }
            [.., map, "from" | "from_iter"] if tensors::is_map(map) => {
                call.args.iter_mut().for_each(|entries| self.keys(entries));
            }
            [.., "cmp", "max" | "min"] => {
                // One guard is enough: both have the same type.
                call.args.iter_mut().take(1).for_each(|arg| self.guard(arg, "order"));
            }
            ["Self", _] => self.helper(&path.path.segments[1].ident, &mut call.args),
            _ => {}
        }
    }

    /// The keys of `[(key, value), ..]` and the elements of `[key, ..]`.
    fn keys(&self, entries: &mut Expr) {
        let Expr::Array(entries) = entries else { return };
        for entry in &mut entries.elems {
            let key = match entry {
                Expr::Tuple(pair) => pair.elems.first_mut(),
                key => Some(key),
            };
            if let Some(key) = key.filter(|key| has_type(key)) {
                self.guard(key, "key");
            }
        }
    }

    /// The arguments of a function of the same `impl` block that stays as it is written.
    fn helper(&self, name: &Ident, args: &mut Arguments) {
        let Some(types) = self.context.helper(name) else { return };
        // `Self::helper(&self, ..)` is called with one more.
        let skip = args.len().saturating_sub(types.len());
        for (arg, ty) in args.iter_mut().skip(skip).zip(types) {
            if self.taint.kind(arg) == Kind::Traced && is_concrete(ty) {
                let at = arg.clone();
                guards::refuse(arg, at, &messages::CALL);
            }
        }
    }

    /// An assignment to what cannot change; whether it is one.
    fn refuse_assignment(&self, left: &Expr, compound: bool) -> Option<&'static messages::Message> {
        match left {
            Expr::Paren(paren) => self.refuse_assignment(&paren.expr, compound),
            Expr::Index(index) if self.taint.kind(&index.expr) == Kind::Traced => Some(&messages::SUBSCRIPT_ASSIGNMENT),
            Expr::Field(_) | Expr::Index(_) if is_of_self(left) => Some(&messages::FIELD_ASSIGNMENT),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => {
                self.is_borrowed(&unary.expr).then_some(&messages::BORROWED_ASSIGNMENT)
            }
            left => (compound && self.is_borrowed(left)).then_some(&messages::BORROWED_ASSIGNMENT),
        }
    }

    fn is_borrowed(&self, expr: &Expr) -> bool {
        self.taint.kind(expr) == Kind::Traced
            && matches!(expr, Expr::Path(path) if self.borrowed.iter().any(|name| path.path.is_ident(name)))
    }

    fn match_(&self, expr: &mut ExprMatch) {
        self.scrutinee(&mut expr.expr, &mut expr.arms.iter().map(|arm| &arm.pat));
        for arm in &mut expr.arms {
            if let Some((_, guard)) = &mut arm.guard {
                self.condition(guard);
            }
        }
    }

    /// Guards an expression's parts by what they are for.
    fn parts(&mut self, expr: &mut Expr) {
        match expr {
            Expr::If(expr) => self.condition(&mut expr.cond),
            Expr::While(expr) => self.condition(&mut expr.cond),
            Expr::Match(expr) => self.match_(expr),
            Expr::ForLoop(expr) => self.iterable(&mut expr.expr),
            Expr::Let(expr) => {
                let pattern = &*expr.pat;
                self.scrutinee(&mut expr.expr, &mut std::iter::once(pattern));
            }
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) => {
                self.condition(&mut binary.left);
                self.condition(&mut binary.right);
            }
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Call(call) => self.call(call),
            Expr::Cast(cast) if is_number(&cast.ty) => self.guard(&mut cast.expr, "number"),
            Expr::Index(index) if !matches!(&*index.index, Expr::Range(_)) => self.guard(&mut index.index, "index"),
            Expr::Macro(expr) => macros::rewrite(self, &mut expr.mac),
            _ => {}
        }
    }
}

impl VisitMut for Rewrite<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let fault = match expr {
            Expr::Assign(ExprAssign { left, .. }) => self.refuse_assignment(left, false),
            Expr::Binary(binary) if is_compound(&binary.op) => self.refuse_assignment(&binary.left, true),
            Expr::Index(index) if self.taint.kind(&index.expr) == Kind::Traced => Some(&messages::SUBSCRIPT),
            _ => None,
        };
        if let Some(message) = fault {
            let at = match &*expr {
                Expr::Assign(ExprAssign { left, .. }) => (**left).clone(),
                Expr::Binary(binary) => (*binary.left).clone(),
                other => other.clone(),
            };
            return guards::refuse(expr, at, message);
        }
        let masks = matches!(expr, Expr::Binary(binary)
            if guards::comparison(&binary.op).is_some() && self.taint.kind(expr) != Kind::Plain);
        self.parts(expr);
        visit_mut::visit_expr_mut(self, expr);
        if let (true, Expr::Binary(binary)) = (masks, &*expr)
            && let Some(comparison) = self.guards.comparison(binary)
        {
            *expr = comparison;
        }
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        if let Some(init) = &mut local.init {
            match &local.pat {
                Pat::Type(typed) => self.declared(&typed.ty, &mut init.expr),
                pattern => self.scrutinee(&mut init.expr, &mut std::iter::once(pattern)),
            }
        }
        visit_mut::visit_local_mut(self, local);
    }

    fn visit_stmt_macro_mut(&mut self, statement: &mut syn::StmtMacro) {
        macros::rewrite(self, &mut statement.mac);
    }

    fn visit_path_segment_mut(&mut self, segment: &mut syn::PathSegment) {
        tensors::refuse_key(segment, |ty| tensors::is_plain_or(ty, self.taint.value()));
        visit_mut::visit_path_segment_mut(self, segment);
    }

    // Items in a body are functions of their own.
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

/// The arguments of a call or a macro.
pub(crate) type Arguments = Punctuated<Expr, Token![,]>;

fn is_compound(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_) | BinOp::SubAssign(_) | BinOp::MulAssign(_) | BinOp::DivAssign(_) | BinOp::RemAssign(_)
    )
}

fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if NUMBERS.iter().any(|name| path.path.is_ident(name)))
}

/// Whether a parameter's type is one that no traced value has: the tensor itself, a number, a bool.
fn is_concrete(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => is_concrete(&reference.elem),
        Type::Path(path) => tensors::is_plain(ty) || is_number(ty) || path.path.is_ident("bool"),
        _ => false,
    }
}

/// Whether an expression has a type of its own, not one that its place gives it as to `name.into()`.
fn has_type(expr: &Expr) -> bool {
    match expr {
        Expr::Reference(reference) => has_type(&reference.expr),
        Expr::MethodCall(call) => call.method == "clone" && has_type(&call.receiver),
        expr => matches!(expr, Expr::Path(_) | Expr::Field(_)),
    }
}

fn is_self(expr: &Expr) -> bool {
    matches!(expr, Expr::Path(path) if path.path.is_ident("self"))
}

/// `self.x`, `self.x.y[0]`
fn is_of_self(expr: &Expr) -> bool {
    match expr {
        Expr::Field(field) => is_of_self(&field.base),
        Expr::Index(index) => is_of_self(&index.expr),
        expr => is_self(expr),
    }
}

fn is_literal(pattern: &Pat) -> bool {
    match pattern {
        Pat::Lit(_) | Pat::Range(_) => true,
        Pat::Or(or) => or.cases.iter().any(is_literal),
        Pat::Paren(paren) => is_literal(&paren.pat),
        Pat::Reference(reference) => is_literal(&reference.pat),
        _ => false,
    }
}
