//! Host operations: what a forward computes beside tensors, as typed operations instead of text.
//!
//! Sizes, numbers, options, lists, tuples, the model's state and calls of the runtime are nodes like tensor ops: each is a
//! [`HostOp`] of the table in [`ops`], applied to arguments. An argument may itself be an application (an [`Expr`]), so
//! that `(2 * n) as f64` is one node and not three. The emitter prints an operation as Rust, [`eval`]
//! computes it, and [`methods`] is the table of the methods that it may call.
//!
//! A *place* is what can be written to: an application of projections ([`HostOp::Field`], [`HostOp::Item`],
//! [`HostOp::UnwrapMut`], [`HostOp::Deref`], [`HostOp::Lock`]) to a base, as in rustc's MIR.

pub mod adaptor;
mod arity;
pub mod eval;
pub mod methods;
mod ops;
mod payload;
#[cfg(test)]
mod tests;

pub use adaptor::Adaptor;
pub use eval::ELEMENT;
pub use ops::{HostOp, Yields};
pub(crate) use payload::Payload;

use crate::{Arg, Effect, Graph, NodeId, Op};

/// What a host node does: an operation, and what it does beside yielding a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    /// The operation, on the node's arguments.
    pub op: HostOp,
    /// Whether it may be moved, merged or dropped. An operation that makes or changes a variable of the generated code's
    /// own is [`Effect::Io`], one on the state is [`Effect::State`].
    pub effect: Effect,
    /// Whether it evaluates to a `Result` of which the value is the `Ok`.
    pub fallible: bool,
}

/// An operation applied to arguments, inside the argument of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// The operation.
    pub op: HostOp,
    /// What it is applied to.
    pub args: Vec<Arg>,
}

impl HostOp {
    /// Whether it changes what its first operand names, or hands on the place, so that its reader may.
    pub fn changes(&self) -> bool {
        let is_change = matches!(
            self,
            HostOp::Mutate(_) | HostOp::Assign | HostOp::AssignOp(_) | HostOp::Exchange(_) | HostOp::ResizeWith
        );
        is_change || *self == HostOp::RefMut || self.yields() == Yields::Place
    }

    /// The opcode under which torch.fx files it, its target, and what it carries beside that and its arguments.
    pub(crate) fn callee(&self) -> (&'static str, &str, Vec<String>) {
        match self {
            HostOp::Method(name)
            | HostOp::Mutate(name)
            | HostOp::CallMethod(name)
            | HostOp::RuntimeMethod(name)
            | HostOp::CallPart(name) => ("call_method", name, Vec::new()),
            HostOp::Call(path) | HostOp::Function(path) | HostOp::Runtime(path) | HostOp::Nn(path) => {
                ("call_function", path, Vec::new())
            }
            HostOp::Exchange(name) => ("call_function", name, Vec::new()),
            other => ("call_function", other.name(), other.words()),
        }
    }
}

impl Host {
    /// The operation without an effect.
    pub fn pure(op: HostOp) -> Host {
        Host { fallible: op.is_fallible(), effect: Effect::Pure, op }
    }

    /// The operation with that effect.
    pub fn with_effect(op: HostOp, effect: Effect) -> Host {
        Host { effect, ..Host::pure(op) }
    }

    /// The same operation, which evaluates to a `Result`.
    #[must_use]
    pub fn fallible(self) -> Host {
        Host { fallible: true, ..self }
    }
}

impl From<HostOp> for Host {
    fn from(op: HostOp) -> Host {
        Host::pure(op)
    }
}

impl HostOp {
    /// Its name with what it carries, as the text form writes it: `host.binary["+"]`.
    pub fn label(&self) -> String {
        let words: Vec<String> = self.words().iter().map(|word| format!("{word:?}")).collect();
        let name = self.name();
        if words.is_empty() { format!("host.{name}") } else { format!("host.{name}[{}]", words.join(", ")) }
    }

    /// Whether it yields an option of a reference: the first, the last or another element of a list.
    pub fn yields_loan(&self) -> bool {
        let HostOp::Method(name) = self else { return false };
        methods::method(name, methods::Receiver::List).is_some_and(methods::Method::yields_loan)
    }

    /// The operation applied to arguments, as an argument.
    pub fn of(self, args: impl IntoIterator<Item = Arg>) -> Arg {
        Arg::Expr(Box::new(Expr { op: self, args: args.into_iter().collect() }))
    }

    /// The operation applied to one argument, as an argument.
    pub fn on(self, arg: impl Into<Arg>) -> Arg {
        self.of([arg.into()])
    }
}

impl Graph {
    /// Returns whether a reader of the value may change it in its place: give a variable another value, or take what an
    /// option holds.
    pub fn may_be_changed(&self, value: NodeId) -> bool {
        self.users(value).into_iter().any(|user| {
            let user = self.node(user);
            matches!(user.op, Op::Rust(_)) || user.does_on_host(&HostOp::changes)
        })
    }

    /// The host operation that an argument stands for, nested or a node without an effect, and what it is applied to.
    pub fn host_value<'g>(&'g self, arg: &'g Arg) -> Option<(&'g HostOp, &'g [Arg])> {
        match arg {
            Arg::Expr(expr) => Some((&expr.op, &expr.args)),
            Arg::Node(id) => match &self.node(*id).op {
                Op::Host(host) if host.effect == Effect::Pure => Some((&host.op, &self.node(*id).args)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Arg {
    /// The application, if it is one.
    pub fn expr(&self) -> Option<&Expr> {
        match self {
            Arg::Expr(expr) => Some(expr),
            _ => None,
        }
    }

    /// The node at the base of a place or of a value that is only looked at: `x` of `(*x).layers[i].key`.
    pub fn base(&self) -> Option<NodeId> {
        match self {
            Arg::Node(id) => Some(*id),
            Arg::Expr(expr) => expr.args.first()?.base(),
            _ => None,
        }
    }
}
