//! Methods of one name: a type's own, those of the traits that are in scope, and the `forward` that `apply` calls.

use fx_runtime::{Module, Tensor, nn, traceable};

/// Its own `forward` is another than that of the trait, by which `apply` calls it.
#[derive(Debug, Module)]
pub struct OwnForward {
    weight: Tensor,
}

impl OwnForward {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.relu() * &self.weight
    }
}

impl nn::Module for OwnForward {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.tanh()
    }
}

/// A trait of the crate has a `forward` as well.
pub trait Layer {
    fn forward(&self, xs: &Tensor) -> Tensor;
}

#[derive(Debug, Module)]
pub struct TwoForwards {
    weight: Tensor,
}

impl Layer for TwoForwards {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.sin() * &self.weight
    }
}

impl nn::Module for TwoForwards {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.cos()
    }
}

#[derive(Debug, Module)]
pub struct Applied {
    own: OwnForward,
    two: TwoForwards,
}

#[traceable(strict)]
impl Applied {
    pub fn new(p: &nn::Path) -> Self {
        let [own, two] = ["own", "two"].map(|name| p.randn_standard(name, &[4]));
        Self { own: OwnForward { weight: own }, two: TwoForwards { weight: two } }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.own) + self.own.forward(xs) + xs.apply(&self.two) + Layer::forward(&self.two, xs)
    }
}

/// Traits with a method of one name, each in scope elsewhere.
pub struct Act {
    pub by: f64,
}

pub mod smooth {
    use fx_runtime::Tensor;

    pub trait Smooth {
        fn act(&self, xs: &Tensor) -> Tensor;
    }

    impl Smooth for super::Act {
        fn act(&self, xs: &Tensor) -> Tensor {
            xs.tanh() * self.by
        }
    }
}

pub mod sharp {
    use fx_runtime::Tensor;

    pub trait Sharp {
        fn act(&self, xs: &Tensor) -> Tensor;
    }

    impl Sharp for super::Act {
        fn act(&self, xs: &Tensor) -> Tensor {
            xs.relu() * self.by
        }
    }

    pub fn sharp(act: &super::Act, xs: &Tensor) -> Tensor {
        act.act(xs)
    }
}

mod acting {
    use super::{Act, Tensor, smooth::Smooth as _};

    pub fn smooth(act: &Act, xs: &Tensor) -> Tensor {
        act.act(xs)
    }
}

#[derive(Debug, Module)]
pub struct InScope {
    fc: nn::Linear,
}

#[traceable]
impl InScope {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (ys, act) = (xs.apply(&self.fc), Act { by: 2.0 });
        acting::smooth(&act, &ys) + sharp::sharp(&act, xs)
    }
}

/// A trait's method that takes the value itself goes before one of its own that borrows it.
#[derive(Clone, Copy)]
struct Steps(i64);

impl Steps {
    fn count(&self) -> i64 {
        self.0 * 2
    }
}

trait Counted {
    fn count(self) -> i64;
}

impl Counted for Steps {
    fn count(self) -> i64 {
        self.0 * 100
    }
}

#[derive(Debug, Module)]
pub struct ByValueFirst {
    fc: nn::Linear,
}

#[traceable]
impl ByValueFirst {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let steps = Steps(3);
        let borrowed = &steps;
        xs.apply(&self.fc) * steps.count() + borrowed.count()
    }
}

/// A module that sees by a `*` alone has a piece of opaque code.
mod globbed {
    use super::*;

    pub fn counted(xs: &Tensor) -> Tensor {
        let count = "a,b".split(',').map(|part| part.len()).rev().count() as i64;
        xs * count
    }
}

#[derive(Debug, Module)]
pub struct Globbed {
    fc: nn::Linear,
}

#[traceable]
impl Globbed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        globbed::counted(&xs.apply(&self.fc))
    }
}

mod soft {
    use fx_runtime::Tensor;

    pub trait Halved {
        fn measured(&self) -> Tensor;

        fn halved(&self) -> Tensor {
            self.measured() * 0.5
        }
    }

    impl Halved for Tensor {
        fn measured(&self) -> Tensor {
            self.square()
        }
    }

    pub trait Bent {
        fn bent(&self, xs: &Tensor) -> Tensor {
            xs.relu()
        }
    }

    pub struct Plain;

    impl Bent for Plain {}

    pub fn run(xs: &Tensor) -> Tensor {
        xs.halved() + Bent::bent(&Plain, xs)
    }
}

mod hard {
    use fx_runtime::Tensor;

    pub trait Halved {
        fn measured(&self) -> Tensor;

        fn halved(&self) -> Tensor {
            self.measured() * 0.25
        }
    }

    impl Halved for Tensor {
        fn measured(&self) -> Tensor {
            self.abs()
        }
    }

    pub trait Bent {
        fn bent(&self, xs: &Tensor) -> Tensor {
            xs.tanh()
        }
    }

    pub struct Plain;

    impl Bent for Plain {}

    pub fn run(xs: &Tensor) -> Tensor {
        Halved::halved(xs) + xs.measured() + Bent::bent(&Plain, xs)
    }
}

mod renamed {
    use fx_runtime::Tensor;

    use super::hard::Bent as Straight;

    pub struct Other;

    impl Straight for Other {}

    impl super::soft::Bent for Other {
        fn bent(&self, xs: &Tensor) -> Tensor {
            xs.cos()
        }
    }

    pub fn run(xs: &Tensor) -> Tensor {
        Other.bent(xs) + super::soft::Bent::bent(&Other, xs)
    }
}

/// Traits and structs of two modules with the same names.
#[derive(Debug, Module)]
pub struct SameNames {
    fc: nn::Linear,
}

#[traceable]
impl SameNames {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        soft::run(&ys) + hard::run(&ys) * 3.0
    }
}

/// A trait that a module knows by another name.
#[derive(Debug, Module)]
pub struct RenamedTrait {
    fc: nn::Linear,
}

#[traceable]
impl RenamedTrait {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        renamed::run(&xs.apply(&self.fc))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(ByValueFirst: 1 of 4);
    understood!(Globbed: 2 of 7);
    understood!(RenamedTrait: 3 of 6);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 2] {
        [1, 3].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn forwards() {
        agree!(Applied::new, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn methods() {
        agree!(|p| InScope { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p| ByValueFirst { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn brought_by_a_star() {
        agree!(|p| Globbed { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn traits_of_one_name() {
        agree!(|p| SameNames { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p| RenamedTrait { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }
}
