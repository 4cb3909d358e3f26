//! Any registered operator of libtorch, by name and overload.
//!
//! An operator is found once; its [`Schema`] says what it takes, and a call checks its arguments against that and fills in
//! the defaults of those that are left out. libtorch's own dispatcher does the rest, so that autograd, CUDA and operators
//! that other libraries register are as they are elsewhere. A call costs some tenths of a microsecond more than tch's
//! method.
//!
//! ```
//! use fx_runtime::operator::{Operator, Value};
//! use fx_runtime::{Device, Kind, Tensor};
//!
//! let x = Tensor::ones([1, 3, 8, 8], (Kind::Float, Device::Cpu));
//! let pool = Operator::find("aten::max_pool2d", "")?;
//! // Stride, padding, dilation and the rounding have defaults.
//! let results = pool.call(&[Value::from(&x), Value::from(2)])?;
//! let [Value::Tensor(pooled)] = results.as_slice() else { panic!("one tensor") };
//! assert_eq!(pooled.size(), [1, 3, 4, 4]);
//! # Ok::<(), fx_runtime::Error>(())
//! ```

mod pack;
mod raw;
mod receive;
mod schema;
mod value;

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::{OnceLock, PoisonError, RwLock};
use std::{fmt, mem, ptr};

use tch::{TchError, Tensor};

pub use schema::{Alias, Argument, Returned, Schema, Type};
pub use value::{MemoryFormat, Value};

use self::pack::Packed;
use self::raw::{RawOperator, RawValue};
use self::receive::{describe, received, typed};
use crate::{Error, Result};

/// A registered operator.
#[derive(Clone, Copy)]
pub struct Operator(&'static Entry);

/// An argument of a call at its position; a tensor is borrowed.
pub(crate) enum Operand<'v> {
    /// The default stands for it.
    Absent,
    Tensor(&'v Tensor),
    Value(Value),
}

/// The same, all of it borrowed.
enum Given<'v> {
    Absent,
    Tensor(&'v Tensor),
    Value(&'v Value),
}

/// An operator that was found, which is kept for good.
struct Entry {
    raw: *const RawOperator,
    schema: Schema,
}

// SAFETY: the C++ object is an `OperatorHandle` that nobody writes to, and libtorch documents its dispatcher as callable
// from many threads at once.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

/// The operators that were found, by name and then by overload.
type Found = HashMap<String, Vec<Operator>>;

fn found() -> &'static RwLock<Found> {
    static FOUND: OnceLock<RwLock<Found>> = OnceLock::new();
    FOUND.get_or_init(RwLock::default)
}

impl Operator {
    /// Finds an operator by its name with the namespace (`aten::add`) and its overload (`Tensor`, or nothing).
    ///
    /// # Errors
    ///
    /// [`Error::Operator`] if libtorch has none of that name and overload.
    pub fn find(name: &str, overload: &str) -> Result<Self> {
        let known =
            |found: &Found| found.get(name)?.iter().find(|operator| operator.schema().overload == overload).copied();
        if let Some(operator) = known(&found().read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(operator);
        }
        let entry = Entry::read(name, overload)?;
        // A panic cannot leave it half written.
        let mut found = found().write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been here meanwhile.
        Ok(known(&found).unwrap_or_else(|| {
            let operator = Self(Box::leak(Box::new(entry)));
            found.entry(name.to_owned()).or_default().push(operator);
            operator
        }))
    }

    /// Finds an operator by its name as schemas are written: `aten::add.Tensor`.
    ///
    /// # Errors
    ///
    /// As for [`Operator::find`].
    pub fn parse(full_name: &str) -> Result<Self> {
        let (name, overload) = full_name.split_once('.').unwrap_or((full_name, ""));
        Self::find(name, overload)
    }

    /// What it takes and returns.
    pub fn schema(&self) -> &'static Schema {
        &self.0.schema
    }

    /// Calls the operator on arguments in the order of its schema, those by keyword included; for those that are not
    /// there stand their defaults.
    ///
    /// An integer also stands for a float or, where the schema says how many, for a list of it; a number for a scalar, or
    /// for a tensor whose dtype yields to others.
    ///
    /// # Errors
    ///
    /// [`Error::Operator`] if an argument is missing or not of its type, [`Error::Torch`] with libtorch's reason if it
    /// refuses.
    pub fn call<V: Borrow<Value>>(&self, args: &[V]) -> Result<Vec<Value>> {
        let arguments = &self.schema().arguments;
        if args.len() > arguments.len() {
            return Err(self.error(format!("takes {} arguments, got {}", arguments.len(), args.len())));
        }
        self.run(|position| args.get(position).map_or(Given::Absent, |value| Given::Value(value.borrow())))
    }

    /// Calls the operator as Python does: some arguments by position, others by name.
    ///
    /// # Errors
    ///
    /// As for [`Operator::call`], and if a name is unknown or has two values.
    pub fn call_named<V: Borrow<Value>>(&self, args: &[V], named: &[(&str, V)]) -> Result<Vec<Value>> {
        let arguments = &self.schema().arguments;
        let positional = arguments.iter().take_while(|argument| !argument.is_keyword_only).count();
        if args.len() > positional {
            return Err(self.error(format!("takes {positional} arguments by position, got {}", args.len())));
        }
        for (index, (name, _)) in named.iter().enumerate() {
            let Some(position) = arguments.iter().position(|argument| argument.name == *name) else {
                let known: Vec<_> = arguments.iter().map(|argument| format!("`{}`", argument.name)).collect();
                return Err(self.error(format!("has no argument `{name}`, only {}", known.join(", "))));
            };
            if position < args.len() || named[..index].iter().any(|(other, _)| other == name) {
                return Err(self.error(format!("got two values for `{name}`")));
            }
        }
        let by_name = |position: usize| {
            let argument = arguments.get(position)?;
            named.iter().find(|(name, _)| argument.name == *name).map(|(_, value)| value.borrow())
        };
        let given = |position: usize| args.get(position).map(Borrow::borrow).or_else(|| by_name(position));
        self.run(|position| given(position).map_or(Given::Absent, Given::Value))
    }

    /// Calls the operator on arguments at their positions in the schema; where none is given stands the default.
    ///
    /// # Errors
    ///
    /// As for [`Operator::call`].
    pub(crate) fn call_at(self, args: &[Operand<'_>]) -> Result<Vec<Value>> {
        self.run(|position| match args.get(position) {
            Some(Operand::Tensor(tensor)) => Given::Tensor(tensor),
            Some(Operand::Value(value)) => Given::Value(value),
            Some(Operand::Absent) | None => Given::Absent,
        })
    }

    /// Calls an operator that returns one tensor; arguments as for [`Operator::call`].
    ///
    /// # Errors
    ///
    /// As for [`Operator::call`], and if it returns something else.
    pub fn tensor<V: Borrow<Value>>(&self, args: &[V]) -> Result<Tensor> {
        let mut results = self.call(args)?;
        match (results.pop(), results.is_empty()) {
            (Some(Value::Tensor(tensor)), true) => Ok(tensor),
            _ => Err(self.error("does not return one tensor".to_owned())),
        }
    }

    fn run<'v>(self, given: impl Fn(usize) -> Given<'v>) -> Result<Vec<Value>> {
        let Schema { arguments, results, .. } = self.schema();
        let mut packed = Packed::with_capacity(arguments.len());
        for (position, argument) in arguments.iter().enumerate() {
            match given(position) {
                Given::Tensor(tensor) if argument.ty.takes_tensor() => packed.push_tensor(tensor),
                Given::Value(value) if packed.push(value, &argument.ty) => {}
                Given::Tensor(_) => return Err(self.wrong(argument, "a tensor")),
                Given::Value(value) => return Err(self.wrong(argument, value.describe())),
                Given::Absent if argument.default.is_some() => packed.values.push(RawValue::DEFAULT),
                Given::Absent if matches!(argument.ty, Type::Optional(_)) => packed.values.push(RawValue::NONE),
                Given::Absent => return Err(self.error(format!("needs its argument `{}`", argument.name))),
            }
        }
        let values = &packed.values;
        // SAFETY: the operator is alive for good. There is a value for each argument, whose lists and tensors live until
        // the end of this function. No exception crosses: the callee catches them.
        let values = received(|context, sink| unsafe {
            raw::fx_operator_call(self.0.raw, values.as_ptr(), values.len(), context, sink)
        });
        let mut values = values.map_err(|reason| Error::Torch(TchError::Torch(reason)))?;
        for (value, result) in values.iter_mut().zip(results).filter(|(value, _)| matches!(value, Value::Int(_))) {
            *value = typed(mem::replace(value, Value::None), &result.ty);
        }
        Ok(values)
    }

    fn wrong(self, argument: &Argument, found: &str) -> Error {
        self.error(format!("takes `{}` for `{}`, got {found}", argument.ty, argument.name))
    }

    fn error(self, reason: String) -> Error {
        Error::Operator { operator: self.schema().full_name(), reason }
    }
}

