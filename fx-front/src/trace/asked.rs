//! What is asked of the dispatch: the value of which expression, for what, and where its errors go.

use super::OnError;

/// An expression whose value is asked for.
pub(in crate::trace) struct Asked<'e> {
    pub expr: &'e syn::Expr,
    /// Whether it is looked into or called upon: an element stays in its list, of which it would be a copy otherwise.
    pub is_base: bool,
    /// Where the errors of a call go that the expression is.
    pub on_error: OnError,
}

/// The base of a projection, or the receiver of a call.
pub(in crate::trace) fn base(expr: &syn::Expr) -> Asked<'_> {
    Asked { is_base: true, ..Asked::from(expr) }
}

/// An expression whose errors leave the model.
pub(in crate::trace) fn propagating(expr: &syn::Expr) -> Asked<'_> {
    Asked { on_error: OnError::Propagate, ..Asked::from(expr) }
}

impl<'e> From<&'e syn::Expr> for Asked<'e> {
    fn from(expr: &'e syn::Expr) -> Self {
        Asked { expr, is_base: false, on_error: OnError::Return }
    }
}

impl<'e> From<&'e Box<syn::Expr>> for Asked<'e> {
    fn from(expr: &'e Box<syn::Expr>) -> Self {
        Asked::from(&**expr)
    }
}

impl<'e> From<&&'e syn::Expr> for Asked<'e> {
    fn from(expr: &&'e syn::Expr) -> Self {
        Asked::from(*expr)
    }
}
