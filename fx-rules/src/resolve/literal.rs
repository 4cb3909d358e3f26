//! Literals and paths as a rule writes them.

use syn::{Expr, ExprLit, Lit, UnOp};

use crate::term::Literal;

/// A literal with its sign.
pub(crate) fn literal(expr: &Expr) -> Option<Literal> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok().map(Literal::Int),
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => number.base10_parse().ok().map(Literal::Float),
        Expr::Lit(ExprLit { lit: Lit::Bool(value), .. }) => Some(Literal::Bool(value.value)),
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(Literal::Str(text.value())),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => match literal(&unary.expr)? {
            Literal::Int(number) => Some(Literal::Int(-number)),
            Literal::Float(number) => Some(Literal::Float(-number)),
            _ => None,
        },
        Expr::Paren(inner) => literal(&inner.expr),
        Expr::Group(inner) => literal(&inner.expr),
        _ => None,
    }
}

/// `Kind::Float`, however the path to it is written.
pub(crate) fn last_two(path: &syn::Path) -> String {
    let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    names[names.len().saturating_sub(2)..].join("::")
}
