//! `option.ok_or_else(|| error)?` as the `match` that it is, and `f64::try_from(tensor)`.

use fx_ir::{Arg, Code, Op};
use proc_macro2::Span;
use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use super::{Result, Tracer, Ty, Val};

/// What a tensor of one element is read as.
const NUMBERS: [&str; 8] = ["bool", "f64", "f32", "i64", "i32", "i16", "i8", "u8"];

impl Tracer<'_> {
    /// `let x = option.ok_or(error)?` as `let Some(x) = option else { return Err(error) }`, so that what stands behind it
    /// knows of what is there.
    pub(super) fn asked_for(&self, local: &syn::Local) -> Option<syn::Local> {
        let init = local.init.as_ref().filter(|init| init.diverge.is_none() && self.errors_leave())?;
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
            Some(syn::Stmt::Local(asked)) => Some(asked),
            _ => None,
        }
    }

    /// What is in the option, or the error that leaves the function; `None` if the expression is none such.
    pub(super) fn or_refused(&mut self, expr: &Expr) -> Result<Option<Val>> {
        let Some((option, error)) = asked(expr).filter(|_| self.errors_leave()) else { return Ok(None) };
        let (mark, span) = (self.mark(), expr.span());
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

    /// `f64::try_from(tensor)`: the number that a tensor holds; `None` for any other call.
    pub(super) fn number_of_tensor(&mut self, full: &str, args: &[&Expr], span: Span) -> Result<Option<Val>> {
        let (Some(number), [tensor]) = (full.strip_suffix("::try_from"), args) else { return Ok(None) };
        if !NUMBERS.contains(&number) {
            return Ok(None);
        }
        let mark = self.mark();
        let value = self.expr(tensor)?;
        let (true, Some(id)) = (value.is_tensor(), value.node()) else {
            self.rollback(mark);
            return Ok(None);
        };
        let code = Op::Rust(Code::fallible(format!("{number}::try_from(&$0)")));
        let ty = Ty::Result(Box::new(Ty::Rust(number.to_owned())));
        Ok(Some(self.push(code, vec![Arg::Node(id)], "number", ty, span)))
    }
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
