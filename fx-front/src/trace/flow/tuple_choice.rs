//! Tuples that are only taken apart: a `match` or `if let` on one is traced as decisions about its parts.

use std::cell::RefCell;

use proc_macro2::Span;

use crate::syntax::matches_all;
use crate::trace::{Result, Tracer, Val, desugar::match_tuple::decision, flow::branch::Continuation};

impl<'a> Tracer<'a> {
    /// The value of a `match` on a tuple whose parts are known one by one; none where its arms are not that simple.
    pub(in crate::trace) fn choice_by_parts(
        &mut self,
        choice: &syn::ExprMatch,
        parts: &[Val],
        tail: bool,
    ) -> Option<Result<Val>> {
        let (names, decision) = decision(choice, parts.len())?;
        Some(self.with_parts(&names, parts, &mut |tracer| tracer.last_expr(&decision, tail)))
    }

    /// `if let (Some(a), Some(b)) = (a, b)` as one `if let` in the other.
    pub(in crate::trace) fn if_all(
        &mut self,
        test: &[(Val, syn::Pat)],
        span: Span,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        let Some(((value, pat), rest)) = test.split_first() else { return then(self) };
        if matches_all(pat) {
            self.env.open();
            let bound = self.bind(pat, value.clone());
            let value = bound.and_then(|()| self.if_all(rest, span, then, otherwise));
            self.env.close();
            return value;
        }
        // Either runs once the other has ended.
        let otherwise = RefCell::new(otherwise);
        let then =
            &mut |tracer: &mut Self| tracer.if_all(rest, span, then, &mut |tracer| otherwise.borrow_mut()(tracer));
        self.if_matches(value.clone(), pat, span, then, &mut |tracer| otherwise.borrow_mut()(tracer))
    }

    fn with_parts(&mut self, names: &[syn::Ident], parts: &[Val], body: Continuation<'_, 'a>) -> Result<Val> {
        self.env.open();
        for (name, part) in names.iter().zip(parts) {
            self.env.declare(&name.to_string(), part.clone());
        }
        let value = body(self);
        self.env.close();
        value
    }
}
