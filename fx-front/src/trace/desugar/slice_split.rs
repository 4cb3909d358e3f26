//! `list.split_last()` and `list.split_first()`: an element, and the list without it; `list.split_at(n)`: two parts of it; `[a, b].concat()`: one
//! list of several.

use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::syntax::{is_chain, peeled};

/// The element and the rest, as expressions of the list.
struct Split {
    /// An option of it.
    end: Expr,
    rest: Expr,
}

impl Split {
    fn of(expr: &Expr) -> Option<Split> {
        let Expr::MethodCall(call) = expr else { return None };
        let (list, span) = (&call.receiver, call.span());
        if !call.args.is_empty() || !is_chain(list) {
            return None;
        }
        match call.method.to_string().as_str() {
            "split_last" => Some(Split {
                end: parse_quote_spanned!(span=> #list.last()),
                rest: parse_quote_spanned!(span=> &#list[..#list.len() - 1]),
            }),
            "split_first" => Some(Split {
                end: parse_quote_spanned!(span=> #list.first()),
                rest: parse_quote_spanned!(span=> &#list[1..]),
            }),
            _ => None,
        }
    }
}

/// `if let Some((end, rest)) = list.split_last()`, taken apart.
pub(in crate::trace) struct SplitTest<'p> {
    /// What is asked for, an option of an element, and what that has to match.
    pub(in crate::trace) end: Expr,
    pub(in crate::trace) pattern: syn::Pat,
    /// The rest of the list, and what it is bound to.
    pub(in crate::trace) rest: Expr,
    pub(in crate::trace) bound: &'p syn::Pat,
}

impl SplitTest<'_> {
    /// The test that the condition is; `None` if it is none.
    pub(in crate::trace) fn of(condition: &syn::ExprLet) -> Option<SplitTest<'_>> {
        let Split { end, rest } = Split::of(&condition.expr)?;
        let syn::Pat::TupleStruct(some) = &*condition.pat else { return None };
        let Some(syn::Pat::Tuple(pair)) = some.elems.first().filter(|_| some.path.is_ident("Some")) else {
            return None;
        };
        let (element, bound) = (pair.elems.first()?, pair.elems.get(1)?);
        let pattern = parse_quote_spanned!(element.span()=> Some(#element));
        (pair.elems.len() == 2).then_some(SplitTest { end, pattern, rest, bound })
    }
}

/// The element and the rest that `list.split_last().unwrap()` yields; `None` if it is none.
pub(in crate::trace) fn unwrapped_split(call: &syn::ExprMethodCall) -> Option<[Expr; 2]> {
    let is_taken = call.method == "unwrap" || call.method == "expect";
    let Split { end, rest } = Split::of(&call.receiver).filter(|_| is_taken)?;
    Some([Expr::MethodCall(syn::ExprMethodCall { receiver: Box::new(end), ..call.clone() }), rest])
}

/// The parts of `list.split_at(n)`, and the list; `None` for any other call.
pub(in crate::trace) fn parts_at(call: &syn::ExprMethodCall) -> Option<(&Expr, [Expr; 2])> {
    let (list, at, span) = (&*call.receiver, call.args.first()?, call.span());
    let is_plain = matches!(at, Expr::Lit(_)) || is_chain(at);
    (call.method == "split_at" && is_chain(list) && is_plain)
        .then(|| (list, [parse_quote_spanned!(span=> &#list[..#at]), parse_quote_spanned!(span=> &#list[#at..])]))
}

/// `[a, b].concat()` as a list that begins as the first and grows by each of the others; `None` for any other call.
pub(in crate::trace) fn concatenated(call: &syn::ExprMethodCall) -> Option<Expr> {
    let Expr::Array(lists) = peeled(&call.receiver) else { return None };
    let is_concat = call.method == "concat" && call.args.is_empty();
    let (first, span) = (lists.elems.first().filter(|_| is_concat)?, call.span());
    let rest = lists.elems.iter().skip(1);
    Some(parse_quote_spanned!(span=> {
        let mut fx_joined = (#first).to_vec();
        #(fx_joined.extend_from_slice(&(#rest)[..]);)*
        fx_joined
    }))
}
