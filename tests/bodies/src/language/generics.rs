//! Generics, lifetimes and constants as parameters.

use fx_runtime::{Module, Tensor, nn, traceable};
use std::borrow::Borrow;

fn apply_twice<M: nn::Module>(module: &M, xs: &Tensor) -> Tensor {
    module.forward(&module.forward(xs))
}

fn residual<F: Fn(&Tensor) -> Tensor>(xs: &Tensor, f: F) -> Tensor {
    xs + f(xs)
}

fn sum<T>(items: &[T]) -> Tensor
where
    T: Borrow<Tensor>,
{
    let mut total = items[0].borrow().shallow_clone();
    for item in &items[1..] {
        total = total + item.borrow();
    }
    total
}

#[derive(Debug, Module)]
pub struct Generic {
    fc: nn::Linear,
}

#[traceable]
impl Generic {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = apply_twice(&self.fc, xs);
        let zs = residual(&ys, |t| self.fc.forward(t).relu());
        sum(&[&ys, &zs, xs])
    }
}

/// A generic block with one instantiation.
#[derive(Debug, Module)]
pub struct Wrapper<M: fx_runtime::module::Field> {
    inner: M,
    scale: f64,
}

impl<M: nn::Module + fx_runtime::module::Field> Wrapper<M> {
    fn run(&self, xs: &Tensor) -> Tensor {
        self.inner.forward(xs) * self.scale
    }
}

#[derive(Debug, Module)]
pub struct UsesWrapper {
    block: Wrapper<nn::Linear>,
}

#[traceable]
impl UsesWrapper {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.block.run(xs).relu() + self.block.scale
    }
}

/// A lifetime on the parameter, an explicit one on the function.
#[derive(Debug, Module)]
pub struct Lifetimes {
    fc: nn::Linear,
}

fn pick<'a>(a: &'a Tensor, b: &'a Tensor, first: bool) -> &'a Tensor {
    if first { a } else { b }
}

#[traceable]
impl Lifetimes {
    pub fn forward<'a>(&self, a: &'a Tensor, b: &'a Tensor) -> Tensor {
        let chosen: &Tensor = pick(a, b, a.size()[0] > b.size()[0]);
        self.fc.forward(chosen)
    }
}

/// A model with a constant parameter, through an alias.
fn repeat<const N: usize>(xs: &Tensor) -> Tensor {
    let mut ys = xs.shallow_clone();
    for _ in 0..N {
        ys = ys.relu() + N as f64;
    }
    ys
}

pub type Float = f64;
pub type Projection = nn::Linear;
type Ts = Vec<Tensor>;

#[derive(Debug, Module)]
pub struct Aliases {
    proj: Projection,
    scale: Float,
}

#[traceable]
impl Aliases {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let parts: Ts = repeat::<2>(&self.proj.forward(xs)).chunk(2, -1);
        let scale: Float = self.scale;
        &parts[0] * &parts[1] * scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    #[test]
    fn functions() {
        agree!(|p| Generic { fc: linear(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn structs() {
        agree!(|p| UsesWrapper { block: Wrapper { inner: linear(p), scale: 0.5 } }, [randn(&[2, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn lifetimes() {
        agree!(
            |p| Lifetimes { fc: linear(p) },
            [(randn(&[2, 4]), randn(&[3, 4])), (randn(&[5, 4]), randn(&[3, 4]))],
            |net, (a, b)| net.forward(a, b)
        );
    }

    #[test]
    fn aliases() {
        agree!(|p| Aliases { proj: linear(p), scale: 0.5 }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