impl Entry {
    fn read(name: &str, overload: &str) -> Result<Self> {
        let mut raw = ptr::null();
        // SAFETY: addresses and lengths are those of the two texts; the callee writes a handle to `raw`, which is kept.
        let status = received(|context, sink| unsafe {
            let (name, overload) = ((name.as_ptr().cast(), name.len()), (overload.as_ptr().cast(), overload.len()));
            raw::fx_operator_find(name.0, name.1, overload.0, overload.1, &raw mut raw, context, sink)
        });
        let operator = if overload.is_empty() { name.to_owned() } else { format!("{name}.{overload}") };
        let refused = |reason| Error::Operator { operator: operator.clone(), reason };
        status.map_err(refused)?;
        if raw.is_null() {
            return Err(refused(Self::without(name)));
        }
        let (name, overload) = (name.to_owned(), overload.to_owned());
        let mut schema = Schema { name, overload, arguments: Vec::new(), results: Vec::new() };
        let of_schema = &raw mut schema;
        // SAFETY: the operator is alive for good; `describe` is given the schema, which nobody else uses meanwhile. What
        // goes to the sink is the reason of a failure alone.
        let status = received(|context, sink| unsafe {
            raw::fx_operator_schema(raw, of_schema.cast(), describe, context, sink)
        });
        status.map_err(refused)?;
        Ok(Self { raw, schema })
    }

    /// Why there is no such operator.
    fn without(name: &str) -> String {
        // SAFETY: address and length are those of the text.
        let overloads = received(|context, sink| unsafe {
            raw::fx_operator_overloads(name.as_ptr().cast(), name.len(), context, sink)
        });
        let quoted = |value: Value| match value {
            Value::Str(text) => Some(format!("`{text}`")),
            _ => None,
        };
        match overloads.map(|overloads| overloads.into_iter().filter_map(quoted).collect::<Vec<_>>()) {
            Ok(overloads) if !overloads.is_empty() => format!("has no such overload, only {}", overloads.join(", ")),
            _ => "is not registered in this libtorch".to_owned(),
        }
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operator({})", self.schema().full_name())
    }
}

#[cfg(test)]
mod tests;
