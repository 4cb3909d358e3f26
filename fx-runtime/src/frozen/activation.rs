//! Activations that a kernel may apply to its result.

use tch::{TchError, Tensor};

use super::State;
use crate::ffi::PostOp;
use crate::frame::non_finite::NonFinite;
use crate::nn::{self, GeluApproximation, Layer as _};

/// The activations without parameters are those of the op table.
macro_rules! activations {
    ($($id:ident = row($op:literal, $methods:expr, $class:ident, $doc:literal) $(.$column:ident($($value:tt)*))*
        $(: $name:ident($x:ident $(, $param:ident: $kind:ident)*) = $body:expr, by $method:ident
            $(=> $act:ident $in_place:ident)?)?;)*) => {
        /// An activation, as PyTorch defines it.
        #[derive(Debug, Clone, Copy, PartialEq, Default, State)]
        pub enum Activation {
            /// The value itself.
            #[default]
            None,
            $($($(
                #[doc = $doc]
                $act,
            )?)?)*
            /// `x · Φ(x)` with the error function.
            Gelu,
            /// `x · Φ(x)` in the tanh approximation.
            GeluTanh,
            /// `x` where positive, else `x` times the slope.
            LeakyRelu(f64),
            /// At least the first, at most the second.
            Clamp(f64, f64),
        }

        impl Activation {
            /// The activation of that name with these numbers; none if there is none such.
            pub(crate) fn named(name: &str, numbers: &[f64]) -> Option<Self> {
                match (name, numbers) {
                    ("None", []) => Some(Self::None),
                    $($($((stringify!($act), []) => Some(Self::$act),)?)?)*
                    ("Gelu", []) => Some(Self::Gelu),
                    ("GeluTanh", []) => Some(Self::GeluTanh),
                    ("LeakyRelu", &[slope]) => Some(Self::LeakyRelu(slope)),
                    ("Clamp", &[low, high]) => Some(Self::Clamp(low, high)),
                    _ => None,
                }
            }

            /// Applies the activation to a tensor that nobody else holds; works in place.
            pub(crate) fn apply(self, mut x: Tensor) -> Result<Tensor, TchError> {
                match self {
                    Self::None => Ok(x),
                    $($($(Self::$act => x.$in_place(),)?)?)*
                    Self::Gelu => x.f_gelu_(GeluApproximation::None.as_str()),
                    Self::GeluTanh => x.f_gelu_(GeluApproximation::Tanh.as_str()),
                    Self::LeakyRelu(slope) => nn::leaky_relu(slope).f_forward(&x),
                    Self::Clamp(low, high) => x.f_clamp_(low, high),
                }
            }
        }

        #[cfg(test)]
        pub(crate) const EVERY_ACTIVATION: &[Activation] = &[
            Activation::None,
            $($($(Activation::$act,)?)?)*
            Activation::Gelu,
            Activation::GeluTanh,
            Activation::LeakyRelu(0.1),
            Activation::LeakyRelu(0.0),
            Activation::Clamp(-0.25, 0.5),
            Activation::Clamp(0.5, -0.25),
        ];
    };
}

fx_ir::op_table!(activations);

impl Activation {
    /// Applies the activation to `x + other`, in place where `other` has the shape and dtype of `x`, which nobody else
    /// holds.
    pub(crate) fn apply_to_sum(self, mut x: Tensor, other: &Tensor, same: bool) -> Result<Tensor, TchError> {
        self.apply(if same { x.f_add_(other)? } else { x.f_add(other)? })
    }

    /// The activation in oneDNN's words; none where oneDNN means something else.
    pub(crate) fn post_op(self) -> Option<PostOp> {
        Some(match self {
            Self::None => PostOp::None,
            Self::Relu => PostOp::Relu,
            Self::Relu6 => PostOp::Clip(0.0, 6.0),
            Self::HardSwish => PostOp::HardSwish,
            Self::Silu => PostOp::Swish,
            Self::Sigmoid => PostOp::Logistic,
            Self::Tanh => PostOp::Tanh,
            Self::Gelu => PostOp::Gelu,
            Self::GeluTanh => PostOp::GeluTanh,
            Self::LeakyRelu(slope) => PostOp::LeakyRelu(slope),
            // With crossed bounds PyTorch answers the upper one.
            Self::Clamp(low, high) if low <= high => PostOp::Clip(low, high),
            _ => return None,
        })
    }

    /// What a kernel of oneDNN applies, and what is left to be applied to its result: all in the kernel where it may be
    /// fused and oneDNN has it.
    pub(crate) fn fused_if(self, may_fuse: bool) -> (PostOp, Self) {
        match self.post_op() {
            Some(post) if may_fuse => (post, Self::None),
            _ => (PostOp::None, self),
        }
    }

