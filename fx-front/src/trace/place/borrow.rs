//! What `&mut` borrows: a place that the forward writes to, a part of the model, or a variable.

use std::rc::Rc;

use syn::spanned::Spanned;

use crate::trace::{RefKind, Result, Tracer, Val, unsupported};

impl Tracer<'_> {
    /// What is borrowed to the forward, or a layer or a part with layers, which is only written to field by field, behind a
    /// `&mut`.
    pub(in crate::trace) fn mut_ref(&mut self, inner: &syn::ExprReference) -> Result<Val> {
        if let Some(place) = self.behind_mut(&inner.expr)? {
            return Ok(Val::Place(Rc::new(place)));
        }
        let value = self.expr(&inner.expr)?;
        if self.is_stateful() && self.is_module(&value.ty()) && self.path_of(&value).is_some() {
            return Ok(value.with_ref_kind(RefKind::Ref));
        }
        unsupported(inner.span(), "`&mut` is not understood")
    }

    /// What becomes a part of another value, `Some(cache)`: a variable that is a `&mut` is handed on, not what it borrows.
    pub(in crate::trace) fn moved_into(&mut self, expr: &syn::Expr) -> Result<Val> {
        let syn::Expr::Path(path) = expr else { return self.expr(expr) };
        match path.path.get_ident().and_then(|name| self.env.read(&name.to_string())) {
            Some(Val::Place(place)) if place.is_behind_reference() => Ok(Val::Place(Rc::clone(place))),
            _ => self.expr(expr).map(|value| self.copied_array(expr, value)),
        }
    }

    /// `&mut Shared::default()`: a reference to a variable of its own that holds the value, which is nobody else's; `None` where
    /// the expression makes no struct, list or option.
    fn made_for_call(&mut self, value: &syn::Expr) -> Result<Option<syn::Expr>> {
        let is_made = match value {
            syn::Expr::Call(_) | syn::Expr::Struct(_) => true,
            syn::Expr::Macro(list) => list.mac.path.is_ident("vec"),
            syn::Expr::Path(path) => path.path.is_ident("None"),
            _ => false,
        };
        if !is_made {
            return Ok(None);
        }
        let span = value.span();
        let name = self.fresh_name("made", span);
        let local: syn::Local = match syn::parse_quote_spanned!(span=> let mut #name = #value;) {
            syn::Stmt::Local(local) => local,
            _ => return Ok(None),
        };
        self.local(&local)?;
        Ok(Some(syn::parse_quote_spanned!(span=> &mut #name)))
    }

    /// `&mut place`, for a function that writes to it; `None` if it is no place of the forward's own.
    pub(in crate::trace) fn mut_ref_to_local(&mut self, expr: &syn::Expr) -> Result<Option<Val>> {
        let target = match expr {
            syn::Expr::Reference(syn::ExprReference { mutability: Some(_), expr, .. }) => {
                if let Some(place) = self.behind_mut(expr)? {
                    return Ok(Some(Val::Place(Rc::new(place))));
                }
                if let Some(made) = self.made_for_call(expr)? {
                    return self.mut_ref_to_local(&made);
                }
                &**expr
            }
            // A `&mut` that is handed on is borrowed again.
            syn::Expr::Path(path) => match path.path.get_ident().and_then(|name| self.env.read(&name.to_string())) {
                Some(Val::MutRef(..)) => expr,
                Some(place @ Val::Place(_)) => return Ok(Some(place.clone())),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let Some(place) = self.local_place(target) else { return Ok(None) };
        if place.path.is_empty() {
            self.spill_variables(std::slice::from_ref(&place.root), expr.span())?;
        }
        let value = match self.held(&place) {
            Some(value) => value.clone().behind(),
            None => self.expr(target)?,
        };
        if matches!(value, Val::Never | Val::Closure(..) | Val::Chosen(_) | Val::Unit) {
            return Ok(None);
        }
        Ok(Some(Val::MutRef(Rc::new(place), Box::new(value))))
    }
}
