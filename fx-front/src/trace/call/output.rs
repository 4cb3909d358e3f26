//! What a function that is traced in place hands over, by the type of its output.

use fx_ir::HostOp;
use syn::spanned::Spanned;

use crate::trace::std_model::method_type::is_text;
use crate::trace::types::ty::is_copy;
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    entry::signature::{holds_reference, value_type},
};

/// Returns whether the type, or a part of it, is not known.
fn is_open(ty: &Ty) -> bool {
    match ty {
        Ty::Unknown => true,
        Ty::List(inner) | Ty::Option(inner) => is_open(inner),
        _ => false,
    }
}

impl Tracer<'_> {
    /// The value with the type that the function's signature gives it.
    pub(in crate::trace) fn typed(&mut self, value: Val, function: usize) -> Result<Val> {
        let callee = &self.index.fns[function];
        let syn::ReturnType::Type(_, written) = &callee.sig.output else { return Ok(value) };
        let ty = self.index.ty(&callee.module, callee.owner.as_ref(), written);
        match ty {
            Ty::Result(inner) => {
                let value = self.unwrapped(value, callee.block.brace_token.span.close())?;
                let known = if value.ty() == Ty::Unknown {
                    if let Some(ty) = value_type(&callee.sig.output).filter(|ty| !holds_reference(ty)) {
                        self.annotate_as(&value, ty)?;
                    }
                    value.with_ty(*inner)
                } else {
                    value
                };
                let ty = known.ty();
                if let Some(id) = known.node() {
                    self.facts.set_unwrapped(id);
                }
                Ok(known.with_ty(Ty::Result(Box::new(ty))))
            }
            Ty::Tensor if matches!(**written, syn::Type::Reference(_)) && self.is_told_by_output(&value) => {
                let value = self.operand(&value, written.span())?;
                let reference = self.host_node(HostOp::BorrowTensor, vec![value], "item", Ty::Tensor, written.span());
                Ok(reference.with_ref_kind(RefKind::Ref))
            }
            ty if is_open(&value.ty()) => {
                self.annotate_output(&value, &callee.sig.output)?;
                if let Some(id) = value.node().filter(|&id| is_text(&ty) && self.is_untold(id)) {
                    self.edit_node(id).ty = self.index.ir_type(&ty);
                }
                Ok(value.with_ty(ty))
            }
            Ty::Tuple(_) if matches!(value, Val::Tuple(_)) => {
                self.annotate_output(&value, &callee.sig.output)?;
                Ok(value)
            }
            // What the output alone says of code, the code does not say.
            ty if is_copy(&ty) && value.node().is_some_and(|id| self.facts.is_asked(id)) => {
                self.annotate_output(&value, &callee.sig.output)?;
                Ok(value)
            }
            _ => Ok(value),
        }
    }

    /// Whether the value is a tensor or a reference to one, and only the output of the function says that it is a reference.
    fn is_told_by_output(&self, value: &Val) -> bool {
        let Val::Node(id, Ty::Unknown, RefKind::Value) = *value else { return false };
        self.graph.node(id).op.is_host() && self.graph.may_be_reference(id)
    }

    /// Whether nothing is known of the type of the node's value.
    fn is_untold(&self, id: fx_ir::NodeId) -> bool {
        self.graph.node(id).ty == fx_ir::Type::Unknown
    }
}
