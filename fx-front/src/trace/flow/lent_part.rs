//! Parts of what an option of the caller's state borrows, as options: tested, and handed to functions.

use std::rc::Rc;

use syn::{Expr, spanned::Spanned};

use crate::trace::{
    Result, Tracer, Val,
    desugar::lent_option::{MappedOption, arguments, split},
    flow::matched::Continuation,
    place::{Place, may_borrow::borrows},
    unsupported,
};

impl<'a> Tracer<'a> {
    /// A call that is handed `option.map(|held| part)` as a decision whether the option is there; `None` for any other.
    pub(in crate::trace) fn split_by_option(&mut self, call: &Expr) -> Result<Option<Expr>> {
        let arguments = arguments(call);
        let mapped = arguments.iter().enumerate().find_map(|(at, arg)| Some((at, MappedOption::of(arg)?)));
        let Some((at, mapped)) = mapped.filter(|(_, mapped)| borrows(self.index, mapped.part())) else {
            return Ok(None);
        };
        let mark = self.checkpoint();
        let is_lent = self.lent_option(mapped.option)?.is_some();
        self.rollback(mark);
        if !is_lent {
            return Ok(None);
        }
        let name = self.fresh_name("held", mapped.part().span());
        Ok(split(call, (at, &mapped), &name, call.span()).map(Expr::Match))
    }

    /// `if let Some(pattern) = option.map(|held| part)`, where the option is there and lies at that place: binds the part.
    pub(in crate::trace) fn bind_part(
        &mut self,
        mapped: &MappedOption<'_>,
        held: Place,
        pattern: &syn::Pat,
        then: Continuation<'_, 'a>,
    ) -> Result<Val> {
        let span = mapped.part().span();
        let name = self.fresh_name("held", span);
        let Some(part) = mapped.part_of(&name) else { return unsupported(span, "a closure of this form") };
        self.env.declare(&name.to_string(), Val::Place(Rc::new(held)));
        let value = self.expr(&part)?;
        if self.borrows_a_copy(&part, &value) {
            return unsupported(span, "a reference to a copy of what the forward writes to");
        }
        self.bind(pattern, value)?;
        then(self)
    }
}
