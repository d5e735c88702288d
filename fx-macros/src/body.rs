//! Rewriting what a traceable function does: comparisons give masks, and what needs plain Rust is guarded.

use proc_macro2::Ident;
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{
    BinOp, Block, Expr, ExprAssign, ExprCall, ExprClosure, ExprMatch, ExprMethodCall, GenericArgument, Lit, Local, Pat,
    ReturnType, Stmt, Token, Type, UnOp,
};

use crate::context::Context;
use crate::guards::{self, Guards};
use crate::macros;
use crate::messages;
use crate::taint::{Kind, Taint};
use crate::{tensors, typed};

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
    "then",
    "then_some",
];

/// Methods of numbers that a symbolic size has not; `UntraceableSize` refuses them.
const OF_NUMBERS: &[&str] =
    &["sqrt", "ln", "log2", "exp", "abs", "pow", "powi", "powf", "div_ceil", "div_euclid", "rem_euclid", "to_f64"];

/// Methods of lists that compare their items; `UntraceableList` refuses them.
const OF_LISTS: &[&str] = &["sort", "sort_unstable", "is_sorted", "binary_search", "contains", "dedup"];

/// Methods that take a closure which decides.
const PREDICATES: &[&str] = &[
    "filter",
    "any",
    "all",
    "find",
    "position",
    "rposition",
    "take_while",
    "skip_while",
    "retain",
    "partition",
    "is_some_and",
    "is_none_or",
];

