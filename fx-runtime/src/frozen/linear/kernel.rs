//! The kernels of a linear layer and how each is packed.

use tch::{TchError, Tensor};

use crate::Error;
use crate::ffi::{PackedLinear, Param};
use crate::frame::non_finite::NonFinite;
use crate::frame::tune::Packed;
use crate::frozen::Activation;
use crate::frozen::matrix::PackedMatrix;
use crate::frozen::select::{LinearChoice, LinearLayer};

pub(super) enum Kernel {
    Matrix(PackedMatrix),
    OneDnn(PackedLinear),
    CublasLt { plain: Plain, transposed: Param },
    Composed(Plain),
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
        })
    }

    /// Weight and bias as they were packed.
    pub(super) fn dense(&self) -> Result<(Tensor, Option<Tensor>), TchError> {
        let copied = |bias: &Param| bias.shallow_clone();
        Ok(match self {
            Self::Matrix(matrix) => matrix.dense()?,
            Self::OneDnn(packed) => (packed.dense_weight()?, packed.bias().map(copied)),
            Self::CublasLt { plain, .. } | Self::Composed(plain) => {
                (plain.weight.shallow_clone(), plain.bias.as_ref().map(copied))
            }
        })
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
) -> LinearLayer {
    LinearLayer { shape, has_bias, non_finite: non_finite.is_set(), shared, act }
}
