//! Products of integers that are exact.

use tch::{Device, Kind, Tensor};

use crate::Result;
use crate::ffi::{DirectConv, Geometry, Int8Numbers, Int8Result, PostOp};

/// A weight of signed bytes that codes are multiplied by.
#[derive(Debug)]
pub(super) enum Product {
    /// Packed for oneDNN, on a CPU with instructions for it.
    Packed(Box<DirectConv>),
    /// `i8[in, out]`. libtorch's product of integers is not used: on a CPU without VNNI its sums saturate at 16 bits.
    Plain(Tensor),
}

impl Product {
    /// Of `i8[out, in]`.
    pub(super) fn new(codes: &Tensor) -> Result<Product> {
        if let Some(packed) = packed(codes) {
            return Ok(Product::Packed(Box::new(packed)));
        }
        Ok(Product::Plain(codes.f_transpose(0, 1)?.f_contiguous()?))
    }

    /// `i8[out, in]`.
    pub(super) fn codes(&self) -> Result<Tensor> {
        match self {
            Product::Packed(conv) => Ok(conv.dense_weight()?.f_flatten(1, -1)?),
            Product::Plain(codes) => Ok(codes.f_transpose(0, 1)?.f_contiguous()?),
        }
    }

    /// The sums over the inputs of `u8[rows, in]` times the weight, `i32[rows, out]`; there is at least one row.
    pub(super) fn sums(&self, rows: &Tensor, out: i64) -> Result<Tensor> {
        let codes = match self {
            Product::Packed(conv) => return Ok(conv.run_rows(rows, &[rows.size()[0], out], None, &PostOp::None)?),
            Product::Plain(codes) => codes,
        };
        // Sums of integers below 2^24 are exact in `f32` in any order, and those below 2^53 in `f64`.
        let largest = rows.size()[1].saturating_mul(255 * 128);
        let kind = if largest < 1 << 24 { Kind::Float } else { Kind::Double };
        Ok(rows.f_to_kind(kind)?.f_matmul(&codes.f_to_kind(kind)?)?.f_to_kind(Kind::Int)?)
    }
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
