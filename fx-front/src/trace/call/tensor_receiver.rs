//! Methods of what opaque code yields that only a tensor has, or what dereferences to one.

use fx_ir::{HostOp, catalog};
use syn::{Expr, ExprMethodCall};

use crate::trace::{Result, Tracer, Ty, Val};

impl Tracer<'_> {
    /// The tensor that a value of unknown type is or dereferences to, as the method that is called on it tells: one of the
    /// fallible methods of tch (`f_softmax`), or `apply` with a module.
    pub(in crate::trace) fn tensor_receiver(&mut self, receiver: &Val, call: &ExprMethodCall) -> Result<Option<Val>> {
        if receiver.node().is_none() || receiver.ty() != Ty::Unknown || !self.is_of_tensor(call) {
            return Ok(None);
        }
        let tensor = HostOp::BorrowTensor.on(self.operand(receiver, call.method.span())?);
        Ok(Some(self.host_node(HostOp::Handle, vec![tensor], "tensor", Ty::Tensor, call.method.span())))
    }

    fn is_of_tensor(&self, call: &ExprMethodCall) -> bool {
        let name = call.method.to_string();
        if let ("apply" | "apply_t", Some(Expr::Reference(module))) = (name.as_str(), call.args.first()) {
            let ty = self.chain_ty(&module.expr);
            return matches!(ty, Ty::Leaf(_)) || self.is_module(&ty);
        }
        let op = catalog::lookup(&name).filter(|_| name.starts_with("f_"));
        op.is_some_and(|op| op.receiver != catalog::Receiver::Free && op.params.len() == call.args.len())
    }
}
