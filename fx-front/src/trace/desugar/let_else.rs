//! `let pattern = value else { .. }` with what stands behind it, as one `if let`.

use syn::{parse_quote_spanned, spanned::Spanned};

use crate::syntax::enclosed::in_head;
use crate::trace::{Result, desugar::array_conversion, unsupported};

/// `let pattern = value else { .. }; rest` as `if let pattern = value { rest } else { .. }`.
pub(in crate::trace) fn as_branch(local: &syn::Local, rest: &[syn::Stmt]) -> Result<syn::ExprIf> {
    let Some(syn::LocalInit { expr, diverge: Some((_, other)), .. }) = &local.init else {
        return unsupported(local.span(), "`let ... else`");
    };
    let (pat, value) = match &local.pat {
        // A pattern of a condition has no type, and a block's variable has.
        syn::Pat::Type(typed) => {
            let (pat, ty) = (&typed.pat, &typed.ty);
            let value = array_conversion::typed(ty, expr)
                .unwrap_or_else(|| parse_quote_spanned!(expr.span()=> { let typed: #ty = #expr; typed }));
            (&**pat, value)
        }
        pat => (pat, in_head(expr)),
    };
    Ok(parse_quote_spanned!(local.span()=> if let #pat = #value { #(#rest)* } else #other))
}