/// Methods that take a closure whose results are put in order.
const BY_KEY: &[&str] =
    &["sort_by_key", "sort_unstable_by_key", "sort_by_cached_key", "min_by_key", "max_by_key", "is_sorted_by_key"];

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
            expr => self.guard_typed(expr, "condition"),
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
            Type::Path(path) if path.path.is_ident("bool") => self.become_(expr, "truth"),
            ty if is_number(ty) => self.become_(expr, "number"),
            _ => {}
        }
    }

    /// What becomes a number or a bool, perhaps by `.into()`.
    fn become_(&self, expr: &mut Expr, method: &str) {
        match expr {
            Expr::Paren(paren) => self.become_(&mut paren.expr, method),
            expr if self.taint.has_type(expr) => self.guard(expr, method),
            Expr::MethodCall(call) if call.method == "into" || call.method == "try_into" => {
                self.become_(&mut call.receiver, method);
            }
            Expr::MethodCall(call) if call.method == "unwrap" || call.method == "expect" => {
                self.become_(&mut call.receiver, method);
            }
            _ => {}
        }
    }

    /// What a closure gives.
    fn result(&self, closure: &mut ExprClosure, guard: impl Fn(&Self, &mut Expr)) {
        match &mut *closure.body {
            Expr::Block(body) => {
                if let Some(Stmt::Expr(result, None)) = body.block.stmts.last_mut() {
                    guard(self, result);
                }
            }
            result => guard(self, result),
        }
    }

    /// What a loop runs over, or an adaptor of iterators takes.
    fn iterable(&self, expr: &mut Expr) {
        match expr {
            Expr::Range(_) => self.range(expr),
            expr if !self.taint.is_iterator(expr) => self.guard(expr, "iterable"),
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

    pub(crate) fn scrutinee(&self, expr: &mut Expr, patterns: &[&Pat]) {
        if let Expr::Tuple(parts) = expr {
            for (i, part) in parts.elems.iter_mut().enumerate() {
                let patterns: Vec<&Pat> = patterns.iter().filter_map(|pattern| part_of(pattern, i)).collect();
                self.scrutinee(part, &patterns);
            }
            return;
        }
        // What is within a place is not taken out of it.
        let made = matches!(expr, Expr::MethodCall(_) | Expr::Call(_));
        let literal = patterns.iter().any(|pattern| is_literal(pattern, made));
        let spreads = patterns.iter().any(|pattern| matches!(pattern, Pat::Slice(_) | Pat::Tuple(_)));
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
        // A tensor's `max` has no argument.
        let ordered = matches!(&*name, "max" | "min");
        if receiver != Kind::Plain && (OF_NUMBERS.contains(&&*name) || (ordered && call.args.len() == 1)) {
            self.guards.needs_size_methods();
        }
        if receiver != Kind::Plain && OF_LISTS.contains(&&*name) {
            self.guards.needs_list_methods();
        }
        let is_iterator = self.taint.is_iterator(&call.receiver);
        match &*name {
            "max" | "min" if call.args.is_empty() && is_iterator && !typed::is_vague(&call.receiver) => {
                self.guards.guard_items(&mut call.receiver, "sorted");
            }
            "collect" if call.turbofish.iter().flat_map(|types| &types.args).any(|ty| self.is_map_argument(ty)) => {
                self.collected(&mut call.receiver);
            }
            "contains" if matches!(&*call.receiver, Expr::Paren(range) if matches!(&*range.expr, Expr::Range(_))) => {
                call.args.iter_mut().for_each(|arg| self.guard_typed(arg, "condition"));
            }
            "map_or" if matches!(call.args.first(), Some(Expr::Lit(literal)) if matches!(literal.lit, Lit::Bool(_))) => {
                self.closure(&mut call.args, Self::condition);
            }
            name if PREDICATES.contains(&name) => self.closure(&mut call.args, Self::condition),
            name if BY_KEY.contains(&name) => self.closure(&mut call.args, |rewrite, key| {
                if rewrite.taint.has_type(key) {
                    rewrite.guard(key, "order");
                }
            }),
            "to_string" if receiver != Kind::Plain => self.guards.guard_reference(&mut call.receiver, "printable"),
            "zip" | "chain" | "extend" if receiver != Kind::Traced => {
                call.args.iter_mut().for_each(|arg| self.iterable(arg));
            }
            "take" | "skip" | "step_by" | "nth" if is_iterator => {
                call.args.iter_mut().for_each(|arg| self.guard(arg, "count"));
            }
            name if KEYED.contains(&name) && self.taint.is_map(&call.receiver) => {
                call.args.first_mut().filter(|key| self.is_key(key)).into_iter().for_each(|key| self.guard(key, "key"));
            }
            _ => {}
        }
        if is_self(&call.receiver) {
            self.helper(&call.method, &mut call.args);
        }
        self.range(&mut call.receiver);
    }

    /// The closure among some arguments: what it gives.
    fn closure(&self, args: &mut Arguments, guard: impl Fn(&Self, &mut Expr)) {
        if let Some(Expr::Closure(closure)) = args.last_mut() {
            self.result(closure, guard);
        }
    }

    /// Whether a type is a map whose keys are not refused at the type itself.
    fn is_map(&self, ty: &Type) -> bool {
        let Type::Path(ty) = ty else { return false };
        let tensor = |key: &Type| tensors::is_plain_or(key, self.taint.value());
        ty.path
            .segments
            .iter()
            .any(|segment| tensors::is_map(&segment.ident.to_string()) && !tensors::key(segment).is_some_and(tensor))
    }

    fn is_map_argument(&self, argument: &GenericArgument) -> bool {
        matches!(argument, GenericArgument::Type(ty) if self.is_map(ty))
    }

    /// What is collected into a map.
    fn collected(&self, entries: &mut Expr) {
        if self.taint.kind(entries) != Kind::Plain && self.taint.is_list(entries) {
            self.guards.guard_items(entries, "keys");
        }
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
            ["bool", "from"] => call.args.iter_mut().for_each(|arg| self.guard(arg, "truth")),
            [.., "String", "from"] => call.args.iter_mut().for_each(|arg| self.guard_typed(arg, "printable")),
            [.., "Vec", "from"] => call.args.iter_mut().for_each(|arg| self.guard_typed(arg, "data")),
            [.., "Vec", "from_iter"] => call.args.iter_mut().for_each(|arg| self.iterable(arg)),
            [.., "Vec" | "String", "with_capacity"] => {
                call.args.iter_mut().for_each(|arg| self.guard_typed(arg, "count"))
            }
            [.., "repeat_n"] => call.args.iter_mut().skip(1).for_each(|arg| self.guard_typed(arg, "count")),
            [.., map, "from" | "from_iter"] if tensors::is_map(map) => {
                let tensors = |key: &Type| tensors::is_plain_or(key, self.taint.value());
                // A key that is a tensor by its type is refused there.
                if !path.path.segments.iter().filter_map(tensors::key).any(tensors) {
                    call.args.iter_mut().for_each(|entries| self.keys(entries));
                }
            }
            _ if is_order(&call.func) => self.all(&mut call.args, "order"),
            ["Self", _] => self.helper(&path.path.segments[1].ident, &mut call.args),
            _ => {}
        }
    }

    /// The keys of `[(key, value), ..]` and the elements of `[key, ..]`.
    fn keys(&self, entries: &mut Expr) {
        let Expr::Array(entries) = entries else { return self.collected(entries) };
        let keys = entries.elems.iter_mut().filter_map(|entry| match entry {
            Expr::Tuple(pair) => pair.elems.first_mut(),
            key => Some(key),
        });
        let keys: Vec<_> = keys.filter(|key| self.is_key(key)).collect();
        self.all(keys, "key");
    }

    /// Whether something may be guarded as a key.
    fn is_key(&self, key: &Expr) -> bool {
        self.taint.has_type(key)
            && matches!(
                key,
                Expr::Path(_) | Expr::Field(_) | Expr::Reference(_) | Expr::MethodCall(_) | Expr::Binary(_)
            )
    }

    /// A guard, where the expression may be traced and its type does not follow from its place.
    fn guard_typed(&self, expr: &mut Expr, method: &str) {
        if self.taint.has_type(expr) {
            self.guard(expr, method);
        }
    }

    /// The first argument that is certainly traced.
    fn traced<'e>(&self, args: &'e Arguments) -> Option<&'e Expr> {
        args.iter().find(|arg| self.taint.kind(arg) == Kind::Traced)
    }

    /// Guards what has one type: what is said of the others is what is said of the first, at the same place, and the
    /// compiler says it once.
    fn all<'e>(&self, exprs: impl IntoIterator<Item = &'e mut Expr>, method: &str) {
        let mut at = None;
        for expr in exprs.into_iter().filter(|expr| self.taint.kind(expr) != Kind::Plain) {
            let at = *at.get_or_insert_with(|| guards::guilty(expr));
            self.guards.guard_at(expr, at, method);
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
        self.scrutinee(&mut expr.expr, &expr.arms.iter().map(|arm| &arm.pat).collect::<Vec<_>>());
        for arm in &mut expr.arms {
            if let Some((_, guard)) = &mut arm.guard {
                self.condition(guard);
            }
        }
    }

    /// The index of a Rust collection, or the bounds of a part of it.
    fn subscript(&self, index: &mut Expr) {
        match index {
            Expr::Paren(paren) => self.subscript(&mut paren.expr),
            Expr::Range(range) => {
                [&mut range.start, &mut range.end].into_iter().flatten().for_each(|bound| self.guard(bound, "index"));
            }
            index => self.guard(index, "index"),
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
                self.scrutinee(&mut expr.expr, &[pattern]);
            }
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) => {
                self.condition(&mut binary.left);
                self.condition(&mut binary.right);
            }
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Call(call) => self.call(call),
            Expr::Cast(cast) if is_number(&cast.ty) => self.guard(&mut cast.expr, "number"),
            Expr::Index(index) => self.subscript(&mut index.index),
            Expr::Macro(expr) => macros::rewrite(self, &mut expr.mac),
            Expr::Closure(closure) => {
                if let ReturnType::Type(_, ty) = closure.output.clone() {
                    self.result(closure, |rewrite, result| rewrite.declared(&ty, result));
                }
            }
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
            Expr::Call(call) if is_order(&call.func) && self.traced(&call.args).is_some() => Some(&messages::ORDER),
            _ => None,
        };
        if let Some(message) = fault {
            let at = match &*expr {
                Expr::Assign(ExprAssign { left, .. }) => (**left).clone(),
                Expr::Binary(binary) => (*binary.left).clone(),
                Expr::Call(call) => self.traced(&call.args).unwrap_or(&call.func).clone(),
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

    fn visit_stmt_mut(&mut self, statement: &mut Stmt) {
        if let Stmt::Expr(expr @ Expr::MethodCall(_), Some(_)) = statement
            && let Expr::MethodCall(call) = &*expr
            && call.method == "set"
            && matches!(&*call.receiver, Expr::Field(_))
            && is_of_self(&call.receiver)
            && call.args.iter().any(|arg| self.taint.kind(arg) != Kind::Plain)
        {
            let at = call.method.clone();
            return guards::refuse(expr, at, &messages::FIELD_ASSIGNMENT);
        }
        visit_mut::visit_stmt_mut(self, statement);
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        if let Some(init) = &mut local.init {
            match &local.pat {
                Pat::Type(typed) => {
                    self.declared(&typed.ty, &mut init.expr);
                    match &mut *init.expr {
                        Expr::MethodCall(call) if call.method == "collect" && self.is_map(&typed.ty) => {
                            self.collected(&mut call.receiver);
                        }
                        _ => {}
                    }
                }
                pattern => self.scrutinee(&mut init.expr, &[pattern]),
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

/// `std::cmp::max`, `cmp::min`
fn is_order(function: &Expr) -> bool {
    let Expr::Path(path) = function else { return false };
    let mut names = path.path.segments.iter().rev().map(|segment| &segment.ident);
    names.next().is_some_and(|name| name == "max" || name == "min") && names.next().is_some_and(|name| name == "cmp")
}

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

/// The pattern of a part of a tuple.
fn part_of(pattern: &Pat, i: usize) -> Option<&Pat> {
    match pattern {
        Pat::Tuple(tuple) if !tuple.elems.iter().any(|part| matches!(part, Pat::Rest(_))) => tuple.elems.get(i),
        Pat::Paren(paren) => part_of(&paren.pat, i),
        _ => None,
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

/// Whether a pattern is a literal, or has one within.
fn is_literal(pattern: &Pat, within: bool) -> bool {
    match pattern {
        Pat::Lit(_) | Pat::Range(_) => true,
        Pat::Or(or) => or.cases.iter().any(|pattern| is_literal(pattern, within)),
        Pat::Paren(paren) => is_literal(&paren.pat, within),
        Pat::Reference(reference) => is_literal(&reference.pat, within),
        Pat::Slice(slice) if within => slice.elems.iter().any(|pattern| is_literal(pattern, within)),
        Pat::TupleStruct(parts) if within => parts.elems.iter().any(|pattern| is_literal(pattern, within)),
        _ => false,
    }
}
