//! Vector registers, for kernels whose speed hangs on what stays in them.
//!
//! Where a plain loop does, [`vectorised`](super::vector::vectorised) and the compiler are enough.

#![allow(clippy::inline_always, reason = "instructions must be inlined into a function that has their CPU feature")]

#[cfg(target_arch = "x86_64")]
mod loads;

#[cfg(target_arch = "x86_64")]
use std::marker::PhantomData;

#[cfg(target_arch = "x86_64")]
use loads::{bf16_256, bf16_512, bytes_256, bytes_512, f16_256, f16_512, halves_256, halves_512};

#[cfg(target_arch = "x86_64")]
use super::vector::{Body, widest, with_avx2, with_avx512, with_avx512_bf16};
use super::vector::{VectorWidth, vector_width};

/// A register of floats.
pub(super) trait Lanes: Copy {
    /// How many.
    const COUNT: usize;
    /// Accumulators of two registers that fit into the register file beside what they are made from.
    const ROWS: usize;

    /// # Safety
    ///
    /// As for all functions here: the CPU has these registers. `COUNT` floats can be read from the address.
    unsafe fn load(from: *const f32) -> Self;
    /// # Safety
    ///
    /// As [`Self::load`]; they can be written.
    unsafe fn store(self, to: *mut f32);
    /// # Safety
    ///
    /// As [`Self::load`].
    unsafe fn splat(x: f32) -> Self;
    /// # Safety
    ///
    /// As [`Self::load`].
    unsafe fn plus(self, other: Self) -> Self;
    /// # Safety
    ///
    /// As [`Self::load`].
    unsafe fn minus(self, other: Self) -> Self;
    /// The totals of four registers.
    ///
    /// # Safety
    ///
    /// As [`Self::load`].
    unsafe fn totals(of: [Self; 4]) -> [f32; 4];
    /// `self + x · y`, rounded once.
    ///
    /// # Safety
    ///
    /// As [`Self::load`].
    unsafe fn plus_product(self, x: Self, y: Self) -> Self;
    /// `self + x₀ · y₀ + x₁ · y₁`, where each word of `x` and `y` is a pair of numbers of bf16, the first in the lower half.
    /// Denormal numbers are zeros.
    ///
    /// # Safety
    ///
    /// As [`Self::load`], and the CPU has `AVX512_BF16`: [`on_pairs`] asks for it.
    unsafe fn plus_pairs(self, x: Self, y: Self) -> Self;
    /// Signed bytes as numbers.
    ///
    /// # Safety
    ///
    /// As [`Self::load`].
    unsafe fn load_bytes(from: *const i8) -> Self;
    /// Numbers of f16; the CPU has F16C.
    ///
    /// # Safety
    ///
    /// As [`Self::load`].
    unsafe fn load_f16(from: *const u16) -> Self;
    /// Numbers of bf16.
    ///
    /// # Safety
    ///
    /// As [`Self::load`].
    unsafe fn load_bf16(from: *const u16) -> Self;

    /// A register of words of 32 bits.
    type Words: Copy;
    /// # Safety
    ///
    /// As [`Self::load`].
    unsafe fn load_words(from: *const u8) -> Self::Words;
    /// The lowest four bits of each word as a number from 0 to 15.
    ///
    /// # Safety
    ///
    /// As [`Self::load`].
    unsafe fn low_halves(words: Self::Words) -> Self;
    /// The words without their lowest four bits.
    ///
    /// # Safety
    ///
    /// As [`Self::load`].
    unsafe fn shifted(words: Self::Words) -> Self::Words;
}

#[cfg(target_arch = "x86_64")]
macro_rules! lanes {
    ($($register:ident, $count:literal, $rows:literal:
        $load:ident $store:ident $splat:ident $plus:ident $minus:ident $fused:ident
        $low:ident $high:ident $shuffle:ident $fold:ident
        $words:ident $load_words:ident $shift:ident $bytes:ident $halves:ident $f16:ident $bf16:ident
        $pairs:ident $plus_pairs:ident;)*) => {$(
        impl Lanes for std::arch::x86_64::$register {
            const COUNT: usize = $count;
            const ROWS: usize = $rows;

            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self {
                // SAFETY: by the trait's contract, here and below.
                unsafe { std::arch::x86_64::$load(from) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut f32) {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$store(to, self) }
            }

            #[inline(always)]
            unsafe fn splat(x: f32) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$splat(x) }
            }

            #[inline(always)]
            unsafe fn plus(self, other: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$plus(self, other) }
            }

            #[inline(always)]
            unsafe fn minus(self, other: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$minus(self, other) }
            }

            #[inline(always)]
            unsafe fn totals([a, b, c, d]: [Self; 4]) -> [f32; 4] {
                use std::arch::x86_64::{$high, $low, $shuffle};
                // SAFETY: as above; a register of four floats is four floats.
                unsafe {
                    let (ab, cd) = ($low(a, b).plus($high(a, b)), $low(c, d).plus($high(c, d)));
                    let all = $shuffle::<0x44>(ab, cd).plus($shuffle::<0xee>(ab, cd));
                    std::mem::transmute::<std::arch::x86_64::__m128, [f32; 4]>($fold(all))
                }
            }

            #[inline(always)]
            unsafe fn plus_product(self, x: Self, y: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$fused(x, y, self) }
            }

            #[inline(always)]
            unsafe fn plus_pairs(self, x: Self, y: Self) -> Self {
                use std::arch::x86_64::{$pairs, $plus_pairs};
                // SAFETY: as above; the registers are of one size.
                unsafe { $plus_pairs(self, std::mem::transmute::<Self, $pairs>(x), std::mem::transmute::<Self, $pairs>(y)) }
            }

            #[inline(always)]
            unsafe fn load_bytes(from: *const i8) -> Self {
                // SAFETY: as above.
                unsafe { $bytes(from) }
            }

            #[inline(always)]
            unsafe fn load_f16(from: *const u16) -> Self {
                // SAFETY: as above.
                unsafe { $f16(from) }
            }

            #[inline(always)]
            unsafe fn load_bf16(from: *const u16) -> Self {
                // SAFETY: as above.
                unsafe { $bf16(from) }
            }

            type Words = std::arch::x86_64::$words;

            #[inline(always)]
            unsafe fn load_words(from: *const u8) -> Self::Words {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$load_words(from.cast()) }
            }

            #[inline(always)]
            unsafe fn low_halves(words: Self::Words) -> Self {
                // SAFETY: as above.
                unsafe { $halves(words) }
            }

            #[inline(always)]
            unsafe fn shifted(words: Self::Words) -> Self::Words {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$shift::<4>(words) }
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
lanes! {
    __m512, 16, 14: _mm512_loadu_ps _mm512_storeu_ps _mm512_set1_ps _mm512_add_ps _mm512_sub_ps _mm512_fmadd_ps
        _mm512_unpacklo_ps _mm512_unpackhi_ps _mm512_shuffle_ps fold_512
        __m512i _mm512_loadu_si512 _mm512_srli_epi32 bytes_512 halves_512 f16_512 bf16_512 __m512bh _mm512_dpbf16_ps;
    __m256, 8, 6: _mm256_loadu_ps _mm256_storeu_ps _mm256_set1_ps _mm256_add_ps _mm256_sub_ps _mm256_fmadd_ps
        _mm256_unpacklo_ps _mm256_unpackhi_ps _mm256_shuffle_ps fold_256
        __m256i _mm256_loadu_si256 _mm256_srli_epi32 bytes_256 halves_256 f16_256 bf16_256 __m256bh _mm256_dpbf16_ps;
}

