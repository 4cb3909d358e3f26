//! Dropout as a layer.

use tch::{TchError, Tensor};

use super::Layer;
use super::leaf::{leaf, unwrap};
use super::mode::Mode;
use crate::saved::State;

/// In training, zeroes each element with probability `p` and divides the others by `1 - p`; else passes on.
#[derive(Debug, Clone, State)]
pub struct Dropout {
    /// The probability, in `0..=1`.
    pub p: f64,
    #[state(default = Mode::default())]
    mode: Mode,
}

impl Default for Dropout {
    fn default() -> Self {
        dropout(0.5)
    }
}

impl Dropout {
    /// Drops in training mode; inference is the mode at the start, see [`crate::nn`].
    #[track_caller]
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.forward_t(xs, self.mode.training())
    }

    /// Drops if `train`.
    #[track_caller]
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        unwrap(self.f_forward_t(xs, train))
    }
}

impl Layer for Dropout {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        self.f_forward_t(xs, false)
    }

    fn f_forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor, TchError> {
        xs.f_dropout(self.p, train)
    }
}

impl super::ModuleT for Dropout {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        self.forward_t(xs, train)
    }
}

leaf!(Dropout, "Dropout", parameters {} buffers {} plain { p } mode { mode });

/// A [`Dropout`] with probability `p`; PyTorch's default is 0.5.
pub fn dropout(p: f64) -> Dropout {
    Dropout { p, mode: Mode::default() }
}
