//! Methods of options and truth values that take closures, as the `match` or `if` that they stand for. What the method
//! is called on bears a name in it.

use fx_ir::{ops, scalar::is_integer};
use syn::{Expr, ExprMethodCall, Pat, parse_quote, parse_quote_spanned, spanned::Spanned};

use crate::syntax::{
    comma_operands, contains_return,
    enclosed::{at_end, in_head},
    makes_result,
};
use crate::trace::{Result, Ty, desugar::element_name::hides, unsupported};

/// The option of [`mapped`], and of [`matched`].
pub(in crate::trace) const MAPPED: &str = "mapped_option";
pub(in crate::trace) const MATCHED: &str = "matched_option";
/// The truth value of [`asked`].
pub(in crate::trace) const FLAG: &str = "asked_flag";

/// `option.map(|pattern| body)` as `match option { Some(pattern) => Some(body), None => None }`, and the closure.
pub(in crate::trace) fn mapped(call: &ExprMethodCall) -> Result<(&syn::ExprClosure, syn::ExprMatch)> {
    let Some(Expr::Closure(closure)) = call.args.first() else {
        return unsupported(call.span(), "`map` with something other than a closure");
    };
    let (Some(pattern), 1) = (closure.inputs.first(), closure.inputs.len()) else {
        return unsupported(call.span(), "a closure of this form");
    };
    let pattern = match pattern {
        Pat::Type(typed) => &*typed.pat,
        other => other,
    };
    let body = &closure.body;
    if makes_result(body) {
        return unsupported(body.span(), "an option of a `Result`");
    }
    let choice = if contains_return(body) {
        // It leaves the closure alone.
        parse_quote_spanned!(call.span()=> match mapped_option {
            Some(held_value) => Some((#closure)(held_value)),
            None => None,
        })
    } else {
        parse_quote_spanned!(call.span()=> match mapped_option { Some(#pattern) => Some(#body), None => None })
    };
    Ok((closure, choice))
}

/// The variable of the value that `flag.then_some(value)` works out, whatever the flag is.
pub(in crate::trace) const VALUE: &str = "asked_value";

/// That value, where it is more than a variable.
pub(in crate::trace) fn worked_out(call: &ExprMethodCall) -> Option<&Expr> {
    call.args.first().filter(|value| call.method == "then_some" && !is_plain(value))
}

/// `flag.then(|| x)` as `if flag { Some(x) } else { None }`.
pub(in crate::trace) fn asked(call: &ExprMethodCall) -> Result<syn::ExprIf> {
    let value = match call.args.first() {
        Some(closure @ (Expr::Closure(_) | Expr::Path(_))) if call.method == "then" => body_of(closure, 0)?.1,
        Some(value) if call.method == "then_some" && is_plain(value) => value.clone(),
        Some(_) if call.method == "then_some" => parse_quote!(asked_value),
        _ => return unsupported(call.method.span(), format!("the method `{}`", call.method)),
    };
    Ok(parse_quote_spanned!(call.span()=> if asked_flag { Some(#value) } else { None }))
}

/// `option.unwrap_or(xs)`, `option.map_or_else(|| xs, |ys| ys + xs)` and the like as the `match` that they stand for.
pub(in crate::trace) fn matched(name: &str, call: &ExprMethodCall) -> Result<syn::ExprMatch> {
    let args: Vec<&Expr> = call.args.iter().collect();
    let held: Pat = parse_quote!(held_value);
    let (some, none): ((Pat, Expr), Expr) = match (name, args.as_slice()) {
        ("unwrap_or", [other]) if is_pure(other) => ((held, parse_quote!(held_value)), (*other).clone()),
        ("unwrap_or_else", [other]) => ((held, parse_quote!(held_value)), body_of(other, 0)?.1),
        ("map_or", [other, some]) if is_pure(other) => (body_of(some, 1)?, (*other).clone()),
        ("map_or_else", [other, some]) => (body_of(some, 1)?, body_of(other, 0)?.1),
        ("and_then", [some]) => (body_of(some, 1)?, parse_quote!(None)),
        ("or", [other]) if is_plain(other) => ((held, parse_quote!(Some(held_value))), (*other).clone()),
        ("or_else", [other]) => ((held, parse_quote!(Some(held_value))), body_of(other, 0)?.1),
        ("filter", [test]) => {
            let (pattern, test) = body_of(test, 1)?;
            let test = in_head(&test);
            let kept = parse_quote!({
                let #pattern = &held_value;
                if #test { Some(held_value) } else { None }
            });
            ((held, kept), parse_quote!(None))
        }
        ("is_some_and", [test]) => (body_of(test, 1)?, parse_quote!(false)),
        ("is_none_or", [test]) => (body_of(test, 1)?, parse_quote!(true)),
        _ => return unsupported(call.method.span(), format!("the method `{name}`")),
    };
    let (pattern, some) = some;
    Ok(parse_quote_spanned!(call.span()=> match matched_option { Some(#pattern) => #some, None => #none }))
}

/// `option.unwrap_or_default()` as `option.unwrap_or(value)`, of what it holds; `None` where that has no value that can be
/// written.
pub(in crate::trace) fn with_default(call: &ExprMethodCall, held: &Ty) -> Option<ExprMethodCall> {
    let (receiver, value, span) = (&call.receiver, default_of(held)?, call.span());
    Some(parse_quote_spanned!(span=> #receiver.unwrap_or(#value)))
}

/// The default value of a type.
fn default_of(ty: &Ty) -> Option<Expr> {
    match ty {
        Ty::List(_) => Some(parse_quote!(vec![])),
        Ty::Tuple(parts) => {
            let parts = parts.iter().map(default_of).collect::<Option<Vec<Expr>>>()?;
            Some(parse_quote!((#(#parts,)*)))
        }
        Ty::Rust(name) if name == "bool" => Some(parse_quote!(false)),
        Ty::Rust(name) if name == "integer" || is_integer(name) => Some(parse_quote!(0)),
        Ty::Rust(name) if matches!(name.as_str(), "float" | "f32" | "f64") => Some(parse_quote!(0.0)),
        _ => None,
    }
}

/// The two options of `a.zip(b)`.
fn zipped(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match expr {
        Expr::MethodCall(zip) if zip.method == "zip" && zip.args.len() == 1 => Some((&zip.receiver, &zip.args[0])),
        _ => None,
    }
}

/// The parts of a pattern of two.
fn pair(pattern: &Pat) -> Option<(&Pat, &Pat)> {
    let Pat::Tuple(pair) = pattern else { return None };
    let [x, y] = pair.elems.iter().collect::<Vec<_>>()[..] else { return None };
    Some((x, y))
}

/// The option that is borrowed by `as_ref`, or it itself.
fn borrowed(option: &Expr) -> &Expr {
    match option {
        Expr::MethodCall(call) if call.method == "as_ref" && call.args.is_empty() => borrowed(&call.receiver),
        other => other,
    }
}

/// `a.zip(b).map(|(x, y)| body)` as `a.and_then(|x| b.map(|y| body))`, and the like; and what `a` borrows.
pub(in crate::trace) fn method_of_zip(call: &ExprMethodCall) -> Option<(&Expr, ExprMethodCall)> {
    let (a, b) = zipped(&call.receiver)?;
    let Some(Expr::Closure(closure)) = call.args.last() else { return None };
    let (x, y) = pair(closure.inputs.first().filter(|_| closure.inputs.len() == 1)?)?;
    let (others, body) = (call.args.iter().take(call.args.len() - 1), &closure.body);
    let (inner, others) = (&call.method, others.collect::<Vec<_>>());
    let name = if inner == "map" { "and_then".to_owned() } else { inner.to_string() };
    let is_known = matches!(name.as_str(), "and_then" | "map_or" | "map_or_else" | "is_some_and");
    if !is_known || !is_plain(b) || contains_return(body) {
        return None;
    }
    let (outer, span) = (syn::Ident::new(&name, inner.span()), call.span());
    let end = at_end(body);
    let nested = if hides(x, b) || others.iter().any(|other| hides(x, other)) {
        parse_quote_spanned!(span=> (#a).#outer(#(#others,)* |fx_first| (#b).#inner(#(#others,)* |fx_second| {
            let (#x, #y) = (fx_first, fx_second);
            #end
        })))
    } else {
        parse_quote_spanned!(span=> (#a).#outer(#(#others,)* |#x| (#b).#inner(#(#others,)* |#y| #body)))
    };
    Some((borrowed(a), nested))
}

/// `a.zip(b)` as a `match` on both; and what `a` borrows.
pub(in crate::trace) fn value_of_zip(call: &ExprMethodCall) -> Option<(&Expr, syn::ExprMatch)> {
    let [b] = call.args.iter().collect::<Vec<_>>()[..] else { return None };
    let a = Some(&*call.receiver).filter(|_| call.method == "zip")?;
    let pair = parse_quote_spanned!(call.span()=> match (#a, #b) {
        (Some(fx_first), Some(fx_second)) => Some((fx_first, fx_second)),
        _ => None,
    });
    Some((borrowed(a), pair))
}

/// `if let Some((x, y)) = a.zip(b)` as `if let Some(x) = a && let Some(y) = b`; and what `a` borrows.
pub(in crate::trace) fn condition_on_zip(condition: &syn::ExprLet) -> Option<(&Expr, Expr)> {
    let (a, b) = zipped(&condition.expr)?;
    let Pat::TupleStruct(some) = &*condition.pat else { return None };
    let (x, y) = pair(some.elems.first().filter(|_| some.path.is_ident("Some"))?)?;
    (is_plain(b) && !hides(x, b))
        .then(|| (borrowed(a), parse_quote_spanned!(condition.span()=> let Some(#x) = #a && let Some(#y) = #b)))
}

/// Whether it is there already, so that it does not matter whether it is asked for.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) | Expr::Lit(_) => true,
        Expr::Reference(inner) => is_plain(&inner.expr),
        Expr::Field(inner) => is_plain(&inner.base),
        Expr::MethodCall(call) => {
            let is_borrow = call.method == "as_ref" && call.args.is_empty();
            (is_borrow || ops::SHALLOW_CLONE.is_spelled(&call.method.to_string())) && is_plain(&call.receiver)
        }
        _ => false,
    }
}

/// Returns whether it only makes a value, so that it does not matter when: a list, a text or a size of what is there.
fn is_pure(expr: &Expr) -> bool {
    match expr {
        Expr::Macro(list) if list.mac.path.is_ident("vec") => {
            comma_operands(&list.mac).is_some_and(|items| items.iter().all(is_pure))
        }
        Expr::Array(array) => array.elems.iter().all(is_pure),
        Expr::Tuple(tuple) => tuple.elems.iter().all(is_pure),
        Expr::Call(call) => matches!(&*call.func, Expr::Path(path) if is_new(path)) && call.args.is_empty(),
        Expr::MethodCall(call) if call.args.is_empty() => {
            let only_reads = ["to_string", "to_owned", "size", "kind", "device", "dim", "len"];
            is_plain(expr) || only_reads.iter().any(|name| call.method == name) && is_plain(&call.receiver)
        }
        _ => is_plain(expr),
    }
}

/// `Vec::new` or `String::new`.
fn is_new(path: &syn::ExprPath) -> bool {
    let names: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    matches!(names.as_slice(), [ty, new] if (ty == "Vec" || ty == "String") && new == "new")
}

/// The parameter and the body of a closure with so many parameters, or of a function in place of one.
fn body_of(closure: &Expr, count: usize) -> Result<(Pat, Expr)> {
    match closure {
        Expr::Closure(closure) if closure.inputs.len() == count && !contains_return(&closure.body) => {
            let pattern = match closure.inputs.first() {
                Some(Pat::Type(typed)) => (*typed.pat).clone(),
                Some(pattern) => pattern.clone(),
                None => parse_quote!(_),
            };
            Ok((pattern, (*closure.body).clone()))
        }
        // An empty list needs no type here.
        Expr::Path(path) if count == 0 && is_new(path) && path.path.segments[0].ident == "Vec" => {
            Ok((parse_quote!(_), parse_quote_spanned!(path.span()=> vec![])))
        }
        Expr::Path(path) if count == 0 => Ok((parse_quote!(_), parse_quote_spanned!(path.span()=> #path()))),
        Expr::Path(path) if count == 1 => {
            Ok((parse_quote!(fx_held), parse_quote_spanned!(path.span()=> #path(fx_held))))
        }
        other => unsupported(other.span(), "a function in place of a closure"),
    }
}
