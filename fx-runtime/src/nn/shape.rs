//! Layers that compute nothing: they rename or move axes, or pass on.

use tch::{TchError, Tensor};

use super::Layer;
use super::leaf::stateless;
use crate::saved::State;

/// Merges the axes `start_dim..=end_dim` into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct Flatten {
    /// The first axis; negative ones count from the end.
    pub start_dim: i64,
    /// The last axis.
    pub end_dim: i64,
}

impl Default for Flatten {
    fn default() -> Self {
        Self { start_dim: 1, end_dim: -1 }
    }
}

impl Layer for Flatten {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        xs.f_flatten(self.start_dim, self.end_dim)
    }
}

stateless! {
    /// Flattens.
    Flatten, "Flatten"
}

/// A [`Flatten`]; PyTorch's default is `flatten(1, -1)`, all but the batch.
pub fn flatten(start_dim: i64, end_dim: i64) -> Flatten {
    Flatten { start_dim, end_dim }
}

/// The input itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub struct Identity;

impl Layer for Identity {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        Ok(xs.shallow_clone())
    }
}

stateless! {
    /// A second handle on `xs`.
    Identity, "Identity"
}

/// The input itself.
pub fn identity() -> Identity {
    Identity
}
