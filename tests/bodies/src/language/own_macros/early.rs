//! A model that is read before the macros that it calls.

use fx_runtime::{Module, Tensor, nn, traceable};

use super::exported::gated;

#[derive(Debug, Module)]
pub struct CallsLater {
    pub(super) fc: nn::Linear,
}

#[traceable(strict)]
impl CallsLater {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = gated!(xs.apply(&self.fc), xs);
        super::exported::clipped!(ys * 2.0; 1.0)
    }
}
