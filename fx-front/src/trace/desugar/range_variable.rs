//! A variable that holds a range, of which only indices, loops and its own bounds are asked for: `let at = a..b;
//! xs.i(at.clone()) * at.start` is `xs.i(a..b) * a`, with the bounds in variables of their own.

use quote::format_ident;
use syn::{Expr, Stmt, parse_quote_spanned, spanned::Spanned, visit_mut::VisitMut};

use crate::pattern;
use crate::syntax::{iterator_method::IteratorMethod, peeled};

/// The statements behind the `let`, and in front of them the bounds; `None` if it binds no range, or one that is read by
/// something other than these.
pub(in crate::trace) fn without_range(local: &syn::Local, rest: &[Stmt]) -> Option<Vec<Stmt>> {
    let syn::Pat::Ident(syn::PatIdent { ident, mutability: None, subpat: None, by_ref: None, .. }) = &local.pat else {
        return None;
    };
    let Expr::Range(range) = &*local.init.as_ref()?.expr else { return None };
    let span = local.span();
    let mut stmts: Vec<Stmt> = Vec::new();
    let mut bound = |end: &Option<Box<Expr>>, which: &str| -> Option<Box<Expr>> {
        let end = end.as_ref()?;
        let name = format_ident!("fx_{which}_of_{ident}", span = span);
        stmts.push(parse_quote_spanned!(span=> let #name = #end;));
        Some(parse_quote_spanned!(span=> #name))
    };
    let range = syn::ExprRange { start: bound(&range.start, "start"), end: bound(&range.end, "end"), ..range.clone() };
    let mut replace = Replace { name: ident, range, read_otherwise: false, count: 0 };
    let mut rest = rest.to_vec();
    for stmt in &mut rest {
        replace.visit_stmt_mut(stmt);
    }
    stmts.extend(rest);
    (!replace.read_otherwise && replace.count > 0).then_some(stmts)
}

/// Puts the range where the variable is an index or what a loop goes over, and its bounds where they are asked for.
struct Replace<'n> {
    name: &'n syn::Ident,
    range: syn::ExprRange,
    read_otherwise: bool,
    count: usize,
}

impl Replace<'_> {
    fn is_it(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Path(path) => path.path.is_ident(self.name),
            Expr::MethodCall(call) => call.method == "clone" && call.args.is_empty() && self.is_it(&call.receiver),
            _ => false,
        }
    }

    /// A bound of the range, or what is known by both of them; `None` for anything else.
    fn bound(&self, expr: &Expr) -> Option<Expr> {
        let (start, end) = (&self.range.start, &self.range.end);
        let is_closed = matches!(self.range.limits, syn::RangeLimits::Closed(_));
        match expr {
            Expr::Field(field) if self.is_it(&field.base) && !is_closed => match &field.member {
                syn::Member::Named(name) if name == "start" => start.as_deref().cloned(),
                syn::Member::Named(name) if name == "end" => end.as_deref().cloned(),
                _ => None,
            },
            Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr, .. }) => match &**expr {
                Expr::MethodCall(call) if self.is_it(&call.receiver) && call.args.is_empty() && is_closed => {
                    let bound = if call.method == "start" { start } else { end };
                    bound.as_deref().filter(|_| call.method == "start" || call.method == "end").cloned()
                }
                _ => None,
            },
            Expr::MethodCall(call) if call.method == "contains" && self.is_it(&call.receiver) => {
                let Expr::Reference(value) = call.args.first()? else { return None };
                Some(&value.expr).filter(|value| is_plain(value)).and_then(|value| within(&self.range, value))
            }
            _ => None,
        }
    }

    fn index(&mut self, index: &mut Expr) {
        if self.is_it(index) {
            *index = self.range.clone().into();
            self.count += 1;
        } else if let Expr::Tuple(parts) = index {
            parts.elems.iter_mut().for_each(|part| self.index(part));
        }
    }
}

