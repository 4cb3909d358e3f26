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
}
