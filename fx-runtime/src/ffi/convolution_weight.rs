//! A convolution's weight in the layout of the kernel that oneDNN takes for the shape of the input.
//!
//! Which kernel that is, the shape decides, and with it how many output channels lie together. A weight that lies in
//! another order is laid out again in every call, which for 1x1 convolutions of many channels costs several times what
//! the convolution does. The shape is not known when a model is frozen, so the weight is laid out for it when it has come
//! twice in a row. Inputs of ever new shapes leave the weight as it is, and there is one copy of it at any time.

use std::sync::{Arc, PoisonError, RwLock};

use tch::{TchError, Tensor};

use super::convolution::Geometry;
use super::{Facts, Param, ops};

#[derive(Debug)]
pub(super) struct ConvolutionWeight {
    laid: RwLock<Laid>,
    origin: Origin,
}

/// How the weight is had back from its layout.
#[derive(Debug)]
enum Origin {
    /// As it is.
    Dense,
    /// The layout of a transposed convolution has inputs and outputs of each group swapped.
    Swapped { shape: Box<[i64]>, groups: i64 },
    /// It is not; this is the weight.
    Kept(Param),
}

#[derive(Debug)]
struct Laid {
    weight: Arc<Param>,
    /// The input that the weight is laid out for; empty if for none in particular.
    fits: Box<[i64]>,
    /// The latest input that it is not laid out for.
    seen: Box<[i64]>,
}

impl ConvolutionWeight {
    /// Lays out a dense weight for no input in particular.
    pub(super) fn pack(weight: &Tensor, geometry: &Geometry) -> Result<Self, TchError> {
        let laid = Arc::new(Param::new(ops::reorder_convolution_weight(weight, geometry, None)?));
        let laid = RwLock::new(Laid { weight: laid, fits: Box::default(), seen: Box::default() });
        let mut laid = Self { laid, origin: Origin::Dense };
        if geometry.output_padding.is_some() {
            laid.origin = Origin::Swapped { shape: weight.size().into(), groups: geometry.groups };
            // oneDNN pads the channels of some groups and forgets it.
            if !laid.dense().is_ok_and(|dense| dense == *weight) {
                laid.origin = Origin::Kept(Param::copied(weight)?);
            }
        }
        Ok(laid)
    }

    /// The weight as it was before it was laid out.
    pub(super) fn dense(&self) -> Result<Tensor, TchError> {
        let laid =
            || self.laid.read().unwrap_or_else(PoisonError::into_inner).weight.f_to_dense(None::<tch::Kind>, false);
        match &self.origin {
            Origin::Dense => laid(),
            Origin::Swapped { shape, groups } => {
                let (inputs, outputs, kernel) = (shape[0] / groups, shape[1], &shape[2..]);
                let swapped = laid()?.f_reshape([&[*groups, outputs, inputs], kernel].concat())?;
                swapped.f_transpose(1, 2)?.f_reshape(&**shape)
            }
            Origin::Kept(weight) => Ok(weight.shallow_clone()),
        }
    }

    /// The weight for this input, which may be laid out for another one.
    pub(super) fn for_input(&self, x: &Tensor, geometry: &Geometry) -> Result<Arc<Param>, TchError> {
        let facts = Facts::of(x);
        // The layout for a transposed convolution does not come back as it was.
        let sizes = facts.as_ref().filter(|_| geometry.output_padding.is_none()).map_or(&[][..], Facts::sizes);
        {
            let laid = self.laid.read().unwrap_or_else(PoisonError::into_inner);
            if *laid.fits == *sizes {
                return Ok(laid.weight.clone());
            }
        }
        // A panic cannot leave it half written: each field is written whole, and in the order that they are read.
        let mut laid = self.laid.write().unwrap_or_else(PoisonError::into_inner);
        if *laid.fits != *sizes && *laid.seen == *sizes {
            let dense = laid.weight.f_to_dense(None::<tch::Kind>, false)?;
            laid.weight = Arc::new(Param::new(ops::reorder_convolution_weight(&dense, geometry, Some(sizes))?));
            laid.fits = sizes.into();
        }
        laid.seen = sizes.into();
        Ok(laid.weight.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    #[test]
    fn a_shape_that_stays_gets_a_layout_and_the_weight_stays_the_same() {
        for groups in [1, 4, 64] {
            let dense = Tensor::rand([64, 64 / groups, 1, 1], (Kind::Float, Device::Cpu));
            let geometry = Geometry {
                stride: [1, 1].into(),
                padding: [0, 0].into(),
                dilation: [1, 1].into(),
                output_padding: None,
                groups,
            };
            let Ok(weight) = ConvolutionWeight::pack(&dense, &geometry) else { continue };
            let inputs = [[1, 64, 14, 14], [2, 64, 7, 9]].map(|sizes| Tensor::rand(sizes, (Kind::Float, Device::Cpu)));
            let mut fits = Vec::new();
            for turn in [0, 1, 0, 0, 1, 0, 1, 1] {
                let found = weight.for_input(&inputs[turn], &geometry).unwrap();
                assert_eq!(found.f_to_dense(None::<Kind>, false).unwrap(), dense);
                fits.push(weight.laid.read().unwrap().fits.first().copied().unwrap_or(0));
            }
            assert_eq!(fits, [0, 0, 0, 1, 1, 1, 2, 2], "the batch size of the input that the weight fits");
        }
    }
}
