//! Where a convolution's window lands: the size of its result, known before it is computed.

use super::ConvParams;

/// The sizes of a result along up to three spatial axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Landed {
    sizes: [i64; 3],
    axes: usize,
}

impl Landed {
    /// One entry for each spatial axis.
    pub(super) fn sizes(&self) -> &[i64] {
        &self.sizes[..self.axes]
    }

    /// False where the window does not fit into the input, or there is nothing to compute.
    pub(super) fn has_elements(&self) -> bool {
        self.sizes().iter().all(|&size| size > 0)
    }
}

/// Window and steps along each axis.
#[derive(Debug, Clone)]
pub(super) struct Window {
    axes: Vec<Axis>,
    transposed: bool,
}

#[derive(Debug, Clone)]
struct Axis {
    /// From the first to the last tap, both included.
    extent: i64,
    stride: i64,
    padding: i64,
    output_padding: i64,
}

impl Window {
    /// `kernel` and every list of `params` have one entry for each spatial axis, at most three.
    pub(super) fn new(kernel: &[i64], params: &ConvParams) -> Self {
        let axis = |i: usize| Axis {
            extent: params.dilation[i] * (kernel[i] - 1) + 1,
            stride: params.stride[i],
            padding: params.padding[i],
            output_padding: params.output_padding[i],
        };
        Self { axes: (0..kernel.len()).map(axis).collect(), transposed: params.transposed }
    }

    /// The result's sizes; the formulas are those of PyTorch's `Conv2d` and `ConvTranspose2d` documentation.
    #[inline]
    pub(super) fn land(&self, spatial: &[i64]) -> Landed {
        let mut sizes = [0; 3];
        for ((size, &length), axis) in sizes.iter_mut().zip(spatial).zip(&self.axes) {
            *size = if self.transposed {
                (length - 1) * axis.stride - 2 * axis.padding + axis.extent + axis.output_padding
            } else {
                (length + 2 * axis.padding - axis.extent).div_euclid(axis.stride) + 1
            };
        }
        Landed { sizes, axes: self.axes.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn land(input: i64, kernel: i64, stride: i64, padding: i64, dilation: i64) -> i64 {
        let (stride, padding, dilation) = (vec![stride], vec![padding], vec![dilation]);
        let params = ConvParams { stride, padding, dilation, ..ConvParams::default() };
        Window::new(&[kernel], &params).land(&[input]).sizes()[0]
    }

    #[test]
    fn follows_the_formula() {
        assert_eq!(land(224, 7, 2, 3, 1), 112);
        assert_eq!(land(9, 3, 1, 1, 1), 9);
        assert_eq!(land(19, 3, 2, 2, 2), 10);
        assert_eq!(land(3, 3, 4, 0, 1), 1);
    }

    #[test]
    fn a_window_that_does_not_fit_lands_nowhere() {
        assert!(land(2, 3, 1, 0, 1) <= 0);
        assert!(land(1, 3, 4, 0, 1) <= 0);
        assert!(land(0, 1, 1, 0, 1) <= 0);
    }

    #[test]
    fn transposed() {
        let params = ConvParams {
            stride: vec![2],
            padding: vec![1],
            output_padding: vec![1],
            transposed: true,
            ..ConvParams::default()
        };
        assert_eq!(Window::new(&[3], &params).land(&[9]).sizes(), [18]);
    }
}
