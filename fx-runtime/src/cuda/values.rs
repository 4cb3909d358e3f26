//! What goes into a recorded forward and what comes out of it.

use tch::{Device, Kind, Tensor};

use crate::{Error, Result};

/// The inputs of a forward, by position; none where an `Option` is.
#[derive(Debug, Clone, Copy)]
pub struct Arguments<'a>(pub(super) &'a [Option<&'a Tensor>]);

impl<'a> Arguments<'a> {
    /// The input of that position.
    pub fn tensor(&self, position: usize) -> Result<&'a Tensor> {
        self.optional(position).ok_or_else(|| Error::Unsupported {
            what: format!("a recorded forward without its input {position}"),
            help: "this is a fault of fx; please report it".to_owned(),
        })
    }

    /// The input of that position, which may be absent.
    pub fn optional(&self, position: usize) -> Option<&'a Tensor> {
        self.0.get(position).copied().flatten()
    }
}

/// What a forward can return to be recorded: tensors, in options, lists and tuples.
pub trait Outputs: Send + Sized + 'static {
    /// The same with every tensor replaced by what `f` makes of it.
    fn map(&self, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Self>;
}

impl Outputs for Tensor {
    fn map(&self, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Self> {
        f(self)
    }
}

impl<O: Outputs> Outputs for Option<O> {
    fn map(&self, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Self> {
        self.as_ref().map(|value| value.map(f)).transpose()
    }
}

impl<O: Outputs> Outputs for Vec<O> {
    fn map(&self, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Self> {
        self.iter().map(|value| value.map(f)).collect()
    }
}

impl<O: Outputs> Outputs for Box<O> {
    fn map(&self, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Self> {
        (**self).map(f).map(Box::new)
    }
}

macro_rules! tuples {
    ($($($part:ident $position:tt),+;)*) => {
        $(impl<$($part: Outputs),+> Outputs for ($($part,)+) {
            fn map(&self, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Self> {
                Ok(($(self.$position.map(f)?,)+))
            }
        })*
    };
}

tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
}

/// An input to try a model with: zeros of a shape, in the model's dtype or in another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    size: Vec<i64>,
    kind: Option<Kind>,
}

impl Example {
    /// Zeros of a dtype of their own, `Kind::Int64` for token ids.
    pub fn of_kind(size: impl AsRef<[i64]>, kind: Kind) -> Self {
        Self { size: size.as_ref().to_vec(), kind: Some(kind) }
    }

    pub(crate) fn tensor(&self, kind: Kind, device: Device) -> Result<Tensor> {
        Ok(Tensor::f_zeros(&self.size, (self.kind.unwrap_or(kind), device))?)
    }
}

impl From<&[i64]> for Example {
    fn from(size: &[i64]) -> Self {
        Self { size: size.to_vec(), kind: None }
    }
}

impl<const N: usize> From<[i64; N]> for Example {
    fn from(size: [i64; N]) -> Self {
        Self::from(&size[..])
    }
}
