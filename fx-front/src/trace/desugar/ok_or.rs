//! `option.ok_or_else(|| error)?` as the `match` that it is, and `result.context("..")?`, taken apart.

use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::syntax::enclosed::operand;
use crate::trace::desugar::closure_form::is_plain_closure;

/// `let x = option.ok_or(error)?` as `let Some(x) = option else { return Err(error) }`, so that what stands behind it
/// knows of what is there.
pub(in crate::trace) fn let_else(local: &syn::Local) -> Option<syn::Local> {
    let init = local.init.as_ref().filter(|init| init.diverge.is_none())?;
    let Expr::Try(question) = &*init.expr else { return None };
    let (option, error) = asked(&question.expr)?;
    let error: Expr = parse_quote_spanned!(question.span()=> Err(::std::convert::From::from(#error)));
    test_of(local, option, &error)
}

/// `let x = option?` in a function that yields an option, as `let Some(x) = option else { return None }`.
pub(in crate::trace) fn let_else_none(local: &syn::Local, output: &syn::ReturnType) -> Option<syn::Local> {
    let init = local.init.as_ref().filter(|init| init.diverge.is_none())?;
    let (Expr::Try(question), syn::ReturnType::Type(_, output)) = (&*init.expr, output) else { return None };
    let syn::Type::Path(output) = &**output else { return None };
    output.path.segments.last().filter(|last| last.ident == "Option")?;
    let none: Expr = parse_quote_spanned!(question.span()=> None);
    test_of(local, &question.expr, &none)
}

/// The `let` of what the option holds, which leaves the function with `otherwise` where it holds nothing.
fn test_of(local: &syn::Local, option: &Expr, otherwise: &Expr) -> Option<syn::Local> {
    let pat = match &local.pat {
        syn::Pat::Type(typed) => &typed.pat,
        pat => pat,
    };
    let option = operand(option);
    let block: syn::Block = parse_quote_spanned!(option.span()=> {
        let Some(#pat) = #option else { return #otherwise };
    });
    match block.stmts.into_iter().next() {
        Some(syn::Stmt::Local(test)) => Some(test),
        _ => None,
    }
}

/// What the method is called on that gives an error other words, and these.
pub(in crate::trace) fn explained<'e>(expr: &'e Expr, names: &[&str]) -> Option<(&'e Expr, &'e syn::ExprMethodCall)> {
    let Expr::MethodCall(call) = expr else { return None };
    let is_known = call.args.len() == 1 && names.iter().any(|name| call.method == name);
    is_known.then_some((&*call.receiver, call))
}

/// The option and the error of `option.context("..")`, which the same method makes where there is nothing.
pub(in crate::trace) fn missing(expr: &Expr) -> Option<(&Expr, Expr)> {
    let (option, call) = explained(expr, &["context", "with_context"])?;
    let (method, words, span) = (&call.method, &call.args, call.span());
    let error = parse_quote_spanned!(span=>
        ::std::option::Option::None::<::std::convert::Infallible>.#method(#words).unwrap_err());
    Some((option, error))
}

/// The option and the error of `option.ok_or(error)`.
pub(in crate::trace) fn asked(expr: &Expr) -> Option<(&Expr, &Expr)> {
    let Expr::MethodCall(call) = expr else { return None };
    let error = match (call.method.to_string().as_str(), call.args.first()?) {
        ("ok_or_else", Expr::Closure(closure)) if is_plain_closure(closure, 0) => &*closure.body,
        ("ok_or", error) if is_made(error) => error,
        _ => return None,
    };
    Some((&call.receiver, error))
}

/// Whether it is an error that is only put together, so that it does not matter whether it is made in vain.
fn is_made(error: &Expr) -> bool {
    let is_capital = |path: &syn::Path| {
        path.segments.last().is_some_and(|last| last.ident.to_string().starts_with(char::is_uppercase))
    };
    match error {
        Expr::Lit(_) | Expr::Path(_) => true,
        Expr::Paren(inner) => is_made(&inner.expr),
        Expr::Reference(inner) => is_made(&inner.expr),
        Expr::Macro(call) => call.mac.path.is_ident("format"),
        Expr::Struct(literal) => literal.fields.iter().all(|field| is_made(&field.expr)),
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Path(path) if is_capital(&path.path)) && call.args.iter().all(is_made)
        }
        Expr::MethodCall(call) => {
            let converts = ["into", "to_string", "to_owned"].iter().any(|name| call.method == name);
            converts && is_made(&call.receiver)
        }
        _ => false,
    }
}
