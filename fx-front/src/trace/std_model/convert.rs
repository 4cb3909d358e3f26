//! Conversions of whole numbers that may fail: `i64::try_from(n).unwrap()`, `n.try_into().unwrap()`.

use fx_ir::{HostOp, scalar};
use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::syntax::path_text;
use crate::trace::{Result, Tracer, Ty, Val, tensor::operator};

impl Tracer<'_> {
    /// `i64::try_from(n)` of a whole number, a `Result`; `None` for any other call.
    pub(in crate::trace) fn converted(&mut self, of: &str, number: &Expr) -> Result<Option<Val>> {
        let Some(value) = self.whole_number(of, number)? else { return Ok(None) };
        let args = vec![self.operand(&value, number.span())?];
        let ty = Ty::Result(Box::new(Ty::Rust(of.to_owned())));
        Ok(Some(self.host_node(HostOp::Convert(of.to_owned()), args, "converted", ty, number.span())))
    }

    /// `i64::try_from(n).unwrap_or(other)` of whole numbers; `None` for any other call.
    pub(in crate::trace) fn converted_or(&mut self, call: &syn::ExprMethodCall) -> Result<Option<Val>> {
        let (Expr::Call(inner), "unwrap_or") = (&*call.receiver, call.method.to_string().as_str()) else {
            return Ok(None);
        };
        let (Expr::Path(path), Some(number), Some(other)) = (&*inner.func, inner.args.first(), call.args.first())
        else {
            return Ok(None);
        };
        let text = path_text(&path.path);
        let Some(of) = text.strip_suffix("::try_from") else { return Ok(None) };
        let Some(value) = self.whole_number(of, number)? else { return Ok(None) };
        let other = self.expr(other)?;
        let args = vec![self.operand(&value, number.span())?, self.operand(&other, call.span())?];
        let ty = Ty::Rust(of.to_owned());
        Ok(Some(self.host_node(HostOp::ConvertOr(of.to_owned()), args, "converted", ty, call.span())))
    }

    /// The number, if it is a whole one and so is the type; what else it is, nothing has been traced of.
    fn whole_number(&mut self, of: &str, number: &Expr) -> Result<Option<Val>> {
        if !scalar::is_integer(of) {
            return Ok(None);
        }
        let mark = self.checkpoint();
        let value = self.expr(number)?.behind();
        let is_whole = operator::is_number(&value)
            && matches!(value.ty(), Ty::Rust(ty) if scalar::is_integer(&ty) || ty == "integer");
        if !is_whole {
            self.rollback(mark);
        }
        Ok(Some(value).filter(|_| is_whole))
    }
}

/// `n.try_into().unwrap()` whose type is known, as a call of `try_from`; `None` for anything else.
pub(in crate::trace) fn by_try_from(call: &syn::ExprMethodCall, expected: Option<&Ty>) -> Option<syn::ExprMethodCall> {
    let Expr::MethodCall(inner) = &*call.receiver else { return None };
    let Some(Ty::Rust(ty)) = expected.filter(|_| is_conversion(call)) else { return None };
    let ty = syn::Ident::new(Some(ty).filter(|ty| scalar::is_integer(ty))?, inner.method.span());
    let number = &inner.receiver;
    let receiver = parse_quote_spanned!(inner.span()=> #ty::try_from(#number));
    Some(syn::ExprMethodCall { receiver: Box::new(receiver), ..call.clone() })
}

/// Whether it is `n.try_into().unwrap()` and the like, whose type the code around it says.
pub(in crate::trace) fn is_conversion(call: &syn::ExprMethodCall) -> bool {
    let is_ended = ["unwrap", "expect", "unwrap_or"].iter().any(|name| call.method == name);
    is_ended && matches!(&*call.receiver, Expr::MethodCall(inner) if inner.method == "try_into")
}
