//! CUDA C of products with integers on tensor cores.

use std::fmt::Write as _;

use super::case::{Case, width};
use super::source::begin;
use crate::ffi::pointwise::device::{NAME, Stored, WARP};

/// Results of each row of `x` that a block computes.
pub(super) const OWN: u32 = 16;
/// Weights of fewer rows have so many warps to a block that processors are not left without work.
const FEW_BLOCKS: u32 = 512;

/// A product on tensor cores, for up to `8 * case.rows` rows of f16 or bf16: a block computes [`OWN`] results of each row, and
/// each of its warps every so many loads of them.
///
/// A thread's load is a piece of one row of the weight, and of the rows of `x` it reads the same piece: which inputs meet
/// in one step of the tensor cores does not matter, as long as they are the same on both sides.
///
/// Warps and loads that are on their way were measured on an H200 for weights of 4096², 4096 × 11008 and 22016 × 4096, with 1
/// and 16 rows: of bytes 16 warps take 0.75 of the time that 8 do where the weight has few rows, and up to 1.1 where it has
/// many; of four bits a second load on its way takes 0.85 to 1.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TileCase {
    case: Case,
    warps: u32,
    /// How many numbers have one scale, of four bits.
    group: i64,
    /// Whether rows are whole steps of a warp.
    is_whole: bool,
}

impl TileCase {
    /// For so many rows of `x` and a weight `[out, columns]`.
    pub(super) fn new(case: Case, rows: i64, [out, columns]: [i64; 2], group: i64) -> Self {
        let is_short = !case.is_halves && out < i64::from(OWN * FEW_BLOCKS);
        Self {
            case: Case { rows: (rows + 7) / 8, ..case },
            warps: if is_short { 16 } else { 8 },
            group: if case.is_halves { group } else { 0 },
            is_whole: columns % (4 * width(case.is_halves)) == 0,
        }
    }

    pub(super) fn threads(&self) -> u32 {
        self.warps * WARP
    }

    /// The source.
    pub(super) fn source(&self) -> String {
        let Self { case, warps, group, is_whole } = *self;
        let (is_f16, is_halves) = (case.stored == Stored::F16, case.is_halves);
        let kind = if is_f16 { "f16" } else { "bf16" };
        let (power, power_of_two) = if is_f16 { ("0x64006400", "1024") } else { ("0x43004300", "128") };
        let ones = if is_f16 { "0x3c003c00" } else { "0x3f803f80" };
        let ahead = if is_halves { 2 } else { 1 };
        let mut out = begin(case);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "const int OWN = {OWN}, WARPS = {warps}, PAIRS = WIDTH / 2, AHEAD = {ahead};");
        let _ = writeln!(out, "const bool IS_WHOLE = {is_whole};");
        let _ =
            writeln!(out, "const unsigned ONES = {ones}, POWER = {power};\nconst float POWER_OF_TWO = {power_of_two};");
        out += &INSTRUCTIONS.replace("KIND", kind);
        out += match (is_halves, is_f16) {
            (true, _) => PAIRS_OF_HALVES,
            (false, true) => PAIRS_OF_BYTES,
            (false, false) => PAIRS_BY_FLOATS,
        };
        out += if is_halves { ARRANGED_FOR_HALVES } else { ARRANGED };
        if is_halves {
            let _ = writeln!(out, "const int GROUP = {group};");
        }
        let (at, parameters) = if is_halves {
            ("(long long)columns[half] * groups + k / GROUP", "scales[at], zeros[at]")
        } else {
            ("0", "1, 0")
        };
        let _ = writeln!(out, "extern \"C\" __global__ void {NAME}({PARAMS}) {{");
        let finished = if is_halves { "total" } else { "total * scales[column]" };
        out + &BODY.replace("GROUP_AT", at).replace("PARAMETERS", parameters).replace("FINISHED", finished)
    }
}

const PARAMS: &str = "const T* x, const void* codes, const void* scale, const void* zero_point, const T* bias, T* y,
    int has_bias, int rows, int out, int depth, int group";

const INSTRUCTIONS: &str = "struct alignas(16) Words { unsigned of[4]; };
__device__ unsigned pair(float low, float high) {
    unsigned both;
    asm(\"cvt.rn.KINDx2.f32 %0, %1, %2;\" : \"=r\"(both) : \"f\"(high), \"f\"(low));
    return both;
}
__device__ unsigned product_plus(unsigned x, unsigned y, unsigned z) {
    unsigned sum;
    asm(\"fma.rn.KINDx2 %0, %1, %2, %3;\" : \"=r\"(sum) : \"r\"(x), \"r\"(y), \"r\"(z));
    return sum;
}
__device__ void multiply(float* sums, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.KIND.KIND.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\"
        : \"+f\"(sums[0]), \"+f\"(sums[1]), \"+f\"(sums[2]), \"+f\"(sums[3])
        : \"r\"(a0), \"r\"(a1), \"r\"(a2), \"r\"(a3), \"r\"(b0), \"r\"(b1));
}
";

/// Pairs of numbers of four bits, of which the second is the fourth behind the first: both are put into the lowest bits of
/// the fraction of a power of two. The whole part of the zero point goes with that power, the rest is added to the product.
const PAIRS_OF_HALVES: &str = "__device__ void pairs(const Codes& codes, float scale, float zero, unsigned* to) {
    float whole = -(POWER_OF_TWO + rintf(zero));
    unsigned minus = pair(whole, whole);
    float rest = (-(float)load((T)(minus & 0xffff)) - POWER_OF_TWO - zero) * scale;
    unsigned by = pair(scale, scale), plus = pair(rest, rest);
    #pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        unsigned both = (codes.of[i / 4] >> i % 4 * 4 & 0x000f000f) | POWER;
        to[i] = product_plus(product_plus(both, ONES, minus), by, plus);
    }
}
";

