//! A variable that borrows another, or a part of it, to be written to: `let h = &mut state.h; *h = h.tanh();` is
//! `state.h = state.h.tanh();`, and `let (a, b) = &mut state;` borrows the parts of a tuple.
//!
//! For as long as the variable lives nobody else writes to the part, nor reads it.

use syn::{Expr, Stmt, parse_quote_spanned, spanned::Spanned, visit_mut::VisitMut};

use crate::pattern;

/// The variable of which a part is borrowed, and the statements behind the `let` with the part in place of the variable
/// that borrows it; `None` for another `let`, and where one of the names is another variable's behind it.
pub(in crate::trace) fn without_borrow(local: &syn::Local, rest: &[Stmt]) -> Option<(String, Vec<Stmt>)> {
    let Expr::Reference(syn::ExprReference { mutability: Some(_), expr: place, .. }) = &*local.init.as_ref()?.expr
    else {
        return None;
    };
    let parts = parts(&local.pat, place)?;
    let root = root(place)?;
    let mut rest = rest.to_vec();
    for (name, part) in parts {
        let mut put = Put { name: &name, root: &root, part: &part, is_other: false };
        for stmt in &mut rest {
            put.visit_stmt_mut(stmt);
        }
        if put.is_other {
            return None;
        }
    }
    Some((root, rest))
}

/// The variables that the pattern binds, each with the part that it borrows.
fn parts(pat: &syn::Pat, place: &Expr) -> Option<Vec<(syn::Ident, Expr)>> {
    match pat {
        syn::Pat::Type(typed) => parts(&typed.pat, place),
        syn::Pat::Ident(syn::PatIdent { ident, mutability: None, subpat: None, by_ref: None, .. }) => {
            matches!(place, Expr::Field(_) | Expr::Path(_)).then(|| vec![(ident.clone(), place.clone())])
        }
        syn::Pat::Tuple(tuple) => {
            let parts = tuple.elems.iter().enumerate().map(|(at, pat)| match pat {
                syn::Pat::Wild(_) => Some(None),
                syn::Pat::Ident(syn::PatIdent { ident, mutability: None, subpat: None, by_ref: None, .. }) => {
                    let at = syn::Index { index: u32::try_from(at).ok()?, span: ident.span() };
                    Some(Some((ident.clone(), parse_quote_spanned!(place.span()=> #place.#at))))
                }
                _ => None,
            });
            Some(parts.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
        }
        _ => None,
    }
}

/// The variable that the place, of fields alone, begins with.
fn root(place: &Expr) -> Option<String> {
    match place {
        Expr::Field(field) => root(&field.base),
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}

/// Puts the part where the variable stands.
struct Put<'p> {
    name: &'p syn::Ident,
    root: &'p str,
    part: &'p Expr,
    /// Whether one of the names may be another variable's, or what is done with it is not followed.
    is_other: bool,
}

impl Put<'_> {
    fn is_it(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Path(path) if path.path.is_ident(self.name))
    }

    /// What is read through the variable, without `&mut` in front.
    fn place(&mut self, expr: &mut Expr) {
        if self.is_it(expr) {
            *expr = self.part.clone();
        } else {
            self.visit_expr_mut(expr);
        }
    }
}

impl VisitMut for Put<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let part = self.part;
        match expr {
            Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr: inner, .. }) if self.is_it(inner) => {
                *expr = part.clone();
            }
            Expr::MethodCall(call) => {
                self.place(&mut call.receiver);
                call.args.iter_mut().for_each(|arg| self.visit_expr_mut(arg));
            }
            Expr::Field(field) => self.place(&mut field.base),
            Expr::Index(item) => {
                self.place(&mut item.expr);
                self.visit_expr_mut(&mut item.index);
            }
            Expr::Binary(binary) if self.is_it(&binary.left) || self.is_it(&binary.right) => self.is_other = true,
            Expr::Assign(assign) if self.is_it(&assign.left) => self.is_other = true,
            one if self.is_it(one) => *one = parse_quote_spanned!(one.span()=> &mut #part),
            _ => syn::visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn visit_pat_mut(&mut self, pat: &mut syn::Pat) {
        self.is_other |= pattern::bound(pat).iter().any(|name| self.name == name || name == self.root);
        syn::visit_mut::visit_pat_mut(self, pat);
    }

    fn visit_field_value_mut(&mut self, field: &mut syn::FieldValue) {
        self.is_other |= field.colon_token.is_none() && self.is_it(&field.expr);
        syn::visit_mut::visit_field_value_mut(self, field);
    }

    fn visit_macro_mut(&mut self, mac: &mut syn::Macro) {
        self.is_other |= crate::syntax::mentions(&mac.tokens, self.name);
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}
