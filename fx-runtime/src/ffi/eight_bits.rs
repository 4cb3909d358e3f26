//! Rows rounded to eight bits on a GPU, and the sums of their products as numbers again.
//!
//! A row is rounded by its own scale, its largest magnitude over the format's; zero stands for itself. Integers are rounded to
//! the nearest, halves to the even one, and so are the floats of eight bits (`e4m3fn`), beyond whose range is its end.

use std::fmt::Write as _;
use std::sync::Arc;

use tch::{Device, Kind, TchError, Tensor};

use super::pointwise::device::rows::BLOCK;
use super::pointwise::device::{Compiled, LOAD, NAME, Stored, THREADS, WARP, blocks_for, packs};
use super::{CudaKernel, Facts, KernelArg};
use crate::Result;

/// The scale of a row is no smaller, so that its reciprocal is a number.
const LEAST_SCALE: f32 = f32::MIN_POSITIVE;
/// The most blocks, each of which takes a row at a time.
const MOST_BLOCKS: u32 = 1 << 16;

/// What rows are rounded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum EightBits {
    /// Integers from -127 to 127.
    Int,
    /// `e4m3fn`, up to 448.
    Float,
}

impl EightBits {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Int => Kind::Int8,
            Self::Float => Kind::Float8e4m3fn,
        }
    }

    /// The largest magnitude.
    pub(crate) fn largest(self) -> f32 {
        match self {
            Self::Int => 127.0,
            Self::Float => 448.0,
        }
    }
}

/// The scale of each row of `[rows, columns]`, `f32[rows]`, by libtorch's operators.
///
/// # Errors
///
/// What libtorch reports.
pub(crate) fn row_scales(x: &Tensor, to: EightBits) -> Result<Tensor, TchError> {
    let most = x.f_abs()?.f_amax([1i64].as_slice(), false)?.f_to_kind(Kind::Float)?;
    most.f_div_scalar(f64::from(to.largest()))?.f_clamp_min(f64::from(LEAST_SCALE))
}

/// What a tensor is stored as, f64 excepted.
fn stored(tensor: &Tensor) -> Option<Stored> {
    Stored::of(Facts::of(tensor)?.dtype).filter(|&stored| stored != Stored::F64)
}

/// The codes of the rows of a contiguous `x`, `[rows, columns]`, and the scale of each, `f32[rows]`. The codes are of at least
/// `least` rows, of which those behind `x`'s are zeros. None where there is no kernel.
pub(crate) fn quantized_rows(x: &Tensor, to: EightBits, least: i64) -> Result<Option<(Tensor, Tensor)>> {
    let Some((kernel, threads)) = rows_kernel(x, to) else { return Ok(None) };
    let [rows, columns] = [x.size()[0], x.size()[1]];
    let (sizes, bytes) = ([rows.max(least), columns], (Kind::Int8, x.device()));
    let codes = if rows < least { Tensor::f_zeros(sizes, bytes)? } else { Tensor::f_empty(sizes, bytes)? };
    let scales = Tensor::f_empty([rows], (Kind::Float, x.device()))?;
    let blocks = u32::try_from(rows).unwrap_or(MOST_BLOCKS).min(MOST_BLOCKS);
    // SAFETY: the arguments are those that the source declares; `x` is contiguous in whole loads, and codes and scales are
    // new, with a place for each element and for each row.
    unsafe { kernel.launch([blocks, 1, 1], [threads, 1, 1], 0, &rows_arguments(x, &codes, &scales))? };
    Ok(Some((if to == EightBits::Int { codes } else { codes.f_view_dtype(to.kind())? }, scales)))
}

/// The kernel for the rows of `x`, and how many threads have work on one; none of what is not contiguous in whole loads.
fn rows_kernel(x: &Tensor, to: EightBits) -> Option<(Arc<CudaKernel>, u32)> {
    static KERNELS: Compiled<(EightBits, Stored)> = Compiled::new();
    let [rows, columns] = <[i64; 2]>::try_from(x.size()).ok()?;
    let (stored, Device::Cuda(device)) = (stored(x)?, x.device()) else { return None };
    let (columns, pack) = (usize::try_from(columns).ok()?, LOAD / stored.bytes());
    let is_whole = columns.is_multiple_of(pack) && (x.data_ptr() as usize).is_multiple_of(LOAD);
    if rows == 0 || columns == 0 || !is_whole || !x.is_contiguous() {
        return None;
    }
    let threads = u32::try_from(columns / pack).unwrap_or(THREADS).next_multiple_of(WARP).min(THREADS);
    Some((KERNELS.get((to, stored), device, || rows_source(to, stored))?, threads))
}

