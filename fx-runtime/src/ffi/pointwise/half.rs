//! Elements of two bytes: they are computed with as f32, and rounded once, when they are stored.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

use super::BLOCK;
use crate::ffi::vector::{Body, vectorised};

/// How the two bytes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    /// IEEE 754's: 5 bits of exponent, 10 of mantissa.
    F16,
    /// The upper half of an f32.
    BF16,
}

impl Half {
    /// By what `c10::ScalarType` counts.
    pub(crate) fn of(dtype: i32) -> Option<Self> {
        match dtype {
            5 => Some(Self::F16),
            15 => Some(Self::BF16),
            _ => None,
        }
    }

    /// The numbers, exactly.
    #[inline]
    pub(super) fn widen(self, from: &[u16; BLOCK], to: &mut [f32; BLOCK]) {
        #[cfg(target_arch = "x86_64")]
        if self == Self::F16 && has_f16c() {
            // SAFETY: the CPU was asked for the features.
            return unsafe { f16c::widen(from, to) };
        }
        vectorised(Widen(self, from, to));
    }

    /// The nearest there are, of two the even one; NaN stays.
    #[inline]
    pub(super) fn narrow(self, from: &[f32; BLOCK], to: &mut [u16; BLOCK]) {
        #[cfg(target_arch = "x86_64")]
        if self == Self::F16 && has_f16c() {
            // SAFETY: the CPU was asked for the features.
            return unsafe { f16c::narrow(from, to) };
        }
        vectorised(Narrow(self, from, to));
    }
}

/// Does this CPU convert f16 by itself? Detection is remembered by the standard library.
#[cfg(target_arch = "x86_64")]
#[inline]
fn has_f16c() -> bool {
    is_x86_feature_detected!("avx") && is_x86_feature_detected!("f16c")
}

/// Conversion by instructions made for it, eight numbers at once.
#[cfg(target_arch = "x86_64")]
mod f16c {
    use std::arch::x86_64::{
        _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128, _mm256_cvtph_ps, _mm256_cvtps_ph,
        _mm256_loadu_ps, _mm256_storeu_ps,
    };

    use super::BLOCK;

    #[target_feature(enable = "avx,f16c")]
    pub(super) fn widen(from: &[u16; BLOCK], to: &mut [f32; BLOCK]) {
        for (from, to) in from.as_chunks::<8>().0.iter().zip(to.as_chunks_mut::<8>().0) {
            // SAFETY: eight numbers on either side; the addresses need not be aligned.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr(), _mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().cast()))) };
        }
    }

    #[target_feature(enable = "avx,f16c")]
    pub(super) fn narrow(from: &[f32; BLOCK], to: &mut [u16; BLOCK]) {
        for (from, to) in from.as_chunks::<8>().0.iter().zip(to.as_chunks_mut::<8>().0) {
            // SAFETY: as above.
            unsafe {
                let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(from.as_ptr()));
                _mm_storeu_si128(to.as_mut_ptr().cast(), halves);
            }
        }
    }
}

struct Widen<'a>(Half, &'a [u16; BLOCK], &'a mut [f32; BLOCK]);

impl Body for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(half, from, to) = self;
        match half {
            Half::F16 => {
                for at in 0..BLOCK {
                    to[at] = from_f16(from[at]);
                }
            }
            Half::BF16 => {
                for at in 0..BLOCK {
                    to[at] = f32::from_bits(u32::from(from[at]) << 16);
                }
            }
        }
    }
}

struct Narrow<'a>(Half, &'a [f32; BLOCK], &'a mut [u16; BLOCK]);

impl Body for Narrow<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(half, from, to) = self;
        match half {
            Half::F16 => {
                for at in 0..BLOCK {
                    to[at] = to_f16(from[at]);
                }
            }
            Half::BF16 => {
                for at in 0..BLOCK {
                    to[at] = to_bf16(from[at]);
                }
            }
        }
    }
}

/// The same mantissa under an exponent that is 112 less: a product with 2¹¹² is exact, of subnormal numbers too.
#[inline(always)]
fn from_f16(half: u16) -> f32 {
    const SCALE: f32 = f32::from_bits((127 + 112) << 23);
    let bits = u32::from(half & 0x7fff) << 13;
    let finite = (f32::from_bits(bits) * SCALE).to_bits();
    // Exponent 31 stands for infinity and NaN.
    let whole = if half & 0x7fff >= 0x7c00 { bits | 0x7f80_0000 } else { finite };
    f32::from_bits(whole | u32::from(half & 0x8000) << 16)
}

