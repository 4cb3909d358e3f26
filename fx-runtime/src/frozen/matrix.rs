//! The product of rows with a weight in a layout of its own; bias, addition and activation in the same pass.

use tch::{Kind, TchError, Tensor};

use super::Activation;
use super::epilogue::RowEpilogue;
use super::select::{LinearChoice, Rows};
use crate::Error;
use crate::ffi::{
    ByteWeight, HalfByteWeight, PackedGemm, Param, ShortWeight, SplitMatrix, UnpackedWeight, WeightMatrix as _,
};
use crate::qparams::{Coded, WeightFormat};

/// A weight `[out, in]` in the layout of a kernel, with the bias.
pub(crate) struct PackedMatrix {
    weight: Weight,
    bias: Option<Box<[f32]>>,
}

enum Weight {
    Mkl(PackedGemm, Rows),
    Amx(SplitMatrix),
    Dots(UnpackedWeight),
    Bytes(ByteWeight),
    HalfBytes(HalfByteWeight),
    Shorts(ShortWeight),
}

impl PackedMatrix {
    /// Packs a finite weight `[out, in]` of f32 as MKL does, for about so many rows; none where MKL is not there.
    pub(super) fn for_mkl(weight: &Tensor, bias: Option<&Tensor>, rows: Rows) -> Result<Option<Self>, TchError> {
        let packed = PackedGemm::pack(weight, rows.0).transpose()?.map(|packed| Weight::Mkl(packed, rows));
        Self::new(packed, bias)
    }

    /// Packs a weight `[out, in]` of f32 for the CPU's tiles; none where it has none.
    pub(super) fn for_amx(weight: &Tensor, bias: Option<&Tensor>) -> Result<Option<Self>, TchError> {
        Self::new(SplitMatrix::pack(weight).transpose()?.map(Weight::Amx), bias)
    }

    /// Takes a weight `[out, in]` of f32 as it lies; none where this CPU has no vectors for it.
    pub(super) fn unpacked(weight: Param, bias: Option<&Tensor>) -> Result<Option<Self>, TchError> {
        Self::new(UnpackedWeight::new(weight).map(Weight::Dots), bias)
    }

    /// Packs integers; none where this CPU has no registers for them, or the shape does not fit those.
    pub(crate) fn for_codes(coded: &Coded, bias: Option<&Tensor>) -> Result<Option<Self>, TchError> {
        let weight = match (&coded.scale, &coded.zero_point) {
            _ if coded.format == WeightFormat::Float8 => None,
            (Some(scale), None) => ByteWeight::new(&coded.codes, scale)?.map(Weight::Bytes),
            (Some(scale), Some(zero)) => HalfByteWeight::new(&coded.codes, scale, zero)?.map(Weight::HalfBytes),
            (None, _) => ShortWeight::new(&coded.codes)?.map(Weight::Shorts),
        };
        Self::new(weight, bias)
    }

    fn new(weight: Option<Weight>, bias: Option<&Tensor>) -> Result<Option<Self>, TchError> {
        let Some(weight) = weight else { return Ok(None) };
        let bias = bias.map(Vec::try_from).transpose()?.map(Vec::into_boxed_slice);
        Ok(Some(Self { weight, bias }))
    }

    /// What it was packed for.
    pub(super) fn choice(&self) -> LinearChoice {
        match &self.weight {
            Weight::Mkl(_, rows) => LinearChoice::Mkl(*rows),
            Weight::Amx(_) => LinearChoice::Amx,
            Weight::Dots(_) => LinearChoice::Dots,
            Weight::Bytes(_) => LinearChoice::Coded(WeightFormat::Int8),
            Weight::HalfBytes(weight) => LinearChoice::Coded(WeightFormat::Int4 { group: weight.group() }),
            Weight::Shorts(weight) if weight.kind() == Kind::Half => LinearChoice::Coded(WeightFormat::F16),
            Weight::Shorts(_) => LinearChoice::Coded(WeightFormat::Bf16),
        }
    }

    /// How many results a row has.
    pub(super) fn out(&self) -> i64 {
        match &self.weight {
            Weight::Mkl(packed, _) => packed.out(),
            Weight::Amx(packed) => packed.out(),
            Weight::Dots(matrix) => matrix.out(),
            Weight::Bytes(matrix) => matrix.out(),
            Weight::HalfBytes(matrix) => matrix.out(),
            Weight::Shorts(matrix) => matrix.out(),
        }
    }

    /// Weight and bias as they were packed.
    pub(super) fn stored(&self) -> Result<Stored, TchError> {
        let weight = match &self.weight {
            Weight::Mkl(packed, _) => StoredWeight::Dense(packed.dense_weight()?),
            Weight::Amx(packed) => StoredWeight::Dense(packed.dense_weight()?),
            Weight::Dots(matrix) => StoredWeight::Dense(matrix.weight().shallow_clone()),
            Weight::Bytes(matrix) => {
                let (codes, scale) = matrix.parts()?;
                StoredWeight::Coded(Coded::of_parts(codes, Some(scale), None))
            }
            Weight::HalfBytes(matrix) => {
                let [codes, scale, zero] = matrix.parts()?;
                StoredWeight::Coded(Coded::of_parts(codes, Some(scale), Some(zero)))
            }
            Weight::Shorts(matrix) => StoredWeight::Coded(Coded::of_parts(matrix.weight()?, None, None)),
        };
        Ok(Stored { weight, bias: self.bias.as_deref().map(Tensor::from_slice) })
    }

    /// Weight and bias in floats.
    pub(super) fn dense(&self) -> Result<(Tensor, Option<Tensor>), Error> {
        self.stored()?.dense()
    }

    /// `act(x wᵀ + bias + other)`; `x` is f32 `[.., in]` with at least one element, `sizes` is the result's shape, which
    /// is that of `other` too.
    pub(crate) fn run(
        &self,
        x: &Tensor,
        sizes: &[i64],
        other: Option<&Tensor>,
        act: Activation,
    ) -> Result<Tensor, TchError> {
        let epilogue = RowEpilogue { bias: self.bias.as_deref(), act };
        match &self.weight {
            Weight::Mkl(packed, _) => packed.run(x, sizes, other, &epilogue),
            Weight::Amx(packed) => packed.run(x, sizes, other, &epilogue),
            Weight::Dots(matrix) => matrix.run(x, sizes, other, &epilogue),
            Weight::Bytes(matrix) => matrix.run(x, sizes, other, &epilogue),
            Weight::HalfBytes(matrix) => matrix.run(x, sizes, other, &epilogue),
            Weight::Shorts(matrix) => matrix.run(x, sizes, other, &epilogue),
        }
    }
}

/// What a layer was packed from.
pub(super) struct Stored {
    pub(super) weight: StoredWeight,
    pub(super) bias: Option<Tensor>,
}

impl Stored {
    /// Weight and bias in floats.
    pub(super) fn dense(self) -> Result<(Tensor, Option<Tensor>), Error> {
        Ok(match self.weight {
            StoredWeight::Dense(weight) => (weight, self.bias),
            StoredWeight::Coded(coded) => (coded.dense()?, self.bias),
        })
    }
}

/// Its weight.
pub(super) enum StoredWeight {
    Dense(Tensor),
    Coded(Coded),
}

impl std::fmt::Debug for PackedMatrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PackedMatrix({})", self.choice())
    }
}
