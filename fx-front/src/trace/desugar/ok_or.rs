//! `option.ok_or_else(|| error)?` as the `match` that it is, `result.context("..")?`, and `f64::try_from(tensor)`.

use fx_ir::{Arg, HostOp};
use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::trace::{OnError, Result, Tracer, Ty, Val};

/// What a tensor of one element is read as.
const NUMBERS: [&str; 8] = ["bool", "f64", "f32", "i64", "i32", "i16", "i8", "u8"];

impl Tracer<'_> {
    /// `let x = option.ok_or(error)?` as `let Some(x) = option else { return Err(error) }`, so that what stands behind it
    /// knows of what is there.
    pub(in crate::trace) fn asked_for(&self, local: &syn::Local) -> Option<syn::Local> {
        let init = local.init.as_ref().filter(|init| init.diverge.is_none() && self.errors_propagate())?;
        let Expr::Try(question) = &*init.expr else { return None };
        let (option, error) = asked(&question.expr)?;
        let pat = match &local.pat {
            syn::Pat::Type(typed) => &typed.pat,
            pat => pat,
        };
        let span = question.span();
        let block: syn::Block = parse_quote_spanned!(span=> {
            let Some(#pat) = #option else { return Err(::std::convert::From::from(#error)) };
        });
        match block.stmts.into_iter().next() {
            Some(syn::Stmt::Local(test)) => Some(test),
            _ => None,
        }
    }

    /// What is in a `Result` whose error is told in other words where it leaves the function: the frozen model tells its
    /// own. `None` if the expression is none such.
    pub(in crate::trace) fn in_other_words(&mut self, expr: &Expr) -> Result<Option<Val>> {
        let explained = explained(expr, &["context", "with_context", "wrap_err", "wrap_err_with", "map_err"]);
        let Some((told, call)) = explained.filter(|_| self.errors_propagate()) else { return Ok(None) };
        let mark = self.checkpoint();
        self.errors = OnError::Propagate;
        let value = self.expr(told)?;
        let is_own = self.index.method(&value.ty(), &call.method.to_string()).is_some();
        let is_made = matches!(told, Expr::MethodCall(_) | Expr::Call(_));
        if is_own || !is_made || matches!(value.ty(), Ty::Unknown | Ty::Option(_) | Ty::Struct(_)) {
            self.rollback(mark);
            return Ok(None);
        }
        self.unwrapped(value, expr.span()).map(Some)
    }

    /// What is in the option, or the error that leaves the function; `None` if the expression is none such.
    pub(in crate::trace) fn question_on_option(&mut self, expr: &Expr) -> Result<Option<Val>> {
        let test = asked(expr).map(|(option, error)| (option, error.clone())).or_else(|| missing(expr));
        let Some((option, error)) = test.filter(|_| self.errors_propagate()) else { return Ok(None) };
        let (mark, span) = (self.checkpoint(), expr.span());
        let option = self.expr(option)?.behind();
        if !matches!(option.ty(), Ty::Option(_)) {
            self.rollback(mark);
            return Ok(None);
        }
        if self.path_of(&option).is_some() && matches!(option.ty(), Ty::Option(inner) if self.is_module(&inner)) {
            // Which layer it is would only be known at the call.
            self.rollback(mark);
            return Ok(None);
        }
        let choice: syn::ExprMatch = parse_quote_spanned!(span=> match fx_asked {
            Some(fx_held) => fx_held,
            None => return Err(::std::convert::From::from(#error)),
        });
        self.env.open();
        self.env.declare("fx_asked", option);
        let value = self.choice(&choice, false);
        self.env.close();
        value.map(Some)
    }

    /// `f64::try_from(tensor)` and `Vec::<f64>::try_from(tensor)`: what a tensor holds; `None` for any other call.
    pub(in crate::trace) fn number_of_tensor(
        &mut self,
        full: &str,
        call: &syn::ExprCall,
        args: &[&Expr],
    ) -> Result<Option<Val>> {
        let (Some(of), [tensor]) = (full.strip_suffix("::try_from"), args) else { return Ok(None) };
        let (number, is_list) = match of {
            "Vec" | "std::vec::Vec" => (element(&call.func), true),
            number => (Some(number.to_owned()), false),
        };
        let Some(number) = number.filter(|number| NUMBERS.contains(&number.as_str())) else { return Ok(None) };
        let mark = self.checkpoint();
        let value = self.expr(tensor)?;
        let (true, Some(id)) = (value.is_tensor(), value.node()) else {
            self.rollback(mark);
            return Ok(None);
        };
        let number_ty = Ty::Rust(number.clone());
        let (of, ty) = if is_list {
            (format!("::std::vec::Vec::<{number}>"), Ty::List(Box::new(number_ty)))
        } else {
            (number, number_ty)
        };
        let ty = Ty::Result(Box::new(ty));
        Ok(Some(self.host(HostOp::TryFrom(of), vec![Arg::Node(id)], "number", ty, call.span())))
    }
}

/// The type of the elements in `Vec::<f64>::try_from`.
fn element(function: &Expr) -> Option<String> {
    let Expr::Path(path) = function else { return None };
    let last = path.path.segments.iter().rev().nth(1)?;
    let syn::PathArguments::AngleBracketed(list) = &last.arguments else { return None };
    let Some(syn::GenericArgument::Type(syn::Type::Path(number))) = list.args.first() else { return None };
    number.path.get_ident().map(ToString::to_string)
}

/// What the method is called on that gives an error other words, and these.
fn explained<'e>(expr: &'e Expr, names: &[&str]) -> Option<(&'e Expr, &'e syn::ExprMethodCall)> {
    let Expr::MethodCall(call) = expr else { return None };
    let is_known = call.args.len() == 1 && names.iter().any(|name| call.method == name);
    is_known.then_some((&*call.receiver, call))
}

/// The option and the error of `option.context("..")`, which the same method makes where there is nothing.
fn missing(expr: &Expr) -> Option<(&Expr, Expr)> {
    let (option, call) = explained(expr, &["context", "with_context"])?;
    let (method, words, span) = (&call.method, &call.args, call.span());
    let error = parse_quote_spanned!(span=>
        ::std::option::Option::None::<::std::convert::Infallible>.#method(#words).unwrap_err());
    Some((option, error))
}

/// The option and the error of `option.ok_or(error)`.
fn asked(expr: &Expr) -> Option<(&Expr, &Expr)> {
    let Expr::MethodCall(call) = expr else { return None };
    let error = match (call.method.to_string().as_str(), call.args.first()?) {
        ("ok_or_else", Expr::Closure(closure)) if closure.inputs.is_empty() => &*closure.body,
        ("ok_or", error) if is_made(error) => error,
        _ => return None,
    };
    Some((&call.receiver, error))
}

/// Is it an error that is only put together, so that it does not matter whether it is made in vain?
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
