//! Numbers of fewer bits as floats: what a register is filled with.

/// Signed bytes as numbers.
#[inline(always)]
pub(super) unsafe fn bytes_512(from: *const i8) -> std::arch::x86_64::__m512 {
    use std::arch::x86_64::{_mm_loadu_si128, _mm512_cvtepi8_epi32, _mm512_cvtepi32_ps};
    // SAFETY: the caller's CPU has the registers, and 16 bytes can be read.
    unsafe { _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from.cast()))) }
}

#[inline(always)]
pub(super) unsafe fn bytes_256(from: *const i8) -> std::arch::x86_64::__m256 {
    use std::arch::x86_64::{_mm_loadl_epi64, _mm256_cvtepi8_epi32, _mm256_cvtepi32_ps};
    // SAFETY: the caller's CPU has the registers, and 8 bytes can be read.
    unsafe { _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(from.cast()))) }
}

/// Numbers of f16.
#[inline(always)]
pub(super) unsafe fn f16_512(from: *const u16) -> std::arch::x86_64::__m512 {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm512_cvtph_ps};
    // SAFETY: the caller's CPU has the registers, and 16 numbers can be read.
    unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.cast())) }
}

#[inline(always)]
pub(super) unsafe fn f16_256(from: *const u16) -> std::arch::x86_64::__m256 {
    use std::arch::x86_64::{_mm_loadu_si128, _mm256_cvtph_ps};
    // SAFETY: the caller's CPU has the registers and F16C, and 8 numbers can be read.
    unsafe { _mm256_cvtph_ps(_mm_loadu_si128(from.cast())) }
}

/// Numbers of bf16, which are the upper halves of f32.
#[inline(always)]
pub(super) unsafe fn bf16_512(from: *const u16) -> std::arch::x86_64::__m512 {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm512_castsi512_ps, _mm512_cvtepu16_epi32, _mm512_slli_epi32};
    // SAFETY: the caller's CPU has the registers, and 16 numbers can be read.
    unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast())))) }
}

#[inline(always)]
pub(super) unsafe fn bf16_256(from: *const u16) -> std::arch::x86_64::__m256 {
    use std::arch::x86_64::{_mm_loadu_si128, _mm256_castsi256_ps, _mm256_cvtepu16_epi32, _mm256_slli_epi32};
    // SAFETY: the caller's CPU has the registers, and 8 numbers can be read.
    unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast())))) }
}

/// The lowest four bits of words, looked up: the instruction reads no others of its indices.
#[inline(always)]
pub(super) unsafe fn halves_512(words: std::arch::x86_64::__m512i) -> std::arch::x86_64::__m512 {
    use std::arch::x86_64::{_mm512_permutexvar_ps, _mm512_setr_ps};
    // SAFETY: the caller's CPU has the registers.
    unsafe {
        let numbers = _mm512_setr_ps(0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15.);
        _mm512_permutexvar_ps(words, numbers)
    }
}

#[inline(always)]
pub(super) unsafe fn halves_256(words: std::arch::x86_64::__m256i) -> std::arch::x86_64::__m256 {
    use std::arch::x86_64::{_mm256_and_si256, _mm256_cvtepi32_ps, _mm256_set1_epi32};
    // SAFETY: the caller's CPU has the registers.
    unsafe { _mm256_cvtepi32_ps(_mm256_and_si256(words, _mm256_set1_epi32(15))) }
}