    /// Whether a fused kernel may apply it: not where it would make something else than `ATen` of what is not finite.
    #[inline]
    pub(crate) fn may_fuse(self, non_finite: &NonFinite) -> bool {
        !(non_finite.is_set() && self.differs_on_non_finite())
    }

    /// Whether fused kernels turn NaN into a number with it, or an infinity into something else than `ATen` does.
    fn differs_on_non_finite(self) -> bool {
        // A slope of zero makes oneDNN take its relu.
        matches!(self, Self::Relu | Self::Relu6 | Self::Clamp(..) | Self::Gelu | Self::GeluTanh)
            || self == Self::LeakyRelu(0.0)
    }
}

macro_rules! from_layers {
    ($($layer:ident => $act:ident),* $(,)?) => {
        $(
            impl From<&nn::$layer> for Activation {
                fn from(_: &nn::$layer) -> Self {
                    Self::$act
                }
            }
        )*
    };
}

from_layers! {
    ReLU => Relu,
    ReLU6 => Relu6,
    HardSwish => HardSwish,
    SiLU => Silu,
    Sigmoid => Sigmoid,
    Tanh => Tanh,
    Identity => None,
}

impl From<GeluApproximation> for Activation {
    fn from(approximation: GeluApproximation) -> Self {
        match approximation {
            GeluApproximation::None => Self::Gelu,
            GeluApproximation::Tanh => Self::GeluTanh,
        }
    }
}

impl From<&nn::GELU> for Activation {
    fn from(layer: &nn::GELU) -> Self {
        layer.approximate.into()
    }
}

impl From<&nn::LeakyReLU> for Activation {
    fn from(layer: &nn::LeakyReLU) -> Self {
        Self::LeakyRelu(layer.negative_slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values by hand, at -2, -0.5, 0, 1 and 8.
    #[test]
    fn agrees_with_the_definitions() {
        let xs = [-2.0f64, -0.5, 0.0, 1.0, 8.0];
        let relu6 = |x: f64| x.clamp(0.0, 6.0);
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let tanh_gelu = |x: f64| 0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x.powi(3))).tanh());
        let cases: [(Activation, &dyn Fn(f64) -> f64); 11] = [
            (Activation::None, &|x| x),
            (Activation::Relu, &|x| x.max(0.0)),
            (Activation::Relu6, &relu6),
            (Activation::HardSwish, &|x| x * relu6(x + 3.0) / 6.0),
            (Activation::Silu, &|x| x * sigmoid(x)),
            (Activation::Mish, &|x| x * x.exp().ln_1p().tanh()),
            (Activation::Sigmoid, &sigmoid),
            (Activation::Tanh, &f64::tanh),
            (Activation::GeluTanh, &tanh_gelu),
            (Activation::LeakyRelu(0.25), &|x| if x > 0.0 { x } else { 0.25 * x }),
            (Activation::Clamp(-1.0, 2.0), &|x| x.clamp(-1.0, 2.0)),
        ];
        for (act, expected) in cases {
            let ys = Vec::<f64>::try_from(act.apply(Tensor::from_slice(&xs)).unwrap()).unwrap();
            for (x, y) in xs.iter().zip(ys) {
                assert!((expected(*x) - y).abs() < 1e-12, "{act:?}({x}) is {y}, not {}", expected(*x));
            }
        }
    }

    /// A layer's own formula is the oracle of the activation that is fused for it.
    #[test]
    fn layers_are_their_activations() {
        fn check<L: nn::Layer>(layer: &L)
        where
            for<'a> Activation: From<&'a L>,
        {
            let x = Tensor::from_slice(&[-4.0f64, -2.0, -0.5, 0.0, 0.5, 8.0]);
            let act = Activation::from(layer);
            let (found, expected) = (act.apply(x.copy()).unwrap(), layer.f_forward(&x).unwrap());
            assert!(found.allclose(&expected, 1e-12, 1e-12, false), "{act:?} for {layer:?}", layer = layer.type_name());
        }
        check(&nn::relu());
        check(&nn::relu6());
        check(&nn::hard_swish());
        check(&nn::silu());
        check(&nn::sigmoid());
        check(&nn::tanh());
        check(&nn::identity());
        check(&nn::gelu());
        check(&nn::gelu_tanh());
        check(&nn::leaky_relu(0.3));
        assert_eq!(Activation::from(nn::gelu_tanh().approximate), Activation::GeluTanh);
    }

    #[test]
    fn nan_stays_nan() {
        for &act in EVERY_ACTIVATION {
            let y = act.apply(Tensor::from_slice(&[f32::NAN])).unwrap();
            assert_eq!(y.isnan().all().int64_value(&[]), 1, "{act:?}");
        }
    }
}
