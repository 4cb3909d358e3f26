//! Why a rule does not apply at a node: the first condition that failed on the attempt that got farthest.

use std::fmt;

use fx_ir::{Arg, Graph, NodeId, Op, Place};

use super::{Kind, Term};

/// A condition that failed.
#[derive(Clone, Debug)]
pub(super) enum Mismatch {
    /// The rule has no pattern.
    Empty,
    NotAnOp {
        wanted: &'static str,
        found: Arg,
    },
    Op {
        wanted: &'static str,
        found: NodeId,
    },
    Layer {
        wanted: &'static str,
        found: NodeId,
    },
    Extra {
        node: NodeId,
        param: String,
    },
    Missing {
        node: NodeId,
        param: &'static str,
    },
    NotDefault {
        node: NodeId,
        param: &'static str,
        found: Arg,
    },
    NotAList(Arg),
    Length {
        wanted: usize,
        found: usize,
    },
    NotAField {
        field: &'static str,
        found: Arg,
    },
    Kind {
        capture: &'static str,
        kind: Kind,
        found: Arg,
    },
    Differs {
        capture: &'static str,
        first: Arg,
        second: Arg,
    },
    Literal {
        wanted: Term,
        found: Arg,
    },
    Region(NodeId),
    Escapes {
        node: NodeId,
        user: NodeId,
    },
    Early {
        output: NodeId,
        user: NodeId,
    },
    Shared {
        output: NodeId,
        captured: NodeId,
    },
    Write(NodeId),
    Written(NodeId),
    Effect(NodeId),
    Guard(&'static str),
}

/// The attempt that got farthest.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// How many operations of the pattern fitted.
    pub(super) matched: usize,
    /// How many captures were bound.
    pub(super) bound: usize,
    /// What failed then.
    pub(super) mismatch: Mismatch,
}

impl Attempt {
    /// Of two attempts the one with the larger got farther.
    pub(super) fn progress(&self) -> (usize, usize) {
        (self.matched, self.bound)
    }
}

/// The reason why a rule does not apply at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyNot {
    /// The rule.
    pub rule: &'static str,
    /// The node's name.
    pub node: String,
    /// The first condition that failed.
    pub reason: String,
    /// How many operations of the pattern fitted before; of all attempts the one that got farthest counts.
    pub matched: usize,
    /// The source lines of the node.
    pub places: Vec<Place>,
}

impl fmt::Display for WhyNot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` does not apply at `{}`: {}", self.rule, self.node, self.reason)
    }
}

impl Mismatch {
    /// The condition in words.
    pub(super) fn tell(&self, graph: &Graph) -> String {
        let name = |id: &NodeId| format!("`{}`", graph.node(*id).name);
        let value = |arg: &Arg| tell_arg(graph, arg);
        match self {
            Mismatch::Empty => "the pattern is empty".to_owned(),
            Mismatch::NotAnOp { wanted, found } => format!("{} is not a `{wanted}`", value(found)),
            Mismatch::Op { wanted, found } => format!("{} is {}, not `{wanted}`", name(found), tell_op(graph, *found)),
            Mismatch::Layer { wanted, found } => {
                format!("{} is {}, not a call of a `{wanted}`", name(found), tell_op(graph, *found))
            }
            Mismatch::Extra { node, param } => {
                format!("{} is given `{param}`, which the pattern does not have", name(node))
            }
            Mismatch::Missing { node, param } => format!("{} is not given `{param}`", name(node)),
            Mismatch::NotDefault { node, param, found } => {
                format!("`{param}` of {} is {}, not the default", name(node), value(found))
            }
            Mismatch::NotAList(found) => format!("{} is not a list", value(found)),
            Mismatch::Length { wanted, found } => format!("the list has {found} items, not {wanted}"),
            Mismatch::NotAField { field, found } => format!("{} is not a read of the field `{field}`", value(found)),
            Mismatch::Kind { capture, kind, found } => {
                format!("`{capture}` cannot be {}: it takes {kind}", value(found))
            }
            Mismatch::Differs { capture, first, second } => {
                format!("`{capture}` is {} in one place and {} in another", value(first), value(second))
            }
            Mismatch::Literal { wanted, found } => format!("{} is not {wanted}", value(found)),
            Mismatch::Region(id) => format!("{} stands in another region", name(id)),
            Mismatch::Escapes { node, user } => format!("{} is also read by {}", name(node), name(user)),
            Mismatch::Early { output, user } => {
                format!("{} is read by {} before the last output", name(output), name(user))
            }
            Mismatch::Shared { output, captured } => {
                format!("the caller gets {}, which would share memory with {}", name(output), name(captured))
            }
            Mismatch::Write(id) => format!("something may be written to between {} and the output", name(id)),
            Mismatch::Written(id) => format!("{} may be written to later", name(id)),
            Mismatch::Effect(id) => format!("{} has an effect", name(id)),
            Mismatch::Guard(text) => format!("the guard `{text}` does not hold"),
        }
    }
}

fn tell_op(graph: &Graph, id: NodeId) -> String {
    match &graph.node(id).op {
        Op::Call(op) => format!("`{op}`"),
        Op::CallModule(kind) => format!("a call of a `{}`", kind.0),
        Op::Placeholder => "an input".to_owned(),
        Op::GetAttr(field) => format!("the field `{field}`"),
        Op::Host(host) => format!("the host operation `{}`", host.op.name()),
        Op::Rust(_) => "carried code".to_owned(),
        other => format!("`{}`", other.opcode()),
    }
}

fn tell_arg(graph: &Graph, arg: &Arg) -> String {
    match arg {
        Arg::Node(id) => format!("`{}`", graph.node(*id).name),
        Arg::Int(number) => format!("`{number}`"),
        Arg::Float(number) => format!("`{number:?}`"),
        Arg::Bool(value) => format!("`{value}`"),
        Arg::Str(text) => format!("{text:?}"),
        Arg::None => "`None`".to_owned(),
        Arg::Path(path) => format!("`{path}`"),
        Arg::List(items) => {
            let items: Vec<_> = items.iter().map(|item| tell_arg(graph, item).replace('`', "")).collect();
            format!("`[{}]`", items.join(", "))
        }
        Arg::Expr(expr) => format!("`{}`", expr.op.name()),
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Value => f.write_str("a value that is there"),
            Kind::Tensor => f.write_str("a tensor"),
            Kind::Float => f.write_str("a number that is written in the source"),
            Kind::Int => f.write_str("an integer that is written in the source"),
            Kind::Bool => f.write_str("`true` or `false`"),
            Kind::Ints => f.write_str("a list of integers that is written in the source"),
            Kind::Tensors => f.write_str("a list of tensors"),
            Kind::Module(kind) => write!(f, "a `{kind}`"),
        }
    }
}

/// Literals as they are written; other terms are told by what they stand for.
impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Int(number) => write!(f, "`{number}`"),
            Term::Float(number) => write!(f, "`{number:?}`"),
            Term::Bool(value) => write!(f, "`{value}`"),
            Term::Str(text) => write!(f, "{text:?}"),
            Term::Absent => f.write_str("`None`"),
            Term::Path(path) => write!(f, "`{path}`"),
            Term::Call(op, _) => write!(f, "a `{op}`"),
            Term::Operator(operator, _) => write!(f, "a `{}`", operator.sign()),
            Term::List(_) => f.write_str("a list"),
            _ => f.write_str("what the pattern asks for"),
        }
    }
}
