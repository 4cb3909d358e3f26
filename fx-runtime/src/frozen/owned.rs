//! The tensor that opaque code yields.

use std::borrow::Borrow;

use crate::Tensor;

/// A tensor, or a reference to one.
pub trait IntoOwned {
    /// The tensor itself, or another handle on it where this is a reference.
    fn into_owned(self) -> Tensor;
}

impl IntoOwned for Tensor {
    fn into_owned(self) -> Tensor {
        self
    }
}

impl IntoOwned for &Tensor {
    fn into_owned(self) -> Tensor {
        self.shallow_clone()
    }
}

impl IntoOwned for &mut Tensor {
    fn into_owned(self) -> Tensor {
        self.shallow_clone()
    }
}

impl IntoOwned for &&Tensor {
    fn into_owned(self) -> Tensor {
        self.shallow_clone()
    }
}

/// The tensor that opaque code yields, which may be a reference to one of the code's own variables.
pub fn owned(value: impl IntoOwned) -> Tensor {
    value.into_owned()
}

/// The tensor that opaque code yields, or that what it yields refers to, through any number of `Deref`s.
pub fn lent(tensor: &Tensor) -> &Tensor {
    tensor
}

/// The tensor in an option that opaque code yields, or another handle on it where the option holds a reference.
pub fn owned_option<T: Borrow<Tensor>>(option: &Option<T>) -> Option<Tensor> {
    option.as_ref().map(|one| one.borrow().shallow_clone())
}

/// Another handle on each of the tensors, which share their storage with them.
pub fn shallow_clones<T: Borrow<Tensor>>(tensors: &[T]) -> Vec<Tensor> {
    tensors.iter().map(|one| one.borrow().shallow_clone()).collect()
}
