//! Activations that are spelled out in elementary ops.
//!
//! Sources: GELU and its tanh form, Hendrycks and Gimpel 2016; `SiLU`, Elfwing et al. 2017; hard-swish, Howard et al. 2019.

use crate::fx_pass;

fx_pass! {
    /// Turns activations spelled out in elementary ops into the op that says it.
    pub Activations {
        /// x * sigmoid(x) is SiLU.
        silu: |x| x * x.sigmoid() => x.silu(),
        /// So is x / (1 + exp(-x)).
        silu_quotient: |x| x / ((-x).exp() + 1.0) => x.silu(),
        /// 1 / (1 + exp(-x)) is the sigmoid.
        sigmoid: |x| ((-x).exp() + 1.0).reciprocal() => x.sigmoid(),
        /// x * Phi(x) by the error function is GELU: 1 / sqrt(2) as a factor or as a divisor.
        gelu: |x, c: f64| x * 0.5 * ((x * c).erf() + 1.0) => x.gelu("none") if near(c, std::f64::consts::FRAC_1_SQRT_2),
        gelu_divided: |x, c: f64| x * 0.5 * ((x / c).erf() + 1.0) => x.gelu("none") if near(c, std::f64::consts::SQRT_2),
        gelu_half_last: |x, c: f64| x * ((x * c).erf() + 1.0) * 0.5 => x.gelu("none")
            if near(c, std::f64::consts::FRAC_1_SQRT_2),
        gelu_divided_half_last: |x, c: f64| x * ((x / c).erf() + 1.0) * 0.5 => x.gelu("none")
            if near(c, std::f64::consts::SQRT_2),
        gelu_half_inside: |x, c: f64| x * (((x * c).erf() + 1.0) * 0.5) => x.gelu("none")
            if near(c, std::f64::consts::FRAC_1_SQRT_2),
        gelu_divided_half_inside: |x, c: f64| x * (((x / c).erf() + 1.0) * 0.5) => x.gelu("none")
            if near(c, std::f64::consts::SQRT_2),
        /// GELU by tanh: the argument is sqrt(2 / pi) * (x + 0.044715 * x^3).
        gelu_tanh: |x, c: f64, k: f64|
            x * 0.5 * (((x + x.pow_tensor_scalar(3) * k) * c).tanh() + 1.0) => x.gelu("tanh")
            if near(k, 0.044_715) && near(c, 0.797_884_560_802_865_4),
        gelu_tanh_products: |x, c: f64, k: f64|
            x * 0.5 * (((x + (x * x * x | x.square() * x) * k) * c).tanh() + 1.0) => x.gelu("tanh")
            if near(k, 0.044_715) && near(c, 0.797_884_560_802_865_4),
        /// x * relu6(x + 3) / 6 is hard-swish.
        hardswish: |x| x * (x + 3.0).relu6() / 6.0 => x.hardswish(),
        hardswish_inside: |x| x * ((x + 3.0).relu6() / 6.0) => x.hardswish(),
        hardswish_clamped: |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0 => x.hardswish(),
        hardswish_gate: |x| x * x.hardsigmoid() => x.hardswish(),
        /// clamp(x, 0, 6) is ReLU6, and max(x, 0) is ReLU.
        relu6: |x| x.clamp(0.0, 6.0) => x.relu6() if is_float(x),
        relu: |x| x.clamp_min(0.0) => x.relu() if is_float(x),
        /// Twice the same bound is once.
        relu_twice: |x| x.relu().relu() => x.relu(),
        relu6_twice: |x| x.relu6().relu6() => x.relu6(),
    }
}
