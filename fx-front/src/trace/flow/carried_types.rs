//! What options and lists that a loop carries may hold, of which nothing says so before the loop.

use fx_ir::{Arg, NodeId};
use proc_macro2::Span;

use crate::trace::types::ty::{is_open_list, is_settled_within, is_untyped};
use crate::trace::{Tracer, Ty, Val, env::Env};

impl Tracer<'_> {
    /// Says what the options and lists that the loop carries hold, where `trace` finds it out.
    pub(in crate::trace) fn learn_by(
        &mut self,
        span: Span,
        carried: &mut [(String, Val)],
        trace: impl FnOnce(&mut Self, &[(String, Val)]) -> Option<Env>,
    ) {
        if !carried.iter().any(|(_, value)| is_open(value)) {
            return;
        }
        let (mark, outer) = (self.checkpoint(), std::mem::replace(&mut self.types_only, true));
        let learnt = trace(self, carried);
        self.types_only = outer;
        self.rollback(mark);
        let open = carried.iter_mut().filter(|(_, value)| is_open(value));
        for (name, value) in open {
            let ty = learnt.as_ref().and_then(|env| env.read(name)).map(Val::ty);
            if let Some(ty) = ty {
                self.settle(value, &ty, span);
            }
        }
    }

    /// Notes what a list holds of which nothing said so where it was made.
    pub(in crate::trace) fn settle_open_list(&mut self, list: NodeId, ty: &Ty) {
        let ir = self.index.ir_type(ty);
        self.edit_node(list).ty = ir;
    }

    /// Says of options that are `None`, and may be parts of a tuple, what they may hold.
    fn settle(&mut self, value: &mut Val, ty: &Ty, span: Span) {
        match (value, ty) {
            (Val::Tuple(parts), Ty::Tuple(types)) => {
                parts.iter_mut().zip(types).for_each(|(part, ty)| self.settle(part, ty, span));
            }
            (Val::Node(id, held, _), ty) if is_open_list(held) => {
                if matches!(ty, Ty::List(element) if is_settled_within(element) && !is_untyped(element)) {
                    self.settle_open_list(*id, ty);
                    *held = ty.clone();
                }
            }
            (value, ty) if is_open(value) => {
                if let Some(known) = self.none_of(ty, span) {
                    *value = known;
                }
            }
            _ => {}
        }
    }
}

/// A list or an option that is `None`, of which nothing says what it may hold, or a tuple with such a part.
pub(in crate::trace) fn is_open(value: &Val) -> bool {
    match value {
        Val::Lit(Arg::None, Ty::Option(inner)) => **inner == Ty::Unknown,
        Val::Node(_, ty, _) => is_open_list(ty),
        Val::Tuple(parts) => parts.iter().any(is_open),
        _ => false,
    }
}
