//! The kernels of a linear layer and how each is packed.

use tch::{Kind, TchError, Tensor};

use crate::Error;
use crate::ffi::{DeviceCodes, LtActivation, LtWeight, PackedLinear, Param, ops};
use crate::frame::non_finite::NonFinite;
use crate::frame::tune::Packed;
use crate::frozen::Activation;
use crate::frozen::dynamic::DynamicMatrix;
use crate::frozen::matrix::{PackedMatrix, Stored, StoredWeight};
use crate::frozen::select::{LinearChoice, LinearLayer};
use crate::qparams::{Coded, WeightFormat};

pub(super) enum Kernel {
    Matrix(PackedMatrix),
    OneDnn(PackedLinear),
    Lt(LtWeight),
    CublasLt {
        plain: Plain,
        transposed: Param,
    },
    Composed(Plain),
    /// On a GPU of few rows as they lie, else as `Dequantized`.
    Coded {
        coded: Coded,
        bias: Option<Param>,
    },
    Dequantized {
        coded: Coded,
        bias: Option<Param>,
    },
    Dynamic(DynamicMatrix),
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
        let rounded = |format| {
            let coded = Coded::of(&weight.f_to_kind(Kind::Float)?, format)?;
            Self::pack_codes(choice, &coded, bias, weight.f_kind()?)
        };
        Ok(match choice {
            LinearChoice::Amx => PackedMatrix::for_amx(weight, bias)?.map(Self::Matrix),
            LinearChoice::Mkl(rows) => PackedMatrix::for_mkl(weight, bias, rows)?.map(Self::Matrix),
            LinearChoice::Dots => PackedMatrix::unpacked(as_it_lies()?, bias)?.map(Self::Matrix),
            LinearChoice::OneDnn => PackedLinear::pack(weight, bias).transpose()?.map(Self::OneDnn),
            LinearChoice::Lt(place) => LtWeight::pack(as_it_lies()?, bias, place.into())?.map(Self::Lt),
            LinearChoice::CublasLt => {
                let plain = plain()?;
                Some(Self::CublasLt { transposed: Param::new(plain.weight.f_tr()?), plain })
            }
            LinearChoice::Composed => Some(Self::Composed(plain()?)),
            LinearChoice::Coded(format) | LinearChoice::Dequantized(format) => rounded(format)?,
            LinearChoice::Dynamic(format) | LinearChoice::Simulated(format) => rounded(format.weight())?,
        })
    }

    /// A weight that has been rounded, for results of `kind`; none where this machine has no kernel for it, or not for the shape.
    pub(super) fn pack_codes(
        choice: LinearChoice,
        coded: &Coded,
        bias: Option<&Tensor>,
        kind: Kind,
    ) -> Result<Option<Self>, Error> {
        Ok(match choice {
            LinearChoice::Dequantized(_) => {
                Some(Self::Dequantized { coded: coded.handle(), bias: bias.map(Param::copied).transpose()? })
            }
            LinearChoice::Dynamic(format) => DynamicMatrix::pack(coded, format, bias, kind)?.map(Self::Dynamic),
            LinearChoice::Simulated(format) => DynamicMatrix::composed(coded, format, bias)?.map(Self::Dynamic),
            _ if coded.codes.device().is_cuda() => {
                let bias = bias.map(Param::copied).transpose()?;
                let is_taken = on_device(coded).is_some_and(|codes| codes.is_taken());
                is_taken.then(|| Self::Coded { coded: coded.handle(), bias })
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
            Self::Lt(packed) => (packed.weight().shallow_clone(), packed.bias().map(copied)),
            Self::CublasLt { plain, .. } | Self::Composed(plain) => {
                (plain.weight.shallow_clone(), plain.bias.as_ref().map(copied))
            }
            Self::Coded { coded, bias } | Self::Dequantized { coded, bias } => {
                let weight = StoredWeight::Coded(coded.handle());
                return Ok(Stored { weight, bias: bias.as_ref().map(copied) });
            }
            Self::Dynamic(matrix) => {
                let weight = StoredWeight::Coded(matrix.coded()?);
                return Ok(Stored { weight, bias: matrix.bias().map(copied) });
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
            Self::Lt(packed) => LinearChoice::Lt(u8::try_from(packed.rank()).unwrap_or(0)),
            Self::CublasLt { .. } => LinearChoice::CublasLt,
            Self::Composed(_) => LinearChoice::Composed,
            Self::Coded { coded, .. } => LinearChoice::Coded(coded.format),
            Self::Dequantized { coded, .. } => LinearChoice::Dequantized(coded.format),
            Self::Dynamic(matrix) if matrix.is_composed() => LinearChoice::Simulated(matrix.format()),
            Self::Dynamic(matrix) => LinearChoice::Dynamic(matrix.format()),
        }
    }
}

/// `act(x wᵀ + b + other)` for `x` of any rank and `other` of the result's shape, `sizes`; what the kernel does not apply
/// is applied behind it.
pub(in crate::frozen) fn by_lt(
    packed: &LtWeight,
    x: &Tensor,
    sizes: &[i64],
    other: Option<&Tensor>,
    (fused, rest): (LtActivation, Activation),
) -> Result<Tensor, TchError> {
    let matrix = |tensor: &Tensor, columns: i64| tensor.f_reshape([-1, columns])?.f_contiguous();
    let (out, columns) = packed.weight().size2()?;
    let added = other.map(|other| matrix(other, out)).transpose()?;
    let y = if sizes.contains(&0) { None } else { packed.run((&matrix(x, columns)?, None), added.as_ref(), fused)? };
    if let Some(y) = y {
        return rest.apply(y.f_reshape(sizes)?);
    }
    let y = x.f_linear(packed.weight(), packed.bias().map(Param::tensor))?;
    let y = match other {
        Some(other) => y.f_add(other)?,
        None => y,
    };
    rest.apply(match fused {
        LtActivation::None => y,
        LtActivation::Relu => Activation::Relu.apply(y)?,
        LtActivation::Gelu => Activation::GeluTanh.apply(y)?,
    })
}

/// What cuBLASLt applies, and what is left.
pub(in crate::frozen) fn lt_activation(act: Activation, may_fuse: bool) -> (LtActivation, Activation) {
    match act {
        Activation::Relu if may_fuse => (LtActivation::Relu, Activation::None),
        Activation::GeluTanh if may_fuse => (LtActivation::Gelu, Activation::None),
        _ => (LtActivation::None, act),
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
        ops::addmm_activation(bias, &rows, weight, act == Activation::GeluTanh)?.f_reshape(sizes)
    }
}

/// Integers with their scales, as kernels of a GPU read them; none of floats.
fn on_device(of: &Coded) -> Option<DeviceCodes<'_>> {
    let ([out, columns], scale) = (of.shape(), of.scale.as_ref()?);
    let group = match of.format {
        WeightFormat::Int8 => columns,
        WeightFormat::Int4 { group } => group,
        WeightFormat::F16 | WeightFormat::Bf16 | WeightFormat::Float8 => return None,
    };
    let zero_point = of.zero_point.as_ref().map(Param::tensor);
    Some(DeviceCodes { codes: &of.codes, scale, zero_point, shape: [out, columns], group })
}

/// `x wᵀ + b` for a weight in few bits: of few rows by the integers, where a GPU has a kernel for them and `is_coded` says so,
/// else by the floats that they stand for.
pub(super) fn by_codes(
    (coded, is_coded): (&Coded, bool),
    bias: Option<&Tensor>,
    x: &Tensor,
    sizes: &[i64],
) -> Result<Tensor, Error> {
    let mut dense = None;
    if let Some(codes) = on_device(coded).filter(|_| is_coded) {
        let rows = x.f_reshape([-1, codes.shape[1]])?.f_contiguous()?;
        if let Some(found) = codes.product(&rows, bias)? {
            return Ok(found.f_reshape(sizes)?);
        }
        dense = codes.dense(x)?;
    }
    let weight = match dense {
        Some(weight) => weight,
        None => coded.dense()?.f_to_kind(x.f_kind()?)?,
    };
    Ok(x.f_linear(&weight, bias)?)
}

/// What is known about a linear layer with a weight of this shape, `[out, in]`, beside what the model is frozen for.
pub(super) fn layer(
    shape: [i64; 2],
    has_bias: bool,
    non_finite: &NonFinite,
    shared: bool,
    act: Activation,
) -> LinearLayer {
    LinearLayer { shape, has_bias, non_finite: non_finite.is_set(), shared, act, format: None, dynamic: None }
}
