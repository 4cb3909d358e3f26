//! Conditions with `let` among them: `if a && let Some(b) = c && d { .. } else { .. }`.
//!
//! Each stands in the one before it. What happens otherwise is traced for each of them, and sees nothing of what they
//! bind; where it holds such conditions itself, it is not written out more often than [`COPIES`] says.

use std::cell::RefCell;

use proc_macro2::Span;

use crate::trace::{Result, Tracer, Val, desugar::let_chains::conditions, flow::matched::Continuation, unsupported};

/// How often one piece of code is written at most.
const COPIES: usize = 8;

/// Traces a decision by one condition: what happens where it holds, and where it does not.
pub(in crate::trace) type Decide<'c, 'a> =
    &'c dyn Fn(&mut Tracer<'a>, &syn::Expr, Continuation<'_, 'a>, Continuation<'_, 'a>) -> Result<Val>;

/// What happens where one of the conditions does not hold.
struct Otherwise<'c, 'a, 'o> {
    trace: &'c RefCell<Continuation<'o, 'a>>,
    /// How many scopes it sees.
    depth: usize,
    /// How often it is written.
    copies: usize,
}

impl<'a> Tracer<'a> {
    /// `then` where all that the condition asks is so; `decide` asks one thing.
    pub(in crate::trace) fn if_each(
        &mut self,
        condition: &syn::Expr,
        (span, decide): (Span, Decide<'_, 'a>),
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        let conditions = conditions(condition);
        let copies = self.copies * conditions.len();
        if copies > COPIES {
            return unsupported(span, "conditions with `let`, one behind the other");
        }
        let otherwise = Otherwise { trace: &RefCell::new(otherwise), depth: self.env.depth(), copies };
        self.if_rest(&conditions, decide, then, &otherwise)
    }

    fn if_rest(
        &mut self,
        conditions: &[syn::Expr],
        decide: Decide<'_, 'a>,
        then: Continuation<'_, 'a>,
        otherwise: &Otherwise<'_, 'a, '_>,
    ) -> Result<Val> {
        let Some((first, rest)) = conditions.split_first() else { return then(self) };
        let then = &mut |tracer: &mut Self| tracer.if_rest(rest, decide, then, otherwise);
        let other = &mut |tracer: &mut Self| {
            let inner = tracer.env.cut(otherwise.depth);
            let outer = std::mem::replace(&mut tracer.copies, otherwise.copies);
            let value = (otherwise.trace.borrow_mut())(tracer);
            tracer.copies = outer;
            tracer.env.restore(inner);
            value
        };
        decide(self, first, then, other)
    }
}
