//! Which code a call of a layer runs: traits on one's own types, modules and closures behind pointers, layers by number.

use std::sync::Arc;

use fx_runtime::{Module, Tensor, nn, traceable};

fn linear(p: &nn::Path, name: &str) -> nn::Linear {
    nn::linear(p / name, 4, 4, Default::default())
}

/// Activations to choose from.
#[derive(Debug, Clone, Copy, Module)]
pub enum Activation {
    Relu,
    Gelu,
}

impl nn::Module for Activation {
    fn forward(&self, xs: &Tensor) -> Tensor {
        match self {
            Activation::Relu => xs.relu(),
            Activation::Gelu => xs.gelu("none"),
        }
    }
}

/// An enum applied as a layer is.
#[derive(Debug, Module)]
pub struct Applied {
    fc: nn::Linear,
    act: Activation,
}

#[traceable(strict)]
impl Applied {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.fc).apply(&self.act) + xs.apply_t(&self.act, false)
    }
}

/// A type that has only `Module`, called as one that distinguishes training.
#[derive(Debug, Module)]
pub struct Mlp {
    a: nn::Linear,
    b: nn::Linear,
}

impl nn::Module for Mlp {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.a).relu().apply(&self.b)
    }
}

#[derive(Debug, Module)]
pub struct WithTrain {
    mlp: Mlp,
    fc: nn::Linear,
}

#[traceable(strict)]
impl nn::ModuleT for WithTrain {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let ys = nn::ModuleT::forward_t(&self.fc, xs, train);
        self.mlp.forward_t(&ys, train).apply_t(&self.mlp, train)
    }
}

/// Modules behind pointers, whose types the constructor names.
#[derive(Debug, Module)]
pub struct Boxed {
    body: Box<dyn nn::Module>,
    head: Arc<dyn nn::Module>,
}

impl Boxed {
    fn new(p: &nn::Path) -> Boxed {
        let body = Mlp { a: linear(p, "a"), b: linear(p, "b") };
        Boxed { body: Box::new(body), head: Arc::new(linear(p, "head")) }
    }
}

#[traceable]
impl Boxed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.head.forward(&self.body.forward(xs).relu())
    }
}

/// One of two modules behind a pointer.
#[derive(Debug, Module)]
pub struct Chosen {
    body: Box<dyn nn::ModuleT>,
    layers: Vec<Box<dyn nn::Module>>,
}

impl Chosen {
    fn new(p: &nn::Path, deep: bool) -> Chosen {
        let body: Box<dyn nn::ModuleT> =
            if deep { Box::new(Mlp { a: linear(p, "a"), b: linear(p, "b") }) } else { Box::new(linear(p, "a")) };
        let mut layers: Vec<Box<dyn nn::Module>> = Vec::new();
        layers.push(Box::new(linear(p, "first")));
        layers.push(Box::new(Activation::Gelu));
        Chosen { body, layers }
    }
}

#[traceable]
impl Chosen {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = self.body.forward_t(xs, false);
        for layer in &self.layers {
            ys = layer.forward(&ys);
        }
        ys
    }
}

/// A closure whose making is visible.
#[derive(Module)]
pub struct Closed {
    fc: nn::Linear,
    act: Box<dyn Fn(&Tensor) -> Tensor + Send + Sync>,
}

impl std::fmt::Debug for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Closed").field("fc", &self.fc).finish_non_exhaustive()
    }
}

impl Closed {
    fn new(p: &nn::Path) -> Closed {
        Closed { fc: linear(p, "fc"), act: Box::new(|xs| xs.relu() * 2.0) }
    }
}

#[traceable(strict)]
impl Closed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        (self.act)(&xs.apply(&self.fc))
    }
}

/// Layers called by number, as a convolutional net with a list and a counter has it.
#[derive(Debug, Module)]
pub struct CountedLayers {
    convs: Vec<nn::Conv2D>,
    norms: Vec<nn::BatchNorm>,
}

impl CountedLayers {
    fn new(p: &nn::Path, n: i64) -> CountedLayers {
        let conv = |i: i64| nn::conv2d(p / "convs" / i, 3, 3, 3, nn::ConvConfig { padding: 1, ..Default::default() });
        let norm = |i: i64| nn::batch_norm2d(p / "norms" / i, 3, Default::default());
        CountedLayers { convs: (0..n).map(conv).collect(), norms: (0..n).map(norm).collect() }
    }
}

#[traceable(strict)]
impl CountedLayers {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        let mut i = 0;
        while i < self.convs.len() {
            ys = ys.apply(&self.convs[i]).apply_t(&self.norms[i], false).relu();
            i += 1;
        }
        ys
    }
}

/// A model that keeps its variable store, and asks it for a dtype and a device.
#[derive(Debug, Module)]
pub struct Stored {
    vs: nn::VarStore,
    fc: nn::Linear,
}

#[traceable(strict)]
impl Stored {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let bias = Tensor::ones([1], (self.vs.kind(), self.vs.device()));
        xs.to_device(self.vs.device()).apply(&self.fc) + bias
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Chosen: 0 of 7);
    understood!(Boxed: 0 of 7);

    #[test]
    fn applied() {
        for act in [Activation::Relu, Activation::Gelu] {
            agree!(|p| Applied { fc: linear(p, "fc"), act }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn with_train() {
        agree!(
            |p| WithTrain { mlp: Mlp { a: linear(p, "a"), b: linear(p, "b") }, fc: linear(p, "fc") },
            [randn(&[2, 4])],
            |net, xs| nn::ModuleT::forward_t(net, xs, false)
        );
    }

    #[test]
    fn stored() {
        let make = |p: &nn::Path| Stored { vs: nn::VarStore::new(p.device()), fc: linear(p, "fc") };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        let (_vs, net) = crate::check::root(make);
        let doubled = net.freeze(&fx_runtime::Freeze::new().kind(fx_runtime::Kind::Double)).unwrap();
        assert_eq!(doubled.forward(&randn(&[2, 4]).to_kind(fx_runtime::Kind::Double)).kind(), fx_runtime::Kind::Double);
    }

    #[test]
    fn closed() {
        agree!(Closed::new, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn counted() {
        for n in [1, 3] {
            agree!(|p| CountedLayers::new(p, n), [randn(&[2, 3, 4, 4])], |net, xs| net.forward(xs));
        }
    }
}
