//! One, two and three spatial dimensions, so that each layer is written once for all.

use std::fmt::Debug;

use tch::{TchError, Tensor};

use super::{ConvConfigND, ConvTransposeConfigND};

/// Sizes along the spatial dimensions: `[i64; 1]`, `[i64; 2]` or `[i64; 3]`. Sealed.
pub trait Spatial: sealed::Compute + 'static {}

impl Spatial for [i64; 1] {}
impl Spatial for [i64; 2] {}
impl Spatial for [i64; 3] {}

pub(super) mod sealed {
    use super::{ConvConfigND, ConvTransposeConfigND, Debug, TchError, Tensor};

    pub trait Compute: AsRef<[i64]> + Copy + Debug + Send + Sync + Sized + 'static {
        fn splat(size: i64) -> Self;

        fn f_conv(
            xs: &Tensor,
            ws: &Tensor,
            bs: Option<&Tensor>,
            config: &ConvConfigND<Self>,
            padding: Self,
        ) -> Result<Tensor, TchError>;

        fn f_conv_transpose(
            xs: &Tensor,
            ws: &Tensor,
            bs: Option<&Tensor>,
            config: &ConvTransposeConfigND<Self>,
        ) -> Result<Tensor, TchError>;
    }
}

macro_rules! spatial {
    ($dims:literal, $conv:ident, $transpose:ident) => {
        impl sealed::Compute for [i64; $dims] {
            fn splat(size: i64) -> Self {
                [size; $dims]
            }

            fn f_conv(
                xs: &Tensor,
                ws: &Tensor,
                bs: Option<&Tensor>,
                c: &ConvConfigND<Self>,
                padding: Self,
            ) -> Result<Tensor, TchError> {
                xs.$conv(ws, bs, c.stride, padding, c.dilation, c.groups)
            }

            fn f_conv_transpose(
                xs: &Tensor,
                ws: &Tensor,
                bs: Option<&Tensor>,
                c: &ConvTransposeConfigND<Self>,
            ) -> Result<Tensor, TchError> {
                xs.$transpose(ws, bs, c.stride, c.padding, c.output_padding, c.groups, c.dilation)
            }
        }
    };
}

spatial!(1, f_conv1d, f_conv_transpose1d);
spatial!(2, f_conv2d, f_conv_transpose2d);
spatial!(3, f_conv3d, f_conv_transpose3d);
