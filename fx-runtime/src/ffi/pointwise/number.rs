//! The types of numbers that passes compute with.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

use super::BLOCK;
use super::half::Half;

/// A type of numbers that is computed with.
pub(crate) trait Number: Copy + Send + Sync + PartialOrd + std::ops::Add<Output = Self> + 'static {
    /// As `c10::ScalarType` counts.
    const DTYPE: i32;
    /// Zero.
    const ZERO: Self;
    /// Less than any other, or as little.
    const LOWEST: Self;

    /// How elements of a dtype are read, if not as they are; an error if not at all.
    fn half(dtype: i32) -> Result<Option<Half>, ()>;
    /// The elements of two bytes as numbers.
    fn widen(half: Half, from: &[u16; BLOCK]) -> [Self; BLOCK];
    /// The numbers as elements of two bytes.
    fn narrow(half: Half, from: &[Self; BLOCK]) -> [u16; BLOCK];
    /// The number itself.
    fn wide(self) -> f64;
    /// The nearest number.
    fn nearest(number: f64) -> Self;
}

impl Number for f32 {
    const DTYPE: i32 = 6;
    const ZERO: Self = 0.0;
    const LOWEST: Self = f32::NEG_INFINITY;

    fn half(dtype: i32) -> Result<Option<Half>, ()> {
        if dtype == Self::DTYPE { Ok(None) } else { Half::of(dtype).map(Some).ok_or(()) }
    }
    fn widen(half: Half, from: &[u16; BLOCK]) -> [Self; BLOCK] {
        let mut to = [0.0; BLOCK];
        half.widen(from, &mut to);
        to
    }
    fn narrow(half: Half, from: &[Self; BLOCK]) -> [u16; BLOCK] {
        let mut to = [0; BLOCK];
        half.narrow(from, &mut to);
        to
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self.into()
    }
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "as libtorch casts a number to a tensor's dtype")]
    fn nearest(number: f64) -> Self {
        number as f32
    }
}

impl Number for f64 {
    const DTYPE: i32 = 7;
    const ZERO: Self = 0.0;
    const LOWEST: Self = f64::NEG_INFINITY;

    fn half(dtype: i32) -> Result<Option<Half>, ()> {
        if dtype == Self::DTYPE { Ok(None) } else { Err(()) }
    }
    // Never asked, see `half`.
    fn widen(_: Half, _: &[u16; BLOCK]) -> [Self; BLOCK] {
        [f64::NAN; BLOCK]
    }
    fn narrow(_: Half, _: &[Self; BLOCK]) -> [u16; BLOCK] {
        [0; BLOCK]
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn nearest(number: f64) -> Self {
        number
    }
}
