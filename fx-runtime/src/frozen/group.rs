//! Pointwise groups: what generated code says about one element, run over tensors.
//!
//! A [`Group`] is one function over a [`PointwiseOps`]. Run over [`Element`]s it is a loop that the compiler vectorises, one pass
//! over memory for all ops together; run over whole tensors it is `ATen`'s operators one by one, and over layouts it
//! tells what those would have returned. The loop computes tensors of one floating-point dtype on the CPU, of any
//! strides and any shapes that broadcast; all else is `ATen`'s. A group with ops on rows (`rows.rs`) goes over each row as
//! often as they ask, in the first cache, where rows are contiguous; f16 and bf16 are computed with as f32.
//!
//! What a group's function comes to over each of these is a row of functions (`instances.rs`), compiled in the crate that has
//! the group; all that is done with them is compiled once, here.
//!
//! **Exactness.** Sums, products, quotients and comparisons are rounded where `ATen` rounds them, and so are bit-equal.
//! Roots are rounded correctly, which MKL's, that `ATen` uses, are not always. `exp`, `sigmoid`, `tanh` and `gelu` in f32
//! are within the bounds that their functions state; in f64 they are `ATen`'s. (`gelu` of
//! infinity is infinity here, and NaN by `ATen`.) So are shapes, strides and dtypes. f16 and bf16 are rounded once, at the
//! end, where `ATen` rounds after each operator. Sums of rows are as exact as `ffi/pointwise/rows.rs` says, and a layer
//! norm takes the mean first and the squares of what differs from it then.

mod cuda;
mod eager_tensor;
mod element;
mod instances;
mod layout;
mod loops;
mod pointwise_ops;
mod rows;
#[cfg(test)]
mod tests;

use fx_ir::ops::group::MOST_RESULTS;
use tch::Tensor;

use super::Scope;
use crate::ffi::pointwise::device::Case;
use crate::ffi::pointwise::{self, Number as _, Operand};
use crate::{Backend, Error};
pub(super) use element::Element;
use instances::Instances;
use layout::{Layout, Sources};
use loops::Loops;

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
        let results = run(const { &Instances::of::<Self, I, N, O>() }, scope.backend(), &inputs, &numbers)?;
        Ok(Results::of(&mut results.into_iter()))
    }
}

/// The tensors that a group yields.
pub trait Results<const O: usize> {
    /// From the tensors in order, of which there are `O`.
    fn of(tensors: &mut dyn Iterator<Item = Tensor>) -> Self;
}

impl Results<1> for Tensor {
    fn of(tensors: &mut dyn Iterator<Item = Tensor>) -> Self {
        tensors.next().unwrap_or_default()
    }
}

macro_rules! tuples {
    ($($count:literal: $($tensor:ident)*;)*) => {$(
        impl Results<$count> for ($(tuples!(@ $tensor),)*) {
            fn of(tensors: &mut dyn Iterator<Item = Tensor>) -> Self {
                $(let $tensor = tensors.next().unwrap_or_default();)*
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

fn run(group: &Instances, backend: Backend, inputs: &[&Tensor], numbers: &[Number]) -> Result<Vec<Tensor>, Error> {
    let looped = match backend {
        Backend::Composed => None,
        Backend::Best | Backend::Direct => group.in_one_pass(inputs, numbers),
    };
    looped.unwrap_or_else(|| Ok((group.composed)(inputs, numbers)?))
}

/// A group in one pass over memory; none where there may be something that it cannot do, or does slower.
pub(super) fn in_one_pass<G: Group<I, N, O>, const I: usize, const N: usize, const O: usize>(
    inputs: [&Tensor; I],
    numbers: &[Number; N],
) -> Option<Result<G::Results, Error>> {
    let found = const { &Instances::of::<G, I, N, O>() }.in_one_pass(&inputs, numbers)?;
    Some(found.map(|results| Results::of(&mut results.into_iter())))
}

impl Instances {
    fn in_one_pass(&self, inputs: &[&Tensor], numbers: &[Number]) -> Option<Result<Vec<Tensor>, Error>> {
        let operands: Vec<Operand<'_>> = inputs.iter().map(|tensor| Operand::of(tensor)).collect::<Option<_>>()?;
        let facts = operands.first()?.facts();
        let is_alike =
            |operand: &Operand<'_>| (operand.facts().dtype, operand.facts().device) == (facts.dtype, facts.device);
        if !operands.iter().all(is_alike) {
            return None;
        }
        if self.has_rows {
            self.row_by_row(&operands, inputs, numbers)
        } else {
            self.pointwise(&operands, inputs, numbers)
        }
    }

    /// A group without ops on rows.
    fn pointwise(
        &self,
        operands: &[Operand<'_>],
        inputs: &[&Tensor],
        numbers: &[Number],
    ) -> Option<Result<Vec<Tensor>, Error>> {
        let facts = operands.first()?.facts();
        let mut sources = [Sources::NOTHING; MOST_RESULTS];
        let sources = &mut sources[..self.results];
        (self.sources)(sources);
        // Costly functions are slow in f64.
        let is_slow = facts.dtype == f64::DTYPE && sources.iter().any(Sources::is_costly);
        let (first, is_wasteful) = match Layout::of_contiguous(operands, sources) {
            Some(first) => (first, false),
            None => self.one_layout(operands)?,
        };
        if first.elements() == 0 {
            return None;
        }
        let (sizes, strides) = (first.sizes(), first.strides());
        if facts.device.0 == 1 {
            let kernel = cuda::kernel(self, Case::of(operands, sizes, strides)?, inputs.first()?.device())?;
            return Some(kernel.run(inputs, &floats(numbers), sizes, strides));
        }
        let Loops::Blocks { f32, f64 } = &self.loops else { return None };
        if is_slow || is_wasteful {
            return None;
        }
        let looped = if facts.dtype == f64::DTYPE {
            f64.run(operands, &floats(numbers), sizes, strides)
        } else if pointwise::has_vectors() && f32::half(facts.dtype).is_ok() {
            f32.run(operands, &nearest(numbers), sizes, strides)
        } else {
            return None;
        };
        Some(looped.map_err(Error::from))
    }

    /// How all results lie, and whether an op would be wasteful; none if one lies otherwise.
    fn one_layout(&self, operands: &[Operand<'_>]) -> Option<(Layout, bool)> {
        let inputs: Vec<Layout> = operands.iter().map(Layout::of).collect();
        let results = (self.layouts)(&inputs);
        let first = *results.first()?;
        let is_alike = |result: &Layout| {
            result.is_known() && result.sizes() == first.sizes() && result.strides() == first.strides()
        };
        results.iter().all(is_alike).then(|| (first, results.iter().any(Layout::is_wasteful)))
    }
}

/// Numbers of a call as a loop in f64 and a kernel take them.
fn floats(numbers: &[Number]) -> Vec<f64> {
    numbers.iter().map(|number| number.float()).collect()
}

/// Numbers of a call as a loop in f32 takes them.
fn nearest(numbers: &[Number]) -> Vec<f32> {
    numbers.iter().map(|number| f32::nearest(number.float())).collect()
}
