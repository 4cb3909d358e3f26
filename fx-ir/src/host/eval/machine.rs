//! What an evaluation needs beside the operation: variables, and a machine that has tensors and the model.

use std::fmt;

use super::value::{Handle, Refusal, Value};
use crate::{HostOp, NodeId, NodeMap};

/// The variables of a run: the value of each node so far.
#[derive(Clone, Debug)]
pub struct Variables<T>(NodeMap<Value<T>>);

/// What lies beyond the standard library: tensors, the live model with its state, the runtime and the user's functions.
pub trait Machine {
    /// A tensor, by a name that is cheap to clone, such as an `Rc`. Only [`Machine::handle`] makes second handles.
    type Tensor: Clone;
    /// Why something could not be done; the `Err` of a fallible operation.
    type Error;

    /// A second handle on a tensor.
    fn handle(&mut self, tensor: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// A method that only looks at a tensor: `size`, `kind`, `device`, `dim`.
    fn tensor_method(
        &mut self,
        name: &str,
        tensor: &Self::Tensor,
        args: &[Value<Self::Tensor>],
    ) -> Result<Value<Self::Tensor>, Self::Error>;

    /// `tensor.i(index)`: a number, a range, or a tuple of such.
    fn index(&mut self, tensor: &Self::Tensor, index: &Value<Self::Tensor>) -> Result<Self::Tensor, Self::Error>;

    /// A tensor of these numbers, all of one type.
    fn tensor_of(&mut self, numbers: &[Value<Self::Tensor>]) -> Result<Self::Tensor, Self::Error>;

    /// What a tensor holds, as a type of that spelling.
    fn contents(&mut self, tensor: &Self::Tensor, ty: &str) -> Result<Value<Self::Tensor>, Self::Error>;

    /// A field of something that the machine keeps.
    fn field(&mut self, of: Handle, name: &str) -> Result<Value<Self::Tensor>, Self::Error>;

    /// What a cell of the state holds, to be read or written in place.
    fn cell(&mut self, cell: Handle) -> Result<&mut Value<Self::Tensor>, Self::Error>;

    /// A constant of the user's crate, or a function as a value.
    fn path(&mut self, path: &str) -> Result<Value<Self::Tensor>, Self::Error>;

    /// Any other operation on these operands: a function or a method of the runtime or of the user's crate, a cell, a
    /// layer of a chain. A mutable reference among the operands leads into `variables`.
    fn perform(
        &mut self,
        op: &HostOp,
        args: Vec<Value<Self::Tensor>>,
        variables: &mut Variables<Self::Tensor>,
    ) -> Result<Value<Self::Tensor>, Self::Error>;
}

/// Why an operation has no value.
#[derive(Clone, Debug)]
pub enum EvalError<T, E> {
    /// The operation does not fit its operands: the graph is wrong. The message names both.
    Operands(String),
    /// The generated code panics here, with this message.
    Panic(String),
    /// The machine reports an error, which leaves the forward as `Err`.
    Machine(E),
    /// The operation leaves the forward with this value.
    Return(Box<Value<T>>),
}

impl<T> Default for Variables<T> {
    fn default() -> Self {
        Variables(NodeMap::default())
    }
}

impl<T> Variables<T> {
    /// The value of a node.
    pub fn get(&self, id: NodeId) -> Option<&Value<T>> {
        self.0.get(id)
    }

    /// The value of a node, to be written to.
    pub fn get_mut(&mut self, id: NodeId) -> Option<&mut Value<T>> {
        self.0.get_mut(id)
    }

    /// Gives a node its value.
    pub fn set(&mut self, id: NodeId, value: Value<T>) {
        self.0.insert(id, value);
    }

    /// Frees the value of a node.
    pub fn remove(&mut self, id: NodeId) {
        self.0.remove(id);
    }
}

impl<T, E> From<Refusal> for EvalError<T, E> {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Operands(message) => EvalError::Operands(message),
            Refusal::Panics(message) => EvalError::Panic(message),
        }
    }
}

impl<T, E> EvalError<T, E> {
    /// The error with the operation that it happened in.
    pub(super) fn within(self, op: &HostOp) -> Self {
        match self {
            EvalError::Operands(message) if !message.starts_with("host.") => {
                EvalError::Operands(format!("{}: {message}", op.label()))
            }
            other => other,
        }
    }
}

impl<T, E: fmt::Display> fmt::Display for EvalError<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::Operands(message) => f.write_str(message),
            EvalError::Panic(message) => write!(f, "panics: {message}"),
            EvalError::Machine(error) => error.fmt(f),
            EvalError::Return(value) => write!(f, "leaves the forward with a value of kind {value}"),
        }
    }
}
