//! State that the model keeps itself, and parts that are known by a trait alone.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A cache in the model.
#[derive(Debug, Module)]
pub struct Remembers {
    fc: nn::Linear,
    #[module(skip)]
    cache: Option<(Tensor, Tensor)>,
    calls: i64,
}

#[traceable]
impl Remembers {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let k = self.fc.forward(xs);
        let k = match &self.cache {
            Some((old, _)) => Tensor::cat(&[old, &k], 0),
            None => k,
        };
        self.cache = Some((k.shallow_clone(), xs.shallow_clone()));
        self.calls += 1;
        k.relu() * self.calls
    }
}

/// Parts known by a trait alone.
#[derive(Debug, Module)]
pub struct Boxed {
    fc: nn::Linear,
    act: Box<dyn nn::Module>,
}

#[traceable]
impl Boxed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc.forward(xs).relu();
        self.act.forward(&ys) + ys
    }
}

#[derive(Debug, Module)]
pub struct ManyBoxed {
    fc: nn::Linear,
    layers: Vec<Box<dyn nn::ModuleT>>,
}

#[traceable]
impl ManyBoxed {
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let mut ys = xs.apply(&self.fc).relu();
        for layer in &self.layers {
            ys = layer.forward_t(&ys, train);
        }
        ys.tanh()
    }
}

/// What a boxed trait object is to be, for a frozen model that is shared between threads.
#[derive(Debug, Module)]
pub struct Locked {
    fc: nn::Linear,
    act: std::sync::Arc<std::sync::Mutex<Box<dyn nn::Module>>>,
}

#[traceable]
impl Locked {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc.forward(xs).relu();
        self.act.lock().unwrap().forward(&ys) + ys
    }
}

#[derive(Debug, Module)]
pub struct Shared {
    fc: nn::Linear,
    act: std::sync::Arc<dyn Activation>,
}

pub trait Activation: std::fmt::Debug + Send + Sync {
    fn activate(&self, xs: &Tensor) -> Tensor;
}

#[derive(Debug)]
pub struct Squared;

impl Activation for Squared {
    fn activate(&self, xs: &Tensor) -> Tensor {
        xs * xs
    }
}

#[traceable]
impl Shared {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc.forward(xs).relu();
        self.act.activate(&ys) + ys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Close, agree, randn, root, understood};
    use fx_runtime::Freeze;

    understood!(Boxed: 3 of 7);
    understood!(ManyBoxed: 3 of 6);
    understood!(Locked: 2 of 6);
    understood!(Shared: 2 of 4);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    #[test]
    fn a_cache_and_a_count() {
        let (_vs, mut model) = root(|p| Remembers { fc: linear(p), cache: None, calls: 0 });
        let mut frozen = model.freeze(&Freeze::default()).unwrap();
        for _ in 0..3 {
            let xs = randn(&[2, 4]);
            frozen.forward(&xs).close(&tch::no_grad(|| model.forward(&xs)));
        }
    }

    #[test]
    fn a_boxed_trait_object_is_refused_by_name() {
        let (_vs, net) = root(|p| Boxed { fc: linear(p), act: Box::new(nn::func(|xs| xs.tanh())) });
        let error = net.freeze(&Freeze::default()).expect_err("it cannot be cloned").to_string();
        assert!(error.starts_with("`act` cannot be cloned") && error.contains("an `Arc`"), "{error}");
    }

    #[test]
    fn a_list_of_boxed_trait_objects_is_refused_by_name() {
        let (_vs, net) = root(|p| ManyBoxed { fc: linear(p), layers: vec![Box::new(nn::func_t(|xs, _| xs.tanh()))] });
        let error = net.freeze(&Freeze::default()).expect_err("it cannot be cloned").to_string();
        assert!(error.starts_with("`layers` cannot be cloned") && error.contains("an `Arc`"), "{error}");
    }

    #[test]
    fn a_locked_trait_object_is_called_live() {
        fn is_shareable<T: Send + Sync>() {}
        is_shareable::<LockedFrozen>();
        let act = || -> Box<dyn nn::Module> { Box::new(nn::func(|xs| xs.tanh())) };
        let make = |p: &nn::Path| Locked { fc: linear(p), act: std::sync::Arc::new(std::sync::Mutex::new(act())) };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn a_shared_trait_object_is_called_live() {
        agree!(|p| Shared { fc: linear(p), act: std::sync::Arc::new(Squared) }, [randn(&[2, 4])], |net, xs| net
            .forward(xs));
    }
}
