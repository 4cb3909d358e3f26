//! Adaptors in front of a loop as a part of each iteration: `filter` is an `if`, `flatten` a loop in the loop.
//!
//! A closure is called on the element, whose name nothing in the loop has, so that what the closure names stays its own.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::{Block, Expr, ExprForLoop, parse_quote_spanned, spanned::Spanned};

use crate::syntax::iterator_method::{Form, IteratorMethod};
use crate::syntax::{
    self, add_words, bound_names, count_of,
    enclosed::{at_end, in_head},
    integer_literal, is_path_to, peeled,
    targets::each_target,
};
use crate::trace::desugar::closure_form::is_plain_closure;
use crate::trace::types::ty::is_copy;
use crate::trace::{
    Ty,
    desugar::{
        Surroundings,
        element_name::{by_parts, element_of},
        iterator_chain::is_chain,
        iterator_consumers::has_effects,
        jumps,
        open_range::counted,
        scan::scanned,
    },
};

/// What a loop over a chain of adaptors is without the last of them.
pub(in crate::trace) enum Plain {
    Loop(ExprForLoop),
    Block(Block),
}

/// The loop without its last adaptor, which its iterations do instead; `None` where it is none of these.
pub(in crate::trace) fn without_adaptor(each: &ExprForLoop, around: &mut dyn Surroundings) -> Option<Plain> {
    if let Some(element) = only_element(&each.expr, around).filter(|_| !jumps::jumps(&each.body)) {
        let (pat, stmts) = (&each.pat, &each.body.stmts);
        return Some(Plain::Block(parse_quote_spanned!(element.span()=> { let #pat = #element; #(#stmts)* })));
    }
    if let Some(block) = counted(each, around).or_else(|| scanned(each, around)) {
        return Some(Plain::Block(block));
    }
    let Expr::MethodCall(call) = &*each.expr else { return None };
    let (span, over) = (call.method.span(), &*call.receiver);
    if let Some(swapped) = mapped_last(each, around).or_else(|| copied_last(each, around)) {
        return Some(Plain::Loop(swapped));
    }
    let plain = match (IteratorMethod::of(&call.method)?, call.args.first()) {
        (IteratorMethod::FlatMap, Some(Expr::Closure(closure))) => flat_mapped(closure, over, each)?,
        (method, Some(Expr::Closure(closure))) if method.form() == Form::Body && method.takes_closure() => {
            let item = element_of(over, around);
            let body = iteration(call, closure, &item, each);
            parse_quote_spanned!(span=> for #item in #over #body)
        }
        (IteratorMethod::Flatten, None) => flattened(over, each, around)?,
        (method, None) if method.copies_elements() => {
            let (item, pat, stmts) = (around.new_name("item", span), &each.pat, &each.body.stmts);
            let copy = copy_of(over, &item, around);
            parse_quote_spanned!(span=> for #item in #over { let #pat = #copy; #(#stmts)* })
        }
        (IteratorMethod::Chain, Some(other)) if !jumps::jumps(&each.body) => {
            return chained(over, other, each, around).map(Plain::Block);
        }
        _ => by_parts(each, around)?,
    };
    Some(Plain::Loop(plain))
}

/// A loop over the lists, or what is there of the options, that the elements are.
fn flattened(over: &Expr, each: &ExprForLoop, around: &mut dyn Surroundings) -> Option<ExprForLoop> {
    let element = around.element_ty(over);
    let span = over.span();
    let (item, pat, body) = (around.new_name("item", span), &each.pat, &each.body);
    match element? {
        Ty::List(_) if !breaks(body) => {
            Some(parse_quote_spanned!(span=> for #item in #over { for #pat in #item.iter() #body }))
        }
        Ty::Option(_) => Some(parse_quote_spanned!(span=> for #item in #over { if let Some(#pat) = #item #body })),
        _ => None,
    }
}

/// A loop over one chain, and one over the other behind it. Both chains are made in front of the first loop: of what its
/// iterations write to, the ends of a range have a name.
fn chained(over: &Expr, other: &Expr, each: &ExprForLoop, around: &mut dyn Surroundings) -> Option<Block> {
    let (pat, body, span) = (&each.pat, &each.body, each.for_token.span);
    let iteration = Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: body.clone() });
    let (mut is_made_late, mut words) = (false, BTreeSet::new());
    add_words(other.to_token_stream(), &mut words);
    let mut written = |target: &Expr| {
        let mut of_target = BTreeSet::new();
        add_words(target.to_token_stream(), &mut of_target);
        is_made_late |= !of_target.is_disjoint(&words);
    };
    for code in [over, other, &iteration] {
        each_target(code, &|call| around.may_mutate(call), &mut written);
    }
    if !is_made_late {
        let other = in_head(other);
        return Some(parse_quote_spanned!(span=> { for #pat in #over #body for #pat in #other #body }));
    }
    let mut lets: Vec<syn::Stmt> = Vec::new();
    let mut named = |range: &Expr| -> Option<Expr> {
        let Expr::Range(range) = peeled(range) else { return None };
        let mut named = |end: &Option<Box<Expr>>| -> Option<Box<Expr>> {
            let (end, name) = (end.as_ref()?, around.new_name("end", span));
            lets.push(parse_quote_spanned!(span=> let #name = #end;));
            Some(parse_quote_spanned!(span=> #name))
        };
        let (start, end) = (Some(named(&range.start)?), Some(named(&range.end)?));
        Some(Expr::Range(syn::ExprRange { start, end, ..range.clone() }))
    };
    let (over, other) = (named(over)?, named(other)?);
    Some(parse_quote_spanned!(span=> { #(#lets)* for #pat in #over #body for #pat in #other #body }))
}

/// What `std::iter::once` yields.
pub(super) fn only_element<'e>(expr: &'e Expr, around: &dyn Surroundings) -> Option<&'e Expr> {
    let Expr::Call(call) = expr else { return None };
    let Expr::Path(path) = &*call.func else { return None };
    let is_once = path.path.segments.last().is_some_and(|last| last.ident == "once")
        && around.external(&path.path).is_some_and(|full| is_path_to(&full, "iter::once"));
    call.args.first().filter(|_| is_once && call.args.len() == 1)
}

/// What an iteration does with its element.
fn iteration(call: &syn::ExprMethodCall, closure: &syn::ExprClosure, item: &Expr, each: &ExprForLoop) -> Block {
    use IteratorMethod as M;
    let (span, pat, stmts) = (call.method.span(), &each.pat, &each.body.stmts);
    let method = IteratorMethod::of(&call.method);
    let taken = match method {
        Some(M::Map | M::FilterMap | M::MapWhile) => item.clone(),
        _ => parse_quote_spanned!(span=> &#item),
    };
    let value = applied(closure, &taken);
    match method {
        Some(M::Map) => parse_quote_spanned!(span=> { let #pat = #value; #(#stmts)* }),
        Some(M::Filter) => parse_quote_spanned!(span=> { if #value { let #pat = #item; #(#stmts)* } }),
        Some(M::FilterMap) => parse_quote_spanned!(span=> { if let Some(#pat) = #value { #(#stmts)* } }),
        Some(M::MapWhile) => parse_quote_spanned!(span=> {
            match #value { Some(#pat) => { #(#stmts)* } None => break }
        }),
        Some(M::TakeWhile) => parse_quote_spanned!(span=> {
            if !(#closure)(#taken) { break; }
            let #pat = #item;
            #(#stmts)*
        }),
        _ => parse_quote_spanned!(span=> { #value; let #pat = #item; #(#stmts)* }),
    }
}

/// What the closure yields for the element: its body behind a `let`, as rustc does not infer what a closure takes from
/// the call behind it. One that is left early is called.
fn applied(closure: &syn::ExprClosure, item: &Expr) -> Expr {
    let (span, body) = (closure.span(), at_end(&closure.body));
    let leaves = syntax::any(&body, |expr| matches!(expr, Expr::Return(_) | Expr::Try(_)));
    match closure.inputs.first() {
        Some(pat) if closure.inputs.len() == 1 && closure.output == syn::ReturnType::Default && !leaves => {
            parse_quote_spanned!(span=> { let #pat = #item; #body })
        }
        _ => parse_quote_spanned!(span=> (#closure)(#item)),
    }
}

/// `for (i, y) in xs.map(f).enumerate()` is the loop over `xs.enumerate().map(..)`, and the like backwards.
fn mapped_last(each: &ExprForLoop, around: &dyn Surroundings) -> Option<ExprForLoop> {
    let Expr::MethodCall(outer) = &*each.expr else { return None };
    let Expr::MethodCall(map) = &*outer.receiver else { return None };
    let (Some(Expr::Closure(closure)), true) = (map.args.first(), map.method == "map") else { return None };
    let (span, method, over, body) = (outer.method.span(), &outer.method, &map.receiver, &each.body);
    match (method.to_string().as_str(), &*each.pat) {
        ("enumerate", syn::Pat::Tuple(pair)) if pair.elems.len() == 2 => {
            let (number, pat, stmts) = (&pair.elems[0], &pair.elems[1], &body.stmts);
            // The closure does not see the number of the loop around it.
            Some(parse_quote_spanned!(span=> for (fx_number, fx_mapped) in #over.#method() {
                let #pat = (#closure)(fx_mapped);
                let #number = fx_number;
                #(#stmts)*
            }))
        }
        ("skip", pat) if has_effects(&outer.receiver, around) => {
            // The closure is called for the elements that are left out as well.
            let (count, stmts) = (outer.args.first().filter(|count| integer_literal(count).is_some())?, &body.stmts);
            Some(parse_quote_spanned!(span=> for (fx_number, fx_mapped) in #over.enumerate() {
                let fx_mapped = (#closure)(fx_mapped);
                if fx_number >= #count { let #pat = fx_mapped; #(#stmts)* }
            }))
        }
        ("rev" | "skip" | "take", pat) => {
            let (args, map) = (&outer.args, &map.method);
            Some(parse_quote_spanned!(span=> for #pat in #over.#method(#args).#map(#closure) #body))
        }
        _ => None,
    }
}

/// What `copied` or `cloned` yields for an element of the iterator in front of it.
fn copy_of(over: &Expr, item: &Ident, around: &mut dyn Surroundings) -> Expr {
    match around.element_ty(over) {
        Some(ty) if ty == Ty::Tensor || is_copy(&ty) => parse_quote_spanned!(item.span()=> *#item),
        _ => parse_quote_spanned!(item.span()=> #item.clone()),
    }
}

/// The loop over `xs.copied()` with further adaptors behind it as one that copies in each iteration: `xs.copied().rev()` is
/// `xs.rev().copied()`, and of `xs.copied().enumerate()` and `xs.copied().zip(ys)` one part of an element is copied.
fn copied_last(each: &ExprForLoop, around: &mut dyn Surroundings) -> Option<ExprForLoop> {
    let Expr::MethodCall(outer) = &*each.expr else { return None };
    let (span, method, args) = (outer.method.span(), &outer.method, &outer.args);
    let (pat, stmts) = (&each.pat, &each.body.stmts);
    match (IteratorMethod::of(method)?, &**pat) {
        (IteratorMethod::Zip, syn::Pat::Tuple(pair)) if pair.elems.len() == 2 && args.len() == 1 => {
            let (one, other) = (copied(&outer.receiver), copied(&args[0]));
            if one.is_none() && other.is_none() {
                return None;
            }
            let mut lines: Vec<syn::Stmt> = Vec::new();
            let mut side = |whole: &Expr, copied: Option<&syn::ExprMethodCall>, pat: &syn::Pat| -> (Expr, syn::Pat) {
                let Some(call) = copied else { return (whole.clone(), pat.clone()) };
                let item = around.new_name("item", span);
                let copy = copy_of(&call.receiver, &item, around);
                lines.push(parse_quote_spanned!(span=> let #pat = #copy;));
                ((*call.receiver).clone(), parse_quote_spanned!(span=> #item))
            };
            let (over, first) = side(&outer.receiver, one, &pair.elems[0]);
            let (with, second) = side(&args[0], other, &pair.elems[1]);
            Some(parse_quote_spanned!(span=> for (#first, #second) in #over.#method(#with) { #(#lines)* #(#stmts)* }))
        }
        (IteratorMethod::Enumerate, syn::Pat::Tuple(pair)) if pair.elems.len() == 2 => {
            let over = &copied(&outer.receiver)?.receiver;
            let (number, pat, item) = (&pair.elems[0], &pair.elems[1], around.new_name("item", span));
            let copy = copy_of(over, &item, around);
            Some(parse_quote_spanned!(span=> for (#number, #item) in #over.#method() { let #pat = #copy; #(#stmts)* }))
        }
        (IteratorMethod::Rev | IteratorMethod::Skip | IteratorMethod::Take | IteratorMethod::StepBy, pat) => {
            let copied = copied(&outer.receiver)?;
            let (over, copies) = (&copied.receiver, &copied.method);
            Some(parse_quote_spanned!(span=> for #pat in #over.#method(#args).#copies() { #(#stmts)* }))
        }
        _ => None,
    }
}

/// The call of `copied` or `cloned` that the expression is.
fn copied(expr: &Expr) -> Option<&syn::ExprMethodCall> {
    let Expr::MethodCall(call) = expr else { return None };
    let copies = call.args.is_empty() && IteratorMethod::of(&call.method)?.copies_elements();
    (copies && is_chain(&call.receiver)).then_some(call)
}

/// A loop in the loop, if nothing of what the closure names is something else to the iterations.
fn flat_mapped(closure: &syn::ExprClosure, over: &Expr, each: &ExprForLoop) -> Option<ExprForLoop> {
    let (pat, body, inner) = (&each.pat, &each.body, in_head(&closure.body));
    let own = bound_names(&Expr::Closure(closure.clone()));
    let is_hidden = own.iter().any(|name| count_of(body.to_token_stream(), name) > 0);
    let outer = closure.inputs.first().filter(|_| is_plain_closure(closure, 1) && !is_hidden && !breaks(body))?;
    let span: Span = closure.body.span();
    Some(parse_quote_spanned!(span=> for fx_outer in #over { let #outer = fx_outer; for #pat in #inner #body }))
}

/// Whether an iteration ends the loop.
fn breaks(body: &Block) -> bool {
    count_of(body.to_token_stream(), "break") > 0
}

/// Whether it is a chain whose last adaptor picks elements, or has others in their place.
pub(in crate::trace) fn is_adapted(expr: &Expr) -> bool {
    let Expr::MethodCall(call) = expr else { return false };
    let is_picking = |method: IteratorMethod| {
        let has_others = method.takes_closure() && method != IteratorMethod::Inspect || method.copies_elements();
        method.form() == Form::Body && has_others
    };
    match IteratorMethod::of(&call.method) {
        Some(IteratorMethod::Rev | IteratorMethod::Skip | IteratorMethod::Take) => is_adapted(&call.receiver),
        method => method.is_some_and(is_picking) && is_chain(expr),
    }
}
