//! The parameters of any convolution, whatever its number of axes and however the user wrote them.

use std::rc::Rc;
use std::sync::Arc;

use tch::{TchError, Tensor};

use super::State;
use crate::Error;
use crate::nn::{Conv, ConvConfigND, ConvTransposeConfigND, ConvTransposeND, PaddingMode};

/// Parameters of a convolution; each list has one entry for each spatial axis, or one for all.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub struct ConvParams {
    /// Step of the window, in elements.
    pub stride: Vec<i64>,
    /// Elements added at both ends of an axis (transposed: taken from the result).
    pub padding: Vec<i64>,
    /// Step between taps of the window.
    pub dilation: Vec<i64>,
    /// Into how many independent parts the channels fall.
    pub groups: i64,
    /// A convolution's transpose, often called deconvolution.
    pub transposed: bool,
    /// Transposed only: elements added at the end of the result.
    pub output_padding: Vec<i64>,
    /// What the padding is filled with.
    pub padding_mode: PaddingMode,
}

impl Default for ConvParams {
    fn default() -> Self {
        Self {
            stride: vec![1],
            padding: vec![0],
            dilation: vec![1],
            groups: 1,
            transposed: false,
            output_padding: vec![0],
            padding_mode: PaddingMode::Zeros,
        }
    }
}

impl<ND: AsRef<[i64]>> From<ConvConfigND<ND>> for ConvParams {
    fn from(config: ConvConfigND<ND>) -> Self {
        Self {
            stride: config.stride.as_ref().to_vec(),
            padding: config.padding.as_ref().to_vec(),
            dilation: config.dilation.as_ref().to_vec(),
            groups: config.groups,
            padding_mode: config.padding_mode,
            ..Self::default()
        }
    }
}

impl<ND: AsRef<[i64]>> From<ConvTransposeConfigND<ND>> for ConvParams {
    fn from(config: ConvTransposeConfigND<ND>) -> Self {
        Self {
            stride: config.stride.as_ref().to_vec(),
            padding: config.padding.as_ref().to_vec(),
            dilation: config.dilation.as_ref().to_vec(),
            groups: config.groups,
            transposed: true,
            output_padding: config.output_padding.as_ref().to_vec(),
            ..Self::default()
        }
    }
}

/// A convolution layer, plain or transposed, over any number of axes, by itself or behind a pointer, as a kernel is packed
/// from it.
pub trait ConvLayer {
    /// The weight, `[out, in / groups, k..]`, of a transposed convolution `[in, out / groups, k..]`; the bias, `[out]`; the
    /// parameters.
    fn parts(&self) -> (&Tensor, Option<&Tensor>, ConvParams);
}

macro_rules! behind {
    ($($pointer:ty),+) => {$(
        impl<L: ConvLayer> ConvLayer for $pointer {
            fn parts(&self) -> (&Tensor, Option<&Tensor>, ConvParams) {
                (**self).parts()
            }
        }
    )+};
}

behind!(&L, Box<L>, Rc<L>, Arc<L>);

macro_rules! convolution {
    ($($layer:ident),+) => {$(
        impl<ND: Copy + AsRef<[i64]>> ConvLayer for $layer<ND> {
            fn parts(&self) -> (&Tensor, Option<&Tensor>, ConvParams) {
                (&self.ws, self.bs.as_ref(), self.config.into())
            }
        }
    )+};
}

convolution!(Conv, ConvTransposeND);

impl ConvParams {
    /// ATen's convolution of a batched input; every list has one entry for each axis, padding is with zeros.
    pub(super) fn convolution(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor, TchError> {
        x.f_convolution(
            weight,
            bias,
            &self.stride,
            &self.padding,
            &self.dilation,
            self.transposed,
            &self.output_padding,
            self.groups,
        )
    }

    /// The same with one entry for each of `axes` spatial axes, after a look at every value.
    pub(super) fn expanded(&self, axes: usize) -> Result<Self, Error> {
        let list = |name: &str, values: &[i64], least: i64| match values {
            _ if values.iter().any(|&value| value < least) => Err(bad(&format!("{name} {values:?}"))),
            [one] => Ok(vec![*one; axes]),
            _ if values.len() == axes => Ok(values.to_vec()),
            _ => Err(bad(&format!("{name} {values:?} for {axes} spatial axes"))),
        };
        if self.groups < 1 {
            return Err(bad(&format!("{} groups", self.groups)));
        }
        if self.transposed && self.padding_mode != PaddingMode::Zeros {
            return Err(bad(&format!("padding mode {:?} of a transposed convolution", self.padding_mode)));
        }
        Ok(Self {
            stride: list("stride", &self.stride, 1)?,
            padding: list("padding", &self.padding, 0)?,
            dilation: list("dilation", &self.dilation, 1)?,
            output_padding: list("output_padding", &self.output_padding, 0)?,
            ..*self
        })
    }
}

#[cold]
fn bad(what: &str) -> Error {
    Error::Unsupported { what: what.to_owned(), help: "check the layer's configuration".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_serves_all_axes() {
        let params = ConvParams { stride: vec![2], padding: vec![1, 2], ..ConvParams::default() };
        let expanded = params.expanded(2).unwrap();
        assert_eq!((expanded.stride, expanded.padding), (vec![2, 2], vec![1, 2]));
    }

    #[test]
    fn nonsense_is_refused() {
        let default = ConvParams::default;
        for params in [
            ConvParams { stride: vec![0], ..default() },
            ConvParams { padding: vec![-1], ..default() },
            ConvParams { dilation: vec![1, 1, 1], ..default() },
            ConvParams { groups: 0, ..default() },
            ConvParams { transposed: true, padding_mode: PaddingMode::Reflect, ..default() },
        ] {
            assert!(params.expanded(2).is_err(), "{params:?}");
        }
    }
}
