//! The same on a GPU: products of few rows read the integers as they lie, and more rows the weight brought into floats by one
//! kernel.
//!
//! Rows of f16 and bf16 are multiplied on tensor cores, also one alone: to make f32 of each code would take longer than to read
//! it. In f32 a warp computes one result of each row: its threads read 16 bytes of the weight's row at a time, and of `x` what
//! these stand before.

mod case;
mod source;
mod tile;

use std::sync::Arc;

use tch::{Device, Tensor};

use self::case::{Case, width};
use self::source::{dense_source, product_source};
use self::tile::{OWN, TileCase};
use crate::Result;
use crate::ffi::pointwise::device::{Compiled, LOAD, MOST_SHORT_BLOCKS, Stored, THREADS, WARP, blocks_for};
use crate::ffi::{CudaKernel, Facts, KernelArg};

/// With more rows of f32 the weight is brought into floats for the call.
const MOST_ROWS: i64 = 8;
/// The same of f16 and bf16, in which tensor cores multiply.
const MOST_TILED_ROWS: i64 = 32;

/// The integers of a weight on a GPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceCodes<'c> {
    /// `i8[out, in]`, or of four bits `u8[out, in / 2]`, the first of two in the low half.
    pub(crate) codes: &'c Tensor,
    /// `f32[out]`, or of four bits `f32[out, in / group, 1]`.
    pub(crate) scale: &'c Tensor,
    /// Of four bits, `f32[out, in / group, 1]`.
    pub(crate) zero_point: Option<&'c Tensor>,
    /// `[out, in]`.
    pub(crate) shape: [i64; 2],
    /// How many numbers of a row have one scale.
    pub(crate) group: i64,
}

impl<'c> DeviceCodes<'c> {
    /// Returns whether kernels take such a weight: rows, and groups within them, are whole loads.
    pub(crate) fn is_taken(&self) -> bool {
        let width = width(self.is_halves());
        self.shape[1] > 0 && self.group % width == 0 && self.shape[1] % width == 0
    }

    fn is_halves(&self) -> bool {
        self.zero_point.is_some()
    }

    /// Of results like `x`.
    fn case(&self, x: &Tensor, rows: i64) -> Option<Case> {
        let stored = Stored::of(Facts::of(x)?.dtype).filter(|&stored| stored != Stored::F64)?;
        Some(Case { stored, is_halves: self.is_halves(), rows })
    }

    /// `x wᵀ + bias` for a contiguous `x`, `[rows, in]`; none of many rows, or where there is no kernel.
    pub(crate) fn product(&self, x: &Tensor, bias: Option<&Tensor>) -> Result<Option<Tensor>> {
        let Some(Product { kernel, results, threads }) = self.product_kernel(x) else { return Ok(None) };
        let [out, _] = self.shape;
        let y = Tensor::f_empty([x.size()[0], out], (x.f_kind()?, x.device()))?;
        let blocks = u32::try_from(out).unwrap_or(u32::MAX).div_ceil(results).min(MOST_SHORT_BLOCKS);
        // SAFETY: the arguments are those that the source declares. `x`, the codes, their scales and the bias have the shapes
        // that were looked at, whole loads to a row, and the result is new.
        unsafe { kernel.launch([blocks, 1, 1], [threads, 1, 1], 0, &self.arguments(x, bias, &y))? };
        Ok(Some(y))
    }

    fn product_kernel(&self, x: &Tensor) -> Option<Product> {
        static KERNELS: Compiled<Case> = Compiled::new();
        static TILES: Compiled<TileCase> = Compiled::new();
        let [rows, columns] = <[i64; 2]>::try_from(x.size()).ok()?;
        let is_aligned = (x.data_ptr() as usize).is_multiple_of(LOAD);
        if rows == 0 || columns != self.shape[1] || !x.is_contiguous() || !is_aligned {
            return None;
        }
        let Device::Cuda(device) = x.device() else { return None };
        let case = self.case(x, rows)?;
        let has_tiles = matches!(case.stored, Stored::F16 | Stored::BF16);
        match rows {
            ..=MOST_TILED_ROWS if has_tiles => {
                let tile = TileCase::new(case, rows, self.shape, self.group);
                let kernel = TILES.get(tile, device, || tile.source())?;
                Some(Product { kernel, results: OWN, threads: tile.threads() })
            }
            ..=MOST_ROWS if !has_tiles => {
                let kernel = KERNELS.get(case, device, || product_source(case))?;
                Some(Product { kernel, results: THREADS / WARP, threads: THREADS })
            }
            _ => None,
        }
    }

