//! Several spellings of the same thing: paths, `use` lines, functions inside of bodies, methods of operators.

use fx_runtime::{Module, Tensor, nn, traceable};

/// Operators by the methods of their traits.
#[derive(Debug, Module)]
pub struct ByMethods {
    fc: nn::Linear,
}

mod operators {
    use std::ops::{Add, Mul, Neg, Sub};

    use fx_runtime::{Tensor, traceable};

    #[traceable]
    impl super::ByMethods {
        pub fn forward(&self, xs: &Tensor) -> Tensor {
            let gate = xs.apply(&self.fc).sigmoid();
            let kept = xs.relu().mul(&gate);
            let passed = xs.mul(1 - gate);
            kept.add(&passed).sub(xs).neg().relu()
        }
    }
}

/// `Option::Some` and `Option::None` with their type.
#[derive(Debug, Module)]
pub struct WithType {
    w: Tensor,
    b: Tensor,
}

#[traceable]
impl WithType {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let end = Option::Some(xs.size()[0] - 1);
        let ys = xs.linear(&self.w, Option::Some(&self.b)).relu();
        ys.slice(0, Option::None, end, 1) * 2.0
    }
}

mod attention {
    use core::f64;

    use fx_runtime::{Kind, Module, Tensor, nn};

    /// Functions and constants of a primitive type by its module, read from elsewhere.
    #[derive(Debug, Module)]
    pub struct Attention {
        pub query: nn::Linear,
    }

    impl nn::Module for Attention {
        fn forward(&self, xs: &Tensor) -> Tensor {
            let ys = xs.apply(&self.query) * (1.0 / f64::sqrt(xs.size()[1] as f64));
            ys.masked_fill(&xs.gt(1.), f64::NEG_INFINITY).softmax(-1, Kind::Float)
        }
    }
}

#[derive(Debug, Module)]
pub struct Outer {
    inner: attention::Attention,
}

#[traceable]
impl nn::Module for Outer {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs + xs.apply(&self.inner)
    }
}

mod ops {
    use fx_runtime::Tensor;

    pub fn squash(xs: &Tensor) -> Tensor {
        xs.tanh() * 0.5
    }

    pub mod deeper {
        pub const BY: f64 = 3.0;
    }
}

/// Functions and names that the body brings in itself.
#[derive(Debug, Module)]
pub struct BroughtIn {
    fc: nn::Linear,
}

#[traceable]
impl BroughtIn {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        use super::spellings::ops::squash as squashed;
        use ops::deeper::{self, BY};
        fn normed(xs: &Tensor, by: f64) -> Tensor {
            xs / (xs.norm() + by)
        }
        let ys = squashed(&xs.apply(&self.fc)) * BY;
        normed(&ys, deeper::BY + 1.0)
    }
}

/// Code under a condition that only the compiler knows stands alone.
#[derive(Debug, Module)]
pub struct Conditional {
    fc: nn::Linear,
    w: Tensor,
}

#[traceable]
impl Conditional {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc).relu();
        #[cfg(debug_assertions)]
        {
            if bool::try_from(self.w.abs().le(1e-15).any()).unwrap() {
                println!("the scale is too small");
            }
        }
        ys * &self.w
    }
}

mod r#trait {
    use fx_runtime::Tensor;

    pub trait Swish {
        fn swish(&self) -> Tensor;
    }

    impl Swish for Tensor {
        fn swish(&self) -> Tensor {
            self * self.sigmoid()
        }
    }
}

#[derive(Debug, Module)]
pub struct RawModule {
    fc: nn::Linear,
}

mod uses_raw_module {
    use super::r#trait::Swish as _;
    use fx_runtime::{Tensor, traceable};

    #[traceable]
    impl super::RawModule {
        pub fn forward(&self, xs: &Tensor) -> Tensor {
            xs.apply(&self.fc).swish()
        }
    }
}

/// A type behind a private `use` of a module whose names a `*` brings in elsewhere.
pub mod privately {
    pub use model::*;

    pub mod layers {
        mod scaled {
            use fx_runtime::{Module, Tensor};

            #[derive(Debug, Module)]
            pub struct Scaled {
                pub weight: Tensor,
            }

            impl Scaled {
                pub fn forward(&self, xs: &Tensor) -> Tensor {
                    let counts: std::collections::BTreeMap<i64, f64> = std::iter::once((1, 2.0)).collect();
                    xs.matmul(&self.weight) * counts[&1]
                }
            }
        }
        pub use scaled::*;
    }

    mod model {
        use super::layers::Scaled;
        use fx_runtime::{Module, Tensor, nn, traceable};

        #[derive(Debug, Module)]
        pub struct Private {
            pub scaled: Scaled,
        }

        #[traceable]
        impl nn::Module for Private {
            fn forward(&self, xs: &Tensor) -> Tensor {
                self.scaled.forward(xs).relu()
            }
        }
    }
}

const SHOWS: bool = false;

/// A trait that is brought in where its method is called.
#[derive(Debug, Module)]
pub struct Shown {
    fc: nn::Linear,
}

#[traceable]
impl Shown {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        if SHOWS {
            let mut out = std::io::stderr();
            use std::io::Write;
            writeln!(out, "{:?}", ys.size()).unwrap();
        }
        ys.relu()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};
    use fx_runtime::nn::Module as _;

    understood!(Shown: 2 of 6);
    understood!(Private: 2 of 6);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn by_methods() {
        agree!(|p| ByMethods { fc: linear(p / "fc") }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn with_type() {
        let make = |p: &nn::Path| WithType { w: p.randn_standard("w", &[3, 4]), b: p.randn_standard("b", &[3]) };
        agree!(make, [randn(&[2, 4]), randn(&[3, 2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn outer() {
        agree!(|p| Outer { inner: attention::Attention { query: linear(p / "q") } }, [randn(&[2, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn brought_in() {
        agree!(|p| BroughtIn { fc: linear(p / "fc") }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn conditional() {
        let make = |p: &nn::Path| Conditional { fc: linear(p / "fc"), w: p.randn_standard("w", &[4]) };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn shown() {
        agree!(|p| Shown { fc: linear(p / "fc") }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn raw_module() {
        agree!(|p| RawModule { fc: linear(p / "fc") }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn private() {
        let make = |p: &nn::Path| privately::Private {
            scaled: privately::layers::Scaled { weight: p.randn_standard("w", &[4, 4]) },
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
