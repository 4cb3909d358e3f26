//! Fused layers whose weights are known only at a call: ATen's operators, one after the other.

use tch::Tensor;

use super::conv::{Border, check_weight};
use super::{Activation, ConvParams};
use crate::Error;

/// `act(conv(x, weight) + bias + add)`; shapes as in [`super::Conv::pack`], `add` broadcasts.
///
/// # Errors
///
/// Shapes and parameters that contradict each other; libtorch's own.
pub fn convolution(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    params: &ConvParams,
    add: Option<&Tensor>,
    act: Activation,
) -> Result<Tensor, Error> {
    let axes = check_weight(&weight.size(), bias, params)?;
    let (params, border) = Border::split(params.expanded(axes)?);
    let is_batched = x.dim() != axes + 1;
    let batched = if is_batched { x.shallow_clone() } else { x.f_unsqueeze(0)? };
    let padded = match border {
        Some(border) => border.pad(&batched)?,
        None => batched,
    };
    let y = params.convolution(&padded, weight, bias)?;
    finish(if is_batched { y } else { y.f_squeeze_dim(0)? }, add, act)
}

/// `act(x weightᵀ + bias + add)`; shapes as in [`super::Linear::pack`], `add` broadcasts.
///
/// # Errors
///
/// Libtorch's own.
pub fn linear(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    add: Option<&Tensor>,
    act: Activation,
) -> Result<Tensor, Error> {
    finish(x.f_linear(weight, bias)?, add, act)
}

/// `act(x weight + bias + add)`; `x` and `weight` of any shapes that `matmul` takes, `bias` and `add` broadcast.
///
/// # Errors
///
/// Libtorch's own.
pub fn product(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    add: Option<&Tensor>,
    act: Activation,
) -> Result<Tensor, Error> {
    let y = finish(x.f_matmul(weight)?, bias, Activation::None)?;
    finish(y, add, act)
}

/// `y` is a fresh tensor.
fn finish(y: Tensor, add: Option<&Tensor>, act: Activation) -> Result<Tensor, Error> {
    Ok(match add {
        Some(add) => act.apply_to_sum(y, add, false)?,
        None => act.apply(y)?,
    })
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::super::oracle::{check, frame, randn};
    use super::super::{Conv, Linear};
    use super::*;
    use crate::nn::PaddingMode;
    use crate::{Backend, Freeze};

    #[test]
    fn a_convolution_is_its_packed_form() {
        let frame = frame(Freeze::new().backend(Backend::Composed));
        let mirrored = ConvParams { padding: vec![1], padding_mode: PaddingMode::Reflect, ..ConvParams::default() };
        let transposed = ConvParams { stride: vec![2], transposed: true, ..ConvParams::default() };
        for (params, weight) in [(mirrored, [6, 4, 3, 3]), (transposed, [4, 6, 3, 3])] {
            let weight = randn(&weight, Kind::Float);
            let bias = randn(&[6], Kind::Float);
            let packed = Conv::pack(&frame, &weight, Some(&bias), &params, Activation::Silu).unwrap();
            for sizes in [&[2, 4, 7, 9][..], &[4, 7, 9]] {
                let x = randn(sizes, Kind::Float);
                let y = convolution(&x, &weight, Some(&bias), &params, None, Activation::Silu).unwrap();
                check(&y, &packed.run(&x).unwrap(), "alone");
                let sum = convolution(&x, &weight, Some(&bias), &params, Some(&y), Activation::Silu).unwrap();
                check(&sum, &packed.run_add(&x, &y).unwrap(), "with a summand");
            }
        }
    }

    #[test]
    fn a_linear_layer_is_its_packed_form() {
        let (x, weight, bias) = (randn(&[2, 3], Kind::Float), randn(&[4, 3], Kind::Float), randn(&[4], Kind::Float));
        let packed = Linear::pack(&frame(Freeze::new()), &weight, Some(&bias), Activation::Relu).unwrap();
        let y = linear(&x, &weight, Some(&bias), None, Activation::Relu).unwrap();
        check(&y, &packed.run(&x).unwrap(), "alone");
        let sum = linear(&x, &weight, Some(&bias), Some(&y), Activation::Relu).unwrap();
        check(&sum, &packed.run_add(&x, &y).unwrap(), "with a summand");
    }

    #[test]
    fn a_summand_of_the_input_is_left_alone() {
        let x = randn(&[2, 3], Kind::Float);
        let before = x.copy();
        let _ = linear(&x, &randn(&[3, 3], Kind::Float), None, Some(&x), Activation::Relu).unwrap();
        assert_eq!(x, before);
    }

    #[test]
    fn contradictions_are_errors() {
        let (x, weight) = (randn(&[2, 4, 7], Kind::Float), randn(&[6, 3, 3], Kind::Float));
        assert!(convolution(&x, &weight, None, &ConvParams::default(), None, Activation::None).is_err());
        assert!(linear(&x, &weight, None, None, Activation::None).is_err());
    }
}
