//! `list.split_last()` and `list.split_first()`: an element, and the list without it.

use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::trace::{Result, Tracer, Val, flow::branch::Continuation, place::state_cell::is_chain};

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

impl<'a> Tracer<'a> {
    /// `if let Some((last, rest)) = list.split_last() { then } else { otherwise }`; `None` if it is none.
    pub(in crate::trace) fn if_split(
        &mut self,
        condition: &syn::ExprLet,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Option<Val>> {
        let Some(split) = Split::of(&condition.expr) else { return Ok(None) };
        let syn::Pat::TupleStruct(some) = &*condition.pat else { return Ok(None) };
        let (true, Some(syn::Pat::Tuple(pair))) = (some.path.is_ident("Some"), some.elems.first()) else {
            return Ok(None);
        };
        let (Some(end), Some(rest), 2) = (pair.elems.first(), pair.elems.get(1), pair.elems.len()) else {
            return Ok(None);
        };
        let test = self.expr_before(&split.end)?;
        let pattern = parse_quote_spanned!(end.span()=> Some(#end));
        let then = &mut |tracer: &mut Self| {
            let left = tracer.expr(&split.rest)?;
            tracer.bind(rest, left)?;
            then(tracer)
        };
        self.if_matches(test, &pattern, condition.span(), then, otherwise).map(Some)
    }

    /// `list.split_last().unwrap()`; `None` if it is none.
    pub(in crate::trace) fn unwrapped_split(&mut self, call: &syn::ExprMethodCall) -> Result<Option<Val>> {
        let is_taken = call.method == "unwrap" || call.method == "expect";
        let Some(Split { end, rest }) = Split::of(&call.receiver).filter(|_| is_taken) else { return Ok(None) };
        let end = Expr::MethodCall(syn::ExprMethodCall { receiver: Box::new(end), ..call.clone() });
        Ok(Some(Val::Tuple(vec![self.expr(&end)?, self.expr(&rest)?])))
    }
}
