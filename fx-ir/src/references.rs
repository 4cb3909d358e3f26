//! Which values of a graph may be references to tensors in the code that is generated from it.

use crate::{Arg, Graph, HostOp, NodeId, Op, Type, host::Yields};

impl Arg {
    /// Whether it is a reference that the operand itself takes.
    pub fn is_reference(&self) -> bool {
        matches!(self, Arg::Expr(expr) if matches!(expr.op, HostOp::Ref | HostOp::BorrowTensor))
    }

    /// Whether it is a list that is written out, of references: an element is one of them, which is `Copy`.
    pub fn lists_references(&self) -> bool {
        let items = match self {
            Arg::List(items) => items,
            Arg::Expr(expr) if expr.op == HostOp::Array => &expr.args,
            _ => return false,
        };
        !items.is_empty() && items.iter().all(Arg::is_reference)
    }
}

impl Graph {
    /// Returns whether the value may be a reference to a tensor, where its type does not tell: opaque code has made it, or it
    /// is a part of a value that may hold references.
    pub fn may_be_reference(&self, id: NodeId) -> bool {
        let node = self.node(id);
        match &node.op {
            Op::Rust(code) => node.ty == Type::Unknown && code.opaque.is_some(),
            Op::Host(host) => match &host.op {
                HostOp::Item
                | HostOp::ItemRef
                | HostOp::Copied
                | HostOp::Unwrap(_)
                | HostOp::Method(_)
                | HostOp::Mutate(_) => node.input(0).is_none_or(|whole| self.may_hold_references(whole)),
                _ => false,
            },
            Op::TupleGet(_) => node.input(0).is_none_or(|whole| self.may_hold_references(whole)),
            Op::If | Op::Match(_) if node.ty == Type::Unknown => {
                self.handed_on(id).filter_map(Arg::node).any(|handed| self.may_be_reference(handed))
            }
            _ => false,
        }
    }

    /// Returns whether the value may be made of references to tensors.
    fn may_hold_references(&self, id: NodeId) -> bool {
        let node = self.node(id);
        match &node.op {
            _ if node.ty.is_plain() => false,
            Op::Rust(_) | Op::If | Op::Match(_) | Op::For(_) | Op::While => true,
            Op::Host(_) => node
                .args
                .iter()
                .any(|arg| !arg.borrowed().is_empty() || arg.nodes().any(|input| self.may_hold_references(input))),
            Op::TupleGet(_) => node.inputs().any(|input| self.may_hold_references(input)),
            _ => false,
        }
    }

    /// Returns whether the value is a reference into values that are computed outside of the regions of `owner`, or is one of
    /// them.
    pub(crate) fn is_outside(&self, id: NodeId, owner: NodeId) -> bool {
        let Some(scope) = self.scope_of(id) else { return false };
        if !self.is_inside(scope, owner) {
            // What a loop carries is another value in the next iteration.
            return self.carried(id).is_none();
        }
        let node = self.node(id);
        match &node.op {
            Op::Host(host) if matches!(host.op, HostOp::ItemRef | HostOp::Field(_)) => {
                host.op.yields() != Yields::Value && node.inputs().all(|input| self.is_outside(input, owner))
            }
            // Bound by a pattern, to a part of what is matched.
            Op::Placeholder => self.owner_of(scope).is_some_and(|arm| {
                let of = self.node(arm);
                let subject = of.args.first().filter(|_| matches!(of.op, Op::Match(_)));
                subject.is_some_and(|subject| subject.nodes().all(|input| self.is_outside(input, owner)))
            }),
            _ => false,
        }
    }
}
