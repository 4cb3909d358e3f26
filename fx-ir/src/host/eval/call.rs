//! A call of a method: its receiver, its arguments, and what it says where they do not fit.

use super::value::{Refusal, Value};
use crate::number_type::{FloatType, IntType};

/// A call of a method of the standard library.
pub(crate) struct Call<'a, T> {
    /// The name of the method.
    pub(crate) name: &'static str,
    /// What it is called on; a method that only looks gets a copy.
    pub(crate) receiver: &'a mut Value<T>,
    /// What it is given.
    pub(crate) args: Vec<Value<T>>,
    /// What it would take, as a message says it.
    pub(crate) fits: &'static str,
}

impl<T> Call<'_, T> {
    /// The refusal of these operands.
    pub(crate) fn refused(&self) -> Refusal {
        let args: Vec<String> = self.args.iter().map(Value::to_string).collect();
        let (name, receiver, fits) = (self.name, &*self.receiver, self.fits);
        Refusal::Operands(format!("`{name}` of {receiver} cannot take ({}); it is a method of {fits}", args.join(", ")))
    }

    /// The panic of a result that the type does not have.
    pub(crate) fn overflow(&self, ty: IntType) -> Refusal {
        let number = |value: &Value<T>| match value {
            Value::Int(number, _) => number.to_string(),
            other => other.to_string(),
        };
        let args: Vec<String> = self.args.iter().map(number).collect();
        let receiver = number(self.receiver);
        Refusal::Panics(format!("overflow: {receiver}.{}({}) is out of the range of {ty}", self.name, args.join(", ")))
    }

    /// The receiver, a whole number.
    pub(crate) fn int(&self) -> Result<(i128, IntType), Refusal> {
        match &*self.receiver {
            Value::Int(number, ty) => Ok((*number, *ty)),
            _ => Err(self.refused()),
        }
    }

    /// The receiver, a floating-point number.
    pub(crate) fn float(&self) -> Result<(f64, FloatType), Refusal> {
        match &*self.receiver {
            Value::Float(number, ty) => Ok((*number, *ty)),
            _ => Err(self.refused()),
        }
    }

    /// An argument, a whole number of that type, and the type of the two.
    pub(crate) fn int_arg(&self, at: usize, ty: IntType) -> Result<(i128, IntType), Refusal> {
        match self.args.get(at) {
            Some(Value::Int(number, of)) => ty.joined(*of).map(|ty| (*number, ty)).ok_or_else(|| self.refused()),
            _ => Err(self.refused()),
        }
    }

    /// An argument, a floating-point number of that type, and the type of the two.
    pub(crate) fn float_arg(&self, at: usize, ty: FloatType) -> Result<(f64, FloatType), Refusal> {
        match self.args.get(at) {
            Some(Value::Float(number, of)) => ty.joined(*of).map(|ty| (*number, ty)).ok_or_else(|| self.refused()),
            _ => Err(self.refused()),
        }
    }

    /// An argument that counts.
    pub(crate) fn count_arg(&self, at: usize) -> Result<usize, Refusal> {
        self.args.get(at).and_then(Value::as_usize).ok_or_else(|| self.refused())
    }

    /// An argument, for good; those behind it move up.
    pub(crate) fn take_arg(&mut self, at: usize) -> Result<Value<T>, Refusal> {
        if at < self.args.len() { Ok(self.args.remove(at)) } else { Err(self.refused()) }
    }

    /// The elements of the receiver, a list.
    pub(crate) fn items(&mut self) -> Result<&mut Vec<Value<T>>, Refusal> {
        if !matches!(self.receiver, Value::List(_)) {
            return Err(self.refused());
        }
        match self.receiver {
            Value::List(items) => Ok(items),
            _ => Err(Refusal::Operands("the receiver is no list".to_owned())),
        }
    }

    /// What the receiver, an option, holds.
    pub(crate) fn held(&mut self) -> Result<&mut Option<Box<Value<T>>>, Refusal> {
        if !matches!(self.receiver, Value::Option(_)) {
            return Err(self.refused());
        }
        match self.receiver {
            Value::Option(held) => Ok(held),
            _ => Err(Refusal::Operands("the receiver is no option".to_owned())),
        }
    }
}
