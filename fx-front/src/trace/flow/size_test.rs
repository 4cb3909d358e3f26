//! Decisions by how many dimensions a tensor has: `if let Ok((b, c)) = x.size2()`.

use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::matches_all;
use crate::trace::{Result, Tracer, Ty, Val, desugar::size_query::SizeQuery, flow::matched::Continuation};

impl<'a> Tracer<'a> {
    /// `if let Ok(pattern) = query { then } else { otherwise }` of the sizes of a tensor; `None` where it is none such.
    pub(in crate::trace) fn if_sized(
        &mut self,
        query: &syn::Expr,
        pat: &syn::Pat,
        span: Span,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Option<Val>> {
        let Some(query) = SizeQuery::of(query).filter(|_| matches_all(pat)) else { return Ok(None) };
        let (Some(tensor), at) = (self.sized(&query)?, query.tensor().span()) else { return Ok(None) };
        let name = self.fresh_name("sized", at);
        let (test, sizes) = query.on(&name);
        let value = self.with_variables(&[(name.to_string(), tensor)], |tracer| {
            let test = tracer.expr_before(&test)?;
            let then = &mut |tracer: &mut Self| {
                let sizes = tracer.expr_before(&sizes)?;
                tracer.bind(pat, sizes)?;
                then(tracer)
            };
            tracer.if_value(&test, (at, span), then, otherwise)
        });
        value.map(Some)
    }

    /// `x.size2().unwrap_or((0, 0))` and the like; `None` for any other call.
    pub(in crate::trace) fn size_method(
        &mut self,
        call: &syn::ExprMethodCall,
        trace: &mut dyn FnMut(&mut Tracer<'a>, &syn::Expr) -> Result<Val>,
    ) -> Result<Option<Val>> {
        let Some(query) = SizeQuery::of(&call.receiver) else { return Ok(None) };
        if let Some(is_err) = SizeQuery::asks_error(call) {
            return self.is_sized(&query, is_err);
        }
        let Some((pat, some, none)) = query.answer(call) else { return Ok(None) };
        let trace = std::cell::RefCell::new(trace);
        let then = &mut |tracer: &mut Self| trace.borrow_mut()(tracer, &some);
        let otherwise = &mut |tracer: &mut Self| trace.borrow_mut()(tracer, &none);
        self.if_sized(&call.receiver, &pat, call.span(), then, otherwise)
    }

    /// Whether the tensor has so many dimensions, or whether it has not; `None` where it is no tensor.
    fn is_sized(&mut self, query: &SizeQuery<'_>, is_negated: bool) -> Result<Option<Val>> {
        let Some(tensor) = self.sized(query)? else { return Ok(None) };
        let name = self.fresh_name("sized", query.tensor().span());
        let (test, _) = query.on(&name);
        let test = if is_negated { syn::parse_quote_spanned!(test.span()=> !(#test)) } else { test };
        self.with_variables(&[(name.to_string(), tensor)], |tracer| tracer.expr_before(&test)).map(Some)
    }

    /// The tensor whose sizes are asked for; `None` where it is none.
    fn sized(&mut self, query: &SizeQuery<'_>) -> Result<Option<Val>> {
        let mark = self.checkpoint();
        let tensor = self.expr_before(query.tensor())?.behind();
        if tensor.ty() != Ty::Tensor || tensor.node().is_none() {
            self.rollback(mark);
            return Ok(None);
        }
        Ok(Some(tensor))
    }
}
