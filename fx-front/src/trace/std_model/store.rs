//! What a forward asks the model's variable store: where the weights lie, and of which dtype they are.

use fx_ir::HostOp;
use proc_macro2::Span;

use crate::trace::{Result, Tracer, Ty, Val, tensor::op_type::host_type};

impl Tracer<'_> {
    /// `self.vs.kind()` and `self.vs.device()`: of a frozen model those of its own weights.
    pub(in crate::trace) fn of_store(&mut self, store: &Val, name: &str, span: Span) -> Result<Val> {
        let args = vec![HostOp::Frame.of([]), HostOp::Ref.on(self.operand(store, span)?)];
        let op = HostOp::Runtime(format!("{name}_of_store"));
        Ok(self.host_node(op, args, name, host_type(name).unwrap_or(Ty::Unknown), span))
    }
}
