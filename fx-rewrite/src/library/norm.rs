//! Normalisations that are spelled out.
//!
//! Sources: layer normalisation, Ba et al. 2016; root mean square normalisation, Zhang and Sennrich 2019. Squares have
//! their canonical form already ([`Arithmetic`](super::Arithmetic)). A scale or shift behind them stays what it is: the
//! sizes of a weight are not known at build time, so a broadcast cannot be told from a scale for each feature.

use fx_ir::Arg;

use crate::fx_pass;
use crate::rewrite::Value;

/// Returns whether the list is the last axis alone.
fn is_last(axes: Value<'_>) -> bool {
    match axes.arg() {
        Arg::Int(one) => *one == -1,
        Arg::List(all) => all[..] == [Arg::Int(-1)],
        _ => false,
    }
}

fx_pass! {
    /// Turns normalisations spelled out in elementary ops into the op that says it.
    pub Norms {
        /// (x - mean(x)) * rsqrt(mean((x - mean(x))^2) + eps) over the last axis.
        layer_norm: |x, d, eps: f64| {
            let c = x - x.mean_dim(d, keepdim = true);
            c * ((c.square() | c * c | c.pow_tensor_scalar(2)).mean_dim(d, keepdim = true) + eps).rsqrt()
        } => x.layer_norm(rust!(vec![x.size()[x.dim() - 1]]; Vec<i64>), None, None, eps, false)
            if is_last(d) && is_float(x),
        layer_norm_root: |x, d, eps: f64| {
            let c = x - x.mean_dim(d, keepdim = true);
            c / ((c.square() | c * c | c.pow_tensor_scalar(2)).mean_dim(d, keepdim = true) + eps).sqrt()
        } => x.layer_norm(rust!(vec![x.size()[x.dim() - 1]]; Vec<i64>), None, None, eps, false)
            if is_last(d) && is_float(x),
        /// x * rsqrt(mean(x^2) + eps) over the last axis.
        rms_norm: |x, d, eps: f64|
            x * ((x.square() | x * x | x.pow_tensor_scalar(2)).mean_dim(d, keepdim = true) + eps).rsqrt()
            => x.rms_norm(rust!(vec![x.size()[x.dim() - 1]]; Vec<i64>), None, eps)
            if is_last(d) && is_float(x),
        rms_norm_root: |x, d, eps: f64|
            x / ((x.square() | x * x | x.pow_tensor_scalar(2)).mean_dim(d, keepdim = true) + eps).sqrt()
            => x.rms_norm(rust!(vec![x.size()[x.dim() - 1]]; Vec<i64>), None, eps)
            if is_last(d) && is_float(x),
        /// The same with the mean in f32 whatever x is, which makes the result at least that.
        rms_norm_wide: |x, d, eps: f64|
            x * ((x.square() | x * x).mean_dim(d, keepdim = true, dtype = Kind::Float) + eps).rsqrt() => {
            let wide = rust!(x.f_to_kind(::fx_runtime::frozen::at_least_float(x.kind()))?);
            wide.rms_norm(rust!(vec![x.size()[x.dim() - 1]]; Vec<i64>), None, eps)
        } if is_last(d) && is_float(x),
    }
}
