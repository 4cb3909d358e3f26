//! Products of integers that are exact.

use tch::{Device, Kind, Tensor};

use crate::Result;
use crate::ffi::{DirectConv, Geometry, Int8Numbers, Int8Result, Param, PostOp};

/// A weight of signed bytes that codes are multiplied by.
#[derive(Debug)]
pub(crate) enum IntegerProduct {
    /// Packed for oneDNN, on a CPU with instructions for it.
    Packed(Box<DirectConv>),
    /// `i8[out, in]` on a GPU, in whole loads, which libtorch multiplies by cuBLASLt.
    Device(Param),
    /// `i8[in, out]`. libtorch's product of integers is not used: on a CPU without VNNI its sums saturate at 16 bits.
    Plain(Param),
}

/// libtorch multiplies no fewer rows of integers on a GPU.
pub(crate) const LEAST_DEVICE_ROWS: i64 = 17;

impl IntegerProduct {
    /// Of `i8[out, in]`.
    pub(crate) fn new(codes: &Tensor) -> Result<Self> {
        if let Some(packed) = packed(codes) {
            return Ok(Self::Packed(Box::new(packed)));
        }
        if codes.device().is_cuda() && codes.size().iter().all(|size| size % 8 == 0) {
            return Ok(Self::Device(Param::new(codes.f_contiguous()?)));
        }
        Ok(Self::Plain(Param::new(codes.f_transpose(0, 1)?.f_contiguous()?)))
    }

    /// `i8[out, in]`.
    pub(crate) fn codes(&self) -> Result<Tensor> {
        match self {
            Self::Packed(conv) => Ok(conv.dense_weight()?.f_flatten(1, -1)?),
            Self::Device(codes) => Ok(codes.shallow_clone()),
            Self::Plain(codes) => Ok(codes.f_transpose(0, 1)?.f_contiguous()?),
        }
    }

    /// The sums over the inputs of `u8[rows, in]` times the weight, `i32[rows, out]`; there is at least one row.
    pub(crate) fn sums(&self, rows: &Tensor, out: i64) -> Result<Tensor> {
        let codes = match self {
            Self::Packed(conv) => return Ok(conv.run_rows(rows, &[rows.size()[0], out], None, &PostOp::None)?),
            Self::Device(codes) => return device_sums(rows, codes),
            Self::Plain(codes) => codes,
        };
        // Sums of integers below 2^24 are exact in `f32` in any order, and those below 2^53 in `f64`.
        let largest = rows.size()[1].saturating_mul(255 * 128);
        let kind = if largest < 1 << 24 { Kind::Float } else { Kind::Double };
        Ok(rows.f_to_kind(kind)?.f_matmul(&codes.f_to_kind(kind)?)?.f_to_kind(Kind::Int)?)
    }
}

/// The sums on a GPU, where both sides are signed: `Σ (q - 128) w + 128 Σ w`, the second sum by a row of ones.
fn device_sums(rows: &Tensor, codes: &Tensor) -> Result<Tensor> {
    const MIDDLE: i64 = 128;
    let count = rows.size()[0];
    // `q - 128` is the same byte with another highest bit.
    let signed = rows.f_bitwise_xor(MIDDLE)?.f_view_dtype(Kind::Int8)?;
    let ones = Tensor::f_ones([(LEAST_DEVICE_ROWS - count).max(1), rows.size()[1]], (Kind::Int8, rows.device()))?;
    let sums = Tensor::f_cat(&[signed, ones], 0)?.f_internal_int_mm(&codes.f_tr()?)?;
    let of_weight = sums.f_narrow(0, count, 1)?.f_mul_scalar(MIDDLE)?;
    Ok(sums.f_narrow(0, 0, count)?.f_add(&of_weight)?)
}

/// The weight packed; none where there is no such kernel.
fn packed(codes: &Tensor) -> Option<DirectConv> {
    if codes.device() != Device::Cpu {
        return None;
    }
    let numbers = Int8Numbers { source_zero: 0, weight_scales: &[], result: Int8Result::Sums, adds_integers: false };
    let size = codes.size();
    let weight = codes.f_view([size[0], size[1], 1, 1]).ok()?;
    let conv = DirectConv::pack_int8(&weight, None, &Geometry::of_rows(), &numbers)?.ok()?;
    conv.lay_out().is_ok().then_some(conv)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the way of a GPU, whose product libtorch has on the CPU too, and where there is a GPU by that.
    #[test]
    fn sums_of_signed_bytes_are_those_of_codes() -> Result<()> {
        let device = if crate::ffi::cuda::is_available() { Device::Cuda(0) } else { Device::Cpu };
        let codes = Tensor::randint_low(-127, 128, [24, 64], (Kind::Int8, device));
        let plain = IntegerProduct::Plain(Param::new(codes.tr().contiguous()));
        for count in [1, 16, 17, 40] {
            let rows = Tensor::randint(256, [count, 64], (Kind::Uint8, device));
            let wanted = plain.sums(&rows, 24)?;
            let found = device_sums(&rows, &Param::new(codes.shallow_clone()))?;
            assert_eq!((found.kind(), found.size()), (Kind::Int, vec![count, 24]), "{count}");
            assert_eq!(found, wanted, "{count}");
            assert_eq!(IntegerProduct::new(&codes)?.sums(&rows, 24)?, wanted, "{count}");
        }
        Ok(())
    }
}
