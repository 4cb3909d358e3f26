//! Lists that branches hand over: written out in one, a `Vec` in another.

use fx_ir::RegionId;
use proc_macro2::Span;

use crate::trace::{RefKind, Tracer, Ty, Val};

/// In which forms branches hand over a list.
#[derive(Clone)]
pub(in crate::trace) struct ListRepr {
    /// What the lists hold, where one says it.
    element: Ty,
    /// Written out: as an array or as a `Vec`.
    is_written: bool,
    /// A `Vec` for sure.
    is_vec: bool,
    /// In another form.
    is_other: bool,
    held: Held,
}

/// How generated code holds the lists of the branches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Unknown,
    /// As a pattern binds it, by a reference.
    Bound,
    /// In a variable that owns it.
    Owned,
    /// Not all of them alike.
    Mixed,
}

impl Held {
    fn and(self, other: Held) -> Held {
        match (self, other) {
            (Held::Unknown, held) | (held, Held::Unknown) => held,
            (held, other) if held == other => held,
            _ => Held::Mixed,
        }
    }
}

impl ListRepr {
    const NONE: ListRepr =
        ListRepr { element: Ty::Unknown, is_written: false, is_vec: false, is_other: false, held: Held::Unknown };

    /// How the user's variable holds the `Vec` that generated code makes of written lists; it may be an array there.
    pub(in crate::trace) fn ref_kind(&self) -> Option<RefKind> {
        let form = if self.is_vec { RefKind::Value } else { RefKind::RefRef };
        (self.is_written && !self.is_other).then_some(form)
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
                if let Val::Node(id, Ty::List(_), RefKind::Value) = leaf {
                    listed.held = listed.held.and(if self.is_bound(*id) { Held::Bound } else { Held::Owned });
                }
                match leaf {
                    Val::List(_) => listed.is_written = true,
                    Val::Node(id, Ty::List(_), form) if self.is_vec(*id) => listed.is_vec |= *form == RefKind::Value,
                    _ => listed.is_other = true,
                }
            }
        }
        vecs
    }

    /// The value with each list that is written out as a `Vec`, where other branches have none but such lists, and with a
    /// copy of each that a pattern binds, where another branch owns its list; `None` where there is no copy.
    pub(in crate::trace) fn with_vecs(
        &mut self,
        region: RegionId,
        value: &Val,
        vecs: &[ListRepr],
        span: Span,
    ) -> Option<Val> {
        let mut leaves = value.leaves()?;
        let outer = std::mem::replace(&mut self.region, region);
        for (leaf, listed) in leaves.iter_mut().zip(vecs).filter(|(_, listed)| listed.is_written && !listed.is_other) {
            let Val::List(items) = &*leaf else { continue };
            if let Ok(items) = self.exact_operands(items, span) {
                let list = self.vec_of(items, &listed.element);
                *leaf = self.materialize(list, "list", leaf.ty(), span);
            }
        }
        let is_lent = |leaf: &Val| matches!(leaf, Val::Node(id, Ty::List(_), RefKind::Value) if self.is_bound(*id));
        let lent: Vec<bool> = leaves.iter().map(is_lent).collect();
        let mixed = vecs.iter().map(|listed| listed.held == Held::Mixed);
        for ((leaf, is_mixed), is_lent) in leaves.iter_mut().zip(mixed).zip(lent) {
            if is_mixed && is_lent {
                *leaf = self.own_copy(leaf, span)?;
            }
        }
        self.region = outer;
        Some(value.rebuild(&mut leaves.into_iter()))
    }
}

impl Tracer<'_> {
    /// A list of its own like the one that is there.
    fn own_copy(&mut self, list: &Val, span: Span) -> Option<Val> {
        let copy = self.copy_of(&list.ty(), &list.arg()?)?;
        Some(self.materialize(copy, "list", list.ty(), span))
    }
}

fn is_reference(item: &Val) -> bool {
    item.ref_kind() != Some(RefKind::Value)
}
