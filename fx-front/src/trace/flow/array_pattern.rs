//! Lists that are converted to arrays and taken apart: `let [a, b]: [Tensor; 2] = list.try_into().unwrap()`.

use fx_ir::{Arg, HostOp};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::integer_literal;
use crate::trace::{
    Result, Tracer, Ty, Val,
    desugar::array_conversion::{ArrayConversion, is_taken_apart},
    flow::matched::Continuation,
    unsupported,
};

impl<'a> Tracer<'a> {
    /// `let [a, b]: [Tensor; 2] = list.try_into().unwrap()`: a list that has to be so long, or the function leaves with an
    /// error: `list.try_into().map_err(|_| ..)?`; `None` for anything else.
    pub(in crate::trace) fn array_of(&mut self, pat: &syn::Pat, init: &syn::Expr) -> Result<Option<Val>> {
        let Some((conversion, error)) = ArrayConversion::unwrapped(init) else { return Ok(None) };
        let (pat, length) = match pat {
            syn::Pat::Type(syn::PatType { pat, ty, .. }) => match &**ty {
                syn::Type::Array(array) => (&**pat, Some(&array.len)),
                _ => return Ok(None),
            },
            pat => (pat, conversion.length),
        };
        let (syn::Pat::Slice(_), Some(length)) = (pat, length) else { return Ok(None) };
        let Some(count) = integer_literal(length) else { return Ok(None) };
        let mark = self.checkpoint();
        let list = self.expr(conversion.list)?;
        let (Val::Node(_, Ty::List(_), _), span) = (&list, init.span()) else {
            return unsupported(init.span(), "the method `try_into`");
        };
        if let Some(error) = error {
            let name = self.fresh_name("list", span);
            let check: syn::Expr = syn::parse_quote_spanned!(span=> if #name.len() != #length {
                return Err(::core::convert::From::from(#error));
            });
            let known = [(name.to_string(), list.clone())];
            if self.with_variables(&known, |tracer| tracer.expr(&check)).is_err() {
                self.rollback(mark);
                return Ok(None);
            }
        }
        Ok(Some(self.exactly(&list, count, span)?))
    }

    /// `if let Ok(pattern) = conversion { then } else { otherwise }`; `None` where that is no conversion of a list.
    pub(in crate::trace) fn if_array(
        &mut self,
        conversion: &syn::Expr,
        pat: &syn::Pat,
        span: Span,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Option<Val>> {
        let Some(ArrayConversion { list, length: Some(length) }) = ArrayConversion::of(conversion) else {
            return Ok(None);
        };
        let (Some(count), true) = (integer_literal(length), is_taken_apart(pat)) else { return Ok(None) };
        let mark = self.checkpoint();
        let list = self.expr_before(list)?;
        let (name, at) = (self.fresh_name("list", span), conversion.span());
        let is_so_long: syn::Expr = syn::parse_quote_spanned!(at=> #name.len() == #length);
        let known = [(name.to_string(), list.clone())];
        let test = match &list {
            Val::Node(_, Ty::List(_), _) => self.with_variables(&known, |tracer| tracer.expr(&is_so_long))?,
            Val::List(items) => {
                Val::Lit(Arg::Bool(i64::try_from(items.len()) == Ok(count)), Ty::Rust("bool".to_owned()))
            }
            _ => {
                self.rollback(mark);
                return Ok(None);
            }
        };
        let then = &mut |tracer: &mut Self| {
            let array = tracer.exactly(&list, count, at)?;
            tracer.bind(pat, array)?;
            then(tracer)
        };
        self.if_value(&test, (at, span), then, otherwise).map(Some)
    }

    /// The list, which has to be so long.
    fn exactly(&mut self, list: &Val, length: i64, span: Span) -> Result<Val> {
        if let Val::List(_) = list {
            return Ok(list.clone());
        }
        let args = vec![self.operand(list, span)?, Arg::Int(length)];
        Ok(self.host_node(HostOp::Exactly, args, "array", list.ty(), span))
    }
}
