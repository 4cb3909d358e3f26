//! How a host operation is evaluated, without libtorch: the same meaning as the Rust that the emitter prints for it.
//!
//! [`eval`] computes an operation from its arguments. What the standard library does is computed here: numbers of Rust's
//! types with their overflow, lists, options, ranges, text. What lies beyond is a [`Machine`]'s: tensors, the live
//! model and its state, the runtime, the user's functions.
//!
//! A place is evaluated to a [`Location`]: a base (a variable, a cell of the state) and projections, as in rustc's MIR.
//! Reading follows it and copies what is there; `Assign`, `AssignOp`, `Mutate` and `Exchange` change it where it lies.
//! A shared reference is a copy, since nothing may change what it refers to while it lives; a mutable reference is its
//! location.

pub(crate) mod call;
mod format;
pub(crate) mod lists;
mod machine;
mod matching;
mod number;
pub(crate) mod numbers;
mod operations;
mod place;
mod state;
#[cfg(test)]
mod tests;
pub(crate) mod value;

pub use crate::number_type::{FloatType, IntType};
pub use machine::{EvalError, Machine, Variables};
pub use matching::{Matched, Taken, eval_match, eval_pattern};
pub use value::{Base, Handle, Location, Range, Refusal, Step, Value};

use super::methods::{self, Receiver};
use crate::{Arg, HostOp, Type};

/// The value of an operation on a machine, or why it has none.
pub type Evaluated<M> = Result<Value<Tensor<M>>, Failure<M>>;
/// A machine's tensors.
type Tensor<M> = <M as Machine>::Tensor;
/// Why an operation has no value on a machine.
type Failure<M> = EvalError<Tensor<M>, <M as Machine>::Error>;

/// Evaluates an operation on arguments.
///
/// # Errors
/// If the operation does not fit its operands, if the generated code would panic or leave the forward there, and if the
/// machine reports an error.
pub fn eval<M: Machine>(
    op: &HostOp,
    args: &[Arg],
    variables: &mut Variables<M::Tensor>,
    machine: &mut M,
) -> Evaluated<M> {
    Evaluator { variables, machine, elements: Vec::new() }.eval(op, args)
}

/// Evaluates an operation that is a node of that type: its untyped numbers become numbers of the type.
///
/// # Errors
/// As [`eval`]'s, and if a number is out of the range of the type.
pub fn eval_typed<M: Machine>(
    op: &HostOp,
    args: &[Arg],
    ty: &Type,
    variables: &mut Variables<M::Tensor>,
    machine: &mut M,
) -> Evaluated<M> {
    Ok(eval(op, args, variables, machine)?.of_type(ty)?)
}

/// Evaluates an argument: a node's value, a literal, or a nested operation.
///
/// # Errors
/// As [`eval`]'s, and if a node has no value yet.
pub fn eval_arg<M: Machine>(arg: &Arg, variables: &mut Variables<M::Tensor>, machine: &mut M) -> Evaluated<M> {
    Evaluator { variables, machine, elements: Vec::new() }.value(arg)
}

/// Evaluates an argument as what is read there: of a mutable reference, also inside a list or a tuple, what it refers to.
///
/// # Errors
/// As [`eval_arg`]'s.
pub fn eval_operand<M: Machine>(arg: &Arg, variables: &mut Variables<M::Tensor>, machine: &mut M) -> Evaluated<M> {
    let mut evaluator = Evaluator { variables, machine, elements: Vec::new() };
    let value = evaluator.value(arg)?;
    evaluator.without_references(value)
}

/// An evaluation under way.
struct Evaluator<'e, M: Machine> {
    variables: &'e mut Variables<M::Tensor>,
    machine: &'e mut M,
    /// What `one` is in the functions that are being mapped, outermost first.
    elements: Vec<Value<M::Tensor>>,
}

/// How a mapped function names the element that it is given.
pub const ELEMENT: &str = "one";

