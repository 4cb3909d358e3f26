//! The integers that values are quantized to, and how numbers are laid over them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An integer type that values are quantized to, under PyTorch's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// Signed, 8 bits: `torch.qint8`.
    QInt8,
    /// Unsigned, 8 bits: `torch.quint8`.
    QUInt8,
    /// Signed, 32 bits: `torch.qint32`.
    QInt32,
    /// Unsigned, 4 bits, two to a byte: `torch.quint4x2`.
    QUInt4x2,
}

impl DType {
    /// PyTorch's name of it, for instance `quint8`.
    pub fn name(self) -> &'static str {
        match self {
            DType::QInt8 => "qint8",
            DType::QUInt8 => "quint8",
            DType::QInt32 => "qint32",
            DType::QUInt4x2 => "quint4x2",
        }
    }

    /// Returns whether negative integers belong to it.
    pub fn is_signed(self) -> bool {
        matches!(self, DType::QInt8 | DType::QInt32)
    }

    /// The number of bits of an integer as it lies in memory, where four bits take a byte as PyTorch's `iinfo` counts.
    pub fn bits(self) -> u32 {
        if self == DType::QInt32 { 32 } else { 8 }
    }

    /// The smallest and the largest integer.
    ///
    /// Source: `torch.ao.quantization.utils.calculate_qmin_qmax`; `reduce_range` takes one of the eight bits away.
    pub fn range(self, reduce_range: bool) -> QuantRange {
        let (quant_min, quant_max) = match (self, reduce_range) {
            (DType::QInt8, false) => (-128, 127),
            (DType::QInt8, true) => (-64, 63),
            (DType::QUInt8, false) => (0, 255),
            (DType::QUInt8, true) => (0, 127),
            (DType::QInt32, _) => (i64::from(i32::MIN), i64::from(i32::MAX)),
            (DType::QUInt4x2, _) => (0, 15),
        };
        QuantRange { quant_min, quant_max }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The integers that are used, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QuantRange {
    /// The smallest.
    pub quant_min: i64,
    /// The largest.
    pub quant_max: i64,
}

impl QuantRange {
    /// How many steps lie between both ends.
    #[expect(clippy::cast_precision_loss, reason = "32 bits fit an f64")]
    pub(crate) fn steps(self) -> f64 {
        (self.quant_max - self.quant_min) as f64
    }
}

/// How numbers are laid over integers, under PyTorch's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QScheme {
    /// One scale and one zero point.
    PerTensorAffine,
    /// One scale; zero lies in the middle of the integers.
    PerTensorSymmetric,
    /// A scale and a zero point for each index along an axis.
    PerChannelAffine,
    /// A scale for each index along an axis; zero lies in the middle of the integers.
    PerChannelSymmetric,
    /// A scale and a zero point that is no integer for each index along an axis, as tables of embeddings have them.
    PerChannelAffineFloatQParams,
}

impl QScheme {
    /// PyTorch's name of it, for instance `per_tensor_affine`.
    pub fn name(self) -> &'static str {
        match self {
            QScheme::PerTensorAffine => "per_tensor_affine",
            QScheme::PerTensorSymmetric => "per_tensor_symmetric",
            QScheme::PerChannelAffine => "per_channel_affine",
            QScheme::PerChannelSymmetric => "per_channel_symmetric",
            QScheme::PerChannelAffineFloatQParams => "per_channel_affine_float_qparams",
        }
    }

    /// Returns whether each index along an axis has a scale of its own.
    pub fn is_per_channel(self) -> bool {
        !matches!(self, QScheme::PerTensorAffine | QScheme::PerTensorSymmetric)
    }

    /// Returns whether zero lies in the middle of the integers.
    pub fn is_symmetric(self) -> bool {
        matches!(self, QScheme::PerTensorSymmetric | QScheme::PerChannelSymmetric)
    }
}

impl fmt::Display for QScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
