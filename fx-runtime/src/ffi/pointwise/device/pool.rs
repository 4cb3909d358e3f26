//! Max pooling on a GPU, of images whose channels lie together: a thread takes the channels of one load of 16 bytes of one
//! result. `ATen`'s kernel also writes where the largest values were, in eight bytes each.

use tch::{Device, Tensor};

use super::{Compiled, LOAD, NAME, Operand, Stored, THREADS, blocks_for, packs};
use crate::Result;
use crate::ffi::int8::Pooling;
use crate::ffi::{CudaKernel, KernelArg};

/// The largest value of each window, NaN if there is one; none where there is no kernel for `x`, which is
/// `[batch, channels, height, width]`.
pub(crate) fn max_pool(x: &Tensor, pooling: &Pooling) -> Option<Result<Tensor>> {
    static KERNELS: Compiled<Stored> = Compiled::new();
    let Device::Cuda(device) = x.device() else { return None };
    let images = Images::of(x, pooling)?;
    let kernel = KERNELS.get(images.stored, device, || source(images.stored))?;
    Some(images.run(x, pooling, &kernel))
}

/// What is known of images that the kernel takes.
#[derive(Debug)]
pub(crate) struct Images {
    pub(crate) stored: Stored,
    /// Of the result.
    pub(crate) sizes: [i64; 4],
    /// Loads for the channels of one pixel.
    packs: i64,
}

impl Images {
    /// None of other strides, of channels that are no whole loads, and of what has no windows.
    pub(crate) fn of(x: &Tensor, pooling: &Pooling) -> Option<Self> {
        let operand = Operand::of(x)?;
        let stored = Stored::of(operand.facts.dtype)?;
        let &[batch, channels, height, width] = operand.facts.sizes() else { return None };
        let strides = [height * width * channels, 1, width * channels, channels];
        let width_of_load = i64::try_from(LOAD / stored.bytes()).ok()?;
        let is_ours = operand.strides[..4] == strides
            && channels % width_of_load == 0
            && (operand.address as usize).is_multiple_of(LOAD);
        let windows = |axis: usize, pixels: i64| {
            pooling.windows(axis, usize::try_from(pixels).ok()?).and_then(|count| i64::try_from(count).ok())
        };
        let sizes = [batch, channels, windows(0, height)?, windows(1, width)?];
        // What ATen refuses, ATen refuses.
        let fits = (0..2).all(|axis| pooling.padding[axis] * 2 <= pooling.kernel[axis]);
        (is_ours && fits && sizes.iter().all(|&size| size > 0) && !x.requires_grad()).then_some(Self {
            stored,
            sizes,
            packs: channels / width_of_load,
        })
    }

    fn run(&self, x: &Tensor, pooling: &Pooling, kernel: &CudaKernel) -> Result<Tensor> {
        let y = Tensor::f_empty_strided(self.sizes, self.strides(), (x.f_kind()?, x.device()))?;
        let arguments = self.arguments(x, &y, pooling);
        let count = self.sizes[0] * self.packs * self.sizes[2] * self.sizes[3];
        let blocks = blocks_for(usize::try_from(count).unwrap_or(usize::MAX));
        // SAFETY: the arguments are those that the source declares. The result is new, and has an element for each channel
        // of each window; of a window only the pixels that lie in the image are read.
        unsafe { kernel.launch([blocks, 1, 1], [THREADS, 1, 1], 0, &arguments)? };
        Ok(y)
    }

    /// Of a result whose channels lie together.
    pub(crate) fn strides(&self) -> [i64; 4] {
        let [_, channels, height, width] = self.sizes;
        [height * width * channels, 1, width * channels, channels]
    }

    /// What the kernel is given, in the order in which the source declares it.
    pub(crate) fn arguments<'t>(&self, x: &'t Tensor, y: &'t Tensor, pooling: &Pooling) -> Vec<KernelArg<'t>> {
        let size = x.size();
        let count = self.sizes[0] * self.packs * self.sizes[2] * self.sizes[3];
        let mut arguments = vec![KernelArg::Tensor(x), KernelArg::Tensor(y), KernelArg::Long(count)];
        arguments.extend([self.packs, size[2], size[3], self.sizes[2], self.sizes[3]].map(KernelArg::int));
        let numbers = [pooling.kernel, pooling.stride, pooling.padding, pooling.dilation].concat();
        arguments.extend(numbers.into_iter().map(|number| KernelArg::int(i64::try_from(number).unwrap_or(i64::MAX))));
        arguments
    }
}

/// The kernel's source.
pub(crate) fn source(stored: Stored) -> String {
    format!("{}extern \"C\" __global__ void {NAME}({PARAMS}) {{\n{BODY}", packs(stored))
}

const PARAMS: &str = "const T* x, T* y, long long count, int packs, int height, int width, int rows, int columns,
    int kernel0, int kernel1, int stride0, int stride1, int pad0, int pad1, int step0, int step1";

