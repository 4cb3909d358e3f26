//! Loops over single elements.

use tch::{TchError, Tensor};

use super::super::tensor::refused;
use super::super::vector::{Body, vectorised};
use super::{Dense, Element, Output, PerTensor, in_parts, stored, zero};

/// The codes of a tensor of f32.
pub(crate) fn quantize(x: &Tensor, of: PerTensor) -> Result<Tensor, TchError> {
    mapped(x, |from, to| vectorised(Quantize { from, to, of }))
}

struct Quantize<'a> {
    from: &'a [f32],
    to: &'a mut [u8],
    of: PerTensor,
}

impl Body for Quantize<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let inverse = 1.0 / self.of.scale;
        for (x, code) in self.from.iter().zip(self.to) {
            *code = self.of.code(inverse, *x);
        }
    }
}

/// The numbers that codes stand for, f32.
pub(crate) fn dequantize(x: &Tensor, of: PerTensor) -> Result<Tensor, TchError> {
    mapped(x, |from, to| vectorised(Dequantize { from, to, of }))
}

struct Dequantize<'a> {
    from: &'a [u8],
    to: &'a mut [f32],
    of: PerTensor,
}

impl Body for Dequantize<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (code, x) in self.from.iter().zip(self.to) {
            *x = number(*code, self.of);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "eight bits")]
#[inline(always)]
fn number(code: u8, of: PerTensor) -> f32 {
    (i32::from(code) - of.zero_point) as f32 * of.scale
}

/// Each code's entry of a table.
pub(crate) fn look_up(x: &Tensor, table: &[u8; 256]) -> Result<Tensor, TchError> {
    mapped(x, |from: &[u8], to: &mut [u8]| {
        for (code, found) in from.iter().zip(to) {
            *found = table[usize::from(*code)];
        }
    })
}

/// A tensor that lies as `x` does, each part of which `work` writes from the same part of `x`.
fn mapped<A: Element, B: Element>(x: &Tensor, work: impl Fn(&[A], &mut [B]) + Sync) -> Result<Tensor, TchError> {
    let x = checked::<A>(x)?;
    let y = x.unwritten_like(B::DTYPE)?;
    // SAFETY: of this type by `checked`; to write to an input meanwhile would be a data race of the caller's.
    let (from, to) = (unsafe { x.elements::<A>() }, Output::<B>::of(&y));
    in_parts(from.len(), 1, &|range| {
        // SAFETY: the parts are disjoint, and `y` is new, of this type, and as large as `x`.
        let to = unsafe { to.part(range.clone()) };
        work(&from[range], to);
    });
    Ok(y)
}

/// How two tensors become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combination {
    Sum,
    Product,
}

/// The codes of the sum or product of two tensors of codes of the same sizes, not below zero if `relu`.
pub(crate) fn combine(
    combination: Combination,
    [a, b]: [(&Tensor, PerTensor); 2],
    result: PerTensor,
    relu: bool,
) -> Result<Tensor, TchError> {
    let (left, right) = (checked::<u8>(a.0)?, checked::<u8>(b.0)?);
    if left.facts.sizes() != right.facts.sizes() {
        return Err(refused("codes of different sizes"));
    }
    let right = right.as_lies(&left)?;
    let y = left.unwritten_like(u8::DTYPE)?;
    // SAFETY: as for `mapped`.
    let (lefts, rights, to) = unsafe { (left.elements::<u8>(), right.elements::<u8>(), Output::<u8>::of(&y)) };
    let numbers = Numbers { left: a.1, right: b.1, result, relu };
    in_parts(lefts.len(), 2, &|range| {
        // SAFETY: as for `mapped`.
        let to = unsafe { to.part(range.clone()) };
        vectorised(Combine { combination, from: [&lefts[range.clone()], &rights[range]], to, numbers });
    });
    Ok(y)
}

#[derive(Clone, Copy)]
struct Numbers {
    left: PerTensor,
    right: PerTensor,
    result: PerTensor,
    relu: bool,
}

struct Combine<'a> {
    combination: Combination,
    from: [&'a [u8]; 2],
    to: &'a mut [u8],
    numbers: Numbers,
}

impl Body for Combine<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Numbers { left, right, result, relu } = self.numbers;
        let (inverse, least) = (1.0 / result.scale, if relu { 0.0 } else { f32::NEG_INFINITY });
        let each = self.from[0].iter().zip(self.from[1]).zip(self.to);
        match self.combination {
            Combination::Sum => each.for_each(|((a, b), code)| {
                let sum = (number(*a, left) + number(*b, right)).max(least);
                *code = stored((sum * inverse).round_ties_even() + zero(result));
            }),
            Combination::Product => each.for_each(|((a, b), code)| {
                let product = (number(*a, left) * number(*b, right)).max(least);
                *code = stored((product * inverse).round_ties_even() + zero(result));
            }),
        }
    }
}

pub(super) fn checked<T: Element>(x: &Tensor) -> Result<Dense, TchError> {
    let x = Dense::new(x)?;
    if x.facts.dtype == T::DTYPE && x.facts.device.0 == 0 { Ok(x) } else { Err(refused(T::NAME)) }
}