/// Pairs of bytes as f16, of which each is put into the fraction of 1024.
const PAIRS_OF_BYTES: &str = "__device__ void pairs(const Codes& codes, float, float, unsigned* to) {
    unsigned minus = pair(-1152, -1152);
    #pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        unsigned word = codes.of[i / 2] ^ 0x80808080;
        to[i] = product_plus(__byte_perm(word, 0x64646464, i % 2 ? 0x4342 : 0x4140), ONES, minus);
    }
}
";

/// Pairs of bytes as bf16, whose fraction is too short for the same.
const PAIRS_BY_FLOATS: &str = "__device__ void pairs(const Codes& codes, float, float, unsigned* to) {
    #pragma unroll
    for (int i = 0; i < PAIRS; i++) to[i] = pair(code(codes, 2 * i, 0), code(codes, 2 * i + 1, 0));
}
";

/// Eight numbers of `x` in the order in which those of four bits come.
const ARRANGED_FOR_HALVES: &str = "__device__ void arranged(Words words, unsigned* to) {
    to[0] = __byte_perm(words.of[0], words.of[2], 0x5410);
    to[1] = __byte_perm(words.of[0], words.of[2], 0x7632);
    to[2] = __byte_perm(words.of[1], words.of[3], 0x5410);
    to[3] = __byte_perm(words.of[1], words.of[3], 0x7632);
}
";

const ARRANGED: &str = "__device__ void arranged(Words words, unsigned* to) {
    #pragma unroll
    for (int i = 0; i < 4; i++) to[i] = words.of[i];
}
";

const BODY: &str = "    __shared__ float parts[WARPS][OWN * 8 * ROWS];
    const float *scales = (const float*)scale, *zeros = (const float*)zero_point;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, high = lane / 4, low = lane % 4;
    int groups = depth / group, steps = (depth + 4 * WIDTH - 1) / (4 * WIDTH), last = depth / WIDTH - 1;
    for (int first = blockIdx.x * OWN; first < out; first += gridDim.x * OWN) {
        int columns[2] = {min(first + high, out - 1), min(first + high + 8, out - 1)};
        const Codes* own[2];
        #pragma unroll
        for (int half = 0; half < 2; half++) own[half] = (const Codes*)codes + (long long)columns[half] * depth / WIDTH;
        float sums[ROWS][4] = {};
        // The loads of the next steps are on their way while one is computed.
        Codes next[AHEAD][2] = {};
        #pragma unroll
        for (int ahead = 0; ahead < AHEAD; ahead++) {
            int step = warp + ahead * WARPS;
            if (step < steps) {
                for (int half = 0; half < 2; half++) next[ahead][half] = own[half][min(step * 4 + low, last)];
            }
        }
        for (int step = warp; step < steps; step += WARPS) {
            Codes some[2] = {next[0][0], next[0][1]};
            #pragma unroll
            for (int ahead = 1; ahead < AHEAD; ahead++) {
                for (int half = 0; half < 2; half++) next[ahead - 1][half] = next[ahead][half];
            }
            int later = step + AHEAD * WARPS;
            if (later < steps) {
                #pragma unroll
                for (int half = 0; half < 2; half++) next[AHEAD - 1][half] = own[half][min(later * 4 + low, last)];
            }
            bool is_inside = IS_WHOLE || step * 4 + low <= last;
            int k = (is_inside ? step * 4 + low : 0) * WIDTH;
            unsigned weights[2][PAIRS];
            #pragma unroll
            for (int half = 0; half < 2; half++) {
                long long at = GROUP_AT;
                pairs(some[half], PARAMETERS, weights[half]);
            }
            #pragma unroll
            for (int tile = 0; tile < ROWS; tile++) {
                int row = min(tile * 8 + high, rows - 1);
                const Words* from = (const Words*)(x + (long long)row * depth + k);
                unsigned words[PAIRS];
                #pragma unroll
                for (int i = 0; i < PAIRS / 4; i++) arranged(is_inside ? from[i] : Words{}, words + i * 4);
                #pragma unroll
                for (int i = 0; i < PAIRS; i += 2) {
                    multiply(sums[tile], weights[0][i], weights[1][i], weights[0][i + 1], weights[1][i + 1],
                        words[i], words[i + 1]);
                }
            }
        }
        #pragma unroll
        for (int tile = 0; tile < ROWS; tile++) {
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                parts[warp][(tile * 8 + low * 2 + i % 2) * OWN + high + i / 2 * 8] = sums[tile][i];
            }
        }
        __syncthreads();
        for (int i = threadIdx.x; i < OWN * rows; i += blockDim.x) {
            int column = first + i % OWN;
            float total = 0;
            #pragma unroll
            for (int part = 0; part < WARPS; part++) total += parts[part][i];
            if (column < out) {
                total = FINISHED;
                y[(long long)(i / OWN) * out + column] = store(has_bias ? total + (float)load(bias[column]) : total);
            }
        }
        __syncthreads();
    }
}
";