impl VisitMut for Replace<'_> {
    fn visit_expr_method_call_mut(&mut self, call: &mut syn::ExprMethodCall) {
        if call.method == "i" {
            call.args.iter_mut().for_each(|arg| self.index(arg));
        }
        if IteratorMethod::of(&call.method).is_some() && self.is_it(&call.receiver) {
            let range = &self.range;
            *call.receiver = parse_quote_spanned!(call.span()=> (#range));
            self.count += 1;
        }
        syn::visit_mut::visit_expr_method_call_mut(self, call);
    }
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Some(bound) = self.bound(expr) {
            *expr = bound;
            self.count += 1;
            return;
        }
        syn::visit_mut::visit_expr_mut(self, expr);
    }
    fn visit_expr_for_loop_mut(&mut self, each: &mut syn::ExprForLoop) {
        self.index(&mut each.expr);
        syn::visit_mut::visit_expr_for_loop_mut(self, each);
    }
    fn visit_expr_index_mut(&mut self, index: &mut syn::ExprIndex) {
        self.index(&mut index.index);
        syn::visit_mut::visit_expr_index_mut(self, index);
    }
    fn visit_ident_mut(&mut self, ident: &mut syn::Ident) {
        self.read_otherwise |= ident == self.name;
    }
    fn visit_pat_mut(&mut self, pat: &mut syn::Pat) {
        // Another variable of the name.
        self.read_otherwise |= pattern::bound(pat).iter().any(|name| self.name == name);
        syn::visit_mut::visit_pat_mut(self, pat);
    }
    fn visit_macro_mut(&mut self, mac: &mut syn::Macro) {
        let name = self.name.to_string();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        self.read_otherwise |= mac.tokens.to_string().split(|c| !is_word(c)).any(|word| word == name);
    }
}

/// `(a..b).contains(&x)` as the two comparisons that it is; `None` for any other call.
pub(in crate::trace) fn contained(call: &syn::ExprMethodCall) -> Option<Expr> {
    let Expr::Range(range) = peeled(&call.receiver) else { return None };
    let value = call.args.first()?;
    let is_known = |end: &Option<Box<Expr>>| end.as_ref().is_none_or(|end| is_plain(end));
    if call.method != "contains" || !is_known(&range.start) || !is_known(&range.end) {
        return None;
    }
    let (span, asked) = (call.span(), format_ident!("fx_asked", span = call.span()));
    let value: Expr = match value {
        Expr::Reference(value) if is_plain(&value.expr) => return within(range, &value.expr),
        Expr::Reference(value) => (*value.expr).clone(),
        value => parse_quote_spanned!(span=> *#value),
    };
    let test = within(range, &parse_quote_spanned!(span=> #asked))?;
    Some(parse_quote_spanned!(span=> { let #asked = #value; #test }))
}

/// Whether the number is one of the range.
fn within(range: &syn::ExprRange, value: &Expr) -> Option<Expr> {
    let span = range.span();
    let from = range.start.as_ref().map(|start| -> Expr { parse_quote_spanned!(span=> (#start) <= (#value)) });
    let to = range.end.as_ref().map(|end| -> Expr {
        match range.limits {
            syn::RangeLimits::Closed(_) => parse_quote_spanned!(span=> (#value) <= (#end)),
            syn::RangeLimits::HalfOpen(_) => parse_quote_spanned!(span=> (#value) < (#end)),
        }
    });
    let tests: Vec<Expr> = from.into_iter().chain(to).collect();
    (!tests.is_empty()).then(|| parse_quote_spanned!(span=> (#(#tests)&&*)))
}

/// Whether it is the same number wherever it is asked for.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) | Expr::Lit(_) => true,
        Expr::Field(field) => is_plain(&field.base),
        Expr::Paren(inner) => is_plain(&inner.expr),
        Expr::Unary(unary) => is_plain(&unary.expr),
        Expr::Binary(binary) => is_plain(&binary.left) && is_plain(&binary.right),
        Expr::Cast(cast) => is_plain(&cast.expr),
        Expr::MethodCall(call) => call.method == "len" && call.args.is_empty() && is_plain(&call.receiver),
        _ => false,
    }
}
