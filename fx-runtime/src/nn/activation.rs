//! Activations as layers.

use tch::{TchError, Tensor};

use super::Layer;
use super::leaf::stateless;
use crate::saved::State;

macro_rules! activations {
    ($($(#[$doc:meta])* $layer:ident, $constructor:ident, |$xs:ident| $value:expr;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
            pub struct $layer;

            impl Layer for $layer {
                fn f_forward(&self, $xs: &Tensor) -> Result<Tensor, TchError> {
                    $value
                }
            }

            stateless! {
                /// Applies the activation elementwise.
                $layer, stringify!($layer)
            }

            $(#[$doc])*
            pub fn $constructor() -> $layer {
                $layer
            }
        )*
    };
}

activations! {
    /// `max(x, 0)`.
    ReLU, relu, |xs| xs.f_relu();
    /// `min(max(x, 0), 6)`.
    ReLU6, relu6, |xs| xs.f_relu6();
    /// `x · sigmoid(x)`.
    SiLU, silu, |xs| xs.f_silu();
    /// `x · relu6(x + 3) / 6`.
    HardSwish, hard_swish, |xs| xs.f_hardswish();
    /// `1 / (1 + exp(-x))`.
    Sigmoid, sigmoid, |xs| xs.f_sigmoid();
    /// The hyperbolic tangent.
    Tanh, tanh, |xs| xs.f_tanh();
}

/// How [`GELU`] computes the normal distribution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub enum GeluApproximation {
    /// Exactly, by `erf`.
    #[default]
    None,
    /// By `tanh`, as GPT-2 does.
    Tanh,
}

impl GeluApproximation {
    /// The approximation of that name; none if libtorch knows none such.
    pub(crate) fn of(name: &str) -> Option<Self> {
        [GeluApproximation::None, GeluApproximation::Tanh].into_iter().find(|known| known.as_str() == name)
    }

    /// libtorch's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            GeluApproximation::None => "none",
            GeluApproximation::Tanh => "tanh",
        }
    }
}

/// `x · Φ(x)`, Φ the normal distribution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub struct GELU {
    /// How Φ is computed.
    pub approximate: GeluApproximation,
}

impl Layer for GELU {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        xs.f_gelu(self.approximate.as_str())
    }
}

stateless! {
    /// Applies the activation elementwise.
    GELU, "GELU"
}

/// The exact [`GELU`].
pub fn gelu() -> GELU {
    GELU { approximate: GeluApproximation::None }
}

/// [`GELU`] by way of `tanh`.
pub fn gelu_tanh() -> GELU {
    GELU { approximate: GeluApproximation::Tanh }
}

/// `x` where it is positive, else `negative_slope · x`.
#[derive(Debug, Clone, Copy, PartialEq, State)]
pub struct LeakyReLU {
    /// The slope below zero.
    pub negative_slope: f64,
}

impl Default for LeakyReLU {
    fn default() -> Self {
        Self { negative_slope: 0.01 }
    }
}

impl Layer for LeakyReLU {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        // tch's `leaky_relu` knows only the default slope. Its backward is `grad` where x > 0 and `slope · grad`
        // elsewhere, so with x for `grad` it is the function itself, gradient included.
        xs.f_leaky_relu_backward(xs, self.negative_slope, false)
    }
}

stateless! {
    /// Applies the activation elementwise.
    LeakyReLU, "LeakyReLU"
}

/// A [`LeakyReLU`]; PyTorch's default slope is 0.01.
pub fn leaky_relu(negative_slope: f64) -> LeakyReLU {
    LeakyReLU { negative_slope }
}

/// `exp(x) / sum(exp(x))` along one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct Softmax {
    /// The axis; negative ones count from the end.
    pub dim: i64,
}

impl Layer for Softmax {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        xs.f_softmax(self.dim, None)
    }
}

stateless! {
    /// Applies the softmax; the dtype stays.
    Softmax, "Softmax"
}

/// A [`Softmax`] along `dim`.
pub fn softmax(dim: i64) -> Softmax {
    Softmax { dim }
}
