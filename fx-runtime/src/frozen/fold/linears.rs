//! Several linear layers on one input as one.

use tch::Tensor;

use crate::Error;

/// Weights `[out, in]` and biases `[out]` of linear layers, one below the other: the layer whose result holds theirs, one
/// beside the other along the last axis.
///
/// A layer without a bias has one of zeros where another has one; where none has, there is none.
///
/// # Errors
///
/// When the layers do not take inputs of one size.
pub fn linears(layers: &[(&Tensor, Option<&Tensor>)]) -> Result<(Tensor, Option<Tensor>), Error> {
    let _no_grad = tch::no_grad_guard();
    let mut weights = Vec::with_capacity(layers.len());
    let mut biases = Vec::with_capacity(layers.len());
    for (weight, bias) in layers {
        let (rows, _) = weight.size2()?;
        weights.push(*weight);
        biases.push(match bias {
            Some(bias) => bias.shallow_clone(),
            None => Tensor::f_zeros(rows, (weight.f_kind()?, weight.device()))?,
        });
    }
    let has_bias = layers.iter().any(|(_, bias)| bias.is_some());
    let bias = if has_bias { Some(Tensor::f_cat(&biases, 0)?) } else { None };
    Ok((Tensor::f_cat(&weights, 0)?, bias))
}
