//! The kernels that a model is quantized for: which types they take and which nodes they compute as one.

use std::fmt;

use fx_ir::OpId;
use fx_ir::ops;

use super::{DType, ObserverConfig, QConfig, QScheme, Statistic};
use crate::{Error, Result};

/// A set of int8 kernels, under PyTorch's names (`torch.backends.quantized.engine`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QEngine {
    /// Server CPUs, with one bit of the activations unused against overflow.
    Fbgemm,
    /// The same configuration; PyTorch chooses between fbgemm and oneDNN.
    X86,
    /// oneDNN, for CPUs with VNNI.
    #[default]
    Onednn,
    /// Mobile CPUs, with one scale for each weight.
    Qnnpack,
}

impl QEngine {
    /// PyTorch's name of it.
    pub fn name(self) -> &'static str {
        match self {
            QEngine::Fbgemm => "fbgemm",
            QEngine::X86 => "x86",
            QEngine::Onednn => "onednn",
            QEngine::Qnnpack => "qnnpack",
        }
    }

    /// PyTorch's `get_default_qconfig(engine)`.
    pub fn default_qconfig(self) -> QConfig {
        let reduce_range = matches!(self, QEngine::Fbgemm | QEngine::X86);
        let activation = ObserverConfig::histogram().reduce_range(reduce_range);
        let weight = if self == QEngine::Qnnpack { QConfig::weight() } else { QConfig::weight_per_channel() };
        QConfig { activation, weight }
    }

    /// PyTorch's `get_default_qat_qconfig(engine)`: moving averages, which follow a model that trains.
    pub fn default_qat_qconfig(self) -> QConfig {
        let reduce_range = matches!(self, QEngine::Fbgemm | QEngine::X86);
        let activation = ObserverConfig::moving_average_min_max().quant_range(0, 255).reduce_range(reduce_range);
        let weight = if self == QEngine::Qnnpack { QConfig::qat_weight() } else { QConfig::qat_weight_per_channel() };
        QConfig { activation, weight }
    }

    /// Returns whether a convolution takes a tensor that is added to its result.
    ///
    /// Source: `get_onednn_backend_config`; the other engines add by themselves.
    pub(crate) fn adds_to_convolutions(self) -> bool {
        self == QEngine::Onednn
    }

    /// Returns whether a kernel applies the second op to the result of the first.
    ///
    /// Source: the fused patterns of `get_native_backend_config` and `get_onednn_backend_config`.
    pub(crate) fn fuses(self, first: OpId, then: OpId) -> bool {
        let is_relu = matches!(then, ops::RELU | ops::RELU_IN_PLACE);
        match first {
            ops::CONV1D
            | ops::CONV2D
            | ops::CONV3D
            | ops::BATCH_NORM
            | ops::ADD
            | ops::ADD_IN_PLACE
            | ops::MUL
            | ops::MUL_IN_PLACE => is_relu,
            ops::LINEAR => {
                let more = matches!(then, ops::LEAKY_RELU | ops::TANH | ops::TANH_IN_PLACE);
                is_relu || self == QEngine::Onednn && more
            }
            _ => false,
        }
    }

    /// Checks that the engine has kernels for these types.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] that names `site` and the type; PyTorch leaves such a node in floats without a word.
    pub(crate) fn check(self, qconfig: &QConfig, site: &str) -> Result<()> {
        let refused = |what: &str, has: &str| {
            let reason = format!("the engine {self} has no kernels for {what}; it takes {has}");
            Err(Error::Quantization { site: site.to_owned(), reason })
        };
        let QConfig { activation, weight } = qconfig;
        if matches!(activation.statistic, Statistic::Placeholder { .. } | Statistic::Noop) {
            return refused("activations without parameters", "static ones");
        }
        let narrow = activation.dtype == DType::QInt8 && activation.eps >= 2f32.powi(-12);
        if activation.dtype != DType::QUInt8 && !(self == QEngine::Qnnpack && narrow) {
            let has = if self == QEngine::Qnnpack { "quint8, and qint8 with an `eps` from 2^-12 on" } else { "quint8" };
            return refused(&format!("activations in {}", activation.dtype), has);
        }
        if activation.qscheme.is_per_channel() {
            return refused(&format!("activations of the scheme {}", activation.qscheme), "per-tensor ones");
        }
        if matches!(weight.statistic, Statistic::Placeholder { .. }) {
            return Ok(());
        }
        if weight.dtype != DType::QInt8 || weight.qscheme == QScheme::PerChannelAffineFloatQParams {
            return refused(&format!("weights in {} {}", weight.dtype, weight.qscheme), "qint8");
        }
        Ok(())
    }
}

impl fmt::Display for QEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
