//! One, two and three spatial dimensions, so that each layer is written once for all.

use std::fmt::Debug;

use tch::Tensor;

use super::{ConvConfigND, ConvTransposeConfigND};

/// Sizes along the spatial dimensions: `[i64; 1]`, `[i64; 2]` or `[i64; 3]`. Sealed.
pub trait Spatial: sealed::Compute {}

impl Spatial for [i64; 1] {}
impl Spatial for [i64; 2] {}
impl Spatial for [i64; 3] {}

pub(super) mod sealed {
    use super::{ConvConfigND, ConvTransposeConfigND, Debug, Tensor};

    pub trait Compute: AsRef<[i64]> + Copy + Debug + Send + Sync + Sized + 'static {
        fn splat(size: i64) -> Self;

        fn conv(xs: &Tensor, ws: &Tensor, bs: Option<&Tensor>, config: &ConvConfigND<Self>, padding: Self) -> Tensor;

        fn conv_transpose(
            xs: &Tensor,
            ws: &Tensor,
            bs: Option<&Tensor>,
            config: &ConvTransposeConfigND<Self>,
        ) -> Tensor;
    }
}

macro_rules! spatial {
    ($dims:literal, $conv:ident, $transpose:ident) => {
        impl sealed::Compute for [i64; $dims] {
            fn splat(size: i64) -> Self {
                [size; $dims]
            }

            fn conv(xs: &Tensor, ws: &Tensor, bs: Option<&Tensor>, c: &ConvConfigND<Self>, padding: Self) -> Tensor {
                xs.$conv(ws, bs, c.stride, padding, c.dilation, c.groups)
            }

            fn conv_transpose(
                xs: &Tensor,
                ws: &Tensor,
                bs: Option<&Tensor>,
                c: &ConvTransposeConfigND<Self>,
            ) -> Tensor {
                xs.$transpose(ws, bs, c.stride, c.padding, c.output_padding, c.groups, c.dilation)
            }
        }
    };
}

spatial!(1, conv1d, conv_transpose1d);
spatial!(2, conv2d, conv_transpose2d);
spatial!(3, conv3d, conv_transpose3d);
