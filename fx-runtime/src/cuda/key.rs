//! By what recorded forwards are told apart: the entry of the model, and the form of its inputs.

use std::fmt;

use tch::{Kind, Tensor};

use crate::Result;

/// What two calls must have in common to share a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    /// The entry of the model; empty where it has one alone.
    entry: &'static str,
    inputs: Vec<Option<Form>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Form {
    size: Vec<i64>,
    stride: Vec<i64>,
    kind: Kind,
}

impl Key {
    /// The key of a call with these inputs.
    pub(super) fn of(entry: &'static str, inputs: &[Option<&Tensor>]) -> Result<Self> {
        let form = |tensor: &Tensor| -> Result<Form> {
            Ok(Form { size: tensor.size(), stride: tensor.stride(), kind: tensor.f_kind()? })
        };
        let inputs = inputs.iter().map(|input| input.map(form).transpose()).collect::<Result<_>>()?;
        Ok(Self { entry, inputs })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.entry.is_empty() {
            write!(f, "{}: ", self.entry)?;
        }
        for (position, form) in self.inputs.iter().enumerate() {
            let comma = if position > 0 { ", " } else { "" };
            match form {
                Some(form) => write!(f, "{comma}{:?}{:?}", form.kind, form.size)?,
                None => write!(f, "{comma}none")?,
            }
        }
        Ok(())
    }
}
