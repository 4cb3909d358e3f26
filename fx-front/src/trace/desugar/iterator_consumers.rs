//! What asks a whole chain of adaptors for one value: `sum`, `any`, `try_fold`, `unzip`.

use quote::format_ident;
use syn::{Expr, ExprMethodCall, parse_quote_spanned};

use crate::syntax::{iterator_method::IteratorMethod, mentions, targets::each_target};
use crate::trace::desugar::{
    Surroundings,
    closure_form::{is_plain_closure, plain},
    iterator_chain::{Accumulation, Chain, Reduction, Start, is_chain},
};

/// What such a call stands for; `None` if it is none.
pub(in crate::trace) fn consumed(call: &ExprMethodCall, around: &dyn Surroundings) -> Option<Chain> {
    if !is_chain(&call.receiver) {
        return None;
    }
    let (span, over) = (call.method.span(), &call.receiver);
    let args: Vec<&Expr> = call.args.iter().collect();
    match (IteratorMethod::of(&call.method)?, args.as_slice()) {
        (IteratorMethod::Sum, []) => Some(Chain::Reduction(Reduction::Sum)),
        (IteratorMethod::Product, []) => Some(Chain::Reduction(Reduction::Product)),
        (IteratorMethod::Max | IteratorMethod::Min, []) => Some(Chain::Reduction(Reduction::Extremum)),
        (IteratorMethod::Count, []) => Some(Chain::Reduction(Reduction::Count)),
        (method @ (IteratorMethod::Any | IteratorMethod::All), [Expr::Closure(closure)])
            if is_plain_closure(closure, 1) =>
        {
            let (item, body, is_any) = (plain(&closure.inputs[0]), &closure.body, method == IteratorMethod::Any);
            let test: Expr =
                if is_any { parse_quote_spanned!(span=> #body) } else { parse_quote_spanned!(span=> !(#body)) };
            // What comes behind the one that decides is not asked.
            let open: Expr =
                if is_any { parse_quote_spanned!(span=> !fx_found) } else { parse_quote_spanned!(span=> fx_found) };
            let each = if has_effects(over, around) {
                parse_quote_spanned!(span=> for #item in #over { if #test { fx_found = #is_any; break; } })
            } else {
                parse_quote_spanned!(span=> for #item in #over { if #open { if #test { fx_found = #is_any; } } })
            };
            let variables = vec![(format_ident!("fx_found", span = span), Start::Bool(!is_any))];
            Some(Chain::Loop(Accumulation { variables, each }))
        }
        (IteratorMethod::Position, [Expr::Closure(closure)]) if is_plain_closure(closure, 1) => {
            (!has_effects(over, around)).then(|| Chain::Loop(first_number(call, closure)))
        }
        (IteratorMethod::TryFold, [init, Expr::Closure(closure)])
            if is_plain_closure(closure, 2) && around.error_leaves() =>
        {
            let syn::Pat::Ident(acc) = plain(&closure.inputs[0]) else { return None };
            let (acc, item, body) = (&acc.ident, plain(&closure.inputs[1]), &closure.body);
            if mentions(over, acc) {
                return None;
            }
            let each = parse_quote_spanned!(span=> for #item in #over { #acc = (#body)?; });
            let variables = vec![(acc.clone(), Start::Value(Box::new((*init).clone())))];
            Some(Chain::Loop(Accumulation { variables, each }))
        }
        (IteratorMethod::Reduce, [Expr::Closure(closure)]) if is_plain_closure(closure, 2) => {
            Some(Chain::Loop(reduced(call, plain(&closure.inputs[0]), plain(&closure.inputs[1]), &closure.body)))
        }
        (IteratorMethod::Reduce, [Expr::Path(function)]) => {
            let (one, other) = (parse_quote_spanned!(span=> fx_one), parse_quote_spanned!(span=> fx_other));
            let body = parse_quote_spanned!(span=> #function(#one, #other));
            Some(Chain::Loop(reduced(call, &one, &other, &body)))
        }
        (IteratorMethod::Unzip, []) => unzipped(call).map(Chain::Loop),
        _ => None,
    }
}

/// `xs.reduce(|one, other| body)`: one value of all elements, if there are any.
fn reduced(call: &ExprMethodCall, one: &syn::Pat, other: &syn::Pat, body: &Expr) -> Accumulation {
    let (span, over) = (call.method.span(), &call.receiver);
    let reduced = format_ident!("fx_reduced", span = span);
    let each = parse_quote_spanned!(span=> for fx_next in #over {
        #reduced = match #reduced {
            Some(#one) => { let #other = fx_next; Some(#body) }
            None => Some(fx_next),
        };
    });
    let start = Start::Value(Box::new(parse_quote_spanned!(span=> None)));
    Accumulation { variables: vec![(reduced, start)], each }
}

/// `xs.iter().position(|x| ..)`: the number of the first element that the loop finds.
fn first_number(call: &ExprMethodCall, closure: &syn::ExprClosure) -> Accumulation {
    let (span, over) = (call.method.span(), &call.receiver);
    let (item, test) = (plain(&closure.inputs[0]), &closure.body);
    let each = parse_quote_spanned!(span=> for (fx_number, #item) in #over.enumerate() {
        if fx_position.is_none() { if #test { fx_position = Some(fx_number); } }
    });
    let none = Start::Value(Box::new(parse_quote_spanned!(span=> None)));
    Accumulation { variables: vec![(format_ident!("fx_position", span = span), none)], each }
}

/// Whether the chain itself may change something, beside what it hands over.
fn has_effects(chain: &Expr, around: &dyn Surroundings) -> bool {
    let Expr::MethodCall(call) = chain else { return false };
    let mut found = false;
    for closure in call.args.iter().filter(|arg| matches!(arg, Expr::Closure(_))) {
        each_target(closure, &|call| around.may_mutate(call), &mut |_| found = true);
    }
    found || has_effects(&call.receiver, around)
}

/// `let (a, b): (Vec<_>, Vec<_>) = xs.iter().map(..).unzip()`: two lists that one loop fills.
fn unzipped(call: &ExprMethodCall) -> Option<Accumulation> {
    let Expr::MethodCall(map) = &*call.receiver else { return None };
    let (Some(Expr::Closure(closure)), true) = (map.args.first(), map.method == "map") else { return None };
    if !is_plain_closure(closure, 1) {
        return None;
    }
    let (span, over, item, body) = (call.method.span(), &map.receiver, plain(&closure.inputs[0]), &closure.body);
    let each = parse_quote_spanned!(span=> for #item in #over {
        let (fx_one, fx_other) = #body;
        fx_left.push(fx_one);
        fx_right.push(fx_other);
    });
    let names = [format_ident!("fx_left", span = span), format_ident!("fx_right", span = span)];
    Some(Accumulation { variables: names.map(|name| (name, Start::EmptyList)).into(), each })
}
