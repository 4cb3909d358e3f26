//! Recurrent layers, whose calls stay one node each, and their states, which are made of tensors and come apart into them.

use fx_ir::{Host, HostOp, LayerRow, Op};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::trace::types::ty::{GRU_STATE, LSTM_STATE};
use crate::trace::types::ty::{is_path_of, is_state};
use crate::trace::{Result, Tracer, Ty, Val, unsupported};

impl Tracer<'_> {
    /// A method of a recurrent layer, which stays one call: the state is a value of its own.
    pub(in crate::trace) fn recurrent(
        &mut self,
        layer: &Val,
        name: &str,
        call: &syn::ExprMethodCall,
        values: &[Val],
    ) -> Result<Val> {
        let state = match layer.ty() {
            Ty::Leaf(kind) => LayerRow::of_type(kind).and_then(|row| row.state),
            _ => None,
        };
        let Some(state) = state else { return unsupported(call.span(), "the state of a layer that has none") };
        let state = Ty::Rust(format!("::fx_runtime::nn::{state}"));
        let ty = match name {
            "seq" | "seq_init" => Ty::Tuple(vec![Ty::Tensor, state]),
            "step" | "zero_state" => state,
            _ => return unsupported(call.method.span(), format!("the method `{name}`")),
        };
        let object = self.operand(layer, call.span())?;
        let args = self.operands_of_call(vec![object], &call.args, values)?;
        let op = Op::Host(Host::pure(HostOp::Method(name.to_owned())));
        let label = self.label_of(layer, name);
        Ok(self.push_labelled(op, args, name, &label, ty, call.span()))
    }

    /// `LSTMState((h, c))` and `GRUState(h)`, of the type `name`.
    pub(in crate::trace) fn state_of_tensors(&mut self, name: &str, value: &Val, span: Span) -> Result<Val> {
        let parts = match value {
            Val::Tuple(parts) if name == LSTM_STATE => parts.as_slice(),
            one if name == GRU_STATE => std::slice::from_ref(one),
            _ => return unsupported(span, "a state whose tensors are not written out"),
        };
        let mut args = Vec::new();
        for part in parts {
            if !part.is_tensor() {
                return unsupported(span, "a state whose tensors are not written out");
            }
            args.push(HostOp::Handle.on(self.operand(part, span)?));
        }
        let op = if name == LSTM_STATE { HostOp::LstmState } else { HostOp::GruState };
        Ok(self.host_node(op, args, "state", Ty::Rust(name.to_owned()), span))
    }

    /// The field `0` of a state: its tensors, by second handles. `None` if it is no state.
    pub(in crate::trace) fn tensors_of_state(&mut self, state: &Val, span: Span) -> Option<Val> {
        let id = state.node()?;
        let mut part = |method: &str, name: &str| {
            self.host_node(HostOp::Method(method.to_owned()), vec![id.into()], name, Ty::Tensor, span)
        };
        match state.ty() {
            ty if is_state(&ty, LSTM_STATE) => Some(Val::Tuple(vec![part("h", "hidden"), part("c", "cell")])),
            ty if is_state(&ty, GRU_STATE) => Some(part("value", "hidden")),
            _ => None,
        }
    }
}

/// The state that a function of this path makes; `None` for any other function.
pub(in crate::trace) fn state_made_by(full: &str) -> Option<&'static str> {
    [LSTM_STATE, GRU_STATE].into_iter().find(|name| is_path_of(full, name))
}
