//! The kernels that a model is quantized for, by name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A set of int8 kernels: that of this crate, or PyTorch's under their names (`torch.backends.quantized.engine`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QEngine {
    /// What [`quantize`](crate::quant::quantize) has kernels for. Values are rounded only where codes go from one kernel to the
    /// next: layers take in the activations and additions behind them, what moves codes or is a function of one code
    /// follows if what it reads is codes already, and all else stays in floats, the additions and norms of transformers
    /// among it.
    #[default]
    Fx,
    /// Server CPUs, with one bit of the activations unused against overflow.
    Fbgemm,
    /// The same configuration; PyTorch chooses between fbgemm and oneDNN.
    X86,
    /// oneDNN, for CPUs with VNNI.
    Onednn,
    /// Mobile CPUs, with one scale for each weight.
    Qnnpack,
}

impl QEngine {
    /// Its name, PyTorch's where it has one.
    pub fn name(self) -> &'static str {
        match self {
            QEngine::Fx => "fx",
            QEngine::Fbgemm => "fbgemm",
            QEngine::X86 => "x86",
            QEngine::Onednn => "onednn",
            QEngine::Qnnpack => "qnnpack",
        }
    }
}

impl fmt::Display for QEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
