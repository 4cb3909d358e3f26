//! Places: from an argument to a location, and from there to what it holds.

use super::value::{Base, Handle, Location, Refusal, Step, Value};
use super::{EvalError, Evaluated, Evaluator, Failure, Machine};
use crate::{Arg, HostOp, NodeId};

/// What an access is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Where the projections lead.
enum Found<'v, T> {
    /// To this value.
    Here(&'v mut Value<T>),
    /// Into what a mutable reference refers to.
    Elsewhere(Location<T>),
    /// Into something that the machine keeps: the field, and the projections behind it.
    Kept(Handle, String, Vec<Step>),
}

/// That a node is read that has no value yet.
pub(super) fn unset<T, E>(id: NodeId) -> EvalError<T, E> {
    EvalError::Operands(format!("{id:?} has no value yet"))
}

impl<M: Machine> Evaluator<'_, M> {
    /// The location that an argument names; what is no place is a temporary.
    pub(super) fn place(&mut self, arg: &Arg) -> Result<Location<M::Tensor>, Failure<M>> {
        let expr = match arg {
            Arg::Node(id) => return Ok(Location::at(Base::Variable(*id))),
            Arg::Expr(expr) => expr,
            other => return Ok(Location::at(Base::Temporary(self.value(other)?))),
        };
        Ok(match (&expr.op, expr.args.as_slice()) {
            (HostOp::Field(name), [base]) => self.place(base)?.then(Step::Field(name.clone())),
            (HostOp::Item, [base, at]) => match self.operand(at)? {
                Value::Int(at, _) => self.place(base)?.then(Step::Item(at)),
                _ => Location::at(Base::Temporary(self.eval(&expr.op, &expr.args)?)),
            },
            (HostOp::EndMut(end), [base]) => self.place(base)?.then(Step::End { last: end == "last" }),
            (HostOp::UnwrapMut(message), [base]) => self.place(base)?.then(Step::Unwrap(message.clone())),
            (HostOp::UnwrapBorrow, [base]) => self.place(base)?.then(Step::Unwrap(None)).then(Step::Deref),
            (HostOp::Deref | HostOp::Interior | HostOp::MutSlice | HostOp::Ref | HostOp::RefMut, [base]) => {
                self.place(base)?.then(Step::Deref)
            }
            (HostOp::Lock, [cell]) => match self.operand(cell)? {
                Value::Handle(cell) => Location::at(Base::Cell(cell)),
                other => return Err(EvalError::Operands(format!("cannot take {other}: it takes a cell of the state"))),
            },
            _ => Location::at(Base::Temporary(self.eval(&expr.op, &expr.args)?)),
        })
    }

    /// A copy of what lies there.
    pub(super) fn read(&mut self, at: Location<M::Tensor>) -> Evaluated<M> {
        self.visit(at, Access::Read, |value| Ok(value.clone()))
    }

    /// The value; of a mutable reference what it refers to.
    pub(super) fn behind(&mut self, value: Value<M::Tensor>) -> Evaluated<M> {
        match value {
            Value::Reference(at) => self.read(at.then(Step::Deref)),
            value => Ok(value),
        }
    }

    /// Goes where a location leads and does something with what lies there.
    pub(super) fn visit<R>(
        &mut self,
        mut at: Location<M::Tensor>,
        access: Access,
        visit: impl FnOnce(&mut Value<M::Tensor>) -> Result<R, Refusal>,
    ) -> Result<R, Failure<M>> {
        loop {
            let Location { mut base, steps } = at;
            let root = match &mut base {
                Base::Variable(id) => self.variables.get_mut(*id).ok_or_else(|| unset(*id))?,
                Base::Cell(cell) => self.machine.cell(*cell).map_err(EvalError::Machine)?,
                Base::Temporary(value) => value,
            };
            let (kept, field, rest) = match follow(root, &steps)? {
                Found::Here(value) => return Ok(visit(value)?),
                Found::Elsewhere(next) => {
                    at = next;
                    continue;
                }
                Found::Kept(kept, field, rest) => (kept, field, rest),
            };
            if access == Access::Write {
                let message =
                    format!("cannot write to the field `{field}` of what the machine keeps: that takes a cell");
                return Err(EvalError::Operands(message));
            }
            let value = self.machine.field(kept, &field).map_err(EvalError::Machine)?;
            at = Location { base: Base::Temporary(value), steps: rest };
        }
    }
}

/// Follows the projections from a value as far as they stay within it.
fn follow<'v, T: Clone>(mut value: &'v mut Value<T>, steps: &[Step]) -> Result<Found<'v, T>, Refusal> {
    for (position, step) in steps.iter().enumerate() {
        let rest = &steps[position + 1..];
        if let Value::Reference(at) = value {
            // A projection looks through a reference by itself; one that only does so is used up.
            let rest = if *step == Step::Deref { rest } else { &steps[position..] };
            let mut next = (**at).clone();
            next.steps.extend_from_slice(rest);
            return Ok(Found::Elsewhere(next));
        }
        if let (Value::Handle(kept), Step::Field(field)) = (&*value, step) {
            return Ok(Found::Kept(*kept, field.clone(), rest.to_vec()));
        }
        value = project(value, step)?;
    }
    Ok(Found::Here(value))
}

/// One projection.
fn project<'v, T>(value: &'v mut Value<T>, step: &Step) -> Result<&'v mut Value<T>, Refusal> {
    let kind = value.to_string();
    let wrong = |message: String| Err(Refusal::Operands(message));
    match (value, step) {
        (value, Step::Deref) => Ok(value),
        (Value::Struct(_, fields), Step::Field(name)) => match fields.iter_mut().find(|(field, _)| field == name) {
            Some((_, value)) => Ok(value),
            None => wrong(format!("{kind} has no field `{name}`")),
        },
        (Value::Tuple(parts), Step::Field(name)) => {
            let count = parts.len();
            match name.parse().ok().and_then(|at: usize| parts.get_mut(at)) {
                Some(value) => Ok(value),
                None => wrong(format!("has no part `{name}`: the tuple has {count}")),
            }
        }
        (Value::List(items), Step::Item(at)) => {
            let length = items.len();
            let outside = || format!("index out of bounds: the len is {length} but the index is {at}");
            let item = usize::try_from(*at).ok().and_then(|at| items.get_mut(at));
            item.ok_or_else(|| Refusal::Panics(outside()))
        }
        (Value::List(items), Step::End { last }) => {
            let item = if *last { items.last_mut() } else { items.first_mut() };
            item.ok_or_else(|| Refusal::Panics(empty(None)))
        }
        (Value::Option(held), Step::Unwrap(message)) => {
            held.as_deref_mut().ok_or_else(|| Refusal::Panics(empty(message.as_deref())))
        }
        (_, Step::Field(name)) => {
            wrong(format!("cannot take the field `{name}` of {kind}: it takes a struct or a tuple"))
        }
        (_, Step::Item(_) | Step::End { .. }) => wrong(format!("cannot take an element of {kind}: it takes a list")),
        (_, Step::Unwrap(_)) => wrong(format!("cannot unwrap {kind}: it takes an option")),
    }
}

/// What the panic at an empty option says; the message is a literal.
pub(super) fn empty(message: Option<&str>) -> String {
    match message {
        None => "called `Option::unwrap()` on a `None` value".to_owned(),
        Some(message) => message.trim_matches('"').to_owned(),
    }
}
