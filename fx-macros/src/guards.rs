//! What is written in the place of an expression: a comparison, a guard, an error.

use std::cell::Cell;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{BinOp, Block, Expr, ExprBinary};

use crate::messages::Message;

/// Writes guards, and remembers which traits they need in scope.
pub(crate) struct Guards {
    private: TokenStream,
    compares: Cell<bool>,
    guards: Cell<bool>,
    methods: Cell<bool>,
    size_methods: Cell<bool>,
    list_methods: Cell<bool>,
    items: Cell<bool>,
}

impl Guards {
    pub(crate) fn new(private: TokenStream) -> Self {
        let [compares, guards, methods, size_methods, list_methods, items] = Default::default();
        Self { private, compares, guards, methods, size_methods, list_methods, items }
    }

    /// `plain(expr).condition()`, with errors on the guilty token of the expression.
    pub(crate) fn guard(&self, expr: &mut Expr, method: &str) {
        let taken = std::mem::replace(expr, Expr::PLACEHOLDER);
        let inner = within(&taken);
        *expr = self.guarded(&taken, guilty(&taken), method, &quote!(#inner));
    }

    /// The same, with errors at another place.
    pub(crate) fn guard_at(&self, expr: &mut Expr, span: Span, method: &str) {
        let taken = std::mem::replace(expr, Expr::PLACEHOLDER);
        let inner = within(&taken);
        *expr = self.guarded(&taken, span, method, &quote!(#inner));
    }

    /// `*plain(&expr).condition()`: a place, for macros that take references.
    pub(crate) fn guard_place(&self, expr: &mut Expr, method: &str) {
        let taken = std::mem::replace(expr, Expr::PLACEHOLDER);
        let guarded = self.guarded(&taken, guilty(&taken), method, &quote!(&#taken));
        *expr = syn::parse_quote!((*#guarded));
    }

    /// `plain(&expr).condition()`.
    pub(crate) fn guard_reference(&self, expr: &mut Expr, method: &str) {
        let taken = std::mem::replace(expr, Expr::PLACEHOLDER);
        *expr = self.guarded(&taken, guilty(&taken), method, &quote!(&#taken));
    }

    fn guarded(&self, original: &Expr, span: Span, method: &str, inner: &TokenStream) -> Expr {
        self.guards.set(true);
        let (start, _) = ends(original);
        let (private, method) = (respan(&self.private, start), Ident::new(method, span));
        let plain = Ident::new("plain", start);
        syn::parse_quote_spanned!(span=> #private::#plain(#inner).#method())
    }

    /// `compare(&a, &b).gt()`
    pub(crate) fn comparison(&self, binary: &ExprBinary) -> Option<Expr> {
        let method = Ident::new(comparison(&binary.op)?, operator_span(&binary.op));
        let (left, right) = (&binary.left, &binary.right);
        self.compares.set(true);
        let ((start, _), (_, end)) = (ends(left), ends(right));
        let (private, arguments) = (respan(&self.private, start), quote_spanned!(end=> ()));
        let (left, right) = (reference(left), reference(right));
        syn::parse2(quote_spanned!(start=> #private::compare(#left, #right).#method #arguments)).ok()
    }

    /// A method that traced values do not have is called.
    pub(crate) fn needs_methods(&self) {
        self.methods.set(true);
    }

    /// A method that symbolic sizes do not have is called.
    pub(crate) fn needs_size_methods(&self) {
        self.size_methods.set(true);
    }

    /// A method that lists of traced values do not have is called.
    pub(crate) fn needs_list_methods(&self) {
        self.list_methods.set(true);
    }

    /// What collections of traced values are guarded against.
    pub(crate) fn guard_items(&self, expr: &mut Expr, method: &str) {
        self.items.set(true);
        self.guard(expr, method);
    }

    /// Brings the traits that guards need into scope.
    pub(crate) fn imports(&self, block: &mut Block) {
        let private = &self.private;
        let mut names = Vec::new();
        if self.compares.get() {
            names.push(quote!(PlainCompare as _));
            names.push(quote!(TracedCompare as _));
        }
        if self.guards.get() {
            names.push(quote!(PlainGuard as _));
            names.push(quote!(TracedGuard as _));
            names.push(quote!(TracedIterable as _));
        }
        if self.methods.get() {
            names.push(quote!(Untraceable as _));
        }
        if self.size_methods.get() {
            names.push(quote!(UntraceableSize as _));
        }
        if self.list_methods.get() {
            names.push(quote!(UntraceableList as _));
        }
        if self.items.get() {
            names.push(quote!(PlainItems as _));
            names.push(quote!(TracedItems as _));
        }
        if !names.is_empty() {
            let import = syn::parse_quote! {
                #[allow(unused_imports, reason = "which of them is used depends on the types")]
                use #private::{#(#names),*};
            };
            block.stmts.insert(0, import);
        }
    }
}

/// An error in the place of an expression. The compiler takes it for the expression's fault and says nothing of what
/// follows from it.
pub(crate) fn refuse(expr: &mut Expr, at: impl ToTokens, message: &Message) {
    *expr = Expr::Verbatim(compile_error(at, message));
}

/// An error as a macro call, which can stand for an expression or a type.
pub(crate) fn compile_error(at: impl ToTokens, message: &Message) -> TokenStream {
    let ((start, end), text) = (ends(&at), message.error());
    let arguments = quote_spanned!(end=> (#text));
    quote_spanned!(start=> ::core::compile_error! #arguments)
}

/// An expression without its parentheses, which it needs where it stands, but not as an argument: the compiler would
/// advise to remove them.
fn within(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(paren) => within(&paren.expr),
        other => other,
    }
}

fn reference(expr: &Expr) -> TokenStream {
    match expr {
        Expr::Path(_) | Expr::Lit(_) | Expr::MethodCall(_) | Expr::Call(_) | Expr::Field(_) | Expr::Paren(_) => {
            quote!(&#expr)
        }
        _ => quote!(&(#expr)),
    }
}

/// The first and the last token of some tokens.
pub(crate) fn ends(tokens: &impl ToTokens) -> (Span, Span) {
    let tokens: Vec<_> = tokens.to_token_stream().into_iter().collect();
    let span = |token: Option<&proc_macro2::TokenTree>, last: bool| match token {
        Some(proc_macro2::TokenTree::Group(group)) if last => group.span_close(),
        Some(token) => token.span(),
        None => Span::call_site(),
    };
    (span(tokens.first(), false), span(tokens.last(), true))
}

/// Tokens at a place.
pub(crate) fn respan(tokens: &TokenStream, span: Span) -> TokenStream {
    let respan = |mut token: proc_macro2::TokenTree| {
        token.set_span(span);
        token
    };
    tokens.clone().into_iter().map(respan).collect()
}

/// The smallest token that makes an expression what it is: the operator of a comparison, the name of a method.
///
/// The compiler reports what a method call demands at the method's name, in two notes. A function in its place would
/// have the whole expression underlined, with notes on the function that no user has written.
pub(crate) fn guilty(expr: &Expr) -> Span {
    match expr {
        Expr::MethodCall(call) => call.method.span(),
        Expr::Binary(binary) => operator_span(&binary.op),
        Expr::Paren(paren) => guilty(&paren.expr),
        Expr::Group(group) => guilty(&group.expr),
        Expr::Reference(reference) => guilty(&reference.expr),
        Expr::Unary(unary) => guilty(&unary.expr),
        Expr::Index(index) => guilty(&index.expr),
        Expr::Try(expr) => guilty(&expr.expr),
        Expr::Field(field) => match &field.member {
            syn::Member::Named(name) => name.span(),
            syn::Member::Unnamed(index) => index.span,
        },
        Expr::Path(path) => path.path.segments.last().map_or_else(Span::call_site, |last| last.ident.span()),
        Expr::Call(call) => guilty(&call.func),
        other => ends(other).0,
    }
}

fn operator_span(op: &BinOp) -> Span {
    ends(op).0
}

/// The method of a comparison.
pub(crate) fn comparison(op: &BinOp) -> Option<&'static str> {
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
