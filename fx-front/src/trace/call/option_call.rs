//! Methods of options, and of truth values that make one, as the decisions that they stand for.

use crate::trace::{Result, Tracer, Ty, Val, desugar::option, types::expectation::Expectation};

impl Tracer<'_> {
    /// `flag.then(..)` and `flag.then_some(..)`.
    pub(in crate::trace) fn asked_of(
        &mut self,
        flag: Val,
        call: &syn::ExprMethodCall,
        expected: Option<Expectation>,
    ) -> Result<Val> {
        let branch = option::asked(call)?;
        let mut variables = vec![(option::FLAG.to_owned(), flag)];
        if let Some(value) = option::worked_out(call) {
            variables.push((option::VALUE.to_owned(), self.expr(value)?));
        }
        self.expects.next = expected;
        self.with_variables(&variables, |tracer| tracer.branch(&branch, false))
    }

    /// `option.map(|x| ..)`.
    pub(in crate::trace) fn map_option(&mut self, value: Val, call: &syn::ExprMethodCall) -> Result<Val> {
        let (closure, choice) = option::mapped(call)?;
        if let Val::Some(inner) = value {
            return Ok(Val::Some(Box::new(self.call_closure(closure, vec![*inner])?)));
        }
        self.with_variables(&[(option::MAPPED.to_owned(), value)], |tracer| tracer.choice(&choice, false))
    }

    /// `option.unwrap_or(xs)` and the like.
    pub(in crate::trace) fn option_as_match(
        &mut self,
        value: Val,
        name: &str,
        call: &syn::ExprMethodCall,
    ) -> Result<Val> {
        if let (Ty::Option(held), "unwrap_or_default") = (value.ty(), name)
            && let Some(call) = option::with_default(call, &held)
        {
            return self.method_of_value(value, "unwrap_or", &call);
        }
        let choice = option::matched(name, call)?;
        self.with_variables(&[(option::MATCHED.to_owned(), value)], |tracer| tracer.choice(&choice, false))
    }
}
