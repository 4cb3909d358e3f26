//! `Scalar::int(0)`: a number of which the live call decides whether it is whole. Generated code copies it, which tch's
//! own type forbids.

use fx_ir::{Arg, HostOp};
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::trace::types::ty::NUMBER;
use crate::trace::{Result, Tracer, Ty, Val, tensor::operator, unsupported};

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
}
