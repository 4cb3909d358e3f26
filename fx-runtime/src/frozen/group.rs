//! Pointwise groups: what generated code says about one element, run over tensors.
//!
//! A [`Group`] is one function over a [`PointwiseOps`]. Run over [`Element`]s it is a loop that the compiler vectorises, one pass
//! over memory for all ops together; run over whole tensors it is `ATen`'s operators one by one, and over layouts it
//! tells what those would have returned. The loop computes tensors of one floating-point dtype on the CPU, of any
//! strides and any shapes that broadcast; all else is `ATen`'s. A group with ops on rows (`rows.rs`) goes over each row as
//! often as they ask, in the first cache, where rows are contiguous; f16 and bf16 are computed with as f32.
//!
//! **Exactness.** Sums, products, quotients and comparisons are rounded where `ATen` rounds them, and so are bit-equal.
//! Roots are rounded correctly, which MKL's, that `ATen` uses, are not always. `exp`, `sigmoid`, `tanh` and `gelu` in f32
//! are within the bounds that their functions state; in f64 they are `ATen`'s. (`gelu` of
//! infinity is infinity here, and NaN by `ATen`.) So are shapes, strides and dtypes. f16 and bf16 are rounded once, at the
//! end, where `ATen` rounds after each operator. Sums of rows are as exact as `ffi/pointwise/rows.rs` says, and a layer
//! norm takes the mean first and the squares of what differs from it then.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]

mod cuda;
mod eager_tensor;
mod element;
mod layout;
mod pointwise_ops;
mod rows;
#[cfg(test)]
mod tests;

use tch::{TchError, Tensor};

use super::Scope;
use crate::ffi::pointwise::device::Case;
use crate::ffi::pointwise::{self, BLOCK, Blocks, Number as _, Operand};
use crate::{Backend, Error};
use eager_tensor::EagerTensor;
pub(super) use element::Element;
use element::Real;
use layout::{AnyNumber, Layout, Sources};

pub(crate) use cuda::uncompiled;
pub use eager_tensor::Number;
pub use pointwise_ops::{Arithmetic, PointwiseOps};

/// A computation on `I` tensors and `N` numbers that yields `O` tensors, element by element.
pub trait Group<const I: usize, const N: usize, const O: usize>: Sized + 'static {
    /// Whether the crate of this group is compiled with optimisation. If not, its loops would be many times slower than
    /// `ATen`'s operators, which then run instead.
    const OPTIMIZED: bool;

    /// How many sums and maxima of rows it asks for, at most 4: one for `sum`, `mean`, `amax` and `rms_norm`, two for
    /// `softmax`, `log_softmax` and `layer_norm`.
    const REDUCTIONS: usize = 0;

    /// A tensor, or a tuple of them.
    type Results: Results<O>;

    /// The computation. To be `#[inline(always)]`.
    fn lanes<L: PointwiseOps>(inputs: [L; I], numbers: [L::Number; N]) -> [L; O];

    /// Runs it over tensors that broadcast with each other.
    ///
    /// # Errors
    ///
    /// Libtorch's own: shapes that do not broadcast, above all.
    fn run(scope: &Scope<'_>, inputs: [&Tensor; I], numbers: [Number; N]) -> Result<Self::Results, Error> {
        let looped = match scope.backend() {
            Backend::Composed => None,
            Backend::Best | Backend::Direct => in_one_pass::<Self, I, N, O>(inputs, &numbers),
        };
        let results = looped.unwrap_or_else(|| Ok(composed::<Self, I, N, O>(inputs, numbers)?))?;
        Ok(Results::of(results))
    }
}

/// The tensors that a group yields.
pub trait Results<const O: usize> {
    /// From the tensors in order.
    fn of(tensors: [Tensor; O]) -> Self;
}

impl Results<1> for Tensor {
    fn of([tensor]: [Tensor; 1]) -> Self {
        tensor
    }
}

macro_rules! tuples {
    ($($count:literal: $($tensor:ident)*;)*) => {$(
        impl Results<$count> for ($(tuples!(@ $tensor),)*) {
            fn of([$($tensor),*]: [Tensor; $count]) -> Self {
                ($($tensor,)*)
            }
        }
    )*};
    (@ $tensor:ident) => { Tensor };
}

tuples! {
    2: a b;
    3: a b c;
    4: a b c d;
}

