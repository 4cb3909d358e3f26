//! Calls that could yield a guard of a `RefCell`, and what stands behind stars.

use syn::{Expr, ExprMethodCall};

use super::peeled;

/// Whether the call could yield a guard, or a reference, to what a cell holds.
pub(crate) fn is_borrow(call: &ExprMethodCall) -> bool {
    call.args.is_empty() && ["borrow", "borrow_mut", "get_mut"].iter().any(|name| call.method == name)
}

/// The expression without stars before it.
pub(crate) fn behind(expr: &Expr) -> &Expr {
    match peeled(expr) {
        Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr, .. }) => behind(expr),
        other => other,
    }
}
