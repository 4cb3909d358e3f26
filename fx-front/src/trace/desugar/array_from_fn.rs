//! `let heads: [Tensor; 3] = std::array::from_fn(|i| ..)` as the array whose elements are written out, and so is
//! `let caches: [Option<Tensor>; 2] = Default::default()`.

use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::syntax::{enclosed::at_end, integer_literal, path_text};
use crate::trace::desugar::closure_form::{is_plain_closure, plain};

/// More elements than this are not written out.
const MOST: i64 = 64;

/// The array, where the variable's type, which is an array so long, or its pattern or the call says how long it is; `None` for
/// any other code.
pub(in crate::trace) fn written_out(pat: &syn::Pat, init: &Expr, typed: Option<i64>) -> Option<Expr> {
    if let Some(empty) = empty_options(pat, init) {
        return Some(empty);
    }
    let Expr::Call(call) = init else { return None };
    let (Expr::Path(path), Some(Expr::Closure(closure))) = (&*call.func, call.args.first()) else { return None };
    if !path_text(&path.path).ends_with("array::from_fn") || !is_plain_closure(closure, 1) {
        return None;
    }
    let length = length_of_call(&path.path).or(typed).or_else(|| length_of(pat)).filter(|&length| length <= MOST)?;
    let (number, body) = (plain(&closure.inputs[0]), at_end(&closure.body));
    let items = (0..length).map(|at| -> Expr {
        let at = syn::LitInt::new(&format!("{at}usize"), closure.span());
        parse_quote_spanned!(body.span()=> { let #number = #at; #body })
    });
    Some(parse_quote_spanned!(init.span()=> [#(#items),*]))
}

/// The default of an array of options, where the variable's type says that it is one.
fn empty_options(pat: &syn::Pat, init: &Expr) -> Option<Expr> {
    let (syn::Pat::Type(typed), Expr::Call(call)) = (pat, init) else { return None };
    let (syn::Type::Array(array), Expr::Path(function)) = (&*typed.ty, &*call.func) else { return None };
    let syn::Type::Path(held) = &*array.elem else { return None };
    let is_option = held.path.segments.last().is_some_and(|last| last.ident == "Option");
    if !is_option || path_text(&function.path) != "Default::default" {
        return None;
    }
    let length = integer_literal(&array.len).filter(|&length| length <= MOST)?;
    let items = (0..length).map(|_| -> Expr { parse_quote_spanned!(init.span()=> None) });
    Some(parse_quote_spanned!(init.span()=> [#(#items),*]))
}

/// Of `from_fn::<_, 3, _>`.
fn length_of_call(path: &syn::Path) -> Option<i64> {
    let syn::PathArguments::AngleBracketed(list) = &path.segments.last()?.arguments else { return None };
    list.args.iter().find_map(|arg| match arg {
        syn::GenericArgument::Const(length) => integer_literal(length),
        _ => None,
    })
}

fn length_of(pat: &syn::Pat) -> Option<i64> {
    match pat {
        syn::Pat::Type(typed) => match &*typed.ty {
            syn::Type::Array(array) => integer_literal(&array.len).or_else(|| length_of(&typed.pat)),
            _ => None,
        },
        syn::Pat::Slice(slice) if !slice.elems.iter().any(|elem| matches!(elem, syn::Pat::Rest(_))) => {
            i64::try_from(slice.elems.len()).ok()
        }
        _ => None,
    }
}
