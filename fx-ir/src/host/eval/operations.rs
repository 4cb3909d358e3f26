//! The operations of the standard library, group by group; what a group does not know it hands on to the next.

use super::place::Access;
use super::value::{Base, Location, Range, Refusal, Step, Value};
use super::{EvalError, Evaluated, Evaluator, Failure, Machine, lists, no_method, number};
use crate::host::Adaptor;
use crate::{Arg, HostOp};

impl<M: Machine> Evaluator<'_, M> {
    /// Values as they are read.
    pub(super) fn reading(&mut self, op: &HostOp, args: &[Arg]) -> Evaluated<M> {
        match op {
            HostOp::Use
            | HostOp::Clone
            | HostOp::ToVec
            | HostOp::Copied
            | HostOp::BorrowTensor
            | HostOp::BorrowOption
            | HostOp::Ref => self.operand(&args[0]),
            HostOp::Literal(ty) | HostOp::Ascribe(ty) => Ok(self.value(&args[0])?.of_spelling(ty)?),
            HostOp::AsFunction(_) => self.value(&args[0]),
            HostOp::Handle => match self.operand(&args[0])? {
                Value::Tensor(tensor) => self.machine.handle(&tensor).map(Value::Tensor).map_err(EvalError::Machine),
                other => Err(takes(&other, "a tensor")),
            },
            HostOp::RefMut => Ok(Value::Reference(Box::new(self.place(&args[0])?))),
            HostOp::Field(_)
            | HostOp::Deref
            | HostOp::UnwrapMut(_)
            | HostOp::UnwrapBorrow
            | HostOp::EndMut(_)
            | HostOp::Interior
            | HostOp::MutSlice
            | HostOp::Lock => {
                let at = self.place(&op.clone().of(args.iter().cloned()))?;
                self.read(at)
            }
            HostOp::Item | HostOp::ItemRef => self.item(&args[0], &args[1]),
            HostOp::Slice(dots) => {
                let (bounds, list) = (self.range(args.get(1), args.get(2), dots)?, self.operand(&args[0])?);
                Ok(if matches!((&list, args.len()), (Value::Str(_), 1)) { list } else { sliced(&list, &bounds)? })
            }
            HostOp::Unwrap(message) | HostOp::UnwrapRef(message) | HostOp::UnwrapLoan(message) => {
                let at = self.place(&args[0])?.then(Step::Unwrap(message.clone()));
                let value = self.read(at)?;
                self.behind(value)
            }
            _ => self.aggregates(op, args),
        }
    }

    fn item(&mut self, list: &Arg, at: &Arg) -> Evaluated<M> {
        match self.operand(at)? {
            Value::Int(at, _) => {
                let place = self.place(list)?.then(Step::Item(at));
                self.read(place)
            }
            bounds @ Value::Range(_) => {
                let list = self.operand(list)?;
                Ok(sliced(&list, &bounds)?)
            }
            other => Err(EvalError::Operands(format!("cannot take {other} as an index: it takes a whole number"))),
        }
    }

    /// Tuples, lists, options, structs and ranges.
    fn aggregates(&mut self, op: &HostOp, args: &[Arg]) -> Evaluated<M> {
        Ok(match op {
            HostOp::Unit => Value::Unit,
            HostOp::Tuple if args.is_empty() => Value::Unit,
            HostOp::Tuple => Value::Tuple(self.values(args)?),
            HostOp::Array | HostOp::Vec => Value::List(self.list(args)?),
            HostOp::EmptyVec(_) => Value::List(Vec::new()),
            HostOp::Repeat => {
                let (item, count) = (self.value(&args[0])?, self.count(&args[1])?);
                Value::List(vec![item; count])
            }
            HostOp::Filled(ty) => {
                let count = self.count(&args[1])?;
                let items: Result<Vec<_>, Failure<M>> = (0..count).map(|_| self.value(&args[0])).collect();
                Value::List(items?).of_spelling(ty)?
            }
            HostOp::Some => Value::option(Some(self.value(&args[0])?)),
            HostOp::NoneOf(_) => Value::Option(None),
            HostOp::Struct((path, names)) => {
                Value::Struct(path.clone(), names.iter().cloned().zip(self.values(args)?).collect())
            }
            HostOp::Construct(path) => {
                let fields = self.values(args)?;
                Value::Struct(path.clone(), (0..).map(|at: usize| at.to_string()).zip(fields).collect())
            }
            HostOp::Range(dots) | HostOp::IndexRange(dots) => self.range(args.first(), args.get(1), dots)?,
            _ => return self.numbers(op, args),
        })
    }

    /// Elements of one type: untyped numbers become what the first typed one is.
    fn list(&mut self, args: &[Arg]) -> Result<Vec<Value<M::Tensor>>, Failure<M>> {
        let items = self.values(args)?;
        let is_typed = |value: &&Value<M::Tensor>| !value.is_untyped();
        let Some(typed) = items.iter().find(is_typed).cloned() else { return Ok(items) };
        Ok(items.into_iter().map(|item| item.alike(&typed)).collect::<Result<_, _>>()?)
    }

    fn range(&mut self, start: Option<&Arg>, end: Option<&Arg>, dots: &str) -> Evaluated<M> {
        let mut bound = |arg: Option<&Arg>| match arg {
            None | Some(Arg::None) => Ok(None),
            Some(arg) => self.operand(arg).map(Some),
        };
        let (start, end) = match (bound(start)?, bound(end)?) {
            (Some(from), Some(to)) => (Some(from.clone().alike(&to)?), Some(to.alike(&from)?)),
            open => open,
        };
        Ok(Value::Range(Box::new(Range { start, end, inclusive: dots == "..=" })))
    }

    fn count(&mut self, arg: &Arg) -> Result<usize, Failure<M>> {
        let value = self.operand(arg)?;
        value.as_usize().ok_or_else(|| EvalError::Operands(format!("cannot take {value} as a length")))
    }

    /// Operators, casts and functions of numbers.
    fn numbers(&mut self, op: &HostOp, args: &[Arg]) -> Evaluated<M> {
        match op {
            HostOp::Neg => Ok(number::negated(&self.operand(&args[0])?)?),
            HostOp::Not => Ok(number::inverted(&self.operand(&args[0])?)?),
            HostOp::Binary(sign) => {
                let a = self.operand(&args[0])?;
                match (sign.as_str(), &a) {
                    ("&&", Value::Bool(false)) | ("||", Value::Bool(true)) => Ok(a),
                    _ => Ok(number::binary(sign, &a, &self.operand(&args[1])?)?),
                }
            }
            HostOp::Cast(ty) => Ok(number::cast(self.operand(&args[0])?, ty)?),
            HostOp::Convert(ty) => Ok(number::converted(&self.operand(&args[0])?, ty)?),
            HostOp::ConvertOr(ty) => Ok(number::converted_or(&self.operand(&args[0])?, self.operand(&args[1])?, ty)?),
            HostOp::From(ty) if ty.rsplit("::").next() == Some("String") => self.operand(&args[0]),
            HostOp::From(ty) => {
                let value = self.operand(&args[0])?;
                number::from(value.clone(), ty).map_or_else(|| self.perform(op, vec![value]), |number| Ok(number?))
            }
            HostOp::Function(path) => self.function(op, path, args),
            HostOp::Number(_) | HostOp::Scalar => self.operand(&args[0]),
            _ => self.methods(op, args),
        }
    }

    /// `f64::sqrt(x)` is `x.sqrt()`, and so is `std::cmp::max(a, b)`.
    fn function(&mut self, op: &HostOp, path: &str, args: &[Arg]) -> Evaluated<M> {
        let mut values = self.operands(args)?;
        let (owner, name) = path.rsplit_once("::").unwrap_or(("", path));
        let owner = owner.rsplit("::").next().unwrap_or(owner);
        let is_number = crate::scalar::is_scalar(owner);
        if values.is_empty() || !is_number && owner != "cmp" {
            return self.perform(op, values);
        }
        let mut receiver = values.remove(0);
        if is_number {
            if name == "from"
                && let Some(number) = number::from(receiver.clone(), owner)
            {
                return Ok(number?);
            }
            receiver = receiver.of_spelling(owner)?;
        }
        Ok(Self::standard(name, &mut receiver, values).unwrap_or_else(|| Err(no_method(name, &receiver)))?)
    }

    /// Methods of the standard library and of tensors.
    fn methods(&mut self, op: &HostOp, args: &[Arg]) -> Evaluated<M> {
        match op {
            HostOp::Method(name) => {
                let at = self.place(&args[0])?.then(Step::Deref);
                let mut receiver = self.read(at)?;
                let values = self.operands(&args[1..])?;
                match &receiver {
                    Value::Tensor(tensor) => {
                        self.machine.tensor_method(name, tensor, &values).map_err(EvalError::Machine)
                    }
                    Value::Handle(_) | Value::Struct(..) | Value::Path(_) => {
                        self.perform(op, std::iter::once(receiver).chain(values).collect())
                    }
                    _ => Ok(Self::standard(name, &mut receiver, values)
                        .unwrap_or_else(|| Err(no_method(name, &receiver)))?),
                }
            }
            HostOp::Mutate(name) => self.mutate(op, name, args),
            HostOp::ResizeWith => {
                let length = self.count(&args[1])?;
                let at = self.place(&args[0])?.then(Step::Deref);
                let before = self.visit(at.clone(), Access::Read, |list| Ok(items(list)?.len()))?;
                let more = (before..length).map(|_| self.value(&args[2])).collect::<Result<Vec<_>, Failure<M>>>()?;
                self.visit(at, Access::Write, |list| {
                    let items = items(list)?;
                    items.truncate(length);
                    items.extend(more);
                    Ok(Value::Unit)
                })
            }
            _ => self.iterated(op, args),
        }
    }

    fn mutate(&mut self, op: &HostOp, name: &str, args: &[Arg]) -> Evaluated<M> {
        let at = self.place(&args[0])?.then(Step::Deref);
        let values = self.operands(&args[1..])?;
        let own = self.visit(at.clone(), Access::Read, |receiver| {
            Ok(matches!(receiver, Value::Tensor(_) | Value::Handle(_) | Value::Struct(..)))
        })?;
        if own {
            let receiver = Value::Reference(Box::new(at));
            return self.perform(op, std::iter::once(receiver).chain(values).collect());
        }
        self.visit(at, Access::Write, |receiver| {
            Self::standard(name, receiver, values).unwrap_or_else(|| Err(no_method(name, receiver)))
        })
    }

    /// Lists and ranges, element by element.
    fn iterated(&mut self, op: &HostOp, args: &[Arg]) -> Evaluated<M> {
        match op {
            HostOp::CopiedElements | HostOp::CopyList => Ok(Value::List(self.elements_of(&args[0])?)),
            HostOp::HandleElements => {
                let elements = self.elements_of(&args[0])?;
                elements.into_iter().map(|value| self.second(value)).collect::<Result<_, _>>().map(Value::List)
            }
            HostOp::Sum(ty) => self.folded(&args[0], "+", Value::Int(0, super::IntType::Untyped), ty),
            HostOp::Product(ty) => self.folded(&args[0], "*", Value::Int(1, super::IntType::Untyped), ty),
            HostOp::Extremum(which) => {
                let mut found: Option<Value<M::Tensor>> = None;
                for mut item in self.elements_of(&args[0])? {
                    found = Some(match found {
                        Some(other) => Self::standard(which, &mut item, vec![other])
                            .unwrap_or_else(|| Err(no_method(which, &item)))?,
                        None => item,
                    });
                }
                Ok(Value::option(found))
            }
            HostOp::Collect(adaptors) => Ok(Value::List(adapted(self.elements_of(&args[0])?, adaptors))),
            HostOp::Count(adaptors) => Ok(Value::count(adapted(self.elements_of(&args[0])?, adaptors).len())),
            HostOp::MapList => {
                let elements = self.elements_of(&args[0])?;
                elements.into_iter().map(|one| self.mapped(one, &args[1])).collect::<Result<_, _>>().map(Value::List)
            }
            HostOp::MapOption | HostOp::MapLoan => match self.operand(&args[0])? {
                Value::Option(Some(one)) => Ok(Value::option(Some(self.mapped(*one, &args[1])?))),
                Value::Option(None) => Ok(Value::Option(None)),
                other => Err(takes(&other, "an option")),
            },
            _ => self.state(op, args),
        }
    }

    /// A function's value, in which `one` is this.
    fn mapped(&mut self, one: Value<M::Tensor>, function: &Arg) -> Evaluated<M> {
        self.elements.push(one);
        let value = self.value(function);
        self.elements.pop();
        value
    }

    /// The sum or the product of a list.
    fn folded(&mut self, list: &Arg, sign: &str, neutral: Value<M::Tensor>, ty: &str) -> Evaluated<M> {
        let neutral = if crate::scalar::is_float(ty) { number::cast(neutral, ty)? } else { neutral.of_spelling(ty)? };
        let mut total = neutral;
        for item in self.elements_of(list)? {
            total = number::binary(sign, &total, &item)?;
        }
        Ok(total)
    }

    /// The elements of a list, or the numbers of a range.
    fn elements_of(&mut self, arg: &Arg) -> Result<Vec<Value<M::Tensor>>, Failure<M>> {
        match self.operand(arg)? {
            Value::List(items) => Ok(items),
            other => match lists::numbers(&other) {
                Some((numbers, ty)) => Ok(numbers.map(|number| Value::Int(number, ty)).collect()),
                None => Err(takes(&other, "a list or a range of whole numbers")),
            },
        }
    }
}

