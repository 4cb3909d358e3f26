//! Fragments that stay together, as brackets write it.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};

/// Writes groups without brackets with brackets, where what is in them would not stay together without.
pub(super) struct InBrackets;

impl InBrackets {
    /// An expression that stands between commas, brackets or other signs that end it.
    fn whole(&mut self, expr: &mut syn::Expr) {
        while let syn::Expr::Group(group) = expr
            && group.attrs.is_empty()
        {
            let inner = std::mem::replace(&mut *group.expr, syn::Expr::Verbatim(TokenStream::new()));
            *expr = inner;
        }
        self.visit_expr_mut(expr);
    }

    fn each<'e>(&mut self, exprs: impl Iterator<Item = &'e mut syn::Expr>) {
        exprs.for_each(|expr| self.whole(expr));
    }
}

impl VisitMut for InBrackets {
    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        match expr {
            syn::Expr::Group(group) => {
                self.whole(&mut group.expr);
                let inner = std::mem::replace(&mut *group.expr, syn::Expr::Verbatim(TokenStream::new()));
                *expr = if is_whole(&inner) { inner } else { syn::parse_quote_spanned!(inner.span()=> (#inner)) };
            }
            syn::Expr::Call(call) => {
                self.visit_expr_mut(&mut call.func);
                self.each(call.args.iter_mut());
            }
            syn::Expr::MethodCall(call) => {
                self.visit_expr_mut(&mut call.receiver);
                if let Some(turbofish) = &mut call.turbofish {
                    self.visit_angle_bracketed_generic_arguments_mut(turbofish);
                }
                self.each(call.args.iter_mut());
            }
            syn::Expr::Paren(inner) => self.whole(&mut inner.expr),
            syn::Expr::Tuple(tuple) => self.each(tuple.elems.iter_mut()),
            syn::Expr::Array(array) => self.each(array.elems.iter_mut()),
            syn::Expr::Index(index) => {
                self.visit_expr_mut(&mut index.expr);
                self.whole(&mut index.index);
            }
            syn::Expr::Assign(assign) => {
                self.visit_expr_mut(&mut assign.left);
                self.whole(&mut assign.right);
            }
            other => visit_mut::visit_expr_mut(self, other),
        }
    }

    fn visit_local_init_mut(&mut self, init: &mut syn::LocalInit) {
        if init.diverge.is_none() {
            self.whole(&mut init.expr);
        }
        visit_mut::visit_local_init_mut(self, init);
    }

    fn visit_stmt_mut(&mut self, stmt: &mut syn::Stmt) {
        if let syn::Stmt::Expr(expr, _) = stmt {
            self.whole(expr);
        } else {
            visit_mut::visit_stmt_mut(self, stmt);
        }
    }

    fn visit_type_mut(&mut self, ty: &mut syn::Type) {
        while let syn::Type::Group(group) = ty {
            let inner = std::mem::replace(&mut *group.elem, syn::Type::Verbatim(TokenStream::new()));
            let is_sum = matches!(inner, syn::Type::TraitObject(_) | syn::Type::ImplTrait(_) | syn::Type::BareFn(_));
            *ty = if is_sum { syn::parse_quote!((#inner)) } else { inner };
        }
        visit_mut::visit_type_mut(self, ty);
    }

    fn visit_macro_mut(&mut self, mac: &mut syn::Macro) {
        mac.tokens = written(std::mem::take(&mut mac.tokens));
    }
}

/// The same of tokens that are not read as expressions.
fn written(tokens: TokenStream) -> TokenStream {
    let each = tokens.into_iter().flat_map(|token| match token {
        TokenTree::Group(group) => {
            let inner = written(group.stream());
            let is_one = syn::parse2::<syn::Expr>(inner.clone()).is_ok_and(|expr| is_whole(&expr))
                || matches!(syn::parse2::<syn::Type>(inner.clone()), Ok(syn::Type::Path(_)));
            let delimiter = match group.delimiter() {
                Delimiter::None if is_one => return inner,
                Delimiter::None => Delimiter::Parenthesis,
                known => known,
            };
            let mut group_of = Group::new(delimiter, inner);
            group_of.set_span(group.span());
            TokenTree::Group(group_of).into()
        }
        other => TokenStream::from(other),
    });
    each.collect()
}

/// Whether the expression stays together whatever stands beside it.
fn is_whole(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Lit(literal) => !literal.lit.to_token_stream().to_string().starts_with('-'),
        syn::Expr::Path(_)
        | syn::Expr::Paren(_)
        | syn::Expr::Tuple(_)
        | syn::Expr::Array(_)
        | syn::Expr::Repeat(_)
        | syn::Expr::Macro(_) => true,
        syn::Expr::Call(call) => is_whole(&call.func),
        syn::Expr::MethodCall(call) => is_whole(&call.receiver),
        syn::Expr::Field(field) => is_whole(&field.base),
        syn::Expr::Index(index) => is_whole(&index.expr),
        syn::Expr::Try(question) => is_whole(&question.expr),
        _ => false,
    }
}
