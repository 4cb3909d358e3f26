//! What follows a product on a GPU: bias, addition and activation in one pass over memory, by the kernels of groups.
//!
//! `ATen` takes a pass for each. Unlike the fused kernels of cuDNN and cuBLASLt these keep NaN.

#![allow(clippy::inline_always, reason = "as in a group that is generated")]

use std::marker::PhantomData;

use tch::Tensor;

use super::Activation;
use super::group::{Group, Number, PointwiseOps, in_one_pass};
use crate::Error;
use crate::nn::GeluApproximation;

/// `act(y + bias + other)`, of which `bias` and `other` broadcast to `y`, which nobody else holds.
///
/// # Errors
///
/// What libtorch reports.
pub(super) fn after_product(
    y: Tensor,
    bias: Option<&Tensor>,
    other: Option<&Tensor>,
    act: Activation,
) -> Result<Tensor, Error> {
    let (first, second) = match (bias, other) {
        (None, None) => return Ok(act.apply(y)?),
        (Some(one), None) | (None, Some(one)) => (one, None),
        (Some(bias), Some(other)) => (bias, Some(other)),
    };
    if act == Activation::None && second.is_none() {
        return Ok(y.f_add(first)?);
    }
    if let Some(found) = by_act(&y, first, second, act) {
        return found;
    }
    let sum = y.f_add(first)?;
    Ok(act.apply(match second {
        Some(second) => sum.f_add(second)?,
        None => sum,
    })?)
}

/// An activation of one element, whose numbers come with the call.
trait Act: 'static {
    fn of<L: PointwiseOps>(x: L, numbers: [L::Number; 2]) -> L;
}

/// `act(y + x)`.
struct Sum<A>(PhantomData<fn(A)>);
/// `act(y + x + z)`.
struct Sums<A>(PhantomData<fn(A)>);

impl<A: Act> Group<2, 2, 1> for Sum<A> {
    const OPTIMIZED: bool = true;
    type Results = Tensor;

    #[inline(always)]
    fn lanes<L: PointwiseOps>([y, x]: [L; 2], numbers: [L::Number; 2]) -> [L; 1] {
        [A::of(y + x, numbers)]
    }
}

impl<A: Act> Group<3, 2, 1> for Sums<A> {
    const OPTIMIZED: bool = true;
    type Results = Tensor;

    #[inline(always)]
    fn lanes<L: PointwiseOps>([y, x, z]: [L; 3], numbers: [L::Number; 2]) -> [L; 1] {
        [A::of(y + x + z, numbers)]
    }
}

/// By the kernel of this activation; none where groups have no kernel for the tensors.
fn run<A: Act>(y: &Tensor, x: &Tensor, z: Option<&Tensor>, numbers: [f64; 2]) -> Option<Result<Tensor, Error>> {
    let numbers = numbers.map(Number::Float);
    match z {
        Some(z) => in_one_pass::<Sums<A>, 3, 2, 1>([y, x, z], &numbers),
        None => in_one_pass::<Sum<A>, 2, 2, 1>([y, x], &numbers),
    }
}

macro_rules! acts {
    ($($name:ident = |$x:ident, $numbers:pat_param| $body:expr;)*) => {$(
        struct $name;

        impl Act for $name {
            #[inline(always)]
            fn of<L: PointwiseOps>($x: L, $numbers: [L::Number; 2]) -> L {
                $body
            }
        }
    )*};
}

acts! {
    Same = |x, _| x;
    Gelu = |x, _| x.gelu(const { GeluApproximation::None.as_str() });
    GeluTanh = |x, _| x.gelu(const { GeluApproximation::Tanh.as_str() });
    // Neither part of a NaN is a number, and of an infinity one is zero.
    LeakyRelu = |x, [slope, _]| x.clone().clamp_min(0.0) + x.clamp_max(0.0) * slope;
    Clamp = |x, [low, high]| x.clamp(low, high);
}

/// Those without parameters by their formulas.
macro_rules! by_formulas {
    ($($id:ident = row($($row:tt)*) $(.$column:ident($($value:tt)*))*
        $(: $name:ident($x:ident $(, $param:ident: $kind:ident)*) = $body:expr, by $method:ident
            $(=> $act:ident $in_place:ident)?)?;)*) => {
        $($(acts! { $($act = |x, _| PointwiseOps::$name(x);)? })?)*

        fn by_act(
            y: &Tensor,
            x: &Tensor,
            z: Option<&Tensor>,
            act: Activation,
        ) -> Option<Result<Tensor, Error>> {
            match act {
                Activation::None => run::<Same>(y, x, z, [0.0; 2]),
                $($($(Activation::$act => run::<$act>(y, x, z, [0.0; 2]),)?)?)*
                Activation::Gelu => run::<Gelu>(y, x, z, [0.0; 2]),
                Activation::GeluTanh => run::<GeluTanh>(y, x, z, [0.0; 2]),
                Activation::LeakyRelu(slope) => run::<LeakyRelu>(y, x, z, [slope, 0.0]),
                Activation::Clamp(low, high) => run::<Clamp>(y, x, z, [low, high]),
            }
        }
    };
}

fx_ir::op_table!(by_formulas);

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;
    use crate::frozen::activation::EVERY_ACTIVATION;

    /// On the CPU, by the loops of the same groups.
    #[test]
    fn is_what_aten_computes_step_by_step() {
        let number = |shape: &[i64]| Tensor::randn(shape, (Kind::Float, Device::Cpu)) * 3.0;
        let (bias, other) = (number(&[5, 1, 1]), number(&[2, 5, 4, 6]));
        for &act in EVERY_ACTIVATION {
            for (bias, other) in [(Some(&bias), None), (None, Some(&other)), (Some(&bias), Some(&other)), (None, None)]
            {
                let y = number(&[2, 5, 4, 6]);
                let sum = [bias, other].into_iter().flatten().fold(y.copy(), |sum, added| sum + added);
                let (found, wanted) = (after_product(y, bias, other, act).unwrap(), act.apply(sum).unwrap());
                assert!(found.allclose(&wanted, 1e-6, 1e-6, true), "{act:?}");
                assert_eq!(found.size(), wanted.size());
            }
        }
    }
}
