//! `Err(..)` that leaves the function: an error that leaves the frozen model.

use fx_ir::{Arg, Code, Effect, Op, template::escaped};
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;

use crate::syntax::{is_err, lifetimes::ElideLifetimes};
use crate::trace::types::ty::{is_copy, never};
use crate::trace::{Result, Tracer, Ty, Val, call::panics::arguments, opaque::template::hole, unsupported};

impl Tracer<'_> {
    /// `return Err(..)` of the entry: an error that leaves the frozen model.
    pub(in crate::trace) fn refusal(&mut self, expr: &syn::Expr) -> Result<Val> {
        let (syn::ReturnType::Type(_, whole), true) = (&self.function().sig.output, self.errors_propagate()) else {
            return unsupported(expr.span(), "`Err` here");
        };
        let value = if let syn::Expr::Return(syn::ExprReturn { expr: Some(value), .. }) = expr { value } else { expr };
        let whole = self.without_lifetimes((**whole).clone(), ElideLifetimes::visit_type_mut);
        let (whole, mark) = (whole.to_token_stream().to_string(), self.checkpoint());
        let closed = match self.is_home().then(|| self.captured(value, expr.span())) {
            Some(Ok((code, args))) => return Ok(self.refuse(code, &whole, args, expr.span())),
            Some(Err(fault)) => {
                // The code mentions what it cannot be handed, of which the error may hold a number alone.
                self.rollback(mark);
                self.closed_refusal(value).map_err(|_| fault)
            }
            None => self.closed_refusal(value),
        };
        let (code, args) = closed?;
        Ok(self.refuse(code, "::std::result::Result<(), _>", args, expr.span()))
    }

    /// `Err(..)` as code that holds nothing but values of the frozen model.
    fn closed_refusal(&mut self, value: &syn::Expr) -> Result<(Code, Vec<Arg>)> {
        let mut args = Vec::new();
        Ok((Code::pure(self.closed_error(value, &mut args)?), args))
    }

    /// Leaves the frozen model with the error that the code makes, which is a `whole`.
    pub(in crate::trace) fn refuse(&mut self, code: Code, whole: &str, args: Vec<Arg>, span: Span) -> Val {
        let place = self.function().place(span);
        let code = code.wrapped(|error| {
            format!(
                "{{ let refused: {whole} = {error}; ::fx_runtime::frozen::at!(refused, \"return\", \"{place}\")?; ::std::unreachable!() }}"
            )
        });
        let code = Code { effect: Effect::Io, ..code };
        self.push(Op::Rust(code), args, "refused", never(), span);
        Val::Never
    }

    /// The error in the words of the module that the generated code stands in; what it holds is handed over in `args`.
    fn closed_error(&mut self, expr: &syn::Expr, args: &mut Vec<Arg>) -> Result<String> {
        match expr {
            syn::Expr::Call(call) if is_err(expr) => {
                let told = call.args.first().map(|told| self.closed_error(without_into(told), args)).transpose()?;
                Ok(format!("Err({})", told.unwrap_or_default()))
            }
            syn::Expr::Call(call) => {
                let head = self.closed(&call.func)?;
                let parts: Result<Vec<String>> = call.args.iter().map(|arg| self.closed_error(arg, args)).collect();
                Ok(format!("{head}({})", parts?.join(", ")))
            }
            syn::Expr::MethodCall(call) if call.args.is_empty() && call.turbofish.is_none() => {
                Ok(format!("{}.{}()", self.closed_error(&call.receiver, args)?, call.method))
            }
            syn::Expr::Struct(literal) if literal.rest.is_none() => {
                let head = self.qualified(&literal.path)?;
                let mut fields = Vec::new();
                for field in &literal.fields {
                    let value = self.closed_error(&field.expr, args)?;
                    fields.push(format!("{}: {value}", field.member.to_token_stream()));
                }
                Ok(format!("{head} {{ {} }}", fields.join(", ")))
            }
            syn::Expr::Macro(text) if is_text(&text.mac) => {
                let message = self.message(&arguments(&text.mac)?, text.mac.span())?;
                Ok(hole(args, message.operand()))
            }
            other => self.closed(other).map(|text| escaped(&text)).or_else(|_| {
                let value = self.expr(other)?;
                if !is_copy(&value.ty()) && !matches!(value.ty(), Ty::List(inner) if is_copy(&inner)) {
                    return unsupported(other.span(), "an error that holds what is not known");
                }
                Ok(hole(args, self.exact_operand(&value, other.span())?))
            }),
        }
    }
}

/// The error before it is made another one's: into which, the frozen model does not say, since it has one of its own.
fn without_into(error: &syn::Expr) -> &syn::Expr {
    match error {
        syn::Expr::MethodCall(call) if call.method == "into" => without_into(&call.receiver),
        syn::Expr::Call(call) if converts(&call.func) => call.args.first().map_or(error, without_into),
        error => error,
    }
}

/// Whether it is the function of `From` or of `Into` without the type that it converts to.
fn converts(function: &syn::Expr) -> bool {
    let syn::Expr::Path(path) = function else { return false };
    let mut names = path.path.segments.iter().rev().map(|segment| segment.ident.to_string());
    let (last, of) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    matches!((of.as_str(), last.as_str()), ("From", "from") | ("Into", "into"))
}

/// Whether the macro makes a text, or an error of one.
fn is_text(mac: &syn::Macro) -> bool {
    let name = mac.path.segments.last().map(|last| last.ident.to_string());
    name.is_some_and(|name| matches!(name.as_str(), "format" | "anyhow" | "eyre" | "format_err"))
}
