//! Models with parameters, and entries with parameters of their own.

use fx_runtime::{Kind, Module, Tensor, module::Field, nn, traceable};
use std::borrow::Borrow;

pub trait Block: Field {
    const EXPANSION: i64;
    fn build(p: &nn::Path, width: i64) -> Self;
    fn run(&self, xs: &Tensor) -> Tensor;
    fn twice(&self, xs: &Tensor) -> Tensor {
        self.run(&self.run(xs))
    }
}

#[derive(Debug, Module)]
pub struct Basic {
    fc: nn::Linear,
    norm: nn::LayerNorm,
}

impl Block for Basic {
    const EXPANSION: i64 = 2;

    fn build(p: &nn::Path, width: i64) -> Self {
        let fc = nn::linear(p / "fc", width, width, Default::default());
        Basic { fc, norm: nn::layer_norm(p / "norm", vec![width], Default::default()) }
    }

    fn run(&self, xs: &Tensor) -> Tensor {
        xs + self.norm.forward(&self.fc.forward(xs)).relu()
    }
}

/// A network over its block, of which the crate has one form.
#[derive(Debug, Module)]
pub struct Network<B: Block> {
    stem: B,
    blocks: Vec<B>,
    head: Option<Box<B>>,
    scale: f64,
}

impl<B: Block> Network<B> {
    pub fn new(p: &nn::Path, depth: i64, width: i64) -> Self {
        Network {
            stem: B::build(&(p / "stem"), width),
            blocks: (0..depth).map(|at| B::build(&(p / "blocks" / at), width)).collect(),
            head: Some(Box::new(B::build(&(p / "head"), width))),
            scale: 0.5,
        }
    }

    fn scaled(&self, xs: &Tensor) -> Tensor {
        xs * self.scale * B::EXPANSION
    }
}

#[traceable]
impl<B: Block> Network<B> {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = self.stem.run(xs);
        for block in &self.blocks {
            ys = block.twice(&ys);
        }
        if let Some(head) = &self.head {
            ys = head.run(&ys);
        }
        self.scaled(&ys)
    }
}

pub fn network(p: &nn::Path) -> Network<Basic> {
    Network::new(p, 2, 4)
}

/// A constant parameter: how often, and how many.
#[derive(Debug, Module)]
pub struct Repeated<const N: usize, const HEADS: i64 = 2> {
    layers: [nn::Linear; N],
}

#[traceable]
impl<const N: usize, const HEADS: i64> Repeated<N, HEADS> {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.view([-1, HEADS, xs.size()[1] / HEADS]).sum_dim_intlist([1i64].as_slice(), true, Kind::Float);
        ys = ys.flatten(1, -1).repeat([1, HEADS]);
        for layer in &self.layers {
            for _ in 0..N {
                ys = layer.forward(&ys).tanh() * N as f64;
            }
        }
        ys
    }
}

pub type Three = Repeated<3>;

/// The type written at the impl.
#[derive(Debug, Module)]
pub struct Written<M: Field> {
    inner: M,
}

#[traceable]
impl Written<nn::Linear> {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.inner.forward(xs).relu()
    }
}

/// Two forms: neither is frozen by itself, both are understood where they are held.
#[derive(Debug, Module)]
pub struct Residual<M: Field> {
    inner: M,
}

#[traceable]
impl<M: nn::Module + Field> Residual<M> {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs + self.inner.forward(xs)
    }
}

#[derive(Debug, Module)]
pub struct Holder {
    first: Residual<nn::Linear>,
    second: Residual<nn::LayerNorm>,
    many: Vec<Residual<Residual<nn::Linear>>>,
}

impl nn::Module for Residual<nn::Linear> {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs + self.inner.forward(xs)
    }
}

#[traceable]
impl Holder {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = self.second.forward(&self.first.forward(xs));
        for one in &self.many {
            ys = one.forward(&ys).relu();
        }
        ys
    }
}

/// No form at all: it compiles.
#[derive(Debug, Module)]
pub struct Unused<M: Field> {
    inner: M,
}

#[traceable]
impl<M: nn::Module + Field> Unused<M> {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.inner.forward(xs)
    }
}

/// A parameter that nothing says is a module, and parts that hold it, one in the other.
pub trait Mix {
    type Gate;
    fn build(p: &nn::Path) -> (Self, Self::Gate)
    where
        Self: Sized;
    fn mix(&self, gate: &Self::Gate, xs: &Tensor) -> Tensor;
}

