//! Lists that branches hand over: written out in one, a `Vec` in another.

use fx_ir::{Arg, Effect, HostOp, NodeId, RegionId};
use proc_macro2::Span;

use crate::trace::{RefKind, Result, Tracer, Ty, Val, application, entry::signature::is_vec, types::ty::is_copy};

/// In which forms branches hand over a list.
#[derive(Clone)]
pub(in crate::trace) struct ListRepr {
    /// What the lists hold, where one says it.
    element: Ty,
    /// Written out: as an array or as a `Vec`.
    is_written: bool,
    /// A `Vec` for sure, and of what.
    vec: Option<Elements>,
    /// In another form.
    is_other: bool,
}

/// What a `Vec` of generated code holds.
#[derive(Clone, Copy, PartialEq)]
enum Elements {
    /// What the user's does.
    Same,
    /// Handles where the user's holds references.
    Handles,
}

impl ListRepr {
    const NONE: ListRepr = ListRepr { element: Ty::Unknown, is_written: false, vec: None, is_other: false };

    /// How the user's variable holds the list: as what one branch says for sure, or, where all are written out, as a `Vec`
    /// or an array.
    pub(in crate::trace) fn ref_kind(&self) -> Option<RefKind> {
        match self {
            ListRepr { is_other: true, .. } => None,
            ListRepr { vec: Some(_), .. } => Some(RefKind::Value),
            ListRepr { is_written, .. } => is_written.then_some(RefKind::RefRef),
        }
    }
}

impl Tracer<'_> {
    /// Which of the leaves that branches hand over can be a `Vec` in all of them.
    pub(in crate::trace) fn list_reprs(&self, branches: impl Iterator<Item = Vec<Val>>) -> Vec<ListRepr> {
        let mut vecs: Vec<ListRepr> = Vec::new();
        for leaves in branches {
            vecs.resize(vecs.len().max(leaves.len()), ListRepr::NONE);
            for (listed, leaf) in vecs.iter_mut().zip(&leaves) {
                if listed.element == Ty::Unknown && !leaf.parts().iter().any(is_reference) {
                    listed.element = leaf.ty().element();
                }
                match leaf {
                    Val::List(_) => listed.is_written = true,
                    Val::Node(id, Ty::List(_), RefKind::Value) if self.holds_handles(*id) => {
                        listed.vec = Some(Elements::Handles);
                    }
                    Val::Node(id, Ty::List(_), RefKind::Value) if self.is_vec(*id) || self.is_lent(*id) => {
                        listed.vec.get_or_insert(Elements::Same);
                    }
                    Val::Node(id, Ty::List(_), RefKind::Value) if self.is_vec_field(*id) => {
                        listed.vec.get_or_insert(Elements::Same);
                    }
                    Val::Node(id, Ty::List(_), _) if self.is_vec(*id) => {}
                    Val::Node(_, Ty::List(_), RefKind::Value) if self.is_spilled(leaf) => {}
                    _ => listed.is_other = true,
                }
            }
        }
        vecs
    }

    /// Which of the leaves that branches hand over one of them owns, for all.
    pub(in crate::trace) fn owned_leaves(&self, branches: impl Iterator<Item = Vec<Val>>) -> Vec<bool> {
        let mut owned: Vec<bool> = Vec::new();
        for leaves in branches {
            owned.resize(owned.len().max(leaves.len()), false);
            for (owned, leaf) in owned.iter_mut().zip(&leaves) {
                *owned |= leaf.node().is_none_or(|id| !self.is_loan(id));
            }
        }
        owned
    }

    /// Returns whether it is a list or struct that a branch cannot hand over as its own: generated code has a reference to
    /// it, or a parameter that is read elsewhere.
    fn is_lent(&self, id: NodeId) -> bool {
        self.is_loan(id) || self.entry_type(id).is_some_and(|ty| is_vec(&ty))
    }

    /// The value with a copy of each list or struct that it only has a reference to, where another branch owns its own.
    pub(in crate::trace) fn with_own_copies(
        &mut self,
        region: RegionId,
        value: &Val,
        owned: &[bool],
        span: Span,
    ) -> Option<Val> {
        let leaves = value.leaves()?;
        let outer = std::mem::replace(&mut self.region, region);
        let each = leaves.into_iter().zip(owned).map(|(leaf, &owned)| match leaf {
            Val::Node(id, _, RefKind::Value) if owned && self.is_lent(id) => self.own_copy(&leaf, span),
            leaf => Some(leaf),
        });
        let leaves: Option<Vec<Val>> = each.collect();
        self.region = outer;
        Some(value.rebuild(&mut leaves?.into_iter()))
    }

    /// The value with each list that is written out as a `Vec`, where other branches have none but such lists.
    pub(in crate::trace) fn with_vecs(
        &mut self,
        region: RegionId,
        value: &Val,
        vecs: &[ListRepr],
        span: Span,
    ) -> Option<Val> {
        let mut leaves = value.leaves()?;
        let outer = std::mem::replace(&mut self.region, region);
        for (leaf, _) in leaves.iter_mut().zip(vecs).filter(|(_, listed)| listed.vec == Some(Elements::Handles)) {
            if let Some(handles) = self.as_handles(leaf, span) {
                *leaf = handles;
            }
        }
        for (leaf, listed) in leaves.iter_mut().zip(vecs).filter(|(_, listed)| listed.is_written && !listed.is_other) {
            // What a field holds stays there.
            if let Val::Node(id, ..) = leaf
                && self.is_vec_field(*id)
                && let Some(own) = self.own_copy(leaf, span)
            {
                *leaf = own;
            }
            let Val::List(items) = &*leaf else { continue };
            if let Ok(items) = self.exact_elements(items, span) {
                let (op, args) = application(self.vec_of(items, &listed.element));
                // Each call has a list of its own; one of numbers may be known before.
                let effect = if is_copy(&listed.element) { Effect::Pure } else { Effect::Io };
                *leaf = self.host_node_with(effect, op, args, "list", leaf.ty(), span);
            }
        }
        self.region = outer;
        Some(value.rebuild(&mut leaves.into_iter()))
    }

    /// The list of references as one of handles; `None` where it is that, or holds something else.
    fn as_handles(&mut self, list: &Val, span: Span) -> Option<Val> {
        let ty = Ty::List(Box::new(Ty::Tensor));
        let handles = match list {
            Val::List(items) if items.iter().all(Val::is_tensor) => {
                let items: Result<Vec<Arg>> = items.iter().map(|item| self.operand(item, span)).collect();
                let items = items.ok()?.into_iter().map(|item| HostOp::Handle.on(item)).collect();
                self.vec_of(items, &Ty::Tensor)
            }
            Val::Node(id, held, _) if *held == ty && !self.holds_handles(*id) => self.copy_of(&ty, &Arg::Node(*id))?,
            _ => return None,
        };
        let (op, args) = application(handles);
        let handles = self.host_node_with(Effect::Io, op, args, "handles", ty, span);
        let id = handles.node()?;
        self.facts.set_handles(id, id);
        Some(handles)
    }
}

fn is_reference(item: &Val) -> bool {
    item.ref_kind() != Some(RefKind::Value)
}