const BODY: &str = "    long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    for (long long at = first; at < count; at += gridDim.x * (long long)blockDim.x) {
        int pack = (int)(at % packs);
        long long rest = at / packs;
        int left = (int)(rest % columns) * stride1 - pad1;
        rest /= columns;
        int top = (int)(rest % rows) * stride0 - pad0;
        const Pack* image = (const Pack*)x + rest / rows * height * width * packs + pack;
        R most[PACK];
        #pragma unroll
        for (int i = 0; i < PACK; i++) most[i] = -R(1) / R(0);
        for (int row = 0; row < kernel0; row++) {
            int v = top + row * step0;
            if (v < 0 || v >= height) continue;
            for (int column = 0; column < kernel1; column++) {
                int u = left + column * step1;
                if (u < 0 || u >= width) continue;
                Pack pixel = image[((long long)v * width + u) * packs];
                #pragma unroll
                for (int i = 0; i < PACK; i++) {
                    R value = load(pixel.of[i]);
                    if (value > most[i] || value != value) most[i] = value;
                }
            }
        }
        Pack result;
        #pragma unroll
        for (int i = 0; i < PACK; i++) result.of[i] = store(most[i]);
        ((Pack*)y)[at] = result;
    }
}
";

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;
    use crate::ffi::cuda::gpu_or_skip;
    use crate::ffi::nvrtc::nvrtc_or_skip;
    use crate::ffi::pointwise::device::host;

    const CASES: [Pooling; 4] = [
        Pooling { kernel: [3, 3], stride: [2, 2], padding: [1, 1], dilation: [1, 1], ceil_mode: false },
        Pooling { kernel: [2, 3], stride: [2, 1], padding: [0, 1], dilation: [1, 2], ceil_mode: false },
        Pooling { kernel: [3, 3], stride: [2, 2], padding: [0, 0], dilation: [1, 1], ceil_mode: true },
        Pooling { kernel: [2, 2], stride: [3, 3], padding: [1, 1], dilation: [1, 1], ceil_mode: true },
    ];

    fn by_aten(x: &Tensor, pooling: &Pooling) -> Tensor {
        let [kernel, stride, padding, dilation] = [pooling.kernel, pooling.stride, pooling.padding, pooling.dilation]
            .map(|pair| pair.map(|n| i64::try_from(n).unwrap()));
        x.max_pool2d(kernel, stride, padding, dilation, pooling.ceil_mode)
    }

    /// Images with the channels together, some of whose values are no numbers.
    fn images(kind: Kind, device: Device) -> Tensor {
        let x = Tensor::randn([2, 9, 7, 16], (Kind::Float, device)).to_kind(kind);
        let x = x.masked_fill(&x.gt(2.0), f64::NAN).masked_fill(&x.lt(-2.0), f64::NEG_INFINITY);
        x.permute([0, 3, 1, 2])
    }

    fn assert_same(found: &Tensor, wanted: &Tensor, what: &str) {
        assert_eq!(
            (found.size(), found.stride(), found.kind()),
            (wanted.size(), wanted.stride(), wanted.kind()),
            "{what}"
        );
        assert_eq!(found.isnan(), wanted.isnan(), "{what}");
        assert_eq!(found.nan_to_num(0.0, None, None), wanted.nan_to_num(0.0, None, None), "{what}");
    }

    #[test]
    fn computes_the_same_on_the_host() {
        for kind in [Kind::Float, Kind::Double] {
            for pooling in &CASES {
                let x = images(kind, Device::Cpu);
                let found = Images::of(&x, pooling).unwrap();
                let y = Tensor::empty_strided(found.sizes, found.strides(), (kind, Device::Cpu));
                let count = [y.numel()];
                let arguments = found.arguments(&x, &y, pooling);
                let [dense] = host::execute("max pool", &source(found.stored), &arguments, 1, &count);
                let found = dense.as_strided(y.size(), y.stride(), None);
                assert_same(&found, &by_aten(&x, pooling), &format!("{kind:?} {pooling:?}"));
            }
        }
    }

    #[test]
    fn compiles_for_every_dtype() {
        let Some(nvrtc) = nvrtc_or_skip("compiling max pooling") else { return };
        for stored in [Stored::F16, Stored::BF16, Stored::F32, Stored::F64] {
            nvrtc.compile("pool", &source(stored), &["--gpu-architecture=sm_90", "--std=c++17"]).unwrap();
        }
    }

    #[test]
    fn computes_the_same_on_a_gpu() {
        let Some(gpu) = gpu_or_skip("max pooling on a GPU") else { return };
        for kind in [Kind::Float, Kind::Double, Kind::Half, Kind::BFloat16] {
            for pooling in &CASES {
                let x = images(kind, gpu);
                let found = max_pool(&x, pooling).unwrap().unwrap();
                assert_same(&found, &by_aten(&x, pooling), &format!("{kind:?} {pooling:?}"));
            }
        }
    }

    #[test]
    fn other_images_are_atens() {
        let x = images(Kind::Float, Device::Cpu);
        for other in [x.contiguous(), x.narrow(1, 0, 3), x.narrow(0, 0, 0), x.get(0)] {
            assert!(Images::of(&other, &CASES[0]).is_none(), "{:?}", other.size());
        }
    }
}