/// That an operation has another operand than it takes.
pub(super) fn takes<T, E>(found: &Value<T>, wanted: &str) -> EvalError<T, E> {
    EvalError::Operands(format!("cannot take {found}: it takes {wanted}"))
}

fn items<T>(list: &mut Value<T>) -> Result<&mut Vec<Value<T>>, Refusal> {
    match list {
        Value::List(items) => Ok(items),
        other => Err(Refusal::Operands(format!("cannot take {other}: it takes a list"))),
    }
}

/// What the adaptors make of these elements.
fn adapted<T>(mut elements: Vec<Value<T>>, adaptors: &[Adaptor]) -> Vec<Value<T>> {
    let count = |count: i64| usize::try_from(count).unwrap_or(0);
    for adaptor in adaptors {
        elements = match *adaptor {
            Adaptor::Iter | Adaptor::Clone | Adaptor::Copied => elements,
            Adaptor::Enumerate => {
                let numbered = elements.into_iter().enumerate();
                numbered.map(|(at, element)| Value::Tuple(vec![Value::count(at), element])).collect()
            }
            Adaptor::Rev => elements.into_iter().rev().collect(),
            Adaptor::Skip(by) => elements.into_iter().skip(count(by)).collect(),
            Adaptor::Take(most) => elements.into_iter().take(count(most)).collect(),
            Adaptor::StepBy(step) => elements.into_iter().step_by(count(step).max(1)).collect(),
        };
    }
    elements
}

