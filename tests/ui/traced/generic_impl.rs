//! A generic model is frozen with the one thing that the crate puts in; `strict` insists that there is one.

use fx_runtime::{Module, Tensor, nn, nn::Module as _, traceable};

#[derive(Debug, Module)]
pub struct Unused<M: fx_runtime::module::Field> {
    inner: M,
}

#[traceable(strict)]
impl<M: nn::Module + fx_runtime::module::Field> Unused<M> {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.inner.forward(xs)
    }
}

#[derive(Debug, Module)]
pub struct Twice<const N: usize> {
    conv1: nn::Conv2D,
}

#[traceable(strict)]
impl<const N: usize> Twice<N> {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.conv1.forward(xs)
    }
}

pub fn uses(_: &Twice<2>, _: &Twice<3>) {}

pub enum Either {
    First(nn::Conv2D),
    Second(nn::Linear),
}

#[traceable(strict)]
impl Either {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        match self {
            Either::First(conv) => conv.forward(xs),
            Either::Second(fc) => fc.forward(xs),
        }
    }
}

fn main() {}
