//! A variable that holds a range, which only indices ask for: `let at = a..b; xs.i(at.clone())` is `xs.i(a..b)`, with the
//! bounds in variables of their own.

use quote::format_ident;
use syn::{Expr, Stmt, parse_quote_spanned, spanned::Spanned, visit_mut::VisitMut};

use crate::pattern;

/// The statements behind the `let`, and in front of them the bounds; `None` if it binds no range, or one that is read by
/// something other than an index.
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
    let mut replace = Replace { name: ident, range: Expr::Range(range), read_otherwise: false, count: 0 };
    let mut rest = rest.to_vec();
    for stmt in &mut rest {
        replace.visit_stmt_mut(stmt);
    }
    stmts.extend(rest);
    (!replace.read_otherwise && replace.count > 0).then_some(stmts)
}

/// Puts the range where the variable is an index.
struct Replace<'n> {
    name: &'n syn::Ident,
    range: Expr,
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

    fn index(&mut self, index: &mut Expr) {
        if self.is_it(index) {
            *index = self.range.clone();
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
        syn::visit_mut::visit_expr_method_call_mut(self, call);
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
