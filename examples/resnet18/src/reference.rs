//! What PyTorch computes for the weights and the input of [`crate::weights`], and how far another result is
//! from it.
//!
//! The expected output is part of the binary; `reference/README.md` says how PyTorch made it.

use std::fmt;

use fx_runtime::{Kind, Tensor};
use safetensors::SafeTensors;

use crate::{Error, weights};

/// Batch size of the reference.
const BATCH: i64 = 2;

/// Height and width of the reference's images, in pixels.
const SIDE: i64 = 224;

/// An input and PyTorch's output for it.
#[derive(Debug)]
pub struct Reference {
    /// Images, `f32[2, 3, 224, 224]`.
    pub input: Tensor,
    /// PyTorch's scores, `f32[2, 1000]`.
    pub output: Tensor,
}

impl Reference {
    /// The reference of ResNet-18.
    pub fn resnet18() -> Result<Self, Error> {
        let file = SafeTensors::deserialize(include_bytes!("../reference/resnet18.safetensors"))?;
        let output = file.tensor("output")?;
        let shape = output.shape().iter().map(|&size| i64::try_from(size)).collect::<Result<Vec<_>, _>>()?;
        let output = Tensor::f_from_data_size(output.data(), &shape, Kind::Float)?;
        Ok(Self { input: weights::input(BATCH, SIDE), output })
    }
}

/// How far a result is from the one that is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Difference {
    /// Largest absolute difference of two elements; NaN when either side holds one.
    pub largest: f64,
    /// Largest absolute value that is wanted.
    pub scale: f64,
}

impl Difference {
    /// A frozen model may differ from PyTorch by this, relative to the largest output, in `f32`: folding a batch norm
    /// into a convolution rounds each weight once more, and sums are taken in another order.
    pub const TOLERANCE: f64 = 5e-6;

    /// Compares two tensors of one shape.
    pub fn between(result: &Tensor, wanted: &Tensor) -> Result<Self, Error> {
        let (result, wanted) = (result.f_to_kind(Kind::Double)?, wanted.f_to_kind(Kind::Double)?);
        let largest = result.f_sub(&wanted)?.f_abs()?.f_max()?.double_value(&[]);
        Ok(Self { largest, scale: wanted.f_abs()?.f_max()?.double_value(&[]) })
    }

    /// The largest difference in units of the largest wanted value.
    pub fn relative(&self) -> f64 {
        self.largest / self.scale
    }

    /// Is the difference within [`Self::TOLERANCE`]? Never for a NaN.
    pub fn passes(&self) -> bool {
        self.relative() <= Self::TOLERANCE
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.passes() { "PASS" } else { "FAIL" };
        write!(f, "{:.2e} ({:.2e} of {:.3})  {verdict}", self.largest, self.relative(), self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_fails() -> Result<(), Error> {
        let wanted = Tensor::from_slice(&[2f32, -4.0]);
        assert!(Difference::between(&wanted, &wanted)?.passes());
        let off = Difference::between(&Tensor::from_slice(&[2f32, -4.001]), &wanted)?;
        assert!(!off.passes() && (off.relative() - 2.5e-4).abs() < 1e-7, "{off}");
        assert!(!Difference::between(&Tensor::from_slice(&[2f32, f32::NAN]), &wanted)?.passes());
        Ok(())
    }
}
