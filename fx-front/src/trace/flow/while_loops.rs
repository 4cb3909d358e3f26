//! Loops that a condition ends: `while` and `loop`.

use fx_ir::Op;
use syn::spanned::Spanned;

use crate::trace::{
    Result, Tracer, Val,
    desugar::{
        counted_while::counted, jumps::without_jumps, labels::without_label, let_chains::has_let,
        loop_break_value::with_value,
    },
    flow::join::yielded_args,
    unsupported,
};

impl Tracer<'_> {
    /// `loop { .. }` is a `while` over the flag that its `break` sets.
    pub(in crate::trace) fn endless_loop(&mut self, each: &syn::ExprLoop) -> Result<Val> {
        if let Some(waiting) = with_value(each) {
            return self.block(&waiting, false);
        }
        if each.label.is_some() {
            return self.endless_loop(&without_label(each));
        }
        let (body, flag) = without_jumps(each, &each.body)?;
        let Some(flag) = flag else {
            return unsupported(each.span(), "`loop` without a `break` that is understood");
        };
        let each: syn::ExprWhile = syn::parse_quote_spanned!(each.loop_token.span=> while !#flag #body);
        self.stopping(Some(&flag), &mut |tracer| tracer.turns(&each))
    }

    pub(in crate::trace) fn while_loop(&mut self, each: &syn::ExprWhile) -> Result<Val> {
        if each.label.is_some() {
            return self.while_loop(&without_label(each));
        }
        if let Some(block) = counted(each, self) {
            let mark = self.checkpoint();
            let value = self.block(&block, false);
            if value.is_ok() {
                return value;
            }
            self.rollback(mark);
        }
        if has_let(&each.cond) {
            let (cond, body) = (&each.cond, &each.body);
            let span = each.while_token.span;
            return self.endless_loop(&syn::parse_quote_spanned!(span=> loop { if #cond #body else { break; } }));
        }
        let (body, flag) = without_jumps(each, &each.body)?;
        let each = match &flag {
            None => syn::ExprWhile { body, ..each.clone() },
            Some(flag) => {
                let cond = &each.cond;
                syn::parse_quote_spanned!(each.while_token.span=> while !#flag && (#cond) #body)
            }
        };
        self.stopping(flag.as_ref(), &mut |tracer| tracer.turns(&each))
    }

    fn turns(&mut self, each: &syn::ExprWhile) -> Result<Val> {
        let whole = syn::Expr::While(each.clone());
        let carried = self.carried_by(&whole, each.span())?;
        self.turns_with(each, &carried)
    }

    /// The loop, which carries these variables.
    fn turns_with(&mut self, each: &syn::ExprWhile, carried: &[(String, Val)]) -> Result<Val> {
        let mark = self.checkpoint();
        let args = self.handed_in(carried, each.span())?;
        let span = each.while_token.span;
        let owner = self.owner(Op::While, args, "each", span);
        let condition = self.in_region(owner, &mut |tracer| {
            tracer.declare_carried(carried, span);
            tracer.expr(&each.cond)
        })?;
        let Some(flag) = yielded_args(condition.value()) else {
            return unsupported(each.cond.span(), "a condition of this form");
        };
        self.end_branch(&condition, flag, span);
        let body = self.in_region(owner, &mut |tracer| {
            tracer.declare_carried(carried, span);
            tracer.block(&each.body, false)
        })?;
        if let Some(written) = self.written_in(&body, carried) {
            self.rollback(mark);
            return self.turns_with(each, &written);
        }
        self.end_loop(owner, carried, &body, span)
    }
}
