//! As much of fx-runtime as the compile-fail cases name: types without content.

pub use fx_macros::{Module, fx, traceable};

/// A tensor.
#[derive(Debug)]
pub struct Tensor;

impl Tensor {
    /// A second handle.
    #[must_use]
    pub fn shallow_clone(&self) -> Tensor {
        Tensor
    }

    /// `max(x, 0)`.
    #[must_use]
    pub fn relu(&self) -> Tensor {
        Tensor
    }
}

/// What to freeze for.
#[derive(Debug, Default)]
pub struct Freeze;

/// What a model computes.
#[derive(Debug)]
pub struct Graph;

/// What goes wrong.
#[derive(Debug)]
pub struct Error;

/// Layers.
pub mod nn {
    use super::Tensor;

    /// What computes.
    pub trait Module {
        /// Computes.
        fn forward(&self, xs: &Tensor) -> Tensor;
    }

    /// A layer.
    #[derive(Debug)]
    pub struct Linear;

    impl Module for Linear {
        fn forward(&self, xs: &Tensor) -> Tensor {
            xs.shallow_clone()
        }
    }
}
