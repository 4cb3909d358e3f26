//! Code that is put elsewhere than where it was written, in parentheses where it would be read otherwise there.

use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::syntax::{any, begins_with_block};

/// The expression as one that a method is called on, or that stands beside an operator.
pub(crate) fn operand(expr: &Expr) -> Expr {
    if is_closed(expr) { expr.clone() } else { enclosed(expr) }
}

/// The expression as one behind `if`, `match`, `for .. in` or in front of `else`, where `{` begins a block.
pub(crate) fn in_head(expr: &Expr) -> Expr {
    let may_open = |expr: &Expr| matches!(expr, Expr::Struct(_)) || ends_open(expr);
    if any(expr, may_open) { enclosed(expr) } else { expr.clone() }
}

/// The expression as one that a block ends in, where a block would end the statement.
pub(crate) fn at_end(expr: &Expr) -> Expr {
    if begins_with_block(expr) { enclosed(expr) } else { expr.clone() }
}

fn enclosed(expr: &Expr) -> Expr {
    parse_quote_spanned!(expr.span()=> (#expr))
}

/// Whether nothing of it is read otherwise for what stands around it.
fn is_closed(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) | Expr::Lit(_) | Expr::Paren(_) | Expr::Tuple(_) | Expr::Array(_) | Expr::Repeat(_) => true,
        Expr::Macro(call) => !matches!(call.mac.delimiter, syn::MacroDelimiter::Brace(_)),
        Expr::Call(call) => is_closed(&call.func),
        Expr::MethodCall(call) => is_closed(&call.receiver),
        Expr::Field(field) => is_closed(&field.base),
        Expr::Index(index) => is_closed(&index.expr),
        Expr::Try(question) => is_closed(&question.expr),
        _ => false,
    }
}

/// Whether it may go on with what stands behind it.
fn ends_open(expr: &Expr) -> bool {
    matches!(expr, Expr::Range(syn::ExprRange { end: None, .. }) | Expr::Return(_) | Expr::Break(_))
}
