//! The model and its fields, as opaque code gets them.

use fx_ir::{Arg, CodeScope, CodeVariable};
use syn::spanned::Spanned;

use crate::syntax::effects;
use crate::trace::{
    Result, Tracer, Ty,
    opaque::{capture::Capture, template::hole},
    unsupported,
};

impl Tracer<'_> {
    /// `let self_fc = &$0;` for every field that is mentioned, and `this` for the model itself; says whether one of them is
    /// held for as long as the code runs, because it may be written to.
    pub(in crate::trace) fn capture_receiver(
        &mut self,
        expr: &syn::Expr,
        capture: &Capture,
        scope: &mut CodeScope,
        args: &mut Vec<Arg>,
    ) -> Result<bool> {
        let span = expr.span();
        let receiver = self.frames.last().and_then(|frame| frame.receiver.clone());
        if self.env.has("self") && (capture.whole_self || !capture.fields.is_empty()) {
            return unsupported(span, "code that mentions what a method writes to");
        }
        let Some(receiver) = receiver else {
            let mentioned = capture.whole_self || !capture.fields.is_empty();
            return if mentioned { unsupported(span, "`self` without a receiver") } else { Ok(false) };
        };
        let written = effects::fields(expr, &|call| self.writes_by(call));
        // `mut self` is a variable of the method's own.
        let is_mutable = self.frames.last().is_some_and(|frame| {
            let function = &self.index.fns[frame.function];
            function.writes_self() || function.sig.receiver().is_some_and(|own| own.mutability.is_some())
        });
        // A closure may take a reference of the user's with it, time after time.
        let borrow = if is_mutable { "&mut *" } else { "&*" };
        let mut holds = false;
        for name in &capture.fields {
            if let Some(cell) = self.mentioned(&receiver, name, written.contains(name), span)? {
                let spelled = hole(args, self.operand(&cell, span)?);
                let held = capture.own_name(&format!("held_{}", name.trim_start_matches("r#")));
                scope.variables.push(CodeVariable::mutable(held.clone(), format!("{spelled}.lock()")));
                scope.variables.push(CodeVariable::new(capture.field_name(name), format!("{borrow}{held}")));
                holds = true;
                continue;
            }
            if is_mutable && written.contains(name) {
                return unsupported(span, format!("code that writes to the field `{name}` of a value"));
            }
            let value = self.field(&receiver, name, span).and_then(|value| self.unmoved(value, name, span))?;
            let is_option = value.ty() == Ty::Option(Box::new(Ty::Tensor));
            let operand = if is_option { self.option_for_code(&value, name, span) } else { self.operand(&value, span) };
            let spelled = hole(args, operand?);
            scope.variables.push(CodeVariable::new(capture.field_name(name), format!("&{spelled}")));
        }
        if capture.whole_self && self.is_stateful() {
            return unsupported(span, "code that takes the whole model, of whose state it would have a copy");
        }
        if capture.whole_self {
            let spelled = hole(args, self.operand(&receiver, span)?);
            scope.variables.push(CodeVariable::new(capture.receiver_name(), format!("&{spelled}")));
        }
        Ok(holds)
    }
}