    /// What the kernel is given, in the order in which the source declares it.
    fn arguments(&self, x: &'c Tensor, bias: Option<&'c Tensor>, y: &'c Tensor) -> [KernelArg<'c>; 11] {
        let [out, columns] = self.shape;
        [
            KernelArg::Tensor(x),
            KernelArg::Tensor(self.codes),
            KernelArg::Tensor(self.scale),
            KernelArg::Tensor(self.zero_point.unwrap_or(self.scale)),
            KernelArg::Tensor(bias.unwrap_or(x)),
            KernelArg::Tensor(y),
            KernelArg::Int(i32::from(bias.is_some())),
            KernelArg::int(x.size()[0]),
            KernelArg::int(out),
            KernelArg::int(columns),
            KernelArg::int(self.group),
        ]
    }

    /// The numbers that the integers stand for, `[out, in]`, as one of the stored kinds; none where there is no kernel.
    pub(crate) fn dense(&self, like: &Tensor) -> Result<Option<Tensor>> {
        let Some(kernel) = self.dense_kernel(like) else { return Ok(None) };
        let y = Tensor::f_empty(self.shape, (like.f_kind()?, like.device()))?;
        let blocks = blocks_for(self.codes.numel() / LOAD);
        // SAFETY: the arguments are those that the source declares; the codes are whole loads, and the result is new.
        unsafe { kernel.launch([blocks, 1, 1], [THREADS, 1, 1], 0, &self.dense_arguments(&y))? };
        Ok(Some(y))
    }

    fn dense_kernel(&self, like: &Tensor) -> Option<Arc<CudaKernel>> {
        static KERNELS: Compiled<Case> = Compiled::new();
        let Device::Cuda(device) = like.device() else { return None };
        let case = self.case(like, 0)?;
        KERNELS.get(case, device, || dense_source(case))
    }

    /// What that kernel is given.
    fn dense_arguments(&self, y: &'c Tensor) -> [KernelArg<'c>; 6] {
        [
            KernelArg::Tensor(self.codes),
            KernelArg::Tensor(self.scale),
            KernelArg::Tensor(self.zero_point.unwrap_or(self.scale)),
            KernelArg::Tensor(y),
            KernelArg::count(y.numel()),
            KernelArg::Long(self.group),
        ]
    }
}

/// A kernel of products, and how it is launched.
struct Product {
    kernel: Arc<CudaKernel>,
    /// How many results of each row a block computes.
    results: u32,
    /// Of a block.
    threads: u32,
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;
    use crate::ffi::cuda::gpu_or_skip;
    use crate::ffi::nvrtc::nvrtc_or_skip;
    use crate::ffi::pointwise::device::host;

    /// Codes with their scales, and the numbers that they stand for.
    fn weight(shape: [i64; 2], group: Option<i64>, device: Device) -> (Held, Tensor) {
        let [out, columns] = shape;
        let floats = (Kind::Float, device);
        let Some(group) = group else {
            let codes = Tensor::randint_low(-127, 128, [out, columns], (Kind::Int8, device));
            let scale = Tensor::rand([out], floats) * 0.01;
            let dense = codes.to_kind(Kind::Float) * scale.unsqueeze(1);
            return (Held { codes, scale, zero_point: None, shape, group: columns }, dense);
        };
        let [low, high] = [0, 1].map(|_| Tensor::randint(16, [out, columns / 2], (Kind::Uint8, device)));
        let groups = [out, columns / group, 1];
        let (scale, zero) = (Tensor::rand(groups, floats) * 0.1, Tensor::rand(groups, floats) * 15.0);
        let numbers = Tensor::stack(&[&low, &high], 2).to_kind(Kind::Float).view([out, columns / group, group]);
        let dense = ((numbers - &zero) * &scale).view([out, columns]);
        let codes = high * 16 + low;
        (Held { codes, scale, zero_point: Some(zero), shape, group }, dense)
    }

    /// Integers of a test's own.
    struct Held {
        codes: Tensor,
        scale: Tensor,
        zero_point: Option<Tensor>,
        shape: [i64; 2],
        group: i64,
    }

