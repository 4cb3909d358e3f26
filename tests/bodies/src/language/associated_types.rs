//! Types and methods by traits: associated types of parameters, traits of the crate on layers, `*` of an enum.

use std::marker::PhantomData;

use fx_runtime::nn::Path;
use fx_runtime::{Module, Tensor, nn, traceable};

const HALF: f64 = 0.5;

fn linear(p: Path) -> nn::Linear {
    nn::linear(p, 4, 4, Default::default())
}

pub trait Activate {
    fn act(xs: &Tensor) -> Tensor;
}

#[derive(Debug)]
pub struct Rectify;

impl Activate for Rectify {
    fn act(xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

pub trait Recipe {
    type Act: Activate;
    const N: i64;
}

#[derive(Debug)]
pub struct SmallRecipe;

impl Recipe for SmallRecipe {
    type Act = Rectify;
    const N: i64 = 4;
}

/// What a parameter's associated type does.
#[derive(Debug, Module)]
pub struct ByRecipe<R: Recipe> {
    layer: nn::Linear,
    #[module(skip)]
    recipe: PhantomData<R>,
}

impl<R: Recipe> ByRecipe<R> {
    fn inner(&self, xs: &Tensor) -> Tensor {
        R::Act::act(&xs.apply(&self.layer).view([-1, R::N]))
    }
}

#[traceable]
impl ByRecipe<SmallRecipe> {
    pub fn new(p: &Path) -> Self {
        ByRecipe { layer: linear(p / "l"), recipe: PhantomData }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.inner(xs)
    }
}

pub trait Stage: std::fmt::Debug {
    fn run(&self, xs: &Tensor) -> Tensor;
}

impl Stage for nn::Linear {
    fn run(&self, xs: &Tensor) -> Tensor {
        xs.apply(self) * HALF
    }
}

#[derive(Debug, Module)]
pub struct Squash;

impl Stage for Squash {
    fn run(&self, xs: &Tensor) -> Tensor {
        xs.tanh()
    }
}

#[derive(Debug, Module)]
pub struct InTurn<A: Stage, B: Stage> {
    a: A,
    b: B,
}

impl<A: Stage, B: Stage> InTurn<A, B> {
    fn both(&self, xs: &Tensor) -> Tensor {
        self.b.run(&self.a.run(xs))
    }
}

/// A trait of the crate on a layer.
#[derive(Debug, Module)]
pub struct Stages {
    up: InTurn<nn::Linear, Squash>,
    down: InTurn<Squash, nn::Linear>,
}

#[traceable]
impl Stages {
    pub fn new(p: &Path) -> Stages {
        Stages { up: InTurn { a: linear(p / "up"), b: Squash }, down: InTurn { a: Squash, b: linear(p / "down") } }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.down.both(&self.up.both(xs))
    }
}

pub mod inner {
    #[derive(Debug, Clone, Copy)]
    pub enum Order {
        First,
        Second,
    }

    pub mod deep {
        use super::super::*;
        use super::Order::*;

        /// Names that come by one `*` beside another, of an enum.
        #[derive(Debug, Module)]
        pub struct ByGlobs {
            layer: nn::Linear,
            #[module(skip)]
            order: super::Order,
        }

        #[traceable]
        impl ByGlobs {
            pub fn new(p: &nn::Path) -> ByGlobs {
                ByGlobs { layer: nn::linear(p / "l", 4, 4, Default::default()), order: First }
            }

            pub fn forward(&self, xs: &Tensor) -> Tensor {
                match self.order {
                    First => xs.apply(&self.layer) * super::super::HALF,
                    Second => xs.relu(),
                }
            }
        }
    }
}

mod scaled {
    use fx_runtime::Tensor;

    pub trait Scaled {
        const BY: f64;

        fn scaled(&self, xs: &Tensor) -> Tensor {
            xs * Self::BY
        }
    }

    pub trait Shifted {
        const BY: f64;
        const UP: f64;

        fn shifted(&self, xs: &Tensor) -> Tensor {
            xs + Self::UP
        }
    }
}

/// A constant of its own, and constants of two traits with the same name: a body of a trait means the one of the trait.
#[derive(Debug, Module)]
pub struct ConstantsOfTraits {
    fc: nn::Linear,
}

impl ConstantsOfTraits {
    const BY: f64 = 0.5;
}

impl scaled::Scaled for ConstantsOfTraits {
    const BY: f64 = 3.0;
}

impl scaled::Shifted for ConstantsOfTraits {
    const BY: f64 = 5.0;
    const UP: f64 = 7.0;
}

#[traceable]
impl ConstantsOfTraits {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        use scaled::{Scaled as _, Shifted as _};
        let ys = xs.apply(&self.fc);
        self.scaled(&ys) + self.shifted(&ys) * Self::BY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(ConstantsOfTraits: 3 of 4);

    #[test]
    fn constants_of_traits() {
        let make = |p: &nn::Path| ConstantsOfTraits { fc: nn::linear(p, 4, 4, Default::default()) };
        agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn by_recipe() {
        agree!(ByRecipe::<SmallRecipe>::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn stages() {
        agree!(Stages::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn by_globs() {
        agree!(inner::deep::ByGlobs::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
