//! Conversions of a list to an array: `<[T; 2]>::try_from(list)`, `TryInto::<[T; 2]>::try_into(list)`, `list.try_into()`.

use syn::{Expr, ExprMethodCall, Pat, parse_quote_spanned, spanned::Spanned};

use crate::syntax::{
    integer_literal, names_of, panics, peeled,
    written_types::{segment_args, type_args},
};
use crate::trace::desugar::results::{held_by, is_plain, uses};

/// A conversion of a list to an array, a `Result`.
pub(in crate::trace) struct ArrayConversion<'e> {
    /// The list.
    pub(in crate::trace) list: &'e Expr,
    /// How long it has to be, where the conversion itself says it.
    pub(in crate::trace) length: Option<&'e Expr>,
}

impl<'e> ArrayConversion<'e> {
    /// The conversion that the expression is; `None` for anything else.
    pub(in crate::trace) fn of(expr: &'e Expr) -> Option<Self> {
        match expr {
            Expr::Paren(inner) => Self::of(&inner.expr),
            Expr::MethodCall(call) if call.method == "try_into" && call.args.is_empty() => {
                Some(ArrayConversion { list: &call.receiver, length: None })
            }
            Expr::Call(call) => {
                let (Expr::Path(path), 1) = (&*call.func, call.args.len()) else { return None };
                let length = match path.path.segments.last()?.ident.to_string().as_str() {
                    "try_from" => array_length(&path.qself.as_ref()?.ty)?,
                    "try_into" => path.path.segments.iter().flat_map(segment_args).find_map(array_length)?,
                    _ => return None,
                };
                Some(ArrayConversion { list: call.args.first()?, length: Some(length) })
            }
            _ => None,
        }
    }

    /// The conversion that ends the program where it fails: `unwrap()`, `expect(..)`, `unwrap_or_else(|_| panic!(..))`; `None`
    /// for any other call.
    pub(in crate::trace) fn taken(call: &'e ExprMethodCall) -> Option<Self> {
        let ends = match (call.method.to_string().as_str(), call.args.first()) {
            ("unwrap", None) | ("expect", Some(_)) => true,
            ("unwrap_or_else", Some(Expr::Closure(closure))) => {
                matches!(peeled(&closure.body), Expr::Macro(call) if panics(&call.mac))
            }
            _ => false,
        };
        Self::of(&call.receiver).filter(|_| ends)
    }

    /// The conversion that an error of leaves the function: `unwrap()`, `expect(..)`, `?`, and `map_err(|_| error)?` with
    /// the error; `None` for anything else.
    pub(in crate::trace) fn unwrapped(init: &'e Expr) -> Option<(Self, Option<&'e Expr>)> {
        match init {
            Expr::MethodCall(call) => Self::taken(call).map(|conversion| (conversion, None)),
            Expr::Try(question) => {
                let Expr::MethodCall(mapped) = &*question.expr else { return None };
                let Some(Expr::Closure(closure)) = mapped.args.first().filter(|_| mapped.method == "map_err") else {
                    return None;
                };
                let ignores = matches!(closure.inputs.first(), Some(Pat::Wild(_)));
                Self::of(&mapped.receiver).filter(|_| ignores).map(|conversion| (conversion, Some(&*closure.body)))
            }
            _ => None,
        }
    }
}

/// The length of an array type: a number, or the name of one.
fn array_length(ty: &syn::Type) -> Option<&Expr> {
    match ty {
        syn::Type::Array(array) => {
            let is_known = integer_literal(&array.len).is_some() || matches!(array.len, Expr::Path(_));
            is_known.then_some(&array.len)
        }
        syn::Type::Paren(inner) => array_length(&inner.elem),
        _ => None,
    }
}

/// `match conversion { Ok(pattern) => a, Err(_) => b }`: the pattern, `a` and `b`; `None` for any other.
pub(in crate::trace) fn arms(choice: &syn::ExprMatch) -> Option<(&Pat, &Expr, &Expr)> {
    let [one, other] = choice.arms.as_slice() else { return None };
    let (ok, rest) = if held_by(&one.pat, "Ok").is_some() { (one, other) } else { (other, one) };
    let pat = held_by(&ok.pat, "Ok")?;
    let is_rest = match held_by(&rest.pat, "Err") {
        Some(held) => is_plain(held) && !uses(&rest.body, held),
        None => std::ptr::eq(ok, one) && matches!(rest.pat, Pat::Wild(_)),
    };
    (is_rest && ok.guard.is_none() && rest.guard.is_none()).then_some((pat, &*ok.body, &*rest.body))
}

/// `let Ok(pattern): Result<[T; 2], _> = list.try_into()` as `<[T; 2]>::try_from(list)`; `None` for any other.
pub(in crate::trace) fn typed(ty: &syn::Type, init: &Expr) -> Option<Expr> {
    let (syn::Type::Path(result), ArrayConversion { list, length: None }) = (ty, ArrayConversion::of(init)?) else {
        return None;
    };
    let array = type_args(&result.path).next().filter(|array| array_length(array).is_some())?;
    Some(parse_quote_spanned!(init.span()=> <#array>::try_from(#list)))
}

/// Whether the pattern takes the array apart into elements that are looked at one by one.
pub(in crate::trace) fn is_taken_apart(pat: &Pat) -> bool {
    match pat {
        Pat::Slice(slice) => {
            slice.elems.iter().all(|pat| !matches!(pat, Pat::Rest(_)) && crate::syntax::matches_all(pat))
        }
        pat => names_of(pat).is_empty() && crate::syntax::matches_all(pat),
    }
}