    impl Held {
        fn look(&self) -> DeviceCodes<'_> {
            let Self { codes, scale, zero_point, shape, group } = self;
            DeviceCodes { codes, scale, zero_point: zero_point.as_ref(), shape: *shape, group: *group }
        }
    }

    const CASES: [([i64; 2], Option<i64>); 4] =
        [([9, 48], None), ([17, 1040], None), ([9, 64], Some(32)), ([17, 1152], Some(128))];

    #[test]
    fn computes_the_same_on_the_host() {
        for (shape, group) in CASES {
            let (held, dense) = weight(shape, group, Device::Cpu);
            let codes = held.look();
            assert!(codes.is_taken());
            let operand = |rows: i64| Case { stored: Stored::F32, is_halves: group.is_some(), rows };
            let y = Tensor::zeros(shape, (Kind::Float, Device::Cpu));
            let count = usize::try_from(shape[0] * shape[1]).unwrap();
            let inputs = 3;
            let [found] =
                host::execute("dense", &dense_source(operand(0)), &codes.dense_arguments(&y), inputs, &[count]);
            assert_eq!(found.view(shape), dense, "{shape:?} {group:?}");
            for rows in [1, 3] {
                let x = Tensor::randn([rows, shape[1]], (Kind::Float, Device::Cpu));
                let bias = Tensor::randn([shape[0]], (Kind::Float, Device::Cpu));
                let y = Tensor::zeros([rows, shape[0]], (Kind::Float, Device::Cpu));
                let arguments = codes.arguments(&x, Some(&bias), &y);
                let [found] = host::execute("product", &product_source(operand(rows)), &arguments, 5, &[y.numel()]);
                let error = (found.view(y.size().as_slice()) - x.linear(&dense, Some(&bias))).abs().max();
                assert!(error.double_value(&[]) < 1e-3, "{shape:?} {group:?} {rows} {error:?}");
            }
        }
    }

    #[test]
    fn compiles_for_every_dtype() {
        let Some(nvrtc) = nvrtc_or_skip("compiling products with integers") else { return };
        for stored in [Stored::F16, Stored::BF16, Stored::F32] {
            for is_halves in [false, true] {
                let case = Case { stored, is_halves, rows: 4 };
                let mut sources = vec![product_source(case), dense_source(case)];
                if stored != Stored::F32 {
                    let shapes = [[4096, 128], [1 << 16, 96]];
                    sources.extend(shapes.map(|shape| TileCase::new(case, 32, shape, 32).source()));
                }
                for source in sources {
                    nvrtc.compile("codes", &source, &["--gpu-architecture=sm_80", "--std=c++17"]).unwrap();
                }
            }
        }
    }

    #[test]
    fn other_shapes_are_not_taken() {
        for (shape, group) in [([8, 40], None), ([8, 64], Some(16)), ([8, 0], None)] {
            assert!(!weight(shape, group, Device::Cpu).0.look().is_taken(), "{shape:?} {group:?}");
        }
        let (held, _) = weight([9, 48], None, Device::Cpu);
        let x = Tensor::zeros([1, 48], (Kind::Float, Device::Cpu));
        let found = [held.look().product(&x, None), held.look().dense(&x)].map(Result::unwrap);
        assert!(found.iter().all(Option::is_none), "there is no kernel for the CPU");
    }

    #[test]
    fn computes_the_same_on_a_gpu() {
        let Some(device) = gpu_or_skip("products with integers on a GPU") else { return };
        for (kind, unit) in [(Kind::Float, 1e-5), (Kind::Half, 2e-3), (Kind::BFloat16, 1e-2)] {
            for (shape, group) in CASES {
                let (held, dense) = weight(shape, group, device);
                let codes = held.look();
                let most = if kind == Kind::Float { MOST_ROWS } else { MOST_TILED_ROWS };
                for rows in [1, 2, 3, 8, 9, 17, 32, 33] {
                    let x = Tensor::randn([rows, shape[1]], (Kind::Float, device)).to_kind(kind);
                    let bias = Tensor::randn([shape[0]], (Kind::Float, device)).to_kind(kind);
                    let what = format!("{kind:?} {shape:?} {group:?} {rows}");
                    let Some(found) = codes.product(&x, Some(&bias)).unwrap() else {
                        assert!(rows > most, "{what}");
                        continue;
                    };
                    let [x, weight, bias] = [&x, &dense, &bias].map(|tensor| tensor.to_kind(Kind::Double));
                    let wanted = x.linear(&weight, Some(&bias));
                    // By the largest result: of four bits tensor cores take numbers that have been rounded to the dtype.
                    let error = (found.to_kind(Kind::Double) - &wanted).abs().max() / wanted.abs().max();
                    assert!(error.double_value(&[]) < unit, "{what}: {error:?}");
                }
                let like = Tensor::zeros([1], (kind, device));
                assert_eq!(codes.dense(&like).unwrap().unwrap(), dense.to_kind(kind), "{kind:?} {shape:?} {group:?}");
            }
        }
    }
}