/// Adds half a unit in the last place that stays, less one where that place is even, and cuts the rest off.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "the upper bits are gone by then")]
fn to_f16(x: f32) -> u16 {
    // From here on no number is finite in f16, and below here they are subnormal.
    const LARGE: u32 = (127 + 16) << 23;
    const SMALL: u32 = (127 - 14) << 23;
    // Beside this number the last place of an f32 is the last of a subnormal f16, so that a sum rounds there.
    const ALIGN: f32 = 0.5;
    let bits = x.to_bits() & 0x7fff_ffff;
    let subnormal = (f32::from_bits(bits) + ALIGN).to_bits().wrapping_sub(ALIGN.to_bits());
    let rounded = bits.wrapping_sub(112 << 23).wrapping_add(0xfff + ((bits >> 13) & 1)) >> 13;
    let finite = if bits < SMALL { subnormal } else { rounded };
    let odd = if bits > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
    let half = if bits >= LARGE { odd } else { finite };
    (half | (x.to_bits() >> 16) & 0x8000) as u16
}

/// As [`to_f16`], where nothing is subnormal that was not.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "the upper bits are gone by then")]
fn to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    // A mantissa of which only the lower half is set would become infinity.
    let nan = bits >> 16 | 0x40;
    (if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { rounded }) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Kind, Tensor};

    /// Every pattern of 16 bits as libtorch reads it.
    fn every(kind: Kind) -> Vec<f32> {
        let bits: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        Vec::try_from(Tensor::from_data_size(&bits, &[1 << 16], kind).to_kind(Kind::Float)).unwrap()
    }

    fn widened(half: Half, from: &[u16]) -> Vec<f32> {
        let mut out = Vec::new();
        for block in from.chunks_exact(BLOCK) {
            let mut to = [0.0; BLOCK];
            let block = block.try_into().unwrap();
            half.widen(block, &mut to);
            let mut plain = [0.0; BLOCK];
            vectorised(Widen(half, block, &mut plain));
            let is_same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            assert!(to.iter().zip(&plain).all(is_same), "{half:?} with and without instructions of its own");
            out.extend(to);
        }
        out
    }

    fn narrowed(half: Half, from: &[f32]) -> Vec<u16> {
        let mut out = Vec::new();
        for block in from.chunks_exact(BLOCK) {
            let mut to = [0; BLOCK];
            let block = block.try_into().unwrap();
            half.narrow(block, &mut to);
            let mut plain = [0; BLOCK];
            vectorised(Narrow(half, block, &mut plain));
            let is_same = |(from, (a, b)): (&f32, (&u16, &u16))| a == b || from.is_nan();
            assert!(block.iter().zip(to.iter().zip(&plain)).all(is_same), "{half:?} with and without instructions");
            out.extend(to);
        }
        out
    }

    #[test]
    fn every_number_is_read_as_libtorch_reads_it() {
        let bits: Vec<u16> = (0..=u16::MAX).collect();
        for (half, kind) in [(Half::F16, Kind::Half), (Half::BF16, Kind::BFloat16)] {
            let (found, expected) = (widened(half, &bits), every(kind));
            for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let is_same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
                assert!(is_same, "{half:?} {at:#x}: {found} instead of {expected}");
            }
        }
    }

    #[test]
    fn every_number_and_what_lies_between_is_rounded_as_libtorch_rounds_it() {
        for (half, kind) in [(Half::F16, Kind::Half), (Half::BF16, Kind::BFloat16)] {
            let exact = every(kind);
            let next = |x: f32, by: u32| f32::from_bits(x.to_bits().wrapping_add(by));
            let unit = if kind == Kind::Half { 1 << 13 } else { 1 << 16 };
            // The number, its neighbours, the middle between it and the next, and the neighbours of that.
            for by in [0, 1, u32::MAX, unit / 2, unit / 2 - 1, unit / 2 + 1, unit - 1] {
                let values: Vec<f32> = exact.iter().map(|&x| next(x, by)).collect();
                let found = narrowed(half, &values);
                let expected = Tensor::from_slice(&values).to_kind(kind).to_kind(Kind::Float);
                let expected = Vec::<f32>::try_from(expected).unwrap();
                for ((value, found), expected) in values.iter().zip(widened(half, &found)).zip(expected) {
                    let is_same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
                    assert!(is_same, "{half:?} {value:e}: {found:e} instead of {expected:e}");
                }
            }
        }
    }
}
