//! `Scalar::int(0)`: a number of which the live call decides whether it is whole. Generated code copies it, which tch's
//! own type forbids.

use fx_ir::{Arg, HostOp};
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::trace::types::ty::NUMBER;
use crate::trace::{Result, Tracer, Ty, Val, opaque::template::hole, tensor::operator, unsupported};
use fx_ir::scalar::is_of_tch;

impl Tracer<'_> {
    /// The number, as the function of that name makes it.
    pub(in crate::trace) fn scalar_by(&mut self, name: &str, number: &syn::Expr) -> Result<Val> {
        let operand = if let Ok(text) = self.closed(number) {
            Arg::Path(text)
        } else {
            let value = self.expr(number)?;
            if !operator::is_number(&value) {
                return unsupported(number.span(), "a scalar of a value that is not known to be a number");
            }
            self.operand(&value, number.span())?
        };
        let op = HostOp::Number(name.to_owned());
        Ok(self.host_node(op, vec![operand], "scalar", Ty::Rust(NUMBER.to_owned()), number.span()))
    }

    /// Code that mentions no variable, spelled so that it means the same in another module: paths, literals, calls.
    pub(in crate::trace) fn closed(&self, expr: &syn::Expr) -> Result<String> {
        match expr {
            syn::Expr::Lit(_) => Ok(expr.to_token_stream().to_string()),
            syn::Expr::Paren(inner) => Ok(format!("({})", self.closed(&inner.expr)?)),
            syn::Expr::Unary(unary) => Ok(format!("{}{}", unary.op.to_token_stream(), self.closed(&unary.expr)?)),
            syn::Expr::Path(path) if path.qself.is_none() => match path.path.get_ident() {
                Some(name) if self.env.has(&name.to_string()) || self.is_generic(&name.to_string()) => {
                    unsupported(path.span(), "code that mentions a variable")
                }
                _ => self.qualified(&path.path),
            },
            syn::Expr::Call(call) => {
                let head = self.closed(&call.func)?;
                let args: Result<Vec<String>> = call.args.iter().map(|arg| self.closed(arg)).collect();
                Ok(format!("{head}({})", args?.join(", ")))
            }
            syn::Expr::MethodCall(call) if call.args.is_empty() && call.turbofish.is_none() => {
                Ok(format!("{}.{}()", self.closed(&call.receiver)?, call.method))
            }
            other => unsupported(other.span(), "code of another module"),
        }
    }

    /// The same with texts that are put together of values: `Err(Fault(format!("no {name}")))`.
    pub(in crate::trace) fn closed_but_texts(&mut self, expr: &syn::Expr, args: &mut Vec<Arg>) -> Result<String> {
        match expr {
            syn::Expr::Call(call) => {
                let head = self.closed(&call.func)?;
                let parts: Result<Vec<String>> = call.args.iter().map(|arg| self.closed_but_texts(arg, args)).collect();
                Ok(format!("{head}({})", parts?.join(", ")))
            }
            syn::Expr::MethodCall(call) if call.args.is_empty() && call.turbofish.is_none() => {
                Ok(format!("{}.{}()", self.closed_but_texts(&call.receiver, args)?, call.method))
            }
            syn::Expr::Macro(text) if text.mac.path.is_ident("format") => self.text_of(&text.mac, args),
            other => self.closed(other),
        }
    }

    /// `format!("{kind:?}")` with what it names handed over.
    fn text_of(&mut self, mac: &syn::Macro, args: &mut Vec<Arg>) -> Result<String> {
        let list = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        let Ok(exprs) = syn::parse::Parser::parse2(list, mac.tokens.clone()) else {
            return unsupported(mac.span(), "a text of this form");
        };
        let Some(syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. })) = exprs.first() else {
            return unsupported(mac.span(), "a text of this form");
        };
        let mut spelled = vec![text.to_token_stream().to_string()];
        for expr in exprs.iter().skip(1) {
            let value = self.expr(expr)?;
            spelled.push(self.shown(&value, args, expr.span())?);
        }
        for name in names_in(&text.value()) {
            let Some(value) = self.env.read(&name).cloned() else { continue };
            spelled.push(format!("{name} = {}", self.shown(&value, args, mac.span())?));
        }
        Ok(format!("::std::format!({})", spelled.join(", ")))
    }

    /// A value that a text shows.
    fn shown(&mut self, value: &Val, args: &mut Vec<Arg>, span: Span) -> Result<String> {
        let looks_alike = matches!(value.ty(), Ty::Rust(name) if is_of_tch(&name));
        let operand = if looks_alike { self.operand(value, span)? } else { self.exact_operand(value, span)? };
        Ok(format!("&{}", hole(args, operand)))
    }
}

/// The variables that a text names between its braces.
fn names_in(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in text.replace("{{", "").split('{').skip(1) {
        let name: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if is_name && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::names_in;

    #[test]
    fn names_between_braces() {
        assert_eq!(names_in("{kind:?} of {{no}} {} {0} {at:>width$} {kind}"), ["kind", "at"]);
    }
}