/// By `ATen`'s operators.
fn composed<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
    inputs: [&Tensor; I],
    numbers: [Number; N],
) -> Result<[Tensor; O], TchError> {
    let inputs = inputs.map(|tensor| EagerTensor(Ok(tensor.shallow_clone())));
    let mut error = None;
    let results = G::lanes(inputs, numbers).map(|result| {
        result.0.unwrap_or_else(|wrong| {
            error.get_or_insert(wrong);
            Tensor::new()
        })
    });
    error.map_or(Ok(results), Err)
}

/// In one pass over memory; none where there may be something that it cannot do, or does slower.
pub(super) fn in_one_pass<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
    inputs: [&Tensor; I],
    numbers: &[Number; N],
) -> Option<Result<[Tensor; O], Error>> {
    let mut operands = [Operand::NOTHING; I];
    for (operand, tensor) in operands.iter_mut().zip(inputs) {
        *operand = Operand::of(tensor)?;
    }
    let facts = operands.first()?.facts();
    let is_alike =
        |operand: &Operand<'_>| (operand.facts().dtype, operand.facts().device) == (facts.dtype, facts.device);
    if !operands.iter().all(is_alike) {
        return None;
    }
    // The code of the other kind is not compiled.
    if const { G::REDUCTIONS > 0 } {
        return rows::in_one_go::<G, I, N, O>(&operands, inputs, numbers);
    }
    element_by_element::<G, I, N, O>(&operands, inputs, numbers)
}

/// The same for a group without ops on rows.
fn element_by_element<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
    operands: &[Operand<'_>; I],
    inputs: [&Tensor; I],
    numbers: &[Number; N],
) -> Option<Result<[Tensor; O], Error>> {
    let facts = operands.first()?.facts();
    // Costly functions are slow in f64.
    let sources = G::lanes(Sources::of_inputs::<I>(), [AnyNumber; N]);
    let is_slow = facts.dtype == f64::DTYPE && sources.iter().any(Sources::is_costly);
    let (first, is_wasteful) = match Layout::of_contiguous(operands, &sources) {
        Some(first) => (first, false),
        None => one_layout::<G, I, N, O>(operands)?,
    };
    if first.elements() == 0 {
        return None;
    }
    let (sizes, strides) = (first.sizes(), first.strides());
    if facts.device.0 == 1 {
        let kernel = cuda::kernel::<G, I, N, O>(Case::of(operands, sizes, strides)?, inputs.first()?.device())?;
        return Some(kernel.run(inputs, &numbers.map(Number::float), sizes, strides));
    }
    if !G::OPTIMIZED || is_slow || is_wasteful {
        return None;
    }
    let looped = if facts.dtype == f64::DTYPE {
        pointwise::run(&Numbers::<G, f64, N>::new(numbers), operands, sizes, strides)
    } else if pointwise::has_vectors() && f32::half(facts.dtype).is_ok() {
        pointwise::run(&Numbers::<G, f32, N>::new(numbers), operands, sizes, strides)
    } else {
        return None;
    };
    Some(looped.map_err(Error::from))
}

/// How all results lie, and whether an op would be wasteful; none if one lies otherwise.
fn one_layout<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
    operands: &[Operand<'_>; I],
) -> Option<(Layout, bool)> {
    let results = G::lanes(operands.map(|operand| Layout::of(&operand)), [AnyNumber; N]);
    let first = *results.first()?;
    let is_alike =
        |result: &Layout| result.is_known() && result.sizes() == first.sizes() && result.strides() == first.strides();
    results.iter().all(is_alike).then(|| (first, results.iter().any(Layout::is_wasteful)))
}

/// A group with its numbers.
struct Numbers<G, T, const N: usize> {
    numbers: [Element<T>; N],
    group: std::marker::PhantomData<fn(G)>,
}

impl<G, T: Real, const N: usize> Numbers<G, T, N> {
    fn new(numbers: &[Number; N]) -> Self {
        Self { numbers: numbers.map(|number| Element::from(number.float())), group: std::marker::PhantomData }
    }
}

impl<G: Group<I, N, O>, T: Real, const I: usize, const N: usize, const O: usize> Blocks<T, I, O> for Numbers<G, T, N> {
    #[inline(always)]
    fn block(&self, inputs: [&[T; BLOCK]; I], outputs: &mut [[T; BLOCK]; O]) {
        for at in 0..BLOCK {
            let mut lanes = [Element(T::of(0.0)); I];
            let mut input = 0;
            while input < I {
                lanes[input] = Element(inputs[input][at]);
                input += 1;
            }
            let results = G::lanes(lanes, self.numbers);
            let mut output = 0;
            while output < O {
                outputs[output][at] = results[output].0;
                output += 1;
            }
        }
    }
}