/// What the kernel is given, in the order in which the source declares it.
fn rows_arguments<'t>(x: &'t Tensor, codes: &'t Tensor, scales: &'t Tensor) -> [KernelArg<'t>; 5] {
    let [codes, scales] = [codes, scales].map(KernelArg::Tensor);
    [KernelArg::Tensor(x), codes, scales, KernelArg::int(x.size()[0]), KernelArg::int(x.size()[1])]
}

/// `store(sums · row's scale · column's scale + bias)`, of the dtype and on the device of `like`, for sums `i32[rows, out]` or
/// `f32[rows, out]`, with scales `f32[rows]` and `f32[out]`; sums may have more rows than scales. None where there is no kernel.
pub(crate) fn scaled_sums(
    sums: &Tensor,
    [of_rows, of_columns]: [&Tensor; 2],
    bias: Option<&Tensor>,
    like: &Tensor,
) -> Result<Option<Tensor>> {
    let Some(kernel) = sums_kernel(sums, of_columns, bias, like) else { return Ok(None) };
    let y = Tensor::f_empty([of_rows.size()[0], sums.size()[1]], (like.f_kind()?, sums.device()))?;
    let arguments = sums_arguments(sums, [of_rows, of_columns], bias, &y);
    let blocks = blocks_for(y.numel() * y.kind().elt_size_in_bytes() / LOAD);
    // SAFETY: the arguments are those that the source declares; sums, scales and bias have the shapes that were looked at,
    // whole loads to a row, and the result is new.
    unsafe { kernel.launch([blocks, 1, 1], [THREADS, 1, 1], 0, &arguments)? };
    Ok(Some(y))
}

/// The kernel for such sums; none of rows that are no whole loads.
fn sums_kernel(sums: &Tensor, of_columns: &Tensor, bias: Option<&Tensor>, like: &Tensor) -> Option<Arc<CudaKernel>> {
    static KERNELS: Compiled<(bool, Stored)> = Compiled::new();
    let (stored, Device::Cuda(device)) = (stored(like)?, sums.device()) else { return None };
    let [_, out] = <[i64; 2]>::try_from(sums.size()).ok()?;
    let is_whole = out % 8 == 0 && sums.is_contiguous();
    if !is_whole || of_columns.size() != [out] || bias.is_some_and(|bias| bias.size() != [out]) {
        return None;
    }
    let is_integers = sums.kind() == Kind::Int;
    KERNELS.get((is_integers, stored), device, || sums_source(is_integers, stored))
}

/// What that kernel is given.
fn sums_arguments<'t>(
    sums: &'t Tensor,
    [of_rows, of_columns]: [&'t Tensor; 2],
    bias: Option<&'t Tensor>,
    y: &'t Tensor,
) -> [KernelArg<'t>; 8] {
    let size = y.size();
    [
        KernelArg::Tensor(sums),
        KernelArg::Tensor(of_rows),
        KernelArg::Tensor(of_columns),
        KernelArg::Tensor(bias.unwrap_or(y)),
        KernelArg::Tensor(y),
        KernelArg::Int(i32::from(bias.is_some())),
        KernelArg::Long(size[0] * size[1]),
        KernelArg::Long(size[1]),
    ]
}

/// To the nearest float of eight bits: in its subnormal range by an addition that rounds to multiples of 2⁻⁹, above it by
/// rounding away twenty bits.
const TO_FLOAT: &str = "__device__ unsigned char rounded(float x) {
    unsigned bits = __float_as_uint(x), sign = bits >> 24 & 0x80;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return sign | 0x7f;
    if (bits >= 0x43e00000) return sign | 0x7e;
    if (bits < 0x3c800000) return sign | (__float_as_uint(__uint_as_float(bits) + 16384.0f) - 0x46800000);
    bits += 0x7ffff + (bits >> 20 & 1);
    return sign | ((bits - 0x3c000000) >> 20);
}
";

const TO_INT: &str = "__device__ unsigned char rounded(float x) {
    float whole = rintf(x);
    return whole != whole ? 0 : (unsigned char)(signed char)(int)fminf(fmaxf(whole, -127.0f), 127.0f);
}
";