impl<M: Machine> Evaluator<'_, M> {
    fn eval(&mut self, op: &HostOp, args: &[Arg]) -> Evaluated<M> {
        let arity = op.arity();
        if !arity.contains(&args.len()) {
            let (label, count, least) = (op.label(), args.len(), arity.start());
            let more = if arity.start() < arity.end() { " or more" } else { "" };
            return Err(EvalError::Operands(format!("{label} has {count} arguments instead of {least}{more}")));
        }
        self.reading(op, args).map_err(|error| error.within(op))
    }

    /// The value of an argument as it is.
    fn value(&mut self, arg: &Arg) -> Evaluated<M> {
        Ok(match arg {
            Arg::Node(id) => self.variables.get(*id).cloned().ok_or_else(|| place::unset(*id))?,
            Arg::Int(number) => Value::Int(i128::from(*number), IntType::Untyped),
            Arg::Float(number) => Value::Float(*number, FloatType::Untyped),
            Arg::Bool(value) => Value::Bool(*value),
            Arg::Str(text) => Value::Str(text.clone()),
            Arg::None => Value::Option(None),
            Arg::Path(path) => self.path(path)?,
            Arg::List(items) => Value::List(self.values(items)?),
            Arg::Expr(expr) => self.eval(&expr.op, &expr.args)?,
        })
    }

    fn values(&mut self, args: &[Arg]) -> Result<Vec<Value<M::Tensor>>, Failure<M>> {
        args.iter().map(|arg| self.value(arg)).collect()
    }

    /// The value of an argument; of a mutable reference what it refers to.
    fn operand(&mut self, arg: &Arg) -> Evaluated<M> {
        let value = self.value(arg)?;
        self.behind(value)
    }

    fn without_references(&mut self, value: Value<M::Tensor>) -> Evaluated<M> {
        Ok(match value {
            Value::Reference(_) => {
                let value = self.behind(value)?;
                self.without_references(value)?
            }
            Value::List(items) => Value::List(self.all_without_references(items)?),
            Value::Tuple(items) => Value::Tuple(self.all_without_references(items)?),
            Value::Option(Some(held)) => Value::option(Some(self.without_references(*held)?)),
            other => other,
        })
    }

    fn all_without_references(&mut self, values: Vec<Value<M::Tensor>>) -> Result<Vec<Value<M::Tensor>>, Failure<M>> {
        values.into_iter().map(|value| self.without_references(value)).collect()
    }

    fn operands(&mut self, args: &[Arg]) -> Result<Vec<Value<M::Tensor>>, Failure<M>> {
        args.iter().map(|arg| self.operand(arg)).collect()
    }

    fn path(&mut self, path: &str) -> Evaluated<M> {
        let mut segments = path.rsplit("::");
        match (segments.next(), segments.next()) {
            (Some(ELEMENT), None) if !self.elements.is_empty() => {
                self.elements.last().cloned().ok_or_else(|| EvalError::Operands("`one` is not bound".to_owned()))
            }
            // tch's enums, however the path to them is written.
            (Some(name), Some(owner @ ("Kind" | "Device" | "Reduction"))) => {
                Ok(Value::Path(format!("{owner}::{name}")))
            }
            _ => match number::constant(path) {
                Some(value) => Ok(value),
                None => self.machine.path(path).map_err(EvalError::Machine),
            },
        }
    }

    /// A method of the standard library on a value that may be changed; `None` if the table has none such.
    fn standard(
        name: &str,
        receiver: &mut Value<M::Tensor>,
        args: Vec<Value<M::Tensor>>,
    ) -> Option<Result<Value<M::Tensor>, Refusal>> {
        let method = methods::method(name, Receiver::of_value(receiver))?;
        if method.arity != args.len() {
            let (name, wanted, count) = (method.name, method.arity, args.len());
            return Some(Err(Refusal::Operands(format!("`{name}` takes {wanted} arguments and not {count}"))));
        }
        let mut call = call::Call { name: method.name, receiver, args, fits: method.receiver.noun() };
        Some(methods::call(method, &mut call))
    }

    /// What the machine does with these operands.
    fn perform(&mut self, op: &HostOp, args: Vec<Value<M::Tensor>>) -> Evaluated<M> {
        self.machine.perform(op, args, self.variables).map_err(EvalError::Machine)
    }
}

/// That nothing in the table of methods fits.
fn no_method<T>(name: &str, receiver: &Value<T>) -> Refusal {
    let of: Vec<&str> = methods::methods_named(name).map(|method| method.receiver.noun()).collect();
    let known = if of.is_empty() { "there is none such".to_owned() } else { format!("it is one of {}", of.join(", ")) };
    Refusal::Operands(format!("`{name}` is no method of {receiver}; {known}"))
}
