//! The kernels of a linear layer and how each is packed.

use tch::{Kind, TchError, Tensor};

use crate::Error;
use crate::ffi::{PackedLinear, Param};
use crate::frame::non_finite::NonFinite;
use crate::frame::tune::Packed;
use crate::frozen::Activation;
use crate::frozen::matrix::{PackedMatrix, Stored, StoredWeight};
use crate::frozen::select::{LinearChoice, LinearLayer};
use crate::qparams::{Coded, WeightFormat};

pub(super) enum Kernel {
    Matrix(PackedMatrix),
    OneDnn(PackedLinear),
    CublasLt { plain: Plain, transposed: Param },
    Composed(Plain),
    Dequantized { coded: Coded, bias: Option<Param> },
}

/// A weight as ATen's operators take it.
pub(super) struct Plain {
    pub(super) weight: Param,
    pub(super) bias: Option<Param>,
}

impl Kernel {
    /// None where this machine has no such kernel after all. `shared` is a copy of the weight that another layer holds.
    pub(super) fn pack(
        choice: LinearChoice,
        weight: &Tensor,
        bias: Option<&Tensor>,
        shared: Option<&Param>,
    ) -> Result<Option<Self>, Error> {
        let as_it_lies =
            || shared.map_or_else(|| Param::copied(weight), |shared| Ok(Param::new(shared.shallow_clone())));
        let plain = || -> Result<Plain, TchError> {
            Ok(Plain { weight: as_it_lies()?, bias: bias.map(Param::copied).transpose()? })
        };
        Ok(match choice {
            LinearChoice::Amx => PackedMatrix::for_amx(weight, bias)?.map(Self::Matrix),
            LinearChoice::Mkl(rows) => PackedMatrix::for_mkl(weight, bias, rows)?.map(Self::Matrix),
            LinearChoice::Dots => PackedMatrix::unpacked(as_it_lies()?, bias)?.map(Self::Matrix),
            LinearChoice::OneDnn => PackedLinear::pack(weight, bias).transpose()?.map(Self::OneDnn),
            LinearChoice::CublasLt => {
                let plain = plain()?;
                Some(Self::CublasLt { transposed: Param::new(plain.weight.f_tr()?), plain })
            }
            LinearChoice::Composed => Some(Self::Composed(plain()?)),
            LinearChoice::Coded(format) | LinearChoice::Dequantized(format) => {
                Self::pack_codes(choice, &Coded::of(&weight.f_to_kind(Kind::Float)?, format)?, bias)?
            }
        })
    }

    /// A weight that is integers; none where this machine has no registers for them, or the shape does not fit those.
    pub(super) fn pack_codes(
        choice: LinearChoice,
        coded: &Coded,
        bias: Option<&Tensor>,
    ) -> Result<Option<Self>, Error> {
        Ok(match choice {
            LinearChoice::Dequantized(_) => {
                Some(Self::Dequantized { coded: coded.handle(), bias: bias.map(Param::copied).transpose()? })
            }
            _ => PackedMatrix::for_codes(coded, bias)?.map(Self::Matrix),
        })
    }

    /// Weight and bias as they were packed.
    pub(super) fn stored(&self) -> Result<Stored, Error> {
        let copied = |bias: &Param| bias.shallow_clone();
        let (weight, bias) = match self {
            Self::Matrix(matrix) => return Ok(matrix.stored()?),
            Self::OneDnn(packed) => (packed.dense_weight()?, packed.bias().map(copied)),
            Self::CublasLt { plain, .. } | Self::Composed(plain) => {
                (plain.weight.shallow_clone(), plain.bias.as_ref().map(copied))
            }
            Self::Dequantized { coded, bias } => {
                let weight = StoredWeight::Coded(coded.handle());
                return Ok(Stored { weight, bias: bias.as_ref().map(copied) });
            }
        };
        Ok(Stored { weight: StoredWeight::Dense(weight), bias })
    }

    /// Weight and bias in floats.
    pub(super) fn dense(&self) -> Result<(Tensor, Option<Tensor>), Error> {
        self.stored()?.dense()
    }
}

impl Packed for Kernel {
    type Choice = LinearChoice;

    fn choice(&self) -> LinearChoice {
        match self {
            Self::Matrix(matrix) => matrix.choice(),
            Self::OneDnn(_) => LinearChoice::OneDnn,
            Self::CublasLt { .. } => LinearChoice::CublasLt,
            Self::Composed(_) => LinearChoice::Composed,
            Self::Dequantized { coded, .. } => LinearChoice::Dequantized(coded.format),
        }
    }
}

impl Plain {
    /// Bias and activation in the product's own kernel, which takes matrices alone; `sizes` is the result's shape.
    pub(super) fn cublas(
        &self,
        x: &Tensor,
        weight: &Tensor,
        sizes: &[i64],
        act: Activation,
    ) -> Result<Tensor, TchError> {
        let Some(bias) = self.bias.as_deref() else {
            return act.apply(x.f_linear(&self.weight, None::<&Tensor>)?);
        };
        let columns = weight.size()[0];
        let rows = x.f_reshape([-1, columns])?;
        bias.f_internal_addmm_activation(&rows, weight, act == Activation::GeluTanh)?.f_reshape(sizes)
    }
}

/// What is known about a linear layer with a weight of this shape, `[out, in]`.
pub(super) fn layer(
    shape: [i64; 2],
    has_bias: bool,
    non_finite: &NonFinite,
    shared: bool,
    act: Activation,
    format: Option<WeightFormat>,
) -> LinearLayer {
    LinearLayer { shape, has_bias, non_finite: non_finite.is_set(), shared, act, format }
}