/// The source of what rounds rows.
fn rows_source(to: EightBits, stored: Stored) -> String {
    let mut out = packs(stored);
    out += match to {
        EightBits::Int => TO_INT,
        EightBits::Float => TO_FLOAT,
    };
    out += BLOCK;
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "struct alignas(PACK) Codes {{ unsigned char of[PACK]; }};
__device__ R larger(R x, R y) {{ return x > y || x != x ? x : y; }}
extern \"C\" __global__ void {NAME}(const T* x, void* codes, void* scales, int rows, int columns) {{
    __shared__ float warps[32];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {{
        const Pack* packs = (const Pack*)(x + (long long)row * columns);
        float most = 0;
        for (int at = threadIdx.x; at < columns / PACK; at += blockDim.x) {{
            Pack pack = packs[at];
            #pragma unroll
            for (int i = 0; i < PACK; i++) most = larger(most, fabsf((float)load(pack.of[i])));
        }}
        most = all<larger>(most, warps);
        float scale = most / {largest:?}f;
        if (scale < {LEAST_SCALE:e}f) scale = {LEAST_SCALE:e}f;
        float inverse = 1.0f / scale;
        if (threadIdx.x == 0) ((float*)scales)[row] = scale;
        Codes* own = (Codes*)((unsigned char*)codes + (long long)row * columns);
        for (int at = threadIdx.x; at < columns / PACK; at += blockDim.x) {{
            Pack pack = packs[at];
            Codes some;
            #pragma unroll
            for (int i = 0; i < PACK; i++) some.of[i] = rounded((float)load(pack.of[i]) * inverse);
            own[at] = some;
        }}
    }}
}}
",
        largest = to.largest(),
    );
    out
}

