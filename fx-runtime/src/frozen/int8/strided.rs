//! Strided convolutions over a picture's few channels, as windows that move by one over blocks of pixels.
//!
//! The kernels multiply four channels at a time and take borders, whose zeros have a code of their own, apart. With a block of
//! `stride × stride` pixels for a pixel, as `torch.nn.functional.pixel_unshuffle` makes them, three channels become twelve and
//! more, and the border is written with the blocks. Medians of the convolution alone in ms (Cascade Lake, 2 threads, batch 8),
//! as it is and on blocks: `ResNet`'s first 3.9 and 3.1, `MobileNetV2`'s 0.88 and 0.76, the patches of ViT-B/16 4.6 and 1.9.

use tch::{TchError, Tensor};

use crate::ffi::Geometry;
use crate::ffi::int8::{Blocks, PerTensor, as_blocks};

/// So many channels fill what the kernels multiply at once.
const FULL: i64 = 4;

/// A square stride, and the window that moves by it.
#[derive(Debug)]
pub(super) struct Strided {
    stride: i64,
    /// Height and width.
    kernel: [i64; 2],
    padding: [i64; 2],
    /// The code of a zero.
    border: u8,
}

impl Strided {
    /// None of a convolution that is as good as it is; `shape` is the weight's.
    pub(super) fn of(shape: &[i64], geometry: &Geometry, source: PerTensor) -> Option<Self> {
        let &[_, channels, height, width] = shape else { return None };
        let (&[stride, of_width], &[top, left]) = (&*geometry.stride, &*geometry.padding) else { return None };
        let is_plain = geometry.groups == 1 && geometry.dilation.iter().all(|&step| step == 1);
        let is_strided = stride > 1 && stride == of_width && height.min(width) >= stride;
        (is_plain && is_strided && channels < FULL && top.min(left) >= 0).then_some(Self {
            stride,
            kernel: [height, width],
            padding: [top, left],
            border: u8::try_from(source.zero_point).ok()?,
        })
    }

    /// The window over blocks.
    pub(super) fn geometry() -> Geometry {
        Geometry::of_rows()
    }

    /// The kernel's height and width in blocks.
    fn blocks(&self) -> [i64; 2] {
        self.kernel.map(|extent| (extent + self.stride - 1) / self.stride)
    }

    /// The weight over blocks.
    pub(super) fn weight(&self, weight: &Tensor) -> Result<Tensor, TchError> {
        let [below, right] = [0, 1].map(|axis| self.blocks()[axis] * self.stride - self.kernel[axis]);
        weight.f_constant_pad_nd([0, right, 0, below])?.f_pixel_unshuffle(self.stride)
    }

    /// The weight that [`Self::weight`] made this one of.
    pub(super) fn dense_weight(&self, blocks: &Tensor) -> Result<Tensor, TchError> {
        let [height, width] = self.kernel;
        blocks.f_pixel_shuffle(self.stride)?.f_narrow(2, 0, height)?.f_narrow(3, 0, width)
    }

    /// The blocks along height and width of an image of these sizes, the border included.
    fn blocks_of(&self, sizes: &[i64]) -> [i64; 2] {
        [0, 1].map(|axis| {
            let room = sizes[axis + 2] + 2 * self.padding[axis] - self.kernel[axis];
            (room.div_euclid(self.stride) + self.blocks()[axis]).max(0)
        })
    }

    /// The sizes in blocks of a batch of images.
    pub(super) fn sizes(&self, sizes: &[i64]) -> Vec<i64> {
        let [height, width] = self.blocks_of(sizes);
        vec![sizes[0], sizes[1] * self.stride * self.stride, height, width]
    }

    /// A batch of images in blocks.
    pub(super) fn input(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let whole = |size: i64| usize::try_from(size).unwrap_or(0);
        let blocks = Blocks {
            side: whole(self.stride),
            before: self.padding.map(whole),
            count: self.blocks_of(&x.size()).map(whole),
        };
        as_blocks(x, blocks, self.border)
    }
}
