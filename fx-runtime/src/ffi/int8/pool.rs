//! Pooling of images of codes, whose channels lie together.

use tch::{TchError, Tensor};

use super::super::memory_format::channels_last;
use super::super::tensor::refused;
use super::super::vector::{Body, vectorised};
use super::{Dense, Element as _, Output, channels_together, image_facts, in_parts, unwritten};

/// Where windows lie, as ATen's pooling has it; height, then width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pooling {
    pub(crate) kernel: [usize; 2],
    pub(crate) stride: [usize; 2],
    pub(crate) padding: [usize; 2],
    pub(crate) dilation: [usize; 2],
    /// Whether a window that reaches beyond the border counts.
    pub(crate) ceil_mode: bool,
}

/// An image with the channels together.
struct Image {
    dense: Dense,
    batch: usize,
    channels: usize,
    size: [usize; 2],
}

impl Image {
    fn new(x: &Tensor) -> Result<Self, TchError> {
        let (facts, [batch, channels, height, width]) = image_facts(x)?;
        let copy = channels_last(x, facts.sizes())?;
        let tensor = copy.unwrap_or_else(|| x.shallow_clone());
        let strides = channels_together(facts.sizes());
        Ok(Self { dense: Dense { tensor, facts, strides }, batch, channels, size: [height, width] })
    }

    /// An unwritten image with other spatial sizes.
    fn unwritten(&self, size: [usize; 2]) -> Result<Tensor, TchError> {
        let sizes: Vec<i64> =
            [self.batch, self.channels, size[0], size[1]].iter().map(|&size| size.try_into().unwrap_or(0)).collect();
        unwritten(&sizes, &channels_together(&sizes), u8::DTYPE, self.batch * self.channels * size[0] * size[1])
    }
}

impl Pooling {
    /// Of kernel, stride, padding and dilation, each for both axes or one for each; no stride is one by the kernel. None of
    /// numbers that libtorch refuses.
    pub(crate) fn of([kernel, stride, padding, dilation]: [&[i64]; 4], ceil_mode: bool) -> Option<Self> {
        let pair = |list: &[i64]| -> Option<[usize; 2]> {
            match *list {
                [both] => Some([usize::try_from(both).ok()?; 2]),
                [height, width] => Some([usize::try_from(height).ok()?, usize::try_from(width).ok()?]),
                _ => None,
            }
        };
        let stride = if stride.is_empty() { kernel } else { stride };
        let [kernel, stride, dilation] = [pair(kernel)?, pair(stride)?, pair(dilation)?];
        let is_positive = [kernel, stride, dilation].iter().flatten().all(|&number| number > 0);
        is_positive.then_some(Self { kernel, stride, padding: pair(padding)?, dilation, ceil_mode })
    }

    /// How many windows there are along an axis of so many pixels. Source: `pooling_output_shape` of `ATen`'s `Pool.h`.
    pub(crate) fn windows(&self, axis: usize, pixels: usize) -> Option<usize> {
        let [kernel, stride, padding, dilation] =
            [self.kernel[axis], self.stride[axis], self.padding[axis], self.dilation[axis]];
        let room = (pixels + 2 * padding).checked_sub(dilation * (kernel.checked_sub(1)?) + 1)?;
        let count = if self.ceil_mode { room.div_ceil(stride) } else { room / stride } + 1;
        // The last window begins within the image or the border before it.
        Some(if self.ceil_mode && (count - 1) * stride >= pixels + padding { count - 1 } else { count })
    }
}

/// The largest code of each window. `x` is `[batch, channels, height, width]`, of any strides.
pub(crate) fn max_pool(x: &Tensor, pooling: &Pooling) -> Result<Tensor, TchError> {
    let image = Image::new(x)?;
    let too_large = || refused("a window that is larger than the image");
    let height = pooling.windows(0, image.size[0]).ok_or_else(too_large)?;
    let width = pooling.windows(1, image.size[1]).ok_or_else(too_large)?;
    let y = image.unwritten([height, width])?;
    // SAFETY: `u8` by `Image::new`; to write to an input meanwhile would be a data race of the caller's.
    let (from, to) = (unsafe { image.dense.elements::<u8>() }, Output::<u8>::of(&y));
    let line = width * image.channels;
    in_parts(image.batch * height, line * pooling.kernel[0] * pooling.kernel[1], &|rows| {
        for row in rows {
            let (sample, top) = (row / height, row % height);
            let pixels = image.size[0] * image.size[1] * image.channels;
            // SAFETY: each row of windows is written once; `y` is new and has so many.
            let to = unsafe { to.part(row * line..(row + 1) * line) };
            let from = &from[sample * pixels..(sample + 1) * pixels];
            vectorised(MaxRow { pooling, from, to, channels: image.channels, size: image.size, top });
        }
    });
    Ok(y)
}

/// One row of windows.
struct MaxRow<'a> {
    pooling: &'a Pooling,
    from: &'a [u8],
    to: &'a mut [u8],
    channels: usize,
    size: [usize; 2],
    top: usize,
}

impl Body for MaxRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Pooling { kernel, stride, padding, dilation, .. } = *self.pooling;
        let ([height, width], channels) = (self.size, self.channels);
        for (left, to) in self.to.chunks_exact_mut(channels).enumerate() {
            // Less than any code, so that pixels of the border never win.
            to.fill(0);
            for tap in 0..kernel[0] * kernel[1] {
                let (down, right) = (tap / kernel[1], tap % kernel[1]);
                let pixel = [self.top * stride[0] + down * dilation[0], left * stride[1] + right * dilation[1]];
                let (Some(row), Some(column)) = (pixel[0].checked_sub(padding[0]), pixel[1].checked_sub(padding[1]))
                else {
                    continue;
                };
                if row < height && column < width {
                    let start = (row * width + column) * channels;
                    for (most, code) in to.iter_mut().zip(&self.from[start..start + channels]) {
                        *most = (*most).max(*code);
                    }
                }
            }
        }
    }
}

/// The mean code of each channel, `[batch, channels, 1, 1]`, where halves go to the even integer.
pub(crate) fn average(x: &Tensor) -> Result<Tensor, TchError> {
    let image = Image::new(x)?;
    let pixels = image.size[0] * image.size[1];
    if pixels == 0 {
        return Err(refused("the mean of no pixels"));
    }
    let y = image.unwritten([1, 1])?;
    // SAFETY: as above.
    let (from, to) = (unsafe { image.dense.elements::<u8>() }, Output::<u8>::of(&y));
    let channels = image.channels;
    in_parts(image.batch, pixels * channels, &|samples| {
        for sample in samples {
            // SAFETY: as above.
            let to = unsafe { to.part(sample * channels..(sample + 1) * channels) };
            let from = &from[sample * pixels * channels..(sample + 1) * pixels * channels];
            vectorised(Average { from, to });
        }
    });
    Ok(y)
}

struct Average<'a> {
    from: &'a [u8],
    to: &'a mut [u8],
}

impl Body for Average<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::cast_precision_loss, reason = "sums of codes of fewer than 65,000 pixels are exact")]
    fn run(self) {
        let channels = self.to.len();
        let mut sums = vec![0_u32; channels];
        let mut pixels = 0_u32;
        for pixel in self.from.chunks_exact(channels.max(1)) {
            pixels += 1;
            for (sum, code) in sums.iter_mut().zip(pixel) {
                *sum += u32::from(*code);
            }
        }
        for (sum, mean) in sums.iter().zip(self.to) {
            *mean = super::stored((*sum as f32 / pixels as f32).round_ties_even());
        }
    }
}