/// The source of what makes numbers of sums.
fn sums_source(is_integers: bool, stored: Stored) -> String {
    let mut out = packs(stored);
    let sum = if is_integers { "int" } else { "float" };
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "struct alignas(16) Sums {{ {sum} of[4]; }};
extern \"C\" __global__ void {NAME}(const void* sums, const void* of_rows, const void* of_columns, const T* bias, T* y,
    int has_bias, long long count, long long out) {{
    const float *row_scales = (const float*)of_rows, *column_scales = (const float*)of_columns;
    long long first = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * PACK;
    for (long long at = first; at < count; at += gridDim.x * (long long)blockDim.x * PACK) {{
        float scale = row_scales[at / out];
        int column = (int)(at % out);
        Pack pack;
        #pragma unroll
        for (int part = 0; part < PACK; part += 4) {{
            Sums some = *(const Sums*)((const {sum}*)sums + at + part);
            #pragma unroll
            for (int i = 0; i < 4; i++) {{
                float value = (float)some.of[i] * (scale * column_scales[column + part + i]);
                pack.of[part + i] = store(has_bias ? value + (float)load(bias[column + part + i]) : value);
            }}
        }}
        *(Pack*)(y + at) = pack;
    }}
}}
"
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::cuda::gpu_or_skip;
    use crate::ffi::nvrtc::nvrtc_or_skip;
    use crate::ffi::pointwise::device::host;

    const HALVES: [Stored; 3] = [Stored::F16, Stored::BF16, Stored::F32];

    /// Rows of several magnitudes, one of zeros, with numbers on the edges of the formats.
    fn rows(kind: Kind, device: Device) -> Tensor {
        let x = Tensor::randn([5, 272], (Kind::Float, Device::Cpu))
            * Tensor::from_slice(&[1e-3f32, 1.0, 50.0, 0.0, 1e4]).view([5, 1]);
        for (at, value) in
            [448.0, 127.0, 0.5, -0.5, 2.5, 2f64.powi(-10), 3.0 * 2f64.powi(-10), -464.0].into_iter().enumerate()
        {
            let _ = x.get(1).get(i64::try_from(at).unwrap()).fill_(value);
        }
        x.to_kind(kind).to_device(device)
    }

    /// Codes and scales by ATen.
    fn by_aten(x: &Tensor, to: EightBits) -> (Tensor, Tensor) {
        let x = x.to_kind(Kind::Float);
        let scale = (x.abs().amax([1], false) / f64::from(to.largest())).clamp_min(f64::from(LEAST_SCALE));
        let scaled = x * scale.reciprocal().unsqueeze(1);
        let bound = f64::from(to.largest());
        let codes = match to {
            EightBits::Int => scaled.round().clamp(-bound, bound).to_kind(Kind::Int8),
            EightBits::Float => scaled.clamp(-bound, bound).to_kind(Kind::Float8e4m3fn),
        };
        (codes.to_kind(Kind::Float), scale)
    }

    fn number(codes: &Tensor, to: EightBits) -> Tensor {
        if codes.kind() == Kind::Int8 { codes.view_dtype(to.kind()) } else { codes.shallow_clone() }
            .to_kind(Kind::Float)
    }

    #[test]
    fn rows_are_rounded_as_libtorch_rounds_on_the_host() {
        for to in [EightBits::Int, EightBits::Float] {
            let x = rows(Kind::Float, Device::Cpu);
            let codes = Tensor::zeros(x.size(), (Kind::Int8, Device::Cpu));
            let scales = Tensor::zeros([5], (Kind::Float, Device::Cpu));
            let arguments = rows_arguments(&x, &codes, &scales);
            let source = rows_source(to, Stored::F32);
            let [codes, scales] = host::execute("rows", &source, &arguments, 1, &[5 * 272, 5]);
            let (wanted, of) = by_aten(&x, to);
            assert_eq!(scales, of, "{to:?}");
            assert_eq!(number(&codes.view([5, 272]), to), wanted, "{to:?}");
        }
    }

    #[test]
    fn what_is_no_number_spreads_over_its_row() {
        let x = Tensor::ones([3, 16], (Kind::Float, Device::Cpu));
        let _ = x.get(0).get(3).fill_(f64::NAN);
        let _ = x.get(1).get(3).fill_(f64::INFINITY);
        let codes = Tensor::zeros(x.size(), (Kind::Int8, Device::Cpu));
        let scales = Tensor::zeros([3], (Kind::Float, Device::Cpu));
        let source = rows_source(EightBits::Int, Stored::F32);
        let [_, scales] = host::execute("rows", &source, &rows_arguments(&x, &codes, &scales), 1, &[48, 3]);
        let scales = Vec::<f32>::try_from(scales).unwrap();
        assert!(scales[0].is_nan() && scales[1].is_infinite() && (scales[2] * 127.0 - 1.0).abs() < 1e-6, "{scales:?}");
    }

    /// Sums, their scales, a bias, and the numbers by ATen.
    fn sums(kind: Kind, device: Device) -> ([Tensor; 4], Tensor) {
        let options = (Kind::Float, device);
        let sums = (Tensor::randn([5, 24], options) * 1000.0).to_kind(kind);
        let [of_rows, of_columns] = [5, 24].map(|count| Tensor::rand([count], options) + 0.1);
        let bias = Tensor::randn([24], options);
        let scale = of_rows.narrow(0, 0, 3).unsqueeze(1) * of_columns.unsqueeze(0);
        let wanted = sums.narrow(0, 0, 3).to_kind(Kind::Float) * scale + &bias;
        ([sums, of_rows.narrow(0, 0, 3), of_columns, bias], wanted)
    }

    #[test]
    fn sums_become_numbers_on_the_host() {
        for kind in [Kind::Int, Kind::Float] {
            let ([sums, of_rows, of_columns, bias], wanted) = sums(kind, Device::Cpu);
            let y = Tensor::zeros([3, 24], (Kind::Float, Device::Cpu));
            let arguments = sums_arguments(&sums, [&of_rows, &of_columns], Some(&bias), &y);
            let source = sums_source(kind == Kind::Int, Stored::F32);
            let [found] = host::execute("sums", &source, &arguments, 4, &[72]);
            assert_eq!(found.view([3, 24]), wanted, "{kind:?}");
        }
    }

    #[test]
    fn compiles_for_every_dtype() {
        let Some(nvrtc) = nvrtc_or_skip("compiling rows of eight bits") else { return };
        let compile = |source: &str| nvrtc.compile("rows", source, &["--gpu-architecture=sm_80", "--std=c++17"]);
        for stored in HALVES {
            for to in [EightBits::Int, EightBits::Float] {
                compile(&rows_source(to, stored)).unwrap();
            }
            for is_integers in [true, false] {
                compile(&sums_source(is_integers, stored)).unwrap();
            }
        }
    }

    #[test]
    fn computes_the_same_on_a_gpu() {
        let Some(device) = gpu_or_skip("rows of eight bits on a GPU") else { return };
        for kind in [Kind::Float, Kind::Half, Kind::BFloat16] {
            let x = rows(kind, device);
            for to in [EightBits::Int, EightBits::Float] {
                for least in [0, 17] {
                    let (codes, scales) = quantized_rows(&x, to, least).unwrap().unwrap();
                    // On the CPU, since ATen divides by a number otherwise on a GPU.
                    let (wanted, of) = by_aten(&x.to_device(Device::Cpu), to);
                    assert_eq!(codes.size(), [5.max(least), 272]);
                    assert_eq!(scales.to_device(Device::Cpu), of, "{to:?} {kind:?}");
                    let found = number(&codes.narrow(0, 0, 5), to).to_device(Device::Cpu);
                    assert_eq!(found, wanted, "{to:?} {kind:?}");
                }
            }
            for of in [Kind::Int, Kind::Float] {
                let ([sums, of_rows, of_columns, bias], wanted) = sums(of, device);
                let bias_there = bias.to_kind(kind);
                let wanted = wanted - bias + bias_there.to_kind(Kind::Float);
                let found = scaled_sums(&sums, [&of_rows, &of_columns], Some(&bias_there), &x).unwrap().unwrap();
                let unit = if kind == Kind::Float { 1e-6 } else { 0.01 };
                let error = ((found.to_kind(Kind::Float) - &wanted).abs() / (wanted.abs() + 1.0)).max();
                assert!(found.kind() == kind && error.double_value(&[]) < unit, "{of:?} {kind:?} {error:?}");
            }
        }
    }
}