/// The elements of a list within a range.
fn sliced<T: Clone>(list: &Value<T>, bounds: &Value<T>) -> Result<Value<T>, Refusal> {
    let (Value::List(items), Value::Range(range)) = (list, bounds) else {
        return Err(Refusal::Operands(format!("cannot take {list} and {bounds}: it takes a list and a range")));
    };
    let end = |end: &Option<Value<T>>, open: usize| match end {
        Some(end) => {
            end.as_usize().ok_or_else(|| Refusal::Operands(format!("cannot take {end} as the end of a range")))
        }
        None => Ok(open),
    };
    let start = end(&range.start, 0)?;
    let stop = end(&range.end, items.len())? + usize::from(range.inclusive && range.end.is_some());
    if let Some(items) = items.get(start..stop) {
        return Ok(Value::List(items.to_vec()));
    }
    let length = items.len();
    Err(Refusal::Panics(format!("range {start}..{stop} out of range for slice of length {length}")))
}

impl<T> Value<T> {
    /// Whether it is a number of a literal without a suffix.
    fn is_untyped(&self) -> bool {
        use super::{FloatType, IntType};
        matches!(self, Value::Int(_, IntType::Untyped) | Value::Float(_, FloatType::Untyped))
    }
}

impl<T> Location<T> {
    /// Whether it is the whole of a variable.
    pub(super) fn is_variable(&self) -> bool {
        matches!(self.base, Base::Variable(_)) && self.steps.is_empty()
    }
}
