//! Which inputs a result is made of: known when a group is compiled, so that nothing is left of it in a call.

#![allow(clippy::inline_always, reason = "what is known when a group is compiled is to be no work in a call")]

use tch::Kind;

/// The inputs that an element is made of, and those that a costly function was applied to. A bit stands for an input.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Sources {
    inputs: u64,
    costly: u64,
    /// False where this says too little: after ops on rows, and where costly functions were applied to different inputs.
    is_clear: bool,
}

impl Sources {
    /// Of no input, until it is known.
    pub(in super::super) const NOTHING: Self = Self { inputs: 0, costly: 0, is_clear: false };

    /// Of the inputs, in order.
    #[inline(always)]
    pub(in super::super) fn of_inputs<const I: usize>() -> [Self; I] {
        let mut all = [Self { inputs: 1, costly: 0, is_clear: I <= 64 }; I];
        let mut input = 1;
        while input < I {
            all[input].inputs = 1_u64.wrapping_shl(u32::try_from(input).unwrap_or(0));
            input += 1;
        }
        all
    }

    /// Whether it is made of all of so many inputs, and clear.
    pub(super) fn is_all(&self, inputs: usize) -> bool {
        self.is_clear && self.inputs.count_ones() as usize == inputs
    }

    /// Whether a costly function is applied to every element.
    pub(in super::super) fn is_costly(&self) -> bool {
        self.costly != 0
    }

    /// May a costly function be applied to an element of a smaller tensor again and again? `has_all` says of each input
    /// whether it has all elements.
    pub(super) fn is_wasteful(&self, has_all: impl Iterator<Item = bool>) -> bool {
        let whole = has_all.enumerate().fold(0, |whole, (input, has_all)| whole | u64::from(has_all) << input);
        self.is_costly() && self.costly & whole == 0
    }

    #[inline(always)]
    pub(super) fn unary(self) -> Self {
        self
    }

    #[inline(always)]
    pub(super) fn scaled(self) -> Self {
        self
    }

    #[inline(always)]
    pub(super) fn costly(self) -> Self {
        // One that was applied to fewer inputs before is the one that may be wasteful.
        if self.is_costly() { self } else { Self { costly: self.inputs, ..self } }
    }

    #[inline(always)]
    pub(super) fn binary(self, other: Self) -> Self {
        let is_one = self.costly == other.costly || self.costly == 0 || other.costly == 0;
        Self {
            inputs: self.inputs | other.inputs,
            costly: if self.is_costly() { self.costly } else { other.costly },
            is_clear: self.is_clear && other.is_clear && is_one,
        }
    }

    #[inline(always)]
    pub(super) fn reduced(self, _: Option<Kind>) -> Self {
        Self { is_clear: false, ..self }
    }

    #[inline(always)]
    pub(super) fn normal(self, _: Option<Kind>) -> Self {
        Self { is_clear: false, ..self }
    }

    #[inline(always)]
    pub(super) fn affine(self, _: Option<Self>) -> Self {
        self
    }
}
