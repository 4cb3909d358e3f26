//! Tensors whose memory nobody else refers to, so that it can become a result's.

use std::ops::Deref;

use tch::Tensor;

use super::entry::Handle;
use super::tensor::lend;

// SAFETY: the declaration of `cpp/tensor.cpp`.
unsafe extern "C" {
    fn fx_tensor_is_sole(tensor: Handle) -> bool;
}

/// A tensor beside which no handle and no view of its memory exists.
#[derive(Debug)]
pub(crate) struct Sole(Tensor);

impl Sole {
    /// The tensor itself where something else refers to it or to its memory.
    pub(crate) fn of(tensor: Tensor) -> Result<Self, Tensor> {
        // SAFETY: the tensor is alive, and is not changed.
        if unsafe { fx_tensor_is_sole(lend(&tensor)) } { Ok(Self(tensor)) } else { Err(tensor) }
    }

    pub(super) fn into_tensor(self) -> Tensor {
        self.0
    }
}

/// To be read; whoever makes a second handle of it keeps that to itself.
impl Deref for Sole {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;

    #[test]
    fn handles_and_views_are_noticed() {
        let make = || Tensor::zeros([2, 3], (Kind::Float, Device::Cpu));
        assert!(Sole::of(make()).is_ok());
        let (tensor, other) = (make(), make());
        let (handle, view) = (tensor.shallow_clone(), other.narrow(0, 0, 1));
        let (tensor, other) = (Sole::of(tensor).unwrap_err(), Sole::of(other).unwrap_err());
        drop((handle, view));
        assert!(Sole::of(tensor).is_ok() && Sole::of(other).is_ok());
        let list = [1.0f32, 2.0];
        assert!(Sole::of(Tensor::from_slice(&list)).is_ok());
    }
}