/// The sums of every fourth number.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn fold_512(x: std::arch::x86_64::__m512) -> std::arch::x86_64::__m128 {
    use std::arch::x86_64::{_mm256_add_ps, _mm512_castps512_ps256, _mm512_extractf32x8_ps};
    // SAFETY: the caller's CPU has the registers.
    unsafe { fold_256(_mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps::<1>(x))) }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn fold_256(x: std::arch::x86_64::__m256) -> std::arch::x86_64::__m128 {
    use std::arch::x86_64::{_mm_add_ps, _mm256_castps256_ps128, _mm256_extractf128_ps};
    // SAFETY: the caller's CPU has the registers.
    unsafe { _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x)) }
}

/// The nearest cache, as [`fetch_line`] is told.
pub(super) const FIRST_CACHE: i32 = 3;
/// The one behind it.
pub(super) const SECOND_CACHE: i32 = 2;

/// Brings a line into a cache.
#[inline(always)]
pub(super) fn fetch_line<const CACHE: i32>(at: *const f32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every CPU has the instruction, whose hints count so; it does nothing where nothing is.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<CACHE>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Code over registers of any width.
pub(super) trait Kernel {
    /// The code; it and all it calls is `#[inline(always)]`.
    ///
    /// # Safety
    ///
    /// The CPU has the registers.
    unsafe fn run<V: Lanes>(self);
}

/// The registers that [`on_lanes`] runs on, fast: none in a build without optimisation.
pub(crate) fn lanes_width() -> VectorWidth {
    if cfg!(fx_optimized) { vector_width() } else { VectorWidth::Baseline }
}

/// Whether [`on_lanes`] does anything on this machine, and fast.
pub(super) fn has_lanes() -> bool {
    lanes_width() > VectorWidth::Baseline
}

/// Whether [`on_pairs`] does anything on this machine, and fast.
pub(super) fn has_pairs() -> bool {
    lanes_width() == VectorWidth::Avx512 && cpu_has_pairs()
}

fn cpu_has_pairs() -> bool {
    #[cfg(target_arch = "x86_64")]
    return widest() == VectorWidth::Avx512 && is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Runs the kernel on registers whose words may be pairs of bf16; nothing happens where the CPU has no such.
pub(super) fn on_pairs<K: Kernel>(kernel: K) {
    #[cfg(target_arch = "x86_64")]
    if cpu_has_pairs() {
        // SAFETY: `cpu_has_pairs` has asked the CPU for every feature that the function is compiled with.
        unsafe { with_avx512_bf16(On::<K, std::arch::x86_64::__m512>(kernel, PhantomData)) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    drop(kernel);
}

/// Runs the kernel on the widest registers of this CPU; nothing happens where it has none of those above.
pub(super) fn on_lanes<K: Kernel>(kernel: K) {
    #[cfg(target_arch = "x86_64")]
    match vector_width() {
        // SAFETY: `vector_width` has asked the CPU for every feature that the function is compiled with.
        VectorWidth::Avx512 => unsafe { with_avx512(On::<K, std::arch::x86_64::__m512>(kernel, PhantomData)) },
        // SAFETY: as above.
        VectorWidth::Avx2 => unsafe { with_avx2(On::<K, std::arch::x86_64::__m256>(kernel, PhantomData)) },
        VectorWidth::Baseline => {}
    }
    #[cfg(not(target_arch = "x86_64"))]
    drop(kernel);
}

/// A kernel on registers that the CPU has.
#[cfg(target_arch = "x86_64")]
struct On<K, V>(K, PhantomData<V>);

#[cfg(target_arch = "x86_64")]
impl<K: Kernel, V: Lanes> Body for On<K, V> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // SAFETY: `on_lanes` alone makes one, for the registers of this CPU.
        unsafe { self.0.run::<V>() };
    }
}
