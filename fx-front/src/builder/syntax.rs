//! Small questions about the expressions of builders.

/// `Some(..)`.
pub(super) fn is_some(call: &syn::ExprCall) -> bool {
    call.args.len() == 1 && matches!(&*call.func, syn::Expr::Path(path) if path.path.is_ident("Some"))
}

/// A block that is `None`.
pub(super) fn is_none(block: &syn::Block) -> bool {
    matches!(block.stmts.as_slice(), [syn::Stmt::Expr(syn::Expr::Path(path), None)] if path.path.is_ident("None"))
}

/// What stands inside of `Ok(..)`, or the expression itself.
pub(super) fn ok_argument(expr: &syn::Expr) -> &syn::Expr {
    match expr {
        syn::Expr::Call(call) if call.args.len() == 1 => match &*call.func {
            syn::Expr::Path(path) if path.path.is_ident("Ok") => &call.args[0],
            _ => expr,
        },
        other => other,
    }
}

/// A string literal.
pub(super) fn text(arg: &syn::Expr) -> Option<String> {
    match arg {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}
