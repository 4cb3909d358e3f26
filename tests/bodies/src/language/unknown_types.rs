//! Values of types that the source does not show, as of functions and types of another crate: what is asked of them tells
//! that they are tensors, or dereference to one.

use std::sync::Arc;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};
use tch::Reduction;

/// What a macro declares, the source does not show.
macro_rules! hidden {
    () => {
        pub fn normed(xs: &Tensor) -> Tensor {
            xs / (xs.norm() + 1.0)
        }

        pub fn widest<'a>(one: &'a Tensor, other: &'a Tensor) -> &'a Tensor {
            if one.numel() > other.numel() { one } else { other }
        }

        pub enum Lent<'a> {
            Own(Tensor),
            Other(&'a Tensor),
        }

        impl ::std::ops::Deref for Lent<'_> {
            type Target = Tensor;

            fn deref(&self) -> &Tensor {
                match self {
                    Lent::Own(tensor) => tensor,
                    Lent::Other(tensor) => tensor,
                }
            }
        }

        pub trait Asked {
            fn is_empty(&self) -> bool;
        }

        impl Asked for Tensor {
            fn is_empty(&self) -> bool {
                self.numel() == 0
            }
        }
    };
}
hidden!();

/// A layer is applied to them.
#[derive(Debug, Module)]
pub struct Applied {
    fc: nn::Linear,
    norm: nn::LayerNorm,
}

#[traceable]
impl Applied {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = normed(xs).apply(&self.fc).relu();
        let zs = std::rc::Rc::new(normed(&ys));
        let ws = widest(xs, &ys);
        zs.apply(&self.norm) + ws.apply(&self.fc) + ws.apply_t(&self.norm, false)
    }
}

/// A fallible method of tch is called on them.
#[derive(Debug, Module)]
pub struct Asking {
    fc: nn::Linear,
    weights: Tensor,
    owns: bool,
}

#[traceable]
impl Asking {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, tch::TchError> {
        let weights = if self.owns { Lent::Own(self.weights.f_mul_scalar(2)?) } else { Lent::Other(&self.weights) };
        let weights = weights.f_softmax(-1, Kind::Float)?.f_unsqueeze(0)?;
        xs.apply(&self.fc).f_mul(&weights)
    }
}

/// A function in a field, in a variable of that name; numbers as tensors.
#[derive(Module)]
pub struct Weighed {
    fc: nn::Linear,
    loss: Arc<dyn Fn(&Tensor, &Tensor) -> Tensor + Send + Sync>,
    gamma: f64,
    reduction: Reduction,
}

impl std::fmt::Debug for Weighed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Weighed").finish_non_exhaustive()
    }
}

#[traceable]
impl Weighed {
    pub fn forward(&self, xs: &Tensor, target: &Tensor) -> Tensor {
        if xs.is_empty() && self.reduction == Reduction::Mean {
            return Tensor::zeros(&[] as &[i64], (Kind::Float, xs.device())).set_requires_grad(false);
        }
        let Self { ref loss, gamma, reduction, .. } = *self;
        let ys = xs.apply(&self.fc).sigmoid();
        let all = loss(&ys, target) * (-&ys + 1.0).pow(&gamma.into());
        match reduction {
            Reduction::None => all,
            Reduction::Sum => all.sum(Kind::Float),
            Reduction::Mean => all.mean(Kind::Float),
            Reduction::Other(_) => unreachable!(),
        }
    }
}

mod masks {
    use fx_runtime::Tensor;

    /// Its field is its module's alone.
    #[derive(Debug)]
    pub struct Mask {
        inner: Tensor,
    }

    impl Mask {
        pub fn of(lengths: &Tensor) -> Mask {
            Mask { inner: (lengths.relu() - 1.0) * 100.0 }
        }
    }

    impl std::ops::Deref for Mask {
        type Target = Tensor;

        fn deref(&self) -> &Tensor {
            &self.inner
        }
    }
}

/// A reference to what dereferences to a tensor by code that cannot be inlined.
#[derive(Debug, Module)]
pub struct Masked {
    fc: nn::Linear,
}

#[traceable]
impl Masked {
    pub fn forward(&self, xs: &Tensor, mask: Option<&masks::Mask>) -> Result<Tensor, tch::TchError> {
        let mut ys = xs.apply(&self.fc);
        if let Some(mask) = mask {
            let _ = ys.f_add_(mask)?;
        }
        ys.f_softmax(-1, Kind::Float)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Applied: 7 of 11);
    understood!(Asking: 4 of 13);
    understood!(Weighed: 11 of 13);
    understood!(Masked: 3 of 4);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 3] {
        [3, 1, 4].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn layers_are_applied() {
        let norm = |p: &nn::Path| nn::layer_norm(p / "norm", vec![4], Default::default());
        agree!(|p: &nn::Path| Applied { fc: linear(p), norm: norm(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn fallible_methods() {
        for owns in [false, true] {
            let make = |p: &nn::Path| Asking { fc: linear(p), weights: p.randn("weights", &[4], 0.0, 1.0), owns };
            agree!(make, cases(), |net, xs| net.forward(xs).unwrap());
        }
    }

    #[test]
    fn functions_in_fields() {
        for reduction in [Reduction::None, Reduction::Sum, Reduction::Mean] {
            let make = |p: &nn::Path| Weighed {
                fc: linear(p),
                loss: Arc::new(|ys: &Tensor, target: &Tensor| (ys - target).square()),
                gamma: 1.5,
                reduction,
            };
            agree!(make, [randn(&[3, 4]), randn(&[0, 4])], |net, xs| {
                let target = xs.cos();
                net.forward(xs, &target)
            });
        }
    }

    #[test]
    fn behind_references() {
        agree!(|p: &nn::Path| Masked { fc: linear(p) }, cases(), |net, xs| {
            let mask = masks::Mask::of(&xs.sin());
            (net.forward(xs, Some(&mask)).unwrap(), net.forward(xs, None).unwrap())
        });
    }
}