#[derive(Debug, Module)]
pub struct Linear {
    fc: nn::Linear,
}

impl Mix for Linear {
    type Gate = nn::LayerNorm;

    fn build(p: &nn::Path) -> (Linear, nn::LayerNorm) {
        let fc = nn::linear(p / "fc", 4, 4, Default::default());
        (Linear { fc }, nn::layer_norm(p / "gate", vec![4], Default::default()))
    }

    fn mix(&self, gate: &nn::LayerNorm, xs: &Tensor) -> Tensor {
        xs.apply(&self.fc).apply(gate).relu()
    }
}

#[derive(Module)]
pub struct Mixed<M, N = f64>
where
    M: Mix,
{
    mix: M,
    gate: M::Gate,
    marker: std::marker::PhantomData<N>,
}

#[traceable]
impl<M: Mix, N> Mixed<M, N> {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs + self.mix.mix(&self.gate, xs)
    }
}

#[derive(Module)]
pub struct Layer<M: Mix> {
    mixed: Mixed<M>,
    more: Option<Box<Layer<M>>>,
}

impl<M: Mix> Layer<M> {
    fn new(p: &nn::Path, depth: i64) -> Self {
        let (mix, gate) = M::build(p);
        let more = (depth > 0).then(|| Box::new(Layer::new(&(p / "more"), depth - 1)));
        Layer { mixed: Mixed { mix, gate, marker: std::marker::PhantomData }, more }
    }

    fn run(&self, xs: &Tensor) -> Tensor {
        self.mixed.forward(xs)
    }
}

#[derive(Module)]
pub struct Mixer {
    layers: Vec<Layer<Linear>>,
}

#[traceable]
impl Mixer {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for layer in &self.layers {
            ys = layer.run(&ys);
            if let Some(more) = &layer.more {
                ys = more.run(&ys);
            }
        }
        ys
    }
}

/// A lifetime: the name is borrowed.
#[derive(Debug, Module)]
pub struct Borrowed<'a> {
    fc: nn::Linear,
    #[module(skip)]
    name: &'a str,
}

#[traceable]
impl<'a> Borrowed<'a> {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.fc.forward(xs)
    }
}

/// Entries with parameters of their own.
#[derive(Debug, Module)]
pub struct AnyTensor {
    fc: nn::Linear,
}

#[traceable]
impl AnyTensor {
    pub fn forward<T: Borrow<Tensor>>(&self, xs: T) -> Tensor {
        self.fc.forward(xs.borrow()).relu()
    }
}

#[derive(Debug, Module)]
pub struct SomeTensor {
    fc: nn::Linear,
}

#[traceable]
impl SomeTensor {
    pub fn forward<T>(&self, xs: impl Borrow<Tensor>, ys: T) -> Tensor
    where
        T: Borrow<Tensor>,
    {
        let xs = xs.borrow();
        let ys: &Tensor = ys.borrow();
        (self.fc.forward(xs) + ys).relu()
    }
}

#[derive(Debug, Module)]
pub struct Owned {
    fc: nn::Linear,
}

#[traceable]
impl Owned {
    pub fn forward(&self, xs: impl Into<Tensor>, scale: impl Into<f64>) -> Tensor {
        let xs: Tensor = xs.into();
        let ys = self.fc.forward(&xs).relu();
        ys * scale.into()
    }
}

#[derive(Debug, Module)]
pub struct Activated {
    fc: nn::Linear,
}

#[traceable]
impl Activated {
    pub fn forward<F: Fn(&Tensor) -> Tensor>(&self, xs: &Tensor, f: F, g: &dyn Fn(&Tensor) -> Tensor) -> Tensor {
        let ys = f(&self.fc.forward(xs).relu());
        g(&ys).relu()
    }
}

#[derive(Debug, Module)]
pub struct Counted {
    fc: nn::Linear,
}

#[traceable]
impl Counted {
    pub fn forward<const N: usize>(&self, xs: [&Tensor; N]) -> Tensor {
        let mut ys = self.fc.forward(xs[0]);
        for x in xs {
            ys = ys + x * N as f64;
        }
        ys
    }
}

/// What no frozen type can mirror stays as it is.
#[derive(Debug, Module)]
pub struct Asynchronous {
    fc: nn::Linear,
}

#[traceable]
impl Asynchronous {
    pub async fn forward(&self, xs: &Tensor) -> Tensor {
        self.fc.forward(xs)
    }
}

