//! Conditions with `let` among them: `if a && let Some(b) = c && d { .. } else { .. }`, taken apart.

use syn::spanned::Spanned;

/// Whether the condition binds something.
pub(in crate::trace) fn has_let(condition: &syn::Expr) -> bool {
    conditions(condition).iter().any(|one| matches!(one, syn::Expr::Let(_)))
}

/// What the condition asks, one after the other; what stands between two `let`s is one condition.
pub(in crate::trace) fn conditions(condition: &syn::Expr) -> Vec<syn::Expr> {
    match condition {
        syn::Expr::Binary(binary) if matches!(binary.op, syn::BinOp::And(_)) => {
            let (mut all, right) = (conditions(&binary.left), conditions(&binary.right));
            for next in right {
                match all.last_mut() {
                    Some(last) if !matches!((&*last, &next), (syn::Expr::Let(_), _) | (_, syn::Expr::Let(_))) => {
                        *last = syn::parse_quote_spanned!(binary.op.span()=> #last && #next);
                    }
                    _ => all.push(next),
                }
            }
            all
        }
        one => vec![one.clone()],
    }
}
