//! `let pattern = value else { .. }` with what stands behind it, as one `if let`.

use syn::{parse_quote_spanned, spanned::Spanned};

use crate::trace::{Result, unsupported};

/// `let pattern = value else { .. }; rest` as `if let pattern = value { rest } else { .. }`.
pub(in crate::trace) fn as_branch(local: &syn::Local, rest: &[syn::Stmt]) -> Result<syn::ExprIf> {
    let Some(syn::LocalInit { expr, diverge: Some((_, other)), .. }) = &local.init else {
        return unsupported(local.span(), "`let ... else`");
    };
    let pat = &local.pat;
    Ok(parse_quote_spanned!(local.span()=> if let #pat = #expr { #(#rest)* } else #other))
}
