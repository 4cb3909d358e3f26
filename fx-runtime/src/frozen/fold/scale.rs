//! A factor beside a convolution or linear layer as part of its weights.
//!
//! Both are linear in input and weight, zero padding included: `s · (w · x + b) = (s · w) · x + s · b` and
//! `w · (s · x) + b = (s · w) · x + b`. Computed in f64 and cast to the weight's dtype once.

use tch::{Kind, Tensor};

use crate::Error;

/// Weight and bias of a layer whose result is multiplied by `factor`.
pub fn scale_after(weight: &Tensor, bias: Option<&Tensor>, factor: f64) -> Result<(Tensor, Option<Tensor>), Error> {
    let bias = bias.map(|bias| times(bias, factor)).transpose()?;
    Ok((times(weight, factor)?, bias))
}

/// The weight of a layer whose input is multiplied by `factor`; its bias stays.
pub fn scale_before(weight: &Tensor, factor: f64) -> Result<Tensor, Error> {
    times(weight, factor)
}

fn times(tensor: &Tensor, factor: f64) -> Result<Tensor, Error> {
    let _no_grad = tch::no_grad_guard();
    Ok(tensor.f_to_kind(Kind::Double)?.f_mul_scalar(factor)?.f_to_kind(tensor.f_kind()?)?)
}
