//! Options of tensors that opaque code mentions: generated code may hold other ones than the user's does.

use fx_ir::{Arg, CodeVariable, Effect, HostOp};
use proc_macro2::Span;

use crate::syntax::{bound_names, written_types::typed_params};
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    entry::signature::holds_reference,
    opaque::{
        borrowed::{HeldOption, held_option},
        template::hole,
    },
    tracer::application,
};

impl Tracer<'_> {
    /// What the user's variable is that stands for an option of a tensor, which the code does not own and of which generated
    /// code may hold another one; `None` where the code does not tell.
    pub(in crate::trace) fn held_option_of(
        &self,
        value: &Val,
        (expr, name): (&syn::Expr, &str),
        writes: &[String],
    ) -> Option<HeldOption> {
        let is_held = matches!(value, Val::Node(_, Ty::Option(held), RefKind::Ref) if **held == Ty::Tensor)
            && !writes.iter().any(|written| written == name)
            && !self.is_lent_option(name, value);
        if is_held { held_option(expr, name) } else { None }
    }

    /// The option for a variable of the code, which is the same as the user's.
    pub(in crate::trace) fn option_variable(
        &mut self,
        (value, name): (&Val, &str),
        held: HeldOption,
        args: &mut Vec<Arg>,
        span: Span,
    ) -> Result<CodeVariable> {
        let copy = self.option_for_code(value, name, span)?;
        let spelled = hole(args, copy);
        Ok(match held {
            HeldOption::BehindReference => CodeVariable::new(name, format!("&{spelled}")),
            HeldOption::OfReference => CodeVariable::new(name, format!("{spelled}.as_ref()")),
        })
    }

    /// An option of a tensor as the user's code has it: generated code may hold the tensor itself or a reference to it. What
    /// the code makes of the option may borrow the tensor.
    pub(in crate::trace) fn option_for_code(&mut self, value: &Val, name: &str, span: Span) -> Result<Arg> {
        let operand = self.operand(value, span)?;
        let Some(copy) = self.copy_of(&value.ty(), &operand) else { return Ok(operand) };
        let (op, args) = application(copy);
        let copy = self.host_node_with(Effect::Io, op, args, name, value.ty(), span);
        self.operand(&copy, span)
    }

    /// Whether it is a parameter `Option<&Tensor>` of the function that is inlined, of an option that owns the tensor.
    pub(in crate::trace) fn is_lent_option(&self, name: &str, value: &Val) -> bool {
        let Val::Node(id, Ty::Option(held), RefKind::Ref) = value else { return false };
        let lends = self.graph.node(*id).op.host().is_some_and(HostOp::yields_loan);
        if **held != Ty::Tensor || lends || self.is_given(*id) || self.holds_handles(*id) {
            return false;
        }
        let function = self.function();
        let is_param = typed_params(&function.sig).any(|param| {
            let is_it = matches!(&*param.pat, syn::Pat::Ident(ident) if ident.ident == name);
            is_it && matches!(&*param.ty, syn::Type::Path(_)) && holds_reference(&param.ty)
        });
        let body = || syn::ExprBlock { attrs: Vec::new(), label: None, block: function.block.clone() };
        is_param && !bound_names(&body().into()).contains(name)
    }
}
