//! One form for what can be written in several: the op of an activation layer, arguments by position, defaults.

use fx_ir::{Arg, Node, Op, OpId, catalog};

use crate::rewrite::Term;

/// The op that a node computes and where its arguments begin; an activation layer is its op.
pub(in crate::rewrite) fn op_of(node: &Node) -> Option<(OpId, usize)> {
    match &node.op {
        Op::Call(op) => Some((*op, 0)),
        Op::CallModule(kind) => Some((kind.row()?.as_op()?, 1)),
        _ => None,
    }
}

/// The position of an op's first parameter: behind the receiver, if it has one.
pub(super) fn first_param(op: OpId) -> usize {
    usize::from(op.entry().is_some_and(|entry| entry.receiver != catalog::Receiver::Free))
}

fn param(op: OpId, position: usize) -> Option<&'static catalog::Param> {
    let entry = op.entry()?;
    let receiver = usize::from(entry.receiver != catalog::Receiver::Free);
    entry.params.get(position.checked_sub(receiver)?)
}

/// The name of the argument at that position.
pub(super) fn param_name(op: OpId, position: usize) -> &'static str {
    param(op, position).map_or("an argument", |param| param.name)
}

/// The position among the parameters of the one of that name.
pub(super) fn position_of(op: OpId, name: &str) -> Option<usize> {
    let entry = op.entry()?;
    entry.params.iter().position(|param| param.name == name)
}

/// The default of a parameter as an argument.
pub(super) fn default_of(op: OpId, position: usize) -> Option<Arg> {
    param(op, position)?.default_arg()
}

/// The same literal; a list of equal numbers may be written as one.
pub(super) fn same_literal(default: &Arg, given: &Arg) -> bool {
    match (default, given) {
        (Arg::List(items), Arg::Int(_)) => items.iter().all(|item| item == given),
        #[allow(clippy::cast_precision_loss, clippy::float_cmp, reason = "a literal is meant to the last digit")]
        (Arg::Int(a), Arg::Float(b)) | (Arg::Float(b), Arg::Int(a)) => *a as f64 == *b,
        _ => default == given,
    }
}

/// Is the argument the literal that a pattern asks for? A whole float is the integer, and a path may be written in full.
pub(super) fn is_that_literal(term: &Term, arg: &Arg) -> bool {
    #[allow(clippy::cast_precision_loss, clippy::float_cmp, reason = "a literal is meant to the last digit")]
    match (term, arg) {
        (Term::Int(a), Arg::Int(b)) => a == b,
        (Term::Int(a), Arg::Float(b)) | (Term::Float(b), Arg::Int(a)) => *a as f64 == *b,
        (Term::Float(a), Arg::Float(b)) => a == b,
        (Term::Bool(a), Arg::Bool(b)) => a == b,
        (Term::Str(a), Arg::Str(b)) => a == b,
        (Term::Path(a), Arg::Path(b)) => b == a || b.ends_with(&format!("::{a}")),
        (Term::Absent, Arg::None) => true,
        _ => false,
    }
}
