//! Assignments, cells of the state, tensors' own operations and ways out; anything else is the machine's.

use super::operations::takes;
use super::place::Access;
use super::value::{Location, Refusal, Step, Value};
use super::{Base, EvalError, Evaluated, Evaluator, Failure, Machine, format, number};
use crate::{Arg, HostOp};

impl<M: Machine> Evaluator<'_, M> {
    /// The text that a format string makes of the operands.
    fn text(&mut self, template: &str, args: &[Arg]) -> Result<String, Failure<M>> {
        let values = self.operands(args)?;
        Ok(format::formatted(template, &self.all_without_references(values)?))
    }

    /// What is written to, and what leaves the forward.
    pub(super) fn state(&mut self, op: &HostOp, args: &[Arg]) -> Evaluated<M> {
        match op {
            HostOp::Assign => {
                let at = self.place(&args[0])?;
                let value = self.value(&args[1])?;
                self.assign(at, value).map(|_| Value::Unit)
            }
            HostOp::AssignOp(sign) => {
                let at = self.place(&args[0])?;
                let by = self.operand(&args[1])?;
                let sign = sign.strip_suffix('=').unwrap_or(sign);
                self.visit(at, Access::Write, |value| {
                    *value = number::binary(sign, value, &by)?;
                    Ok(Value::Unit)
                })
            }
            HostOp::Exchange(name) => self.exchange(name, args),
            HostOp::CellSet => match self.operand(&args[0])? {
                Value::Handle(cell) => {
                    let value = self.value(&args[1])?;
                    self.assign(Location::at(Base::Cell(cell)), value).map(|_| Value::Unit)
                }
                other => Err(takes(&other, "a cell of the state")),
            },
            HostOp::CellValue => match self.operand(&args[0])? {
                Value::Handle(cell) => {
                    let value = self.read(Location::at(Base::Cell(cell)))?;
                    self.second(value)
                }
                other => Err(takes(&other, "a cell of the state")),
            },
            HostOp::Handles | HostOp::HandlesOfList => {
                let value = self.operand(&args[0])?;
                self.second(value)
            }
            HostOp::Return => {
                let value = args.first().map_or(Ok(Value::Unit), |arg| self.value(arg))?;
                Err(EvalError::Return(Box::new(value)))
            }
            HostOp::Output => self.operand(&args[0]),
            HostOp::Panic(message) if args.is_empty() => Err(EvalError::Panic(message.clone())),
            HostOp::Panic(message) => Err(EvalError::Panic(self.text(message, args)?)),
            HostOp::Format(message) => self.text(message, args).map(Value::Str),
            HostOp::Exactly => {
                let (list, count) = (self.operand(&args[0])?, self.operand(&args[1])?);
                match &list {
                    Value::List(items) if Some(items.len()) == count.as_usize() => Ok(list),
                    _ => self.perform(op, vec![list, count]),
                }
            }
            _ => self.tensors(op, args),
        }
    }

    /// Puts a value where a location leads; yields what was there.
    fn assign(&mut self, at: Location<M::Tensor>, value: Value<M::Tensor>) -> Evaluated<M> {
        let rebinds = at.is_variable();
        self.visit(at, Access::Write, |there| {
            // A variable that holds a reference is given another; any other place has a value of the same type.
            let value = if rebinds && matches!(there, Value::Reference(_)) { value } else { value.alike(there)? };
            Ok(std::mem::replace(there, value))
        })
    }

    /// `std::mem::take`, `replace` or `swap`, on mutable references.
    fn exchange(&mut self, name: &str, args: &[Arg]) -> Evaluated<M> {
        let at = self.place(&args[0])?.then(Step::Deref);
        match name {
            "take" => self.visit(at, Access::Write, |there| {
                let empty = default_of(there)?;
                Ok(std::mem::replace(there, empty))
            }),
            "replace" => {
                let value = self.value(&args[1])?;
                self.assign(at, value)
            }
            "swap" => {
                let other = self.place(&args[1])?.then(Step::Deref);
                let theirs = self.read(other.clone())?;
                let ours = self.assign(at, theirs)?;
                self.assign(other, ours).map(|_| Value::Unit)
            }
            other => Err(EvalError::Operands(format!("`std::mem` has no `{other}` that is known"))),
        }
    }

    /// What only a machine does.
    fn tensors(&mut self, op: &HostOp, args: &[Arg]) -> Evaluated<M> {
        match op {
            HostOp::TensorOf => match self.operand(&args[0])? {
                Value::List(numbers) => self.machine.tensor_of(&numbers).map(Value::Tensor).map_err(EvalError::Machine),
                other => Err(takes(&other, "a list of numbers")),
            },
            HostOp::HandleOr => match self.operand(&args[0])? {
                Value::Option(Some(held)) => self.second(*held),
                Value::Option(None) => {
                    let other = self.operand(&args[1])?;
                    self.second(other)
                }
                other => Err(takes(&other, "an option of a tensor")),
            },
            HostOp::TryFrom(ty) => match self.operand(&args[0])? {
                Value::Tensor(tensor) => self.machine.contents(&tensor, ty).map_err(EvalError::Machine),
                other => Err(takes(&other, "a tensor")),
            },
            HostOp::Index => {
                let index = self.operand(&args[1])?;
                match self.operand(&args[0])? {
                    Value::Tensor(tensor) => {
                        self.machine.index(&tensor, &index).map(Value::Tensor).map_err(EvalError::Machine)
                    }
                    other => Err(takes(&other, "a tensor")),
                }
            }
            _ => {
                // A mutable reference stays one: the function may write through it.
                let values = self.values(args)?;
                self.perform(op, values)
            }
        }
    }

    /// The value with a second handle for each tensor in it.
    pub(super) fn second(&mut self, value: Value<M::Tensor>) -> Evaluated<M> {
        let mut all = |values: Vec<Value<M::Tensor>>| -> Result<Vec<_>, _> {
            values.into_iter().map(|value| self.second(value)).collect()
        };
        Ok(match value {
            Value::List(items) => Value::List(all(items)?),
            Value::Tuple(parts) => Value::Tuple(all(parts)?),
            Value::Struct(path, fields) => {
                let (names, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
                Value::Struct(path, names.into_iter().zip(all(values)?).collect())
            }
            Value::Option(Some(held)) => Value::option(Some(self.second(*held)?)),
            Value::Tensor(tensor) => Value::Tensor(self.machine.handle(&tensor).map_err(EvalError::Machine)?),
            other => other,
        })
    }
}

/// The `Default` of the value's type.
fn default_of<T>(value: &Value<T>) -> Result<Value<T>, Refusal> {
    Ok(match value {
        Value::Unit => Value::Unit,
        Value::Bool(_) => Value::Bool(false),
        Value::Int(_, ty) => Value::Int(0, *ty),
        Value::Float(_, ty) => Value::Float(0.0, *ty),
        Value::Str(_) => Value::Str(String::new()),
        Value::Option(_) => Value::Option(None),
        Value::List(_) => Value::List(Vec::new()),
        Value::Tuple(parts) => Value::Tuple(parts.iter().map(default_of).collect::<Result<_, _>>()?),
        other => return Err(Refusal::Operands(format!("cannot take {other}: it has no default"))),
    })
}
