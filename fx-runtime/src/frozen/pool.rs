//! Pooling, which has a kernel of ours on GPUs.

use tch::Tensor;

use crate::Result;
use crate::ffi::int8::Pooling;
use crate::ffi::pointwise::device;

/// One number for both axes of an image, or one for each; none stands for what another says.
pub trait Pair {
    /// The numbers as they are given.
    fn numbers(&self) -> &[i64];
}

impl Pair for i64 {
    fn numbers(&self) -> &[i64] {
        std::slice::from_ref(self)
    }
}

impl<const N: usize> Pair for [i64; N] {
    fn numbers(&self) -> &[i64] {
        self
    }
}

impl Pair for Vec<i64> {
    fn numbers(&self) -> &[i64] {
        self
    }
}

impl Pair for [i64] {
    fn numbers(&self) -> &[i64] {
        self
    }
}

impl<P: Pair + ?Sized> Pair for &P {
    fn numbers(&self) -> &[i64] {
        (**self).numbers()
    }
}

/// `Tensor::max_pool2d` for inference.
///
/// # Errors
///
/// What libtorch reports.
pub fn max_pool2d(
    x: &Tensor,
    kernel: impl Pair,
    stride: impl Pair,
    padding: impl Pair,
    dilation: impl Pair,
    ceil_mode: bool,
) -> Result<Tensor> {
    let [kernel, stride, padding, dilation] =
        [kernel.numbers(), stride.numbers(), padding.numbers(), dilation.numbers()];
    if x.device().is_cuda()
        && let Some(pooling) = Pooling::of([kernel, stride, padding, dilation], ceil_mode)
        && let Some(found) = device::max_pool(x, &pooling)
    {
        return found;
    }
    Ok(x.f_max_pool2d(kernel, stride, padding, dilation, ceil_mode)?)
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;

    #[test]
    fn is_atens_on_the_cpu() {
        let x = Tensor::randn([2, 3, 8, 9], (Kind::Float, Device::Cpu));
        assert_eq!(max_pool2d(&x, 2, &[] as &[i64], 0, [1, 1], false).unwrap(), x.max_pool2d(2, 2, 0, 1, false));
        assert_eq!(max_pool2d(&x, [3, 3], [2, 2], [1, 1], 1, true).unwrap(), x.max_pool2d(3, 2, 1, 1, true));
        assert!(max_pool2d(&x, 0, 1, 0, 1, false).is_err());
    }

    #[test]
    fn numbers_that_libtorch_refuses_are_no_windows() {
        assert!(Pooling::of([&[2], &[2, 1], &[0], &[1]], false).is_some());
        for wrong in [[&[0][..], &[1], &[0], &[1]], [&[2], &[1], &[-1], &[1]], [&[2], &[1], &[0], &[1, 1, 1]]] {
            assert!(Pooling::of(wrong, false).is_none(), "{wrong:?}");
        }
    }
}
