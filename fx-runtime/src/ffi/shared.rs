//! Tensors, and layers made of them, that several threads may use at once.

use std::fmt;
use std::ops::Deref;

use tch::{TchError, Tensor};

/// A weight of a frozen model: detached from autograd, never written again, usable from many threads.
///
/// It derefs to [`Tensor`]. Changing its contents through a second handle (`shallow_clone` and an in-place operation)
/// while another thread computes is a data race, as it is with every tensor whose second handle went to another thread.
pub struct Param(Tensor);

// SAFETY: tch's `Tensor` is not `Sync` because its in-place methods write without a lock. A `Param` gives out `&Tensor`
// alone and this crate calls no in-place method through one. What remains are const methods of `at::Tensor`, which
// libtorch documents as callable from many threads at once: the reference count is atomic, and lazily computed parts of
// a tensor without gradient (there is no `grad_fn`, nothing to accumulate) are not touched by forward kernels.
unsafe impl Sync for Param {}

impl Param {
    /// Takes over a tensor, without its gradient. Other handles on its storage should be gone, or never write.
    pub fn new(tensor: Tensor) -> Self {
        Self(if tensor.requires_grad() { tensor.detach() } else { tensor })
    }

    /// A copy of `tensor`, which later changes to `tensor` do not reach.
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    pub fn copied(tensor: &Tensor) -> Result<Self, TchError> {
        let _no_grad = tch::no_grad_guard();
        let mut copy = tensor.f_empty_like()?;
        copy.f_copy_(tensor)?;
        Ok(Self::new(copy))
    }

    /// A second handle on the same memory.
    pub(crate) fn handle(&self) -> Self {
        Self::new(self.tensor().shallow_clone())
    }

    /// The tensor, for where a function is wanted.
    pub fn tensor(&self) -> &Tensor {
        &self.0
    }
}

impl Deref for Param {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        &self.0
    }
}

impl AsRef<Tensor> for Param {
    fn as_ref(&self) -> &Tensor {
        &self.0
    }
}

impl fmt::Debug for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dtype = self.0.f_kind().map_or_else(|_| "unknown".to_owned(), |kind| format!("{kind:?}"));
        write!(f, "Param({dtype}{:?} on {:?})", self.0.size(), self.0.device())
    }
}

/// A layer that is tensors, plain data that is `Sync`, and a mode flag.
///
/// **Invariant:** only `leaf!` and `stateless!` of `nn` implement it; they list every field and check this.
pub trait Plain: Sized + 'static {}

/// A layer of a frozen model, whose tensors are as a [`Param`]'s. Nothing to name by hand.
pub struct Shared<L>(L);

// SAFETY: by the invariant of `Plain` the parts of an `L` are tensors and values that are `Sync`. Of the tensors the
// argument for `Param` holds: this crate hands a reference to the layer to `f_forward` alone, which writes to none of
// them in inference.
unsafe impl<L: Plain> Sync for Shared<L> {}

impl<L: Plain> Shared<L> {
    pub(crate) fn new(layer: L) -> Self {
        Self(layer)
    }

    pub(crate) fn layer(&self) -> &L {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    #[test]
    fn is_detached_and_shows_its_shape() {
        let weight = Tensor::ones([2, 3], (Kind::Float, Device::Cpu)).set_requires_grad(true);
        let param = Param::copied(&weight).unwrap();
        let _ = weight.detach().zero_();
        assert_eq!(param.tensor(), &Tensor::ones([2, 3], (Kind::Float, Device::Cpu)));
        assert!(!param.requires_grad());
        assert_eq!(format!("{param:?}"), "Param(Float[2, 3] on Cpu)");
    }
}
