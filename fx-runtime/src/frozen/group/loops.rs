//! The loops of a group on the CPU, in either dtype.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

use std::marker::PhantomData;

use super::Group;
use super::element::{Element, Real};
use crate::ffi::pointwise::rows::RowLoop;
use crate::ffi::pointwise::{BLOCK, BlockLoop, Blocks};

/// The loops of a group.
pub(super) enum Loops {
    /// None, where the crate is compiled without optimisation.
    None,
    /// Over elements.
    Blocks { f32: BlockLoop<f32>, f64: BlockLoop<f64> },
    /// Over rows.
    Rows { f32: RowLoop<f32>, f64: RowLoop<f64> },
}

impl Loops {
    /// Those of a group. What it has no use for is not compiled.
    pub(super) const fn of<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>() -> Self {
        if !G::OPTIMIZED {
            Self::None
        } else if G::REDUCTIONS == 0 {
            Self::Blocks { f32: BlockLoop::of::<Elements<G>, I, N, O>(), f64: BlockLoop::of::<Elements<G>, I, N, O>() }
        } else {
            Self::Rows { f32: RowLoop::of::<Elements<G>, I, N, O>(), f64: RowLoop::of::<Elements<G>, I, N, O>() }
        }
    }
}

/// A group over elements.
pub(super) struct Elements<G>(PhantomData<fn(G)>);

impl<G: Group<I, N, O>, T: Real, const I: usize, const N: usize, const O: usize> Blocks<T, I, N, O> for Elements<G> {
    #[inline(always)]
    fn block(inputs: [&[T; BLOCK]; I], numbers: [T; N], outputs: &mut [[T; BLOCK]; O]) {
        let numbers = elements(numbers);
        for at in 0..BLOCK {
            let mut lanes = [Element(T::ZERO); I];
            let mut input = 0;
            while input < I {
                lanes[input] = Element(inputs[input][at]);
                input += 1;
            }
            let results = G::lanes(lanes, numbers);
            let mut output = 0;
            while output < O {
                outputs[output][at] = results[output].0;
                output += 1;
            }
        }
    }
}

/// The numbers of a call, as elements.
#[inline(always)]
pub(super) fn elements<T: Real, const N: usize>(numbers: [T; N]) -> [Element<T>; N] {
    let mut elements = [Element(T::ZERO); N];
    let mut number = 0;
    while number < N {
        elements[number] = Element(numbers[number]);
        number += 1;
    }
    elements
}
