//! What `?` stands behind: an option that becomes an error, and a `Result` whose error is told in other words.

use std::rc::Rc;

use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::trace::{
    Result, Tracer, Ty, Val, application,
    asked::propagating,
    desugar::ok_or::{asked, explained, missing},
};

impl Tracer<'_> {
    /// What is in a `Result` whose error is told in other words where it leaves the function: the frozen model tells its
    /// own. `None` if the expression is none such.
    pub(in crate::trace) fn in_other_words(&mut self, expr: &Expr) -> Result<Option<Val>> {
        let explained = explained(expr, &["context", "with_context", "wrap_err", "wrap_err_with", "map_err"]);
        let Some((told, call)) = explained.filter(|_| self.errors_propagate()) else { return Ok(None) };
        let mark = self.checkpoint();
        let value = self.expr(propagating(told))?;
        let is_own = self.index.method(&value.ty(), &call.method.to_string()).is_some();
        let is_made = matches!(told, Expr::MethodCall(_) | Expr::Call(_));
        if is_own || !is_made || matches!(value.ty(), Ty::Unknown | Ty::Option(_) | Ty::Struct(_)) {
            self.rollback(mark);
            return Ok(None);
        }
        self.unwrapped(value, expr.span()).map(Some)
    }

    /// What is in the option, or the error that leaves the function; `None` if the expression is none such.
    pub(in crate::trace) fn question_on_option(&mut self, expr: &Expr) -> Result<Option<Val>> {
        let test = asked(expr).map(|(option, error)| (option, error.clone())).or_else(|| missing(expr));
        let Some((option, error)) = test.filter(|_| self.errors_propagate()) else { return Ok(None) };
        let (mark, span) = (self.checkpoint(), expr.span());
        if let Some(held) = self.borrowed_or_error(option, &error)? {
            return Ok(Some(held));
        }
        let option = self.expr(option)?.behind();
        if !matches!(option.ty(), Ty::Option(_)) {
            self.rollback(mark);
            return Ok(None);
        }
        if self.path_of(&option).is_some() && matches!(option.ty(), Ty::Option(inner) if self.is_module(&inner)) {
            // Which layer it is would only be known at the call.
            self.rollback(mark);
            return Ok(None);
        }
        let choice: syn::ExprMatch = parse_quote_spanned!(span=> match fx_asked {
            Some(fx_held) => fx_held,
            None => return Err(::std::convert::From::from(#error)),
        });
        self.env.open();
        self.env.declare("fx_asked", option);
        let value = self.choice(&choice, false);
        self.env.close();
        value.map(Some)
    }

    /// The place that an option borrows to be written to, which is there unless the error leaves the function; `None` where it
    /// borrows none.
    fn borrowed_or_error(&mut self, option: &Expr, error: &Expr) -> Result<Option<Val>> {
        let Some(test) = self.lent_option(option)? else { return Ok(None) };
        let span = option.span();
        let (op, args) = application(test.flag);
        let flag = self.on_place(&test.of, op, args, "is_some", Ty::Rust("bool".to_owned()), span);
        let leaves: Expr = parse_quote_spanned!(span=> return Err(::std::convert::From::from(#error)));
        self.if_value(&flag, (span, span), &mut |_| Ok(Val::Unit), &mut |tracer| tracer.expr(&leaves))?;
        Ok(Some(Val::Place(Rc::new(test.held))))
    }
}
