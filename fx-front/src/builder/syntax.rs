//! Small questions about the expressions of builders.

use crate::syntax::panics;

/// `Some(..)`.
pub(super) fn is_some_call(call: &syn::ExprCall) -> bool {
    call.args.len() == 1 && matches!(&*call.func, syn::Expr::Path(path) if path.path.is_ident("Some"))
}

/// `Box::new(..)` and the like.
pub(super) fn is_pointer(call: &syn::ExprCall) -> bool {
    let syn::Expr::Path(path) = &*call.func else { return false };
    let mut segments = path.path.segments.iter().rev();
    let is_new = segments.next().is_some_and(|last| last.ident == "new");
    let owner = segments.next().is_some_and(|owner| ["Box", "Arc", "Rc"].iter().any(|name| owner.ident == name));
    call.args.len() == 1 && is_new && owner
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

/// The variable on which methods are called one after the other.
pub(super) fn root_variable(expr: &syn::Expr) -> Option<String> {
    match expr {
        syn::Expr::MethodCall(call) => root_variable(&call.receiver),
        syn::Expr::Paren(inner) => root_variable(&inner.expr),
        syn::Expr::Try(inner) => root_variable(&inner.expr),
        syn::Expr::Call(call) if is_some_call(call) || is_pointer(call) => root_variable(&call.args[0]),
        syn::Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}

pub(super) fn pattern_name(pat: &syn::Pat) -> Option<String> {
    match pat {
        syn::Pat::Ident(ident) => Some(ident.ident.to_string()),
        syn::Pat::Type(typed) => pattern_name(&typed.pat),
        _ => None,
    }
}

/// Returns whether the expression is no value: `panic!(..)`, `unreachable!(..)`, `return ..`.
pub(super) fn diverges(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Macro(call) => leaves(&call.mac),
        syn::Expr::Return(_) | syn::Expr::Continue(_) | syn::Expr::Break(_) => true,
        syn::Expr::Block(block) => match block.block.stmts.last() {
            Some(syn::Stmt::Expr(last, _)) => diverges(last),
            Some(syn::Stmt::Macro(last)) => leaves(&last.mac),
            _ => false,
        },
        _ => false,
    }
}

/// Returns whether nothing runs behind the macro.
fn leaves(mac: &syn::Macro) -> bool {
    panics(mac) || mac.path.is_ident("bail")
}
