//! CUDA C of products with integers, and of what brings them into floats.

use std::fmt::Write as _;

use super::case::{Case, width};
use crate::ffi::pointwise::device::{LOAD, NAME, packs};

/// What all kernels begin with: how a load of codes becomes numbers.
///
/// A code is put into the lowest bits of the fraction of a power of two, so that a subtraction makes a number of it.
pub(super) fn begin(case: Case) -> String {
    let Case { stored, is_halves, rows } = case;
    let mut out = packs(stored);
    // Writing to a string cannot fail.
    let _ = writeln!(out, "const int WIDTH = {}, ROWS = {rows};", width(is_halves));
    let _ = writeln!(out, "struct alignas({LOAD}) Codes {{ unsigned of[4]; }};");
    out + if is_halves {
        "__device__ float code(const Codes& codes, int i, float zero) {
    unsigned word = codes.of[i / 8];
    int at = i % 8 * 4;
    unsigned bits = at < 16 ? word << (16 - at) : word >> (at - 16);
    return __uint_as_float((bits & 0xf0000) | 0x43000000) - 128.0f - zero;
}
"
    } else {
        "__device__ float code(const Codes& codes, int i, float) {
    unsigned word = codes.of[i / 4] ^ 0x80808080;
    return __uint_as_float((word >> i % 4 * 8 & 255) | 0x4b000000) - 8388736.0f;
}
"
    }
}

/// The source of the product of few rows.
pub(super) fn product_source(case: Case) -> String {
    let mut out = begin(case);
    let (zero, scaled, behind) = if case.is_halves {
        ("zeros[group_at]", "scales[group_at] * total", "sums[row]")
    } else {
        ("0", "total", "sums[row] * scales[column]")
    };
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "extern \"C\" __global__ void {NAME}(const T* x, const void* codes, const void* scale, const void* zero_point,
    const T* bias, T* y, int has_bias, int rows, int out, int depth, int group) {{
    const float *scales = (const float*)scale, *zeros = (const float*)zero_point;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (int first = blockIdx.x * warps; first < out; first += gridDim.x * warps) {{
        int column = first + warp < out ? first + warp : out - 1;
        const Codes* own = (const Codes*)codes + (long long)column * depth / WIDTH;
        float sums[ROWS] = {{}};
        #pragma unroll 4
        for (int at = lane * WIDTH; at < depth; at += 32 * WIDTH) {{
            Codes some = own[at / WIDTH];
            long long group_at = (long long)column * (depth / group) + at / group;
            float zero = {zero}, weights[WIDTH];
            #pragma unroll
            for (int i = 0; i < WIDTH; i++) weights[i] = code(some, i, zero);
            #pragma unroll
            for (int row = 0; row < ROWS; row++) {{
                const Pack* packs = (const Pack*)(x + (long long)row * depth + at);
                float total = 0;
                #pragma unroll
                for (int part = 0; part < WIDTH / PACK; part++) {{
                    Pack pack = packs[part];
                    #pragma unroll
                    for (int i = 0; i < PACK; i++) total += (float)load(pack.of[i]) * weights[part * PACK + i];
                }}
                sums[row] += {scaled};
            }}
        }}
        #pragma unroll
        for (int row = 0; row < ROWS; row++) {{
            for (int step = 16; step > 0; step /= 2) sums[row] += __shfl_xor_sync(0xffffffff, sums[row], step);
        }}
        if (lane == 0 && first + warp < out) {{
            #pragma unroll
            for (int row = 0; row < ROWS; row++) {{
                float sum = {behind};
                y[(long long)row * out + column] = store(has_bias ? sum + (float)load(bias[column]) : sum);
            }}
        }}
    }}
}}
"
    );
    out
}

/// The source of what brings a weight into floats.
pub(super) fn dense_source(case: Case) -> String {
    let mut out = begin(Case { rows: 1, ..case });
    let zero = if case.is_halves { "zeros[at / group]" } else { "0" };
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "extern \"C\" __global__ void {NAME}(const void* codes, const void* scale, const void* zero_point, T* y,
    long long count, long long group) {{
    const float *scales = (const float*)scale, *zeros = (const float*)zero_point;
    long long first = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * WIDTH;
    for (long long at = first; at < count; at += gridDim.x * (long long)blockDim.x * WIDTH) {{
        Codes some = ((const Codes*)codes)[at / WIDTH];
        float scale = scales[at / group], zero = {zero};
        #pragma unroll
        for (int part = 0; part < WIDTH / PACK; part++) {{
            Pack pack;
            #pragma unroll
            for (int i = 0; i < PACK; i++) pack.of[i] = store(code(some, part * PACK + i, zero) * scale);
            ((Pack*)(y + at))[part] = pack;
        }}
    }}
}}
"
    );
    out
}
