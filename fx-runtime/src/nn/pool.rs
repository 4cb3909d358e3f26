//! Pooling of `[N, C, H, W]` or `[C, H, W]` as layers.

use tch::{TchError, Tensor};

use super::Layer;
use super::leaf::stateless;
use crate::saved::State;

/// Configuration of a [`MaxPool2D`], the same in both dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxPoolConfig {
    /// Step between windows; 0, the default, stands for the size of the kernel.
    pub stride: i64,
    /// Width of the border on each side, which never is the maximum.
    pub padding: i64,
    /// Step between the elements of a window.
    pub dilation: i64,
    /// Whether a last window that is not full counts.
    pub ceil_mode: bool,
}

impl Default for MaxPoolConfig {
    fn default() -> Self {
        Self { stride: 0, padding: 0, dilation: 1, ceil_mode: false }
    }
}

/// The maximum of each window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct MaxPool2D {
    /// Size of a window, `[height, width]`.
    pub kernel_size: [i64; 2],
    /// Step between windows.
    pub stride: [i64; 2],
    /// Width of the border on each side.
    pub padding: [i64; 2],
    /// Step between the elements of a window.
    pub dilation: [i64; 2],
    /// Whether a last window that is not full counts.
    pub ceil_mode: bool,
}

impl Layer for MaxPool2D {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        xs.f_max_pool2d(self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)
    }
}

stateless! {
    /// Pools.
    MaxPool2D, "MaxPool2D"
}

/// A [`MaxPool2D`] with windows of `k` by `k`.
///
/// ```
/// use fx_runtime::nn;
///
/// let pool = nn::max_pool2d(3, nn::MaxPoolConfig { stride: 2, padding: 1, ..Default::default() });
/// assert_eq!((pool.kernel_size, pool.stride), ([3, 3], [2, 2]));
/// ```
pub fn max_pool2d(k: i64, c: MaxPoolConfig) -> MaxPool2D {
    MaxPool2D {
        kernel_size: [k; 2],
        stride: stride_or_kernel(c.stride, k),
        padding: [c.padding; 2],
        dilation: [c.dilation; 2],
        ceil_mode: c.ceil_mode,
    }
}

/// Configuration of an [`AvgPool2D`], the same in both dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AvgPoolConfig {
    /// Step between windows; 0, the default, stands for the size of the kernel.
    pub stride: i64,
    /// Width of the border of zeros on each side.
    pub padding: i64,
    /// Whether a last window that is not full counts.
    pub ceil_mode: bool,
    /// Whether the border counts in the mean.
    pub count_include_pad: bool,
    /// Divides the sum of a window instead of the number of its elements.
    pub divisor_override: Option<i64>,
}

impl Default for AvgPoolConfig {
    fn default() -> Self {
        Self { stride: 0, padding: 0, ceil_mode: false, count_include_pad: true, divisor_override: None }
    }
}

/// The mean of each window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct AvgPool2D {
    /// Size of a window, `[height, width]`.
    pub kernel_size: [i64; 2],
    /// Step between windows.
    pub stride: [i64; 2],
    /// Width of the border on each side.
    pub padding: [i64; 2],
    /// Whether a last window that is not full counts.
    pub ceil_mode: bool,
    /// Whether the border counts in the mean.
    pub count_include_pad: bool,
    /// Divides the sum of a window instead of the number of its elements.
    pub divisor_override: Option<i64>,
}

impl Layer for AvgPool2D {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        xs.f_avg_pool2d(
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )
    }
}

stateless! {
    /// Pools.
    AvgPool2D, "AvgPool2D"
}

/// An [`AvgPool2D`] with windows of `k` by `k`.
pub fn avg_pool2d(k: i64, c: AvgPoolConfig) -> AvgPool2D {
    AvgPool2D {
        kernel_size: [k; 2],
        stride: stride_or_kernel(c.stride, k),
        padding: [c.padding; 2],
        ceil_mode: c.ceil_mode,
        count_include_pad: c.count_include_pad,
        divisor_override: c.divisor_override,
    }
}

fn stride_or_kernel(stride: i64, kernel: i64) -> [i64; 2] {
    [if stride == 0 { kernel } else { stride }; 2]
}

/// The mean of as many windows as the output has elements, whatever the input's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct AdaptiveAvgPool2D {
    /// Size of the output, `[height, width]`.
    pub output_size: [i64; 2],
}

impl Layer for AdaptiveAvgPool2D {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        xs.f_adaptive_avg_pool2d(self.output_size)
    }
}

stateless! {
    /// Pools.
    AdaptiveAvgPool2D, "AdaptiveAvgPool2D"
}

/// An [`AdaptiveAvgPool2D`] to `[height, width]`.
pub fn adaptive_avg_pool2d(output_size: [i64; 2]) -> AdaptiveAvgPool2D {
    AdaptiveAvgPool2D { output_size }
}
