//! What the kernels are that a model is quantized for: which types they take and which nodes they compute as one.

use fx_ir::OpId;
use fx_ir::ops::{self, Class, Quantization};

use super::{DType, ObserverConfig, QConfig, QEngine, QScheme, Statistic};
use crate::{Error, Result};

impl QEngine {
    /// PyTorch's `get_default_qconfig(engine)`; that of [`QEngine::Fx`] is oneDNN's.
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
        matches!(self, QEngine::Fx | QEngine::Onednn)
    }

    /// Returns whether values that are floats may be quantized for an op of this class, and not only codes be handed on.
    pub(crate) fn begins(self, quantization: Quantization) -> bool {
        self != QEngine::Fx || quantization == Quantization::Weighted
    }

    /// Returns whether an op of the table that takes part in quantization does so here.
    pub(crate) fn takes(self, op: OpId) -> bool {
        let Some(row) = op.row().filter(|_| self == QEngine::Fx) else { return true };
        match row.quantization {
            Quantization::Weighted | Quantization::Shares => true,
            _ => row.class == Class::Pointwise && !matches!(op, ops::ADD | ops::ADD_IN_PLACE | ops::PRELU),
        }
    }

    /// Returns whether a kernel applies the second op to the result of the first.
    ///
    /// Source: the fused patterns of `get_native_backend_config` and `get_onednn_backend_config`; here those that a kernel
    /// of [`QEngine::Fx`] has.
    pub(crate) fn fuses(self, first: OpId, then: OpId) -> bool {
        if self == QEngine::Fx {
            return match first {
                ops::CONV1D | ops::CONV2D | ops::CONV3D | ops::LINEAR => is_linear_in_parts(then) || is_smooth(then),
                // Behind an addition the kernel counts in steps of what is added.
                ops::ADD | ops::ADD_IN_PLACE => is_linear_in_parts(then),
                ops::MUL | ops::MUL_IN_PLACE => matches!(then, ops::RELU | ops::RELU_IN_PLACE),
                _ => false,
            };
        }
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

/// Activations of pieces of lines.
fn is_linear_in_parts(op: OpId) -> bool {
    matches!(
        op,
        ops::RELU
            | ops::RELU_IN_PLACE
            | ops::RELU6
            | ops::RELU6_IN_PLACE
            | ops::CLAMP
            | ops::HARDTANH
            | ops::LEAKY_RELU
    )
}

/// The other activations that oneDNN has.
fn is_smooth(op: OpId) -> bool {
    matches!(
        op,
        ops::TANH
            | ops::TANH_IN_PLACE
            | ops::SIGMOID
            | ops::SIGMOID_IN_PLACE
            | ops::SILU
            | ops::SILU_IN_PLACE
            | ops::HARDSWISH
            | ops::HARDSWISH_IN_PLACE
            | ops::GELU
    )
}
