//! What asks a whole chain of adaptors for one value: `sum`, `any`, `try_fold`, `unzip`.

use fx_ir::{Effect, OpId};
use quote::format_ident;
use syn::{Expr, ExprMethodCall, parse_quote_spanned};

use crate::syntax::{
    any,
    enclosed::in_head,
    iterator_method::{Form, IteratorMethod},
    mentions,
    targets::each_target,
    unused_name,
};
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
            Some(Chain::Loop(decided(call, closure, method == IteratorMethod::Any)))
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

/// `xs.iter().any(|x| ..)`, or `all`: the answer, which what comes behind the element that decides is not asked for.
fn decided(call: &ExprMethodCall, closure: &syn::ExprClosure, is_any: bool) -> Accumulation {
    let (span, over) = (call.method.span(), &call.receiver);
    let (item, body, found) = (plain(&closure.inputs[0]), &closure.body, unused_name("fx_found", call, span));
    let test: Expr = if is_any { in_head(body) } else { parse_quote_spanned!(span=> !(#body)) };
    let open: Expr = if is_any { parse_quote_spanned!(span=> !#found) } else { parse_quote_spanned!(span=> #found) };
    let mut iteration: Expr = parse_quote_spanned!(span=> if #test { #found = #is_any; });
    if !has_closure(over) || yields_several(over) {
        iteration = parse_quote_spanned!(span=> if #open { #iteration });
    }
    let each = match asked_while(over, &open) {
        Some(over) => parse_quote_spanned!(span=> for #item in #over { #iteration }),
        None => parse_quote_spanned!(span=> for #item in #over { if #test { #found = #is_any; break; } }),
    };
    Accumulation { variables: vec![(found, Start::Bool(!is_any))], each }
}

/// Whether the chain has several elements for one that it goes over.
fn yields_several(chain: &Expr) -> bool {
    let Expr::MethodCall(call) = chain else { return false };
    let is_nested = matches!(IteratorMethod::of(&call.method), Some(IteratorMethod::FlatMap | IteratorMethod::Flatten));
    is_nested || call.args.iter().chain([&*call.receiver]).any(yields_several)
}

/// The chain with its closures called as long as the condition holds; `None` where the elements that they are called for
/// have numbers behind them, or others beside them.
fn asked_while(chain: &Expr, open: &Expr) -> Option<Expr> {
    if !has_closure(chain) {
        return Some(chain.clone());
    }
    match chain {
        Expr::Paren(inner) => asked_while(&inner.expr, open),
        Expr::MethodCall(call) if IteratorMethod::of(&call.method)?.form() == Form::Body => {
            let (over, span) = (&*call.receiver, call.method.span());
            let is_plain =
                !has_closure(over) && !matches!(IteratorMethod::of(&call.method), Some(IteratorMethod::Chain));
            let over =
                if is_plain { parse_quote_spanned!(span=> #over.filter(|_| #open)) } else { asked_while(over, open)? };
            let mut call = ExprMethodCall { receiver: Box::new(over), ..call.clone() };
            for other in call.args.iter_mut().filter(|arg| !matches!(arg, Expr::Closure(_))) {
                *other = asked_while(other, open)?;
            }
            Some(Expr::MethodCall(call))
        }
        _ => None,
    }
}

/// Whether the chain calls a closure.
fn has_closure(chain: &Expr) -> bool {
    match chain {
        Expr::Paren(inner) => has_closure(&inner.expr),
        Expr::Closure(_) => true,
        Expr::MethodCall(call) => call.args.iter().chain([&*call.receiver]).any(has_closure),
        _ => false,
    }
}

/// `xs.iter().position(|x| ..)`: the number of the first element that the loop finds.
fn first_number(call: &ExprMethodCall, closure: &syn::ExprClosure) -> Accumulation {
    let (span, over) = (call.method.span(), &call.receiver);
    let (item, test) = (plain(&closure.inputs[0]), in_head(&closure.body));
    let each = if has_closure(over) {
        parse_quote_spanned!(span=> for (fx_number, #item) in #over.enumerate() {
            if #test { fx_position = Some(fx_number); break; }
        })
    } else {
        parse_quote_spanned!(span=> for (fx_number, #item) in #over.enumerate() {
            if fx_position.is_none() { if #test { fx_position = Some(fx_number); } }
        })
    };
    let none = Start::Value(Box::new(parse_quote_spanned!(span=> None)));
    Accumulation { variables: vec![(format_ident!("fx_position", span = span), none)], each }
}

/// Whether the chain itself may do something, beside what it hands over: change something, or draw random numbers.
pub(in crate::trace) fn has_effects(chain: &Expr, around: &dyn Surroundings) -> bool {
    match chain {
        Expr::Paren(inner) => has_effects(&inner.expr, around),
        Expr::Closure(closure) => acts(closure, around),
        Expr::MethodCall(call) => call.args.iter().chain([&*call.receiver]).any(|part| has_effects(part, around)),
        _ => false,
    }
}

/// Whether a call of the closure does something, beside computing a value.
fn acts(closure: &syn::ExprClosure, around: &dyn Surroundings) -> bool {
    let acts = |name: &syn::Ident| OpId::of_method(&name.to_string()).is_some_and(|op| op.effect() != Effect::Pure);
    let mut found = any(&closure.body, |expr| match expr {
        Expr::MethodCall(call) => acts(&call.method),
        Expr::Call(call) => match &*call.func {
            Expr::Path(path) => path.path.segments.last().is_some_and(|last| acts(&last.ident)),
            _ => false,
        },
        _ => false,
    });
    let closure = Expr::Closure(closure.clone());
    each_target(&closure, &|call| around.may_mutate(call), &mut |_| found = true);
    found
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
