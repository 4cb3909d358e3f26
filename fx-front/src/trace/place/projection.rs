//! Steps from a place to its parts.

use fx_ir::{Arg, HostOp};

use crate::syntax::element_access::End;

/// One step from a place to a part of it, as rustc's MIR has it.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::trace) enum Projection {
    /// A field, or a part of a tuple.
    Field(String),
    /// The element at a number.
    Index(Arg),
    /// What an option holds.
    Some,
    /// What an option that is itself a borrow holds.
    Borrowed,
    /// The first or the last element of a list.
    End(End),
    /// What a `RefCell` or a `Cell` holds.
    Interior,
    /// A list as a slice.
    Slice,
}

impl Projection {
    /// Whether it yields a reference to the part, which is dereferenced to reach it.
    pub(in crate::trace) fn yields_reference(&self) -> bool {
        matches!(
            self,
            Projection::Some | Projection::Borrowed | Projection::End(_) | Projection::Interior | Projection::Slice
        )
    }

    /// The part of what `base` is.
    pub(in crate::trace) fn of(&self, base: Arg) -> Arg {
        match self {
            Projection::Field(name) => HostOp::Field(name.clone()).on(base),
            Projection::Index(at) => HostOp::Item.of([base, at.clone()]),
            Projection::Some => HostOp::UnwrapMut(None).on(base),
            Projection::Borrowed => HostOp::UnwrapBorrow.on(base),
            Projection::End(end) => HostOp::EndMut(end.name().to_owned()).on(base),
            Projection::Interior => HostOp::Interior.on(base),
            Projection::Slice => HostOp::MutSlice.on(base),
        }
    }

    /// The same part where it is only read: what else refers to the place is not disturbed. `None` where nothing but a `&mut`
    /// reaches it.
    pub(in crate::trace) fn of_shared(&self, base: Arg) -> Option<Arg> {
        let by = |method: &str, base: Arg| HostOp::Method(method.to_owned()).on(base);
        Some(match self {
            Projection::Field(_) | Projection::Index(_) => self.of(base),
            Projection::Some => HostOp::Unwrap(None).on(by("as_ref", base)),
            Projection::Borrowed => HostOp::Unwrap(None).on(by("as_deref", base)),
            Projection::End(end) => HostOp::Unwrap(None).on(by(end.name(), base)),
            Projection::Slice => by("as_slice", base),
            Projection::Interior => return None,
        })
    }
}