#[derive(Debug, Module)]
pub struct Unsafe {
    fc: nn::Linear,
}

#[traceable]
impl Unsafe {
    pub unsafe fn forward(&self, xs: &Tensor) -> Tensor {
        self.fc.forward(xs)
    }
}

pub struct Consumed {
    fc: nn::Linear,
}

#[traceable]
impl Consumed {
    pub fn forward(self, xs: &Tensor) -> Tensor {
        self.fc.forward(xs)
    }
}

pub struct Plain {
    fc: nn::Linear,
}

#[traceable]
impl Plain {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.fc.forward(xs)
    }
}

pub enum Either {
    Linear(nn::Linear),
    Norm(nn::LayerNorm),
}

#[traceable]
impl Either {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        match self {
            Either::Linear(fc) => fc.forward(xs),
            Either::Norm(norm) => norm.forward(xs),
        }
    }
}

/// Its text is borrowed: a frozen type could not hold it, and the crate compiles all the same.
#[derive(Debug, Module)]
pub struct Borrows<'a> {
    fc: nn::Linear,
    name: &'a str,
}

#[traceable]
impl<'a> Borrows<'a> {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        if std::env::var_os("FX_NEVER_SET").is_some() {
            println!("{}", self.name);
        }
        xs.apply(&self.fc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Residual<M>: 0 of 1);
    understood!(Unused<M>: 0 of 1);
    understood!(Owned: 2 of 4);
    understood!(Activated: 3 of 6);
    understood!(Counted: 0 of 1);
    understood!(Asynchronous: 0 of 1);
    understood!(Unsafe: 0 of 1);
    understood!(Consumed: 0 of 1);
    understood!(Plain: 0 of 1);
    understood!(Either: 0 of 1);
    understood!(Borrows<'a>: 0 of 1);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    fn inputs() -> [Tensor; 1] {
        [randn(&[2, 4])]
    }

    #[test]
    fn one_form() {
        agree!(network, inputs(), |net, xs| net.forward(xs));
    }

    #[test]
    fn constants() {
        let three = |p: &nn::Path| -> Three { Three { layers: std::array::from_fn(|at| linear(&(p / at as i64))) } };
        agree!(three, inputs(), |net, xs| net.forward(xs));
    }

    #[test]
    fn written() {
        agree!(|p| Written { inner: linear(p) }, inputs(), |net, xs| net.forward(xs));
    }

    #[test]
    fn held() {
        let norm = |p: &nn::Path| nn::layer_norm(p / "norm", vec![4], Default::default());
        let many = |p: &nn::Path| Residual { inner: Residual { inner: linear(&(p / "many")) } };
        agree!(
            |p| Holder {
                first: Residual { inner: linear(p) },
                second: Residual { inner: norm(p) },
                many: vec![many(p)]
            },
            inputs(),
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn parts_that_hold_a_parameter() {
        let mixer = |p: &nn::Path| Mixer { layers: vec![Layer::new(p, 0), Layer::new(&(p / "deep"), 2)] };
        agree!(mixer, inputs(), |net, xs| net.forward(xs));
        let (vs, net) = crate::check::root(mixer);
        assert_eq!(net.named_parameters().len(), vs.trainable_variables().len());
    }

    #[test]
    fn lifetimes() {
        let name = String::from("net");
        agree!(|p| Borrowed { fc: linear(p), name: &name }, inputs(), |net, xs| net.forward(xs));
    }

    #[test]
    fn tensors_of_any_form() {
        agree!(|p| AnyTensor { fc: linear(p) }, inputs(), |net, xs| net.forward(&*xs));
        agree!(|p| AnyTensor { fc: linear(p) }, inputs(), |net, xs| net.forward(xs.shallow_clone()));
        agree!(|p| SomeTensor { fc: linear(p) }, inputs(), |net, xs| net.forward(&*xs, xs.shallow_clone()));
        agree!(|p| Owned { fc: linear(p) }, inputs(), |net, xs| net.forward(xs.shallow_clone(), 2.0_f32));
    }

    #[test]
    fn functions() {
        agree!(|p| Activated { fc: linear(p) }, inputs(), |net, xs| net.forward(
            xs,
            |t: &Tensor| t.tanh(),
            &|t: &Tensor| t + 1
        ));
    }

    #[test]
    fn lists_of_constant_length() {
        agree!(|p| Counted { fc: linear(p) }, inputs(), |net, xs| net.forward([&*xs, &*xs]));
    }
}
